//! What holds for all of a run or document: the facts that sides are compared by before their
//! numbers, and by which runs are recognized as repeats.
//!
//! Not here: two sides and the facts of documents, see `comparison` of `ifm-compare`, and
//! which runs are repeats (`identity`).

use ifm_core::sheet::key;
use ifm_core::{Manifest, Prediction};
use ifm_metrics::level::LevelSummary;
use ifm_metrics::machine::MACHINE;
use std::collections::BTreeMap;

ifm_core::vocabulary! {
    /// What a difference means for the comparison.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum DifferenceKind {
        /// None.
        Same = "same",
        /// What is being compared, or chance that is meant to differ.
        Expected = "expected",
        /// It may explain a difference of the numbers.
        Warning = "warning",
        /// The sides answer different questions.
        Unlike = "unlike",
    }
}

/// What holds for a whole run or document, and both sides should share, or not.
#[derive(Debug, Clone)]
pub struct Fact {
    pub what: String,
    /// What it means if it differs.
    pub kind: DifferenceKind,
    pub value: Option<String>,
    /// The setting of a document that it is.
    pub setting: Option<String>,
    /// Whether it is a fact of the machine, which a gate by default requires to be equal.
    pub is_of_machine: bool,
    /// Whether it is one of how a run was measured, which a prediction does not have.
    pub is_of_measuring: bool,
}

impl Fact {
    pub fn new(what: String, kind: DifferenceKind, value: Option<String>) -> Fact {
        let (is_of_machine, is_of_measuring) = (false, false);
        Fact { what, kind, value, setting: None, is_of_machine, is_of_measuring }
    }

    /// Of a setting, which is not a fact where it distinguishes levels.
    pub fn of_setting(self, name: &str) -> Fact {
        Fact { setting: Some(name.to_owned()), ..self }
    }
}

/// A fact of a run of ours.
struct OwnFact {
    what: &'static str,
    kind: DifferenceKind,
    of: fn(&Manifest) -> Option<String>,
    is_of_measuring: bool,
    /// Whether repeats of one measurement may differ in it: the seed, and the client.
    is_free: bool,
}

const fn expected(what: &'static str, of: fn(&Manifest) -> Option<String>) -> OwnFact {
    OwnFact { what, kind: DifferenceKind::Expected, of, is_of_measuring: false, is_free: false }
}

const fn warning(what: &'static str, of: fn(&Manifest) -> Option<String>) -> OwnFact {
    OwnFact { what, kind: DifferenceKind::Warning, of, is_of_measuring: false, is_free: false }
}

const fn unlike(what: &'static str, of: fn(&Manifest) -> Option<String>) -> OwnFact {
    OwnFact { what, kind: DifferenceKind::Unlike, of, is_of_measuring: false, is_free: false }
}

/// How it was measured.
const fn measuring(what: &'static str, of: fn(&Manifest) -> Option<String>) -> OwnFact {
    OwnFact { is_of_measuring: true, ..warning(what, of) }
}

/// How it was measured, where a difference leaves nothing to compare. A prediction has no API.
const fn unlike_measuring(what: &'static str, of: fn(&Manifest) -> Option<String>) -> OwnFact {
    OwnFact { is_of_measuring: true, ..unlike(what, of) }
}

/// The same, where repeats of one measurement may differ in it.
const fn free(fact: OwnFact) -> OwnFact {
    OwnFact { is_free: true, ..fact }
}

/// Every fact except the facts of the machine, in the order in which reports list them.
const FACTS: [OwnFact; 28] = [
    warning(NUMBERS, |run| {
        let word = if run.predicted.is_some() { key::PREDICTED } else { key::MEASURED };
        Some(word.to_owned())
    }),
    expected("predicted from", |run| run.predicted.as_ref().map(Prediction::words)),
    expected("model", |run| Some(run.spec.target.model.clone())),
    expected("server", server),
    expected(ADDRESS, |run| Some(run.spec.target.address().into_owned())),
    unlike_measuring("API", |run| Some(run.spec.target.api_words())),
    unlike_measuring("streaming", |run| Some(yes(run.spec.target.stream))),
    unlike_measuring("a connection for each request", |run| {
        Some(yes(run.spec.target.fresh_connections))
    }),
    unlike("workload", |run| Some(run.spec.workload.kind.clone())),
    unlike("structured answers", |run| {
        let forms = &run.spec.workload.forms;
        let share = |share: f64| (share * 1000.0).round() / 10.0;
        let words = forms.iter().map(|form| format!("{} % {}", share(form.share), form.word));
        (!forms.is_empty()).then(|| words.collect::<Vec<_>>().join(", "))
    }),
    unlike("media", media),
    unlike("shared prefix", |run| {
        Some(format!("{} tokens", run.spec.workload.shared_prefix_tokens))
    }),
    unlike("end-of-text token ignored", |run| Some(yes(run.spec.workload.ignore_eos))),
    warning("temperature", |run| {
        let temperature = run.spec.workload.temperature;
        Some(temperature.map_or("not sent".to_owned(), |value| value.to_string()))
    }),
    warning("tokenizer of the prompts", |run| Some(run.spec.workload.tokenizer.clone())),
    warning("SHA-256 of that tokenizer", |run| {
        let sum = &run.spec.workload.tokenizer_sha256;
        Some(sum.chars().take(12).collect())
    }),
    warning("how prompt lengths are counted", |run| {
        let counter = run.spec.workload.prompt_lengths.as_ref().map(|lengths| lengths.counted_by);
        Some(match counter {
            Some(ifm_core::spec::LengthCounter::ServerCalibrated) => "the server".to_owned(),
            Some(ifm_core::spec::LengthCounter::Tokenizer) | None => "the tokenizer".to_owned(),
        })
    }),
    measuring("who applies the chat template", |run| {
        let by = run.workload.as_ref()?.template_by;
        Some(match by {
            ifm_core::manifest::TemplatePlace::Server => "the server".to_owned(),
            ifm_core::manifest::TemplatePlace::None => "not applied".to_owned(),
        })
    }),
    free(expected(SEED, |run| Some(run.spec.workload.seed.to_string()))),
    warning("extra headers", |run| map_words(&run.spec.target.headers)),
    warning("extra fields of the body", |run| {
        let fields = &run.spec.target.extra_body;
        let fields = fields.iter().map(|(name, value)| format!("{name}={value}"));
        list_words(fields.collect())
    }),
    measuring(ACCOUNT, |run| map_words(&run.server.notes)),
    warning("longest context", |run| {
        run.server.context_tokens.map(|tokens| format!("{tokens} tokens"))
    }),
    free(measuring("time limits", limits)),
    free(measuring("client's processor", |run| {
        let host = &run.host;
        Some(format!("{} x{}", host.cpu.as_deref().unwrap_or("unknown"), host.cpus))
    })),
    free(measuring("client's system", |run| Some(run.host.os.clone()))),
    free(measuring("kernel receive stamps", |run| Some(yes(run.host.kernel_stamps)))),
    free(measuring("version of the client", |run| {
        Some(format!("{} {}", run.tool.name, run.tool.version))
    })),
];

/// A fact of a run by name.
pub(crate) type NamedFact = (&'static str, Option<String>);

/// What repeats of one measurement share: the server with its own account, its machine, and what was
/// asked of it, without the load.
pub(crate) fn setup_of(manifest: &Manifest) -> Vec<NamedFact> {
    let own = FACTS.iter().filter(|fact| !fact.is_free);
    let own = own.map(|fact| (fact.what, (fact.of)(manifest)));
    let machine = MACHINE.iter().filter(|fact| fact.is_shared);
    let facts = manifest.facts.as_ref();
    own.chain(machine.map(|fact| (fact.what, facts.and_then(|told| fact.value(told))))).collect()
}

/// The items of a server's own account by name, from the words of the fact [`ACCOUNT`].
pub fn account_items(words: &str) -> BTreeMap<String, String> {
    let mut items: Vec<(String, String)> = Vec::new();
    for item in words.split(", ") {
        match (item.split_once('='), items.last_mut()) {
            (Some((name, value)), _) => items.push((name.to_owned(), value.to_owned())),
            // A value with a comma in it.
            (None, Some((_, value))) => *value = format!("{value}, {item}"),
            (None, None) => {}
        }
    }
    items.into_iter().collect()
}

/// The name of the fact that a tag of a run is.
pub fn tag_fact(tag: &str) -> String {
    format!("tag {tag}")
}

/// What holds for all of a run of ours.
pub fn facts_of(manifest: &Manifest, is_inter_event: bool, is_estimated: bool) -> Vec<Fact> {
    let of = |fact: &OwnFact| Fact {
        is_of_measuring: fact.is_of_measuring,
        ..Fact::new(fact.what.to_owned(), fact.kind, (fact.of)(manifest))
    };
    let has = |fact: &&OwnFact| !fact.is_of_measuring || manifest.predicted.is_none();
    let mut facts: Vec<Fact> = FACTS.iter().filter(has).map(of).collect();
    for (what, value) in [
        (GAPS, if is_inter_event { "events" } else { "tokens" }),
        (TOKENS, if is_estimated { "estimated" } else { "counted" }),
    ] {
        facts.push(Fact::new(what.to_owned(), DifferenceKind::Warning, Some(value.to_owned())));
    }
    let machine = manifest.facts.iter().flat_map(|told| {
        MACHINE.iter().filter(|fact| fact.is_shared).map(|fact| Fact {
            is_of_machine: true,
            ..Fact::new(fact.what.to_owned(), DifferenceKind::Warning, fact.value(told))
        })
    });
    facts.extend(machine);
    // Runs are compared by the tags that the user set.
    facts.extend(manifest.tags.iter().map(|(name, value)| {
        Fact::new(tag_fact(name), DifferenceKind::Expected, Some(value.clone()))
    }));
    facts
}

/// Whether numbers were measured or computed.
pub const NUMBERS: &str = "where the numbers come from";
const GAPS: &str = "what gaps are between";
const TOKENS: &str = "tokens";
/// Whether the server drafts.
pub const DRAFTS: &str = "speculative decoding";
pub const DRAFTS_ON: &str = "on";
pub const DRAFTS_OFF: &str = "off";
/// The seed, by which prompts may differ.
pub const SEED: &str = "seed of the prompts";
/// The address of the server.
pub(crate) const ADDRESS: &str = "address";
/// What the server reports about itself: a list; comparisons show the differences.
pub const ACCOUNT: &str = "settings reported by the server";

/// Servers whose metrics page counts drafts wherever there are any, by how the source of their
/// counters begins: one without the counters drafts nothing.
const COUNTING: [&str; 4] = ["vLLM ", "SGLang ", "llama.cpp ", "inferometer "];

/// Whether the server drafts, by what its answers and counters tell of the levels; absent where they do
/// not say.
pub fn drafts(levels: &[LevelSummary]) -> Option<Fact> {
    let counts = |level: &LevelSummary| {
        let server = level.server.as_ref().filter(|server| !server.began_anew)?;
        COUNTING.iter().any(|name| server.source.starts_with(name)).then_some(DRAFTS_OFF)
    };
    let is_on = levels.iter().any(|level| level.speculation.is_some());
    let word = if is_on { Some(DRAFTS_ON) } else { levels.iter().find_map(counts) };
    let fact = |word: &str| Fact {
        is_of_measuring: true,
        ..Fact::new(DRAFTS.to_owned(), DifferenceKind::Expected, Some(word.to_owned()))
    };
    word.map(fact)
}

/// Requested mean lengths: of what was sent if known, else as specified.
pub fn asked_of(manifest: &Manifest) -> [Option<f64>; 2] {
    let (sent, spec) = (manifest.workload.as_ref(), &manifest.spec.workload);
    [
        sent.and_then(|sent| mean(&sent.prompt_tokens)).or(spec.prompt_tokens.map(f64::from)),
        sent.and_then(|sent| mean(&sent.output_tokens)).or(spec.output_tokens.map(f64::from)),
    ]
}

/// The item of an account that says the most to a person: a precision before other words, words before
/// numbers, short values before long ones.
pub fn most_telling(items: impl IntoIterator<Item = (String, String)>) -> Option<(String, String)> {
    items.into_iter().min_by_key(|(name, value)| {
        let is_word = value.chars().any(|c| c.is_ascii_alphabetic());
        (!name.contains("dtype"), !is_word, value.chars().count())
    })
}

fn yes(is: bool) -> String {
    if is { "yes" } else { "no" }.to_owned()
}

fn server(run: &Manifest) -> Option<String> {
    let server = &run.server;
    let kind = server.kind.as_deref()?;
    Some(format!("{kind} {}", server.version.as_deref().unwrap_or("")).trim().to_owned())
}

/// What the workload says of its images, recordings and videos; a seed makes no other load of them.
fn media(run: &Manifest) -> Option<String> {
    let told = run.workload.as_ref()?.facts.get("media")?;
    let Some(told) = told.as_object() else { return Some(told.to_string()) };
    let is_law = |name: &str| !name.contains("seed") && !name.contains("sha256");
    let words = told.iter().filter(|(name, _)| is_law(name)).map(|(name, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("{} {value}", name.replace('_', " "))
    });
    list_words(words.collect())
}

fn map_words(map: &BTreeMap<String, String>) -> Option<String> {
    list_words(map.iter().map(|(name, value)| format!("{name}={value}")).collect())
}

fn list_words(words: Vec<String>) -> Option<String> {
    Some(if words.is_empty() { "none".to_owned() } else { words.join(", ") })
}

fn limits(run: &Manifest) -> Option<String> {
    let limits = &run.spec.limits;
    let each = [
        ("connect", limits.connect_s),
        ("first token", limits.first_token_s),
        ("silence", limits.idle_s),
        ("total", limits.total_s),
    ];
    let set = each.iter().filter_map(|(name, s)| s.map(|s| format!("{name} {s} s")));
    list_words(set.collect())
}

fn mean(lengths: &[(u32, u64)]) -> Option<f64> {
    let requests: u64 = lengths.iter().map(|(_, n)| n).sum();
    let tokens: f64 = lengths.iter().map(|(length, n)| f64::from(*length) * *n as f64).sum();
    (requests > 0).then(|| tokens / requests as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_core::series::Signal as Q;
    use ifm_metrics::testing::{closed_loop, run, telemetry};

    #[test]
    fn only_a_server_that_counts_drafts_can_say_that_it_makes_none() {
        let told = |source: &str, metric, by: f64| {
            let mut run = run(&[2], closed_loop((0, 0), (2, 30), 5_000.0, (100.0, 10.0, 11)));
            run.series = vec![telemetry(metric, source, (0.0, 100.0), &|at_s| by * at_s)];
            drafts(&ifm_metrics::summarize(&run).levels).and_then(|fact| fact.value)
        };
        assert_eq!(told("vLLM /metrics", Q::ServerRequests, 2.0).as_deref(), Some(DRAFTS_OFF));
        assert_eq!(told("vLLM /metrics", Q::ServerDrafts, 2.0).as_deref(), Some(DRAFTS_ON));
        assert_eq!(told("TGI /metrics", Q::ServerRequests, 2.0), None);
    }
}
