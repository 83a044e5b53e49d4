//! A page: what a report shows, in reading order, before it is bytes of any format.
//!
//! A kind of report makes a [`Page`]; the formats below draw it. Every number is written once, by
//! the kind, so that text, table and chart of all formats are the same. Not here: which sections a
//! report has (`kind`), how a chart is drawn (`ifm-chart`).

mod csv;
mod html;
mod json;
mod markdown;
mod notes;
mod table;
mod terminal;

pub use csv::csv;
pub use html::html;
pub use json::{PageDocument, json};
pub use markdown::{Pictures, markdown};
pub use notes::Notes;
pub use table::{Cell, Column, Columns, Head, Table};
pub use terminal::{table_terminal, terminal};

use crate::format::sentence;
use ifm_chart::Theme;
pub use ifm_chart::{Chart, ChartError};
use ifm_rules::insight::{Insight, Meant, Tone, Topic};

/// A report before it is bytes.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// Word for the kind of report: `sweep`, `grid`.
    pub kind: &'static str,
    /// What was measured.
    pub title: String,
    /// Engine, devices, date, run: the line under the title.
    pub facts: Vec<String>,
    /// Workload, loads, repeats: the second line.
    pub conditions: Vec<String>,
    /// The answer in one sentence, where the page has a single question.
    pub lead: Option<String>,
    /// What has to be said before any number.
    pub banners: Vec<String>,
    /// The answers, at most four.
    pub tiles: Vec<Tile>,
    /// The checks.
    pub trust: Option<Trust>,
    /// The most important sentences, at most five.
    pub remarks: Vec<Remark>,
    /// What the author of the report says, who measured nothing with it.
    pub notes: Option<Notes>,
    /// Everything else.
    pub sections: Vec<Section>,
    /// Versions and hashes.
    pub footer: Vec<String>,
}

/// An answer in big letters.
#[derive(Debug, Clone, Default)]
pub struct Tile {
    /// The question.
    pub question: String,
    /// Whose answer it is: the winner of a comparison, named before its number.
    pub who: Option<String>,
    /// The short answer.
    pub value: String,
    /// Its unit.
    pub unit: String,
    /// The condition under which it holds, and what comes next.
    pub detail: String,
    /// Its verdict, which a word or sign in the text says too; `None` for a plain fact.
    pub tone: Option<Tone>,
    /// What the answer rests on, so that a check that fails can take it back.
    pub topic: Option<Topic>,
    /// Why the answer is not valid: it is struck out.
    pub not_valid: Option<String>,
}

impl Tile {
    /// An answer: how much of what, and under which condition.
    pub fn new(
        question: impl Into<String>,
        value: impl Into<String>,
        unit: impl Into<String>,
        detail: impl Into<String>,
    ) -> Tile {
        let (question, value) = (question.into(), value.into());
        Tile { question, value, unit: unit.into(), detail: detail.into(), ..Tile::default() }
    }

    /// Whose answer it is.
    #[must_use]
    pub fn by(mut self, who: Option<String>) -> Tile {
        self.who = who;
        self
    }

    /// With its verdict.
    #[must_use]
    pub fn toned(mut self, tone: Option<Tone>) -> Tile {
        self.tone = tone;
        self
    }

    /// What it rests on.
    #[must_use]
    pub fn on(mut self, topic: Topic) -> Tile {
        self.topic = Some(topic);
        self
    }

    /// Struck out where a check says so; the first reason is kept.
    #[must_use]
    pub(crate) fn struck(mut self, because: Option<&str>) -> Tile {
        if let Some(because) = because.filter(|_| self.not_valid.is_none()) {
            self.not_valid = Some(because.to_owned());
            self.tone = Some(Tone::Bad);
        }
        self
    }

    /// The line under a struck answer.
    pub(crate) fn why_not(&self) -> Option<String> {
        self.not_valid.as_ref().map(|because| format!("✗ not valid because {because}"))
    }

    /// The answer in one line: whose, how much, of what.
    pub(crate) fn said(&self) -> String {
        let parts = [self.who.as_deref().unwrap_or_default(), &self.value, &self.unit];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

/// The checks.
#[derive(Debug, Clone, Default)]
pub struct Trust {
    /// In one line: `11 passed, 1 warning`.
    pub line: String,
    /// What deserves caution.
    pub loud: Vec<(Tone, String)>,
    /// Every check: its state in words, what holds, and what it found.
    pub all: Vec<Check>,
}

impl Trust {
    /// The worst of what is loud.
    pub(crate) fn worst(&self) -> Option<Tone> {
        self.loud.iter().map(|(tone, _)| *tone).min()
    }
}

/// A check.
#[derive(Debug, Clone)]
pub struct Check {
    /// Its state with a sign: `✓ passed`.
    pub state: String,
    /// What holds where it is silent.
    pub title: String,
    /// What it found.
    pub lines: Vec<String>,
}

/// A computed sentence.
#[derive(Debug, Clone)]
pub struct Remark {
    /// Id of its rule.
    pub rule: &'static str,
    /// What it is about.
    pub topic: Topic,
    /// How much it matters.
    pub tone: Tone,
    /// The sentence.
    pub text: String,
    /// Its numbers, with all digits.
    pub numbers: Vec<(f64, Meant)>,
    /// Whether it is an unmeasured reason; `text` says so too.
    pub is_hypothesis: bool,
}

impl Remark {
    /// An insight as it is written.
    pub fn of(insight: &Insight) -> Remark {
        let words = sentence(&insight.sentence);
        let text = match insight.is_hypothesis {
            true => format!("Possible reason (not measured): {words}"),
            false => words,
        };
        Remark {
            rule: insight.rule,
            topic: insight.topic,
            tone: insight.tone,
            text,
            numbers: insight.sentence.numbers().collect(),
            is_hypothesis: insight.is_hypothesis,
        }
    }
}

/// A chapter.
#[derive(Debug, Clone)]
pub struct Section {
    /// Id in the page, of letters, digits and `-`.
    pub id: String,
    /// Heading.
    pub heading: String,
    /// 2 for a chapter, 3 for one inside it.
    pub depth: u8,
    /// What it holds.
    pub blocks: Vec<Block>,
}

impl Section {
    /// A chapter; its id is made from the heading.
    pub fn new(heading: impl Into<String>, blocks: Vec<Block>) -> Section {
        let heading = heading.into();
        Section { id: slug(&heading), heading, depth: 2, blocks }
    }

    /// A chapter inside the one before.
    pub fn inner(heading: impl Into<String>, blocks: Vec<Block>) -> Section {
        Section { depth: 3, ..Section::new(heading, blocks) }
    }
}

/// A piece of a chapter.
#[derive(Debug, Clone)]
pub enum Block {
    /// A paragraph.
    Prose(String),
    /// Charts side by side where there is room.
    Figures(Vec<Figure>),
    /// A table.
    Table(Table),
    /// Sentences.
    Remarks(Vec<Remark>),
    /// Text as it is: a command, a console block.
    Pre(String),
    /// Points.
    List(Vec<String>),
    /// Small images side by side.
    Sheet(Sheet),
    /// Something that most readers skip.
    Details(String, Vec<Block>),
}

/// Small images, and under each what it is: two lists of one length.
#[derive(Debug, Clone, Default)]
pub struct Sheet {
    /// Data URLs of images.
    pub pictures: Vec<String>,
    /// What they are; formats without images show these.
    pub labels: Vec<String>,
}

/// A chart with what it shows.
#[derive(Debug, Clone)]
pub struct Figure {
    /// The chart; its title is the figure's.
    pub chart: Chart,
    /// What is drawn, in one sentence.
    pub caption: Option<String>,
    /// At most three sentences.
    pub remarks: Vec<Remark>,
}

impl Figure {
    /// A chart with the insights about it, at most three.
    pub fn new<'a>(chart: Chart, insights: impl IntoIterator<Item = &'a Insight>) -> Figure {
        const REMARKS_MAX: usize = 3;
        let remarks = insights.into_iter().take(REMARKS_MAX).map(Remark::of).collect();
        Figure { chart, caption: None, remarks }
    }

    /// A chart that no sentence is about.
    pub fn alone(chart: Chart) -> Figure {
        Figure { chart, caption: None, remarks: Vec::new() }
    }

    /// With a caption.
    #[must_use]
    pub fn captioned(mut self, caption: impl Into<String>) -> Figure {
        self.caption = Some(caption.into());
        self
    }
}

impl Page {
    /// Every chart in reading order.
    pub fn charts(&self) -> Vec<&Chart> {
        fn of(blocks: &[Block]) -> Vec<&Chart> {
            blocks
                .iter()
                .flat_map(|block| match block {
                    Block::Figures(figures) => figures.iter().map(|figure| &figure.chart).collect(),
                    Block::Details(_, blocks) => of(blocks),
                    _ => Vec::new(),
                })
                .collect()
        }
        self.sections.iter().flat_map(|section| of(&section.blocks)).collect()
    }

    /// Whether it shows small images.
    pub(crate) fn has_sheet(&self) -> bool {
        let blocks = self.sections.iter().flat_map(|section| &section.blocks);
        blocks.into_iter().any(|block| matches!(block, Block::Sheet(_)))
    }

    /// Does something with every computed sentence, wherever it is.
    pub(crate) fn for_each_remark(&mut self, act: &mut dyn FnMut(&mut Remark)) {
        fn within(blocks: &mut [Block], act: &mut dyn FnMut(&mut Remark)) {
            for block in blocks {
                match block {
                    Block::Figures(figures) => figures
                        .iter_mut()
                        .flat_map(|figure| &mut figure.remarks)
                        .for_each(&mut *act),
                    Block::Remarks(remarks) => remarks.iter_mut().for_each(&mut *act),
                    Block::Details(_, blocks) => within(blocks, act),
                    _ => {}
                }
            }
        }
        self.remarks.iter_mut().for_each(&mut *act);
        for section in &mut self.sections {
            within(&mut section.blocks, act);
        }
    }

    /// Gives sections and charts ids that no other has, by numbers after those that repeat.
    #[must_use]
    pub fn with_unique_ids(mut self) -> Page {
        let mut taken = std::collections::BTreeSet::new();
        for section in &mut self.sections {
            unique(&mut section.id, &mut taken);
            charts_of(&mut section.blocks, &mut |chart| unique(&mut chart.id, &mut taken));
        }
        self
    }
}

fn charts_of(blocks: &mut [Block], each: &mut impl FnMut(&mut Chart)) {
    for block in blocks {
        match block {
            Block::Figures(figures) => {
                figures.iter_mut().for_each(|figure| each(&mut figure.chart))
            }
            Block::Details(_, blocks) => charts_of(blocks, each),
            _ => {}
        }
    }
}

fn unique(id: &mut String, taken: &mut std::collections::BTreeSet<String>) {
    let wanted = id.clone();
    let mut number = 2;
    while !taken.insert(id.clone()) {
        *id = format!("{wanted}-{number}");
        number += 1;
    }
}

/// Words as an id: small letters, digits and `-`, never empty, at most 60 characters.
pub(crate) fn slug(text: &str) -> String {
    const LENGTH_MAX: usize = 60;
    let mut slug = String::new();
    for c in text.chars().flat_map(char::to_lowercase) {
        match c {
            c if c.is_ascii_alphanumeric() => slug.push(c),
            _ if !slug.ends_with('-') && !slug.is_empty() => slug.push('-'),
            _ => {}
        }
        if slug.len() >= LENGTH_MAX {
            break;
        }
    }
    let slug = slug.trim_matches('-');
    if slug.is_empty() { "part".to_owned() } else { slug.to_owned() }
}

/// A chart as a separate drawing, in light colors.
///
/// # Errors
/// It could not be drawn.
pub fn svg(chart: &Chart) -> Result<String, ChartError> {
    ifm_chart::svg(chart, Theme::Light)
}

/// A chart as an image, two pixels for one.
///
/// # Errors
/// It could not be drawn.
pub fn png(chart: &Chart) -> Result<Vec<u8>, ChartError> {
    const SCALE: f32 = 2.0;
    ifm_chart::png(chart, Theme::Light, SCALE)
}

/// A name as the path of a link in Markdown: what would end it is written in percent.
pub fn link(name: &str) -> String {
    let safe = |c: char| c.is_alphanumeric() || "-_./".contains(c);
    let mut link = String::new();
    for c in name.chars() {
        match c {
            c if safe(c) => link.push(c),
            c => c.to_string().bytes().for_each(|byte| link.push_str(&format!("%{byte:02X}"))),
        }
    }
    link
}

/// The sign of a tone; it is always accompanied by a word or color.
pub(crate) fn sign(tone: Tone) -> char {
    match tone {
        Tone::Bad => '✗',
        Tone::Warn => '⚠',
        Tone::Good => '✓',
        Tone::Note => '·',
    }
}

#[cfg(test)]
pub(crate) mod agreement_tests;
#[cfg(test)]
pub(crate) mod testing;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_made_of_words_and_do_not_repeat() {
        for (text, expect) in [
            ("Random (1500 ⇒ 250)", "random-1500-250"),
            ("  Ä ö  ", "part"),
            ("a", "a"),
            ("عربي", "part"),
        ] {
            assert_eq!(slug(text), expect);
        }
        let sections = vec![Section::new("Same", Vec::new()), Section::new("same!", Vec::new())];
        let page = Page { sections, ..Page::default() }.with_unique_ids();
        assert_eq!(page.sections[1].id, "same-2");
    }
}
