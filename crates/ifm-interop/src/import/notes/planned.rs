//! Cells that a text announces and does not fill: headings that name a quantity, with nothing
//! under them but the legend of a picture that is not there.
//!
//! One cell for each such heading and each combination of the names in its legends. A legend counts
//! for its own section; one that only some sections repeat counts for all.

use super::super::generic::bare_part;
use super::super::known;
use super::super::measure::{Meaning, Named, meaning, natural_unit};
use ifm_core::Sheet;
use ifm_core::sheet::{
    Factors, Figure, Part, PartKind, Place, Remark, RemarkKind, Row, RowRole, Statistic, key,
};
use std::collections::{BTreeMap, BTreeSet};

/// Headings that are kept of one text.
const HEADINGS_MAX: usize = 10_000;
/// Names that a legend has at most.
const NAMES_MAX: usize = 24;

/// A heading that promises figures.
struct Promise {
    line: u32,
    path: Vec<String>,
    factors: Factors,
    named: Named,
}

/// What legends list in a section.
#[derive(Default)]
struct Legend {
    models: Names,
    conditions: Names,
}

/// Names as they were spelled, and how often, by what they are without regard to case.
#[derive(Default, Clone)]
struct Names(Vec<(String, BTreeMap<String, u32>)>);

impl Names {
    fn add(&mut self, name: &str) {
        let folded = name.to_lowercase();
        if self.0.len() >= NAMES_MAX {
            return;
        }
        if !self.0.iter().any(|(known, _)| *known == folded) {
            self.0.push((folded.clone(), BTreeMap::new()));
        }
        for (_, spellings) in self.0.iter_mut().filter(|(known, _)| *known == folded) {
            *spellings.entry(name.to_owned()).or_default() += 1;
        }
    }

    /// Each name as it is spelled most often.
    fn spelled(&self, everywhere: &Names) -> Vec<String> {
        let all = |folded: &str| everywhere.0.iter().find(|(known, _)| known == folded);
        let best = |(folded, own): &(String, BTreeMap<String, u32>)| {
            let spellings = all(folded).map_or(own, |(_, spellings)| spellings);
            spellings.iter().max_by_key(|(_, count)| **count).map(|(name, _)| name.clone())
        };
        self.0.iter().filter_map(best).collect()
    }
}

/// Gathers promises and legends on the way through a text.
#[derive(Default)]
pub(super) struct Planned {
    promises: Vec<Promise>,
    /// By the titles of the section around the heading.
    legends: BTreeMap<Vec<String>, Legend>,
    all: Legend,
    condition_lines: BTreeSet<u32>,
}

impl Planned {
    /// Looks at a section whose lines hold no figures; whether all of it is a promise and legends.
    pub fn see(
        &mut self,
        line: u32,
        path: &[String],
        factors: &Factors,
        body: &[(u32, &str)],
    ) -> bool {
        let Some((title, around)) = path.split_last() else { return false };
        let Some(Meaning::Figure(named)) = meaning(title) else { return false };
        let legends: Option<Vec<(u32, Vec<String>)>> =
            body.iter().map(|(line, text)| Some((*line, legend(text)?))).collect();
        let Some(legends) = legends else { return false };
        for (line, names) in legends {
            let models = names.iter().filter(|name| known::is_model(name)).count();
            let own = self.legends.entry(around.to_vec()).or_default();
            for name in names {
                // A list of models can contain an unknown model name.
                if known::is_model(&name) || 2 * models > NAMES_MAX {
                    own.models.add(&name);
                    self.all.models.add(&name);
                } else {
                    self.condition_lines.insert(line);
                    own.conditions.add(&name);
                    self.all.conditions.add(&name);
                }
            }
        }
        if self.promises.len() < HEADINGS_MAX {
            let factors = factors.clone();
            self.promises.push(Promise { line, path: path.to_vec(), factors, named });
        }
        true
    }

    /// Adds the cells that nothing filled.
    pub fn finish(self, sheet: &mut Sheet) {
        let legends = !self.all.models.0.is_empty() || !self.all.conditions.0.is_empty();
        if self.promises.is_empty() || (!legends && self.promises.len() < 2) {
            return;
        }
        let mut cells = 0;
        for promise in &self.promises {
            let part = self.part(promise);
            cells += part.rows.len();
            sheet.parts.push(part);
        }
        let (models, conditions) = (self.all.models.0.len(), self.all.conditions.0.len());
        let place =
            self.promises.first().map(|promise| Place::line(promise.line)).unwrap_or_default();
        let mut text = format!(
            "{cells} figures are announced and missing: {} headings without figures, {models} models and \
             {conditions} conditions in their legends",
            self.promises.len()
        );
        if !self.condition_lines.is_empty() {
            let lines: Vec<u32> = self.condition_lines.iter().copied().collect();
            text.push_str(&format!(
                "; the conditions stand in lines {} and are taken for all",
                super::ranges(&lines)
            ));
        }
        sheet.remarks.push(Remark { kind: RemarkKind::Assumed, place, text });
    }

    fn part(&self, promise: &Promise) -> Part {
        let around = promise.path.split_last().map(|(_, around)| around.to_vec());
        let own = around.and_then(|around| self.legends.get(&around));
        let names = |own: Option<&Names>, all: &Names| -> Vec<Option<String>> {
            let of = own.filter(|names| !names.0.is_empty()).unwrap_or(all);
            let spelled = of.spelled(all);
            if spelled.is_empty() { vec![None] } else { spelled.into_iter().map(Some).collect() }
        };
        let models = names(own.map(|own| &own.models), &self.all.models);
        let conditions = names(own.map(|own| &own.conditions), &self.all.conditions);
        let mut rows = Vec::new();
        for model in &models {
            for condition in &conditions {
                let mut row = Row::new(RowRole::Planned, Place::line(promise.line));
                for (name, value) in [(key::MODEL, model), (key::CONDITION, condition)] {
                    value.iter().for_each(|value| row.factors.set(name, value));
                }
                if let Some(format) = model.as_deref().and_then(known::quantization) {
                    row.factors.set(key::QUANTIZATION, format);
                }
                let statistic = promise.named.statistic.unwrap_or(Statistic::Value);
                let unit = promise
                    .named
                    .unit
                    .clone()
                    .unwrap_or_else(|| natural_unit(promise.named.quantity));
                let figure = Figure::new(promise.named.quantity, statistic, f64::NAN, unit);
                row.figures.push(figure);
                rows.push(row);
            }
        }
        let mut part = bare_part(promise.line, rows);
        part.kind = PartKind::Serving;
        part.headings = promise.path.clone();
        part.factors = promise.factors.clone();
        part
    }
}

/// The names that a line of a legend lists; absent for any other line.
fn legend(line: &str) -> Option<Vec<String>> {
    let line: String = line.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).collect();
    let line = line.trim();
    let squares =
        |c: char| matches!(c, '■' | '□' | '●' | '○' | '▪' | '▫' | '◆' | '▲' | '⬛' | '⬜' | '▬');
    let called = line.strip_prefix("Legend:");
    let mut names: Vec<String> = Vec::new();
    if line.contains(squares) {
        names.extend(line.split(squares).map(clean));
    } else if let Some(list) = called {
        // `Legend: A (hatched), B (solid). Models: C 3.1, D.`
        for group in list.split(". ") {
            let group = group.split_once(": ").map_or(group, |(_, names)| names);
            names.extend(group.trim_end_matches('.').split(',').map(clean));
        }
    } else {
        let columns: Vec<String> =
            line.split("  ").map(clean).filter(|name| !name.is_empty()).collect();
        let models = columns.len() > 1 && columns.iter().all(|name| known::is_model(name));
        if !models && !is_pair(&columns) {
            return None;
        }
        names = columns;
    }
    names.retain(|name| !name.is_empty());
    let fine = (2..=NAMES_MAX).contains(&names.len()) && names.iter().all(|name| name.len() <= 40);
    fine.then_some(names)
}

/// A name without how it is drawn.
fn clean(name: &str) -> String {
    let name = name.trim();
    let drawn = [
        "hatched", "solid", "dashed", "dotted", "striped", "blue", "orange", "red", "green",
        "grey", "gray",
    ];
    match name.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (")) {
        Some((name, how)) if drawn.contains(&how.to_lowercase().as_str()) => name.trim().to_owned(),
        _ => name.to_owned(),
    }
}

/// `X` and `No X`, `with X` and `without X`, `X on` and `X off`.
fn is_pair(names: &[String]) -> bool {
    let [a, b] = names else { return false };
    let bare = |name: &str| {
        let name = name.to_lowercase();
        let name = ["no ", "without ", "with "]
            .iter()
            .find_map(|word| name.strip_prefix(word).map(str::to_owned))
            .unwrap_or(name);
        [" on", " off", " enabled", " disabled"]
            .iter()
            .find_map(|word| name.strip_suffix(word).map(str::to_owned))
            .unwrap_or(name)
    };
    a != b && bare(a) == bare(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn legends_of_every_kind() {
        for (line, expected) in [
            ("■ TDX ■ No TDX", "TDX|No TDX"),
            (
                "Legend: On (hatched), Off (solid). Models: Gemma 2 9B, Qwen 7B.",
                "On|Off|Gemma 2 9B|Qwen 7B",
            ),
            ("Gemma 2 9B   Qwen 2.5 7B", "Gemma 2 9B|Qwen 2.5 7B"),
            ("with cache \u{a0} without cache", "with cache|without cache"),
        ] {
            assert_eq!(legend(line).map(|names| names.join("|")).as_deref(), Some(expected));
        }
        for line in ["Just a sentence about it.", "one  two", "■ alone", ""] {
            assert_eq!(legend(line), None, "{line}");
        }
    }

    #[test]
    fn headings_times_models_times_conditions() {
        let mut planned = Planned::default();
        for (line, users) in [(1, "8"), (5, "64")] {
            let path = vec![format!("Chat ({users} users)"), "TTFT (P95)".to_owned()];
            let factors = Factors::default().with(key::CONCURRENCY, users);
            let body = [(line + 1, "■ Gemma 2 9B ■ GEMMA 2 27B"), (line + 2, "■ TDX ■ No TDX")];
            let body = if users == "8" { &body[..] } else { &body[..1] };
            assert!(planned.see(line, &path, &factors, body));
        }
        assert!(!planned.see(
            9,
            &["TTFT".to_owned()],
            &Factors::default(),
            &[(10, "It was 5 ms.")]
        ));
        assert!(!planned.see(9, &["Notes".to_owned()], &Factors::default(), &[]));
        let mut sheet = Sheet::default();
        planned.finish(&mut sheet);
        assert_eq!(sheet.parts.iter().map(|part| part.rows.len()).collect::<Vec<_>>(), [4, 4]);
        let row = &sheet.parts[1].rows[3];
        assert_eq!(row.role, RowRole::Planned);
        assert_eq!(row.figures[0].statistic, Statistic::Percentile(95.0));
        assert_eq!(row.factors.get(key::CONDITION), Some("No TDX"));
        assert!(
            sheet.remarks[0].text.starts_with("8 figures are announced and missing"),
            "{}",
            sheet.remarks[0].text
        );
    }
}
