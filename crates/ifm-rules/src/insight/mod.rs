//! Insights: what results say, in sentences that are computed and never invented.
//!
//! One file per rule, one line in `RULES`, as in the audit. A rule is a pure function of results
//! and the user's questions; it returns sentences with their numbers, how much they matter, and
//! what they rest on. A reason that was not measured is marked as a hypothesis; praise needs a
//! reference. Words of quality and their bounds are in `bands.toml`. Not here: what is wrong with
//! the numbers (`audit`, `warning`), and how a number is written (`ifm-report`).

mod bands;
mod cross_check;
mod delta;
mod grid;
mod rule;
mod scheme;
mod versus;

pub use bands::{Band, Bands, Stretch};
pub use cross_check::output_off;
pub use delta::{Delta, user_speed};
pub use grid::{GRID_STATISTICS, Grid, GridCell, GridRow, GridWorkload, median_change};
pub use ifm_results::sentence::{Meant, Piece, Sentence, holes};
pub use rule::{
    Configuration, DecodeLimit, EngineLimit, Growth, Place, configurations, decode_limit,
    efficiency_curves, growth, is_per_gpu, itl_limits, knee_at, setup_of, step_limit, step_users,
    told_by, user_speed_curves,
};
pub use scheme::{Scheme, Stage};
pub use versus::{CENTER, LoadAxis, Matched, OUTPUT, Party, Versus, is_burst};

use crate::audit::Spot;
use ifm_compare::comparison::ResultsEvidence;
use ifm_compare::comparison::pairs_of_results::NO_EVIDENCE;
use ifm_compare::matrix::RankBy;
use ifm_core::order::Order as _;
use ifm_core::spec::SloSpec;
use ifm_results::Results;
use ifm_results::say;

ifm_core::vocabulary! {
    /// How much an insight matters, and which way.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Tone {
        /// It is bad for the user of the server.
        Bad = "bad",
        /// It deserves care.
        Warn = "warn",
        /// It is good.
        Good = "good",
        /// It is so.
        Note = "note",
    }
}

/// What an insight is about: the chart or section that it appears under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Topic {
    /// The whole.
    Summary,
    /// Speed for one user.
    DecodeSpeed,
    /// Gaps between tokens.
    Itl,
    /// Time to first token.
    Ttft,
    /// Speed of many against that of one.
    Scaling,
    /// Range over scenarios.
    Range,
    /// Output of the whole server.
    Throughput,
    /// Output against speed.
    Pareto,
    /// How many users fit.
    Capacity,
    /// What it costs.
    Cost,
    /// A condition on and off.
    Condition,
    /// Base against variant.
    Variant,
    /// Ranks of a configuration.
    Ranking,
    /// Power.
    Power,
    /// Kernels.
    Kernel,
}

/// One thing that a rule says.
#[derive(Debug, Clone, PartialEq)]
pub struct Insight {
    /// Id of the rule.
    pub rule: &'static str,
    /// What it is about.
    pub topic: Topic,
    /// How much it matters.
    pub tone: Tone,
    /// The sentence.
    pub sentence: Sentence,
    /// Whether it is a possible reason that was not measured.
    pub is_hypothesis: bool,
    /// Size of the effect, for the order among insights of the same tone; 0 without an effect size.
    pub weight: f64,
    /// Which part of the report it belongs to, where the topic alone does not say: the name of a
    /// configuration or table.
    pub of: Option<String>,
    /// Places that it rests on.
    pub spots: Vec<Spot>,
}

impl Insight {
    /// An insight of a rule.
    pub fn new(rule: &'static str, topic: Topic, tone: Tone, sentence: Sentence) -> Insight {
        Insight {
            rule,
            topic,
            tone,
            sentence,
            is_hypothesis: false,
            weight: 0.0,
            of: None,
            spots: Vec::new(),
        }
    }

    /// With the size of its effect.
    #[must_use]
    pub fn weighing(mut self, weight: f64) -> Insight {
        self.weight = weight.abs();
        self
    }

    /// Belonging to one configuration or table.
    #[must_use]
    pub fn of(mut self, of: impl Into<String>) -> Insight {
        self.of = Some(of.into());
        self
    }

    /// Marks a possible reason that was not measured.
    #[must_use]
    pub fn hypothesis(mut self) -> Insight {
        self.is_hypothesis = true;
        self
    }
}

/// What a report is asked about results.
#[derive(Debug, Clone)]
pub struct Question<'a> {
    /// The measurements.
    pub results: &'a Results,
    /// What differences between them rest on.
    pub evidence: &'a ResultsEvidence,
    /// The latency target; empty if none was given.
    pub slo: SloSpec,
    /// Price of the whole server, US dollars per hour.
    pub usd_per_hour: Option<f64>,
    /// Factor whose values are compared; found by itself where it is not given.
    pub compare_by: Option<String>,
    /// The value of that factor that the others are compared with.
    pub baseline: Option<String>,
    /// The machine, as `ifm-roofline` reads its name; as the measurements say where it is not given.
    pub gpu: Option<String>,
    /// The model, likewise.
    pub model: Option<String>,
    /// People to be served, of whom the report says how many servers they need.
    pub people: Option<f64>,
    /// How things are ranked.
    pub ranks: Ranks,
}

/// How a report ranks things, and how it writes that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ranks {
    /// What by; what the configuration asks for where it is not given.
    pub by: Option<RankBy>,
    /// Whether things share a place where no difference is shown; otherwise each has its own, by
    /// its mean alone.
    pub are_shared: bool,
    /// Whether the first three places are medals.
    pub has_medals: bool,
}

impl Default for Ranks {
    fn default() -> Self {
        Ranks { by: None, are_shared: true, has_medals: true }
    }
}

impl<'a> Question<'a> {
    /// About results, with nothing else known.
    pub fn new(results: &'a Results) -> Question<'a> {
        Question {
            results,
            evidence: &NO_EVIDENCE,
            slo: SloSpec::none(),
            usd_per_hour: None,
            compare_by: None,
            baseline: None,
            gpu: None,
            model: None,
            people: None,
            ranks: Ranks::default(),
        }
    }
}

/// A rule: what it looks for, and how.
pub struct InsightRule {
    /// Id, stable over versions.
    pub id: &'static str,
    /// What it says, as a short statement.
    pub title: &'static str,
    look: fn(&Question) -> Vec<Insight>,
}

/// What every rule says: the worst first, then the largest effect, then in the order of the rules.
pub fn insights(question: &Question) -> Vec<Insight> {
    let is_mixed = question.results.is_mixed();
    let measured = question.results.without_predictions();
    let look = |rule: &&InsightRule| {
        let is_of = |ids: &[&str]| ids.contains(&rule.id);
        // A prediction wins nothing against a measurement, and follows from what these rules ask.
        if !(is_of(&rule::OF_MEASURED) || is_mixed && is_of(&rule::OF_WINNERS)) {
            return (rule.look)(question);
        }
        let mut found = (rule.look)(&Question { results: &measured, ..question.clone() });
        for insight in found.iter_mut().filter(|_| is_mixed) {
            insight.sentence = say!("Measured: {}"; std::mem::take(&mut insight.sentence));
        }
        found
    };
    let mut all: Vec<Insight> = rule::RULES.iter().flat_map(look).collect();
    all.order_by(|a, b| a.tone.cmp(&b.tone).then(b.weight.total_cmp(&a.weight)));
    all
}

/// Ids and titles of all rules, in their order.
pub fn rules() -> impl Iterator<Item = (&'static str, &'static str)> {
    rule::RULES.iter().map(|rule| (rule.id, rule.title))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    /// Words that would praise without saying against what.
    const PRAISE: [&str; 14] = [
        "excellent",
        "great",
        "good",
        "impressive",
        "perfect",
        "outstanding",
        "superb",
        "healthy",
        "smooth",
        "fluid",
        "responsive",
        "efficient",
        "top-tier",
        "strong",
    ];

    /// Words of praise in what a source file would print: in its strings, before its tests.
    fn praise_in(source: &str) -> Vec<&'static str> {
        let code = source.split("#[cfg(test)]").next().unwrap_or_default();
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        let strings: String = lines
            .flat_map(|line| line.split('"').skip(1).step_by(2))
            .map(|text| format!(" {} ", text.to_lowercase()))
            .collect();
        let words: BTreeSet<&str> =
            strings.split(|c: char| !c.is_alphanumeric() && c != '-').collect();
        PRAISE.into_iter().filter(|word| words.contains(word)).collect()
    }

    #[test]
    fn rules_praise_by_the_table_alone() {
        let rules = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/insight/rule");
        let mut seen = 0;
        for entry in std::fs::read_dir(rules).expect("the folder of rules") {
            let path = entry.expect("a file").path();
            let is_test = path.to_string_lossy().ends_with("tests.rs");
            let source = std::fs::read_to_string(&path).expect("source");
            assert!(is_test || praise_in(&source).is_empty(), "{path:?}: {:?}", praise_in(&source));
            seen += 1;
        }
        assert!(seen > super::rules().count() / 2, "{seen} files");
        assert_eq!(praise_in("text(\"an excellent ITL\")"), ["excellent"]);
    }

    #[test]
    fn every_word_of_quality_is_documented() {
        let page = include_str!("../../../../docs/concepts/insights.md");
        let praise = page.split("## Praise").nth(1).expect("the chapter");
        let praise = praise.split("\n## ").next().unwrap_or_default();
        let bands = super::Bands::get();
        for band in [
            &bands.itl_ms,
            &bands.ttft_ms,
            &bands.efficiency,
            &bands.output_growth,
            &bands.speed_spread,
            &bands.overhead,
            &bands.cv,
        ] {
            let [good, ..] = band.words();
            assert!(
                praise.contains(&format!("| {good}")),
                "{good} is not among the words of praise"
            );
            assert!(!band.source.is_empty());
        }
    }

    #[test]
    fn every_rule_has_an_id_of_its_own_and_a_row_in_the_documentation() {
        let page = include_str!("../../../../docs/concepts/insights.md");
        let mut ids = BTreeSet::new();
        for (id, title) in super::rules() {
            assert!(ids.insert(id), "{id} is used twice");
            assert!(page.contains(&format!("| `{id}` | {title} |")), "{id}: {title}");
        }
    }
}
