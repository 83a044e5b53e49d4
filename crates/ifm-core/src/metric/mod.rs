//! The metrics of every result: what a request, a level, an engine, a kernel or a document has.
//!
//! One row of the table each: its word on the command line, its names in tables, sentences, JSON and
//! stored documents, its unit and which way is better. What is not here: how it is computed
//! (`ifm-metrics`), and what other tools call it (`ifm-interop`).

mod name;
mod row;
pub mod stored;
mod table;

pub use name::Name;
pub use row::{Direction, MetricUnit};
pub use table::Metric;

use crate::percentile::other_end;
use row::{GROUPS, Group, Values};
use std::fmt;
use table::ALL;

/// Metrics that count from the start of a request, each with the same from its due time.
const FROM_DUE: [(Metric, Metric); 3] = [
    (Metric::Ttft, Metric::TtftDue),
    (Metric::E2e, Metric::E2eDue),
    (Metric::Ttfa, Metric::TtfaDue),
];

impl Metric {
    /// All metrics that have a word on the command line.
    pub fn all() -> impl Iterator<Item = Metric> + Clone {
        Metric::known().filter(|metric| metric.group() != Group::Stated)
    }

    /// All metrics of the table, those that only documents state among them.
    pub fn known() -> impl Iterator<Item = Metric> + Clone {
        ALL.into_iter()
    }

    /// What a file names in its own words: a metric of the table that no document states by a name of
    /// its own, such as `session`, else something else.
    #[must_use]
    pub fn other(name: impl AsRef<str>) -> Metric {
        let name = name.as_ref();
        let mut known = Metric::known().filter(|metric| !metric.is_stated());
        known.find(|metric| metric.name() == name).unwrap_or_else(|| Metric::Other(Name::new(name)))
    }

    /// The name, where it is none of the table.
    pub fn other_name(self) -> Option<&'static str> {
        match self {
            Metric::Other(name) => Some(name.as_str()),
            _ => None,
        }
    }

    /// The words of all metrics: first metrics with many values per level, then metrics with a single
    /// number, as the help of a flag and a refusal list them.
    pub fn listed() -> [String; 2] {
        [true, false].map(|has_many| {
            let groups = GROUPS.iter().filter_map(|(group, before)| {
                let of_group = Metric::all()
                    .filter(|it| it.group() == *group && it.has_many_values() == has_many);
                let words: Vec<&str> = of_group.map(Metric::word).collect();
                (!words.is_empty()).then(|| format!("{before}{}", words.join(", ")))
            });
            groups.collect::<Vec<_>>().join("; ")
        })
    }

    /// The metric of a word.
    pub fn from_word(word: &str) -> Option<Metric> {
        Metric::all().find(|metric| metric.word() == word)
    }

    /// The word on the command line and in files: `ttft`.
    pub fn word(self) -> &'static str {
        self.row().word
    }

    /// The name in a table: `TTFT`.
    pub fn name(self) -> &'static str {
        self.other_name().unwrap_or(self.row().name)
    }

    /// The name in a sentence: `end-to-end latency`.
    pub fn prose(self) -> &'static str {
        match self {
            Metric::Other(name) => name.as_str(),
            known => known.row().prose.unwrap_or(known.row().name),
        }
    }

    /// The name in a narrow table, at most ten characters: `last byte`.
    pub fn short_name(self) -> &'static str {
        self.row().short.unwrap_or(self.name())
    }

    /// What it is, in a sentence without its unit.
    pub fn definition(self) -> &'static str {
        self.row().about.trim()
    }

    /// The metrics that every request may have values of, in the order of tables.
    pub fn of_requests() -> impl Iterator<Item = Metric> + Clone {
        Metric::all().filter(|metric| metric.row().key.is_some())
    }

    /// The name in JSON, for times in this unit: `ttft_s` in `s`. Absent for a metric that requests do
    /// not have.
    pub fn key(self, unit: &str) -> Option<String> {
        self.row().key.map(|key| key.replace("{}", unit))
    }

    /// Whether it is about tokens in time, which only a streamed answer has.
    pub fn needs_stream(self) -> bool {
        self.row().needs_stream
    }

    /// Whether a complete answer may lack it and yet be as requested.
    pub fn may_be_absent(self) -> bool {
        self.row().may_be_absent
    }

    /// Whether it needs the number of tokens, which may be an estimate.
    pub fn may_be_estimated(self) -> bool {
        self.row().may_be_estimated
    }

    /// Whether a request may have several values: of gaps, or of its sequences.
    pub fn has_several_for_each_request(self) -> bool {
        self.row().has_several
    }

    /// Whether only tables of every metric show it.
    pub fn is_detail(self) -> bool {
        self.row().is_detail
    }

    /// Whether documents state it.
    pub fn is_stated(self) -> bool {
        self.row().stored.is_some()
    }

    /// Whether it has a word on the command line.
    pub fn has_word(self) -> bool {
        self.group() != Group::Stated
    }

    /// Whether only a command that was measured from its start to its end has it. For a server the
    /// duration, and the energy drawn in that time, depend on how long the user chose to measure.
    pub fn is_of_commands(self) -> bool {
        self.group() == Group::Commands
    }

    /// Whether only a server that drafts has it.
    pub fn is_of_drafts(self) -> bool {
        self.group() == Group::Drafts
    }

    /// Whether only requests with images, recordings or videos have it.
    pub fn is_of_media(self) -> bool {
        matches!(self, Metric::ImageRate | Metric::PixelRate | Metric::LevelRtfx)
    }

    fn group(self) -> Group {
        self.row().group
    }

    /// Whether it is of whole sessions, and not of single requests.
    pub fn is_of_sessions(self) -> bool {
        self.group() == Group::Sessions
    }

    /// What its values are counted in.
    pub fn unit(self) -> MetricUnit {
        self.row().kind.unit
    }

    /// The percentile that is as far in the tail of bad values as `p`, 0 to 100, is in that of a time:
    /// `p` itself where less is better, else `100 - p`.
    pub fn slow_tail(self, p: f64) -> f64 {
        match self.direction() {
            Direction::Lower | Direction::Neither => p,
            Direction::Higher => other_end(p),
        }
    }

    /// Which way is better.
    pub fn direction(self) -> Direction {
        self.row().kind.direction
    }

    /// Whether a level has many values of it, so that it needs a percentile or a mean.
    pub fn has_many_values(self) -> bool {
        !matches!(self.row().kind.values, Values::One | Values::OneBounded)
    }

    /// Whether a latency target can bound it as it is: a time, a ratio of times, or a share. A speed is
    /// bounded by the time that it leaves, a share that is to be large by the rest.
    pub fn is_bounded_by_targets(self) -> bool {
        matches!(self.row().kind.values, Values::Bounded | Values::OneBounded)
    }

    /// The same from the due time, where requests have one and the metric counts from their start.
    #[must_use]
    pub fn from_due(self) -> Metric {
        FROM_DUE.iter().find(|(from_start, _)| *from_start == self).map_or(self, |(_, due)| *due)
    }

    /// Whether it counts from the due time.
    pub fn is_from_due(self) -> bool {
        FROM_DUE.iter().any(|(_, due)| *due == self)
    }
}

/// The name in a sentence.
impl fmt::Display for Metric {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.prose())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_stored_names_read_back() {
        for metric in Metric::all() {
            assert_eq!(Metric::from_word(metric.word()), Some(metric));
        }
        let mut stored = std::collections::BTreeSet::new();
        for metric in Metric::known() {
            assert!(metric.definition().ends_with('.'), "{metric:?}");
            assert!(metric.is_stated() || Metric::other(metric.name()) == metric, "{metric:?}");
            assert!(stored.insert(metric.stored()), "{metric:?}");
            let known = metric.is_stated().then_some(metric);
            assert_eq!(Metric::from_stored(metric.stored()), known, "{metric:?}");
        }
        assert_eq!(Metric::from_word("power"), None, "only documents state it");
    }

    /// Documents of earlier versions store these.
    #[test]
    fn figures_keep_their_stored_names() {
        for (metric, stored) in [
            (Metric::Ttfat, "\"ttfot\""),
            (Metric::UserSpeed, "\"user_rate\""),
            (Metric::OutputRate, "\"output_rate\""),
            (Metric::E2ePerToken, "\"normalized_latency\""),
            (Metric::other("loss"), "{\"other\":\"loss\"}"),
            (Metric::Session, "{\"other\":\"session\"}"),
            (Metric::SessionRate, "{\"other\":\"sessions/h\"}"),
        ] {
            assert_eq!(serde_json::to_string(&metric).expect("a name"), stored);
            assert_eq!(serde_json::from_str::<Metric>(stored).expect("it is known"), metric);
        }
        assert!(serde_json::from_str::<Metric>("\"out_tok_s\"").is_err());
    }

    #[test]
    fn keys_of_requests_have_their_unit_and_narrow_names_fit() {
        let mut seen = std::collections::BTreeSet::new();
        for metric in Metric::of_requests() {
            assert!(metric.short_name().chars().count() <= 10, "{metric:?}");
            let key = metric.key("s").expect("of requests");
            assert_eq!(
                key.contains("_s"),
                matches!(metric.unit(), MetricUnit::Ns | MetricUnit::TokPerS),
                "{key}"
            );
            assert!(seen.insert(key), "{metric:?}");
        }
        assert_eq!(Metric::TtftDue.key("ms").as_deref(), Some("ttft_ms_from_due"));
    }

    #[test]
    fn every_metric_is_listed_once() {
        let [many, one] = Metric::listed();
        let all = format!("{many}; {one}").replace([';', ','], " ");
        for metric in Metric::all() {
            let times = all.split_whitespace().filter(|word| *word == metric.word()).count();
            assert_eq!(times, 1, "{metric:?}");
        }
        assert!(many.contains("; of media ttft_acked, rtfx, rtf_heard, ttfa"), "{many}");
        assert!(one.contains("; of media level_rtfx, images_s, mpixels_s; of conv"), "{one}");
    }
}
