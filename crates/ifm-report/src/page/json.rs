//! A page as one JSON document: the same sections, with every number in full.

use super::{Block, Cell, Chart, Figure, Page, Remark, Section, Sheet, Table};
use crate::json::text;
use ifm_rules::insight::Tone;
use serde::Serialize;

/// Version of the document.
pub(crate) const PAGE_VERSION: &str = "1.0";

/// The whole page; ends with a line break.
pub fn json(page: &Page) -> String {
    let page = page.clone().with_unique_ids();
    text(&serde_json::to_value(PageDocument::from(&page)).unwrap_or_default())
}

/// What `report --json` writes of several runs, of files, or of a kind: the page of the report.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageDocument<'a> {
    /// Version of the document. Major versions are not compatible.
    #[cfg_attr(feature = "schema", schemars(extend("pattern" = "^1[.]")))]
    schema_version: &'static str,
    /// Kind of report.
    kind: &'static str,
    /// Title.
    title: &'a str,
    /// What was measured, in short.
    facts: &'a [String],
    /// What the results hold for.
    conditions: &'a [String],
    /// The answer in one sentence; absent where the page has several questions.
    #[serde(skip_serializing_if = "Option::is_none")]
    lead: Option<&'a str>,
    /// What must be read first.
    banners: &'a [String],
    /// Answers to the questions of the reader.
    answers: Vec<PageAnswer<'a>>,
    /// The findings that matter most.
    findings: Vec<PageFinding<'a>>,
    /// What the checks found; null where there are none.
    checks: Option<PageChecks<'a>>,
    /// Words of the author; null without any.
    notes: Option<PageNotes<'a>>,
    /// The sections.
    sections: Vec<PageSection<'a>>,
}

/// An answer to a question.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct PageAnswer<'a> {
    /// The question.
    question: &'a str,
    /// Of what the answer is, where there are several.
    who: Option<&'a str>,
    /// The answer.
    value: &'a str,
    /// Its unit.
    unit: &'a str,
    /// What belongs to it.
    detail: &'a str,
    /// How good it is.
    tone: Option<&'static str>,
    /// Why it does not hold; null where it does.
    not_valid: Option<&'a str>,
}

/// What the checks found.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct PageChecks<'a> {
    /// In one line.
    line: &'a str,
    /// What deserves care.
    loud: Vec<LoudCheck<'a>>,
}

/// A check that deserves care.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct LoudCheck<'a> {
    /// How much it matters.
    tone: &'static str,
    /// In words.
    text: &'a str,
}

/// Words of the author.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct PageNotes<'a> {
    /// Name of their file.
    source: &'a str,
    /// Their Markdown.
    markdown: &'a str,
}

/// A sentence with its numbers.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct PageFinding<'a> {
    /// Id of the rule.
    rule: &'static str,
    /// How good it is.
    tone: &'static str,
    /// The sentence.
    text: &'a str,
    /// Its numbers, in the order of the sentence.
    numbers: Vec<PageNumber>,
    /// Whether it is an explanation that the data allow and do not prove.
    is_hypothesis: bool,
}

/// A number of a sentence.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct PageNumber {
    /// In full.
    value: f64,
    /// Its unit.
    unit: &'static str,
}

/// A section.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct PageSection<'a> {
    /// Id on the page.
    id: &'a str,
    /// Heading.
    heading: &'a str,
    /// Depth of the heading.
    depth: u8,
    /// What it holds.
    blocks: Vec<PageBlock<'a>>,
}

/// A piece of a section; which fields it has follows from its kind.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
enum PageBlock<'a> {
    /// A paragraph.
    Prose {
        /// The words.
        text: &'a str,
    },
    /// Charts.
    Figures {
        /// The charts.
        figures: Vec<PageFigure<'a>>,
    },
    /// A table.
    Table {
        /// What it holds.
        caption: &'a str,
        /// Heads.
        columns: Vec<&'a str>,
        /// Rows of cells, one for each column.
        rows: Vec<Vec<PageCell<'a>>>,
    },
    /// Sentences.
    Findings {
        /// The sentences.
        findings: Vec<PageFinding<'a>>,
    },
    /// Text as it is.
    Text {
        /// The words.
        text: &'a str,
    },
    /// Points.
    List {
        /// The points.
        points: &'a [String],
    },
    /// Something that most readers skip.
    Details {
        /// What it is.
        summary: &'a str,
        /// What it holds.
        blocks: Vec<PageBlock<'a>>,
    },
}

/// A chart with what it shows.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct PageFigure<'a> {
    /// The chart.
    #[cfg_attr(feature = "schema", schemars(with = "ChartShape"))]
    chart: &'a Chart,
    /// What is drawn.
    caption: Option<&'a str>,
    /// Sentences about it.
    findings: Vec<PageFinding<'a>>,
}

/// What a chart shows.
#[cfg(feature = "schema")]
#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct ChartShape {
    /// Id on the page.
    id: String,
    /// The question it answers.
    title: String,
    /// Its extreme values in words.
    description: String,
    /// Axes, series and points, as the page on charts says.
    plot: serde_json::Map<String, serde_json::Value>,
}

/// A cell of a table.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct PageCell<'a> {
    /// As it is shown.
    text: &'a str,
    /// The number in full; null where the cell has none.
    value: Option<f64>,
    /// A remark on it.
    note: Option<&'a str>,
    /// How good it is.
    tone: Option<&'static str>,
}

impl<'a> From<&'a Page> for PageDocument<'a> {
    fn from(page: &'a Page) -> PageDocument<'a> {
        let answer = |tile: &'a super::Tile| PageAnswer {
            question: &tile.question,
            who: tile.who.as_deref(),
            value: &tile.value,
            unit: &tile.unit,
            detail: &tile.detail,
            tone: tile.tone.map(Tone::word),
            not_valid: tile.not_valid.as_deref(),
        };
        let loud = |(tone, text): &'a (Tone, String)| LoudCheck { tone: tone.word(), text };
        let checks = |trust: &'a super::Trust| PageChecks {
            line: &trust.line,
            loud: trust.loud.iter().map(loud).collect(),
        };
        PageDocument {
            schema_version: PAGE_VERSION,
            kind: page.kind,
            title: &page.title,
            facts: &page.facts,
            conditions: &page.conditions,
            lead: page.lead.as_deref(),
            banners: &page.banners,
            answers: page.tiles.iter().map(answer).collect(),
            findings: page.remarks.iter().map(PageFinding::from).collect(),
            checks: page.trust.as_ref().map(checks),
            notes: page
                .notes
                .as_ref()
                .map(|notes| PageNotes { source: &notes.name, markdown: &notes.text }),
            sections: page.sections.iter().map(PageSection::from).collect(),
        }
    }
}

impl<'a> From<&'a Section> for PageSection<'a> {
    fn from(section: &'a Section) -> PageSection<'a> {
        PageSection {
            id: &section.id,
            heading: &section.heading,
            depth: section.depth,
            blocks: section.blocks.iter().map(PageBlock::from).collect(),
        }
    }
}

impl<'a> From<&'a Block> for PageBlock<'a> {
    fn from(block: &'a Block) -> PageBlock<'a> {
        match block {
            Block::Prose(text) => PageBlock::Prose { text },
            Block::Figures(figures) => {
                PageBlock::Figures { figures: figures.iter().map(PageFigure::from).collect() }
            }
            Block::Table(Table { caption, heads, rows }) => PageBlock::Table {
                caption,
                columns: heads.iter().map(|head| head.name.as_str()).collect(),
                rows: rows.iter().map(|row| row.iter().map(PageCell::from).collect()).collect(),
            },
            Block::Remarks(all) => {
                PageBlock::Findings { findings: all.iter().map(PageFinding::from).collect() }
            }
            Block::Pre(text) => PageBlock::Text { text },
            Block::List(points) | Block::Sheet(Sheet { labels: points, .. }) => {
                PageBlock::List { points }
            }
            Block::Details(summary, blocks) => {
                PageBlock::Details { summary, blocks: blocks.iter().map(PageBlock::from).collect() }
            }
        }
    }
}

impl<'a> From<&'a Figure> for PageFigure<'a> {
    fn from(figure: &'a Figure) -> PageFigure<'a> {
        PageFigure {
            chart: &figure.chart,
            caption: figure.caption.as_deref(),
            findings: figure.remarks.iter().map(PageFinding::from).collect(),
        }
    }
}

impl<'a> From<&'a Cell> for PageCell<'a> {
    fn from(cell: &'a Cell) -> PageCell<'a> {
        PageCell {
            text: &cell.text,
            value: cell.value,
            note: cell.note.as_deref(),
            tone: cell.tone.map(Tone::word),
        }
    }
}

impl<'a> From<&'a Remark> for PageFinding<'a> {
    fn from(remark: &'a Remark) -> PageFinding<'a> {
        PageFinding {
            rule: remark.rule,
            tone: remark.tone.word(),
            text: &remark.text,
            numbers: remark
                .numbers
                .iter()
                .map(|(value, meant)| PageNumber { value: *value, unit: meant.word() })
                .collect(),
            is_hypothesis: remark.is_hypothesis,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::page;

    #[test]
    fn a_page() {
        insta::assert_snapshot!(super::json(&page()));
    }
}
