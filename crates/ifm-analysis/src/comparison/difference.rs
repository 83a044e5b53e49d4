//! What two sides differ in besides their numbers: server, workload, client.
//!
//! A difference is expected (it is what is being compared), deserves a warning, or makes the sides
//! unlike, so that their numbers do not answer one question. What is not here: the numbers.

use super::side::{Lengths, Member, Side, is_same, load_words};
use ifm_core::{HealthVerdict, RunState};

/// Mean lengths that differ by a larger share than this make sides unlike.
const LENGTH_SHARE_MAX: f64 = 0.02;

/// What a difference means for the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DifferenceKind {
    /// None.
    Same,
    /// What is being compared, or chance that is meant to differ.
    Expected,
    /// It may explain a difference of the numbers.
    Warning,
    /// The sides answer different questions.
    Unlike,
}

impl DifferenceKind {
    /// The stored word.
    pub fn word(self) -> &'static str {
        match self {
            DifferenceKind::Same => "same",
            DifferenceKind::Expected => "expected",
            DifferenceKind::Warning => "warning",
            DifferenceKind::Unlike => "unlike",
        }
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// What it is.
    pub what: String,
    /// What it means.
    pub kind: DifferenceKind,
    /// What it is on the first side; absent where it is not known.
    pub a: Option<String>,
    /// What it is on the second side.
    pub b: Option<String>,
}

/// A fact of a run that both sides should share, or not.
struct Fact {
    what: &'static str,
    /// What it means if it differs.
    kind: DifferenceKind,
    of: fn(&Member) -> Option<String>,
}

const fn expected(what: &'static str, of: fn(&Member) -> Option<String>) -> Fact {
    Fact { what, kind: DifferenceKind::Expected, of }
}

const fn warning(what: &'static str, of: fn(&Member) -> Option<String>) -> Fact {
    Fact { what, kind: DifferenceKind::Warning, of }
}

const fn unlike(what: &'static str, of: fn(&Member) -> Option<String>) -> Fact {
    Fact { what, kind: DifferenceKind::Unlike, of }
}

/// Every fact, in the order in which reports list them.
const FACTS: [Fact; 26] = [
    expected("model", |run| Some(run.manifest.spec.target.model.clone())),
    expected("server", server),
    expected("address", |run| Some(run.manifest.spec.target.base_url.clone())),
    unlike("API", |run| Some(run.manifest.spec.target.api.word().to_owned())),
    unlike("streaming", |run| Some(yes(run.manifest.spec.target.stream))),
    unlike("a connection for each request", |run| {
        Some(yes(run.manifest.spec.target.fresh_connections))
    }),
    unlike("workload", |run| Some(run.manifest.spec.workload.kind.clone())),
    unlike("shared prefix", |run| {
        Some(format!("{} tokens", run.manifest.spec.workload.shared_prefix_tokens))
    }),
    unlike("end-of-text token ignored", |run| Some(yes(run.manifest.spec.workload.ignore_eos))),
    warning("temperature", |run| {
        let temperature = run.manifest.spec.workload.temperature;
        Some(temperature.map_or("not sent".to_owned(), |value| value.to_string()))
    }),
    warning("tokenizer of the prompts", |run| Some(run.manifest.spec.workload.tokenizer.clone())),
    warning("SHA-256 of that tokenizer", |run| {
        let sum = &run.manifest.spec.workload.tokenizer_sha256;
        Some(sum.chars().take(12).collect())
    }),
    warning("who counts prompt lengths", |run| {
        let counter = run.manifest.spec.workload.prompt_lengths.map(|lengths| lengths.counted_by);
        Some(match counter {
            Some(ifm_core::spec::LengthCounter::ServerCalibrated) => "the server".to_owned(),
            Some(ifm_core::spec::LengthCounter::Tokenizer) | None => "the tokenizer".to_owned(),
        })
    }),
    warning("who applies the chat template", |run| {
        let by = run.manifest.workload.as_ref()?.template_by;
        Some(match by {
            ifm_core::manifest::TemplatePlace::Server => "the server".to_owned(),
            ifm_core::manifest::TemplatePlace::Nobody => "nobody".to_owned(),
        })
    }),
    expected("seed of the prompts", |run| Some(run.manifest.spec.workload.seed.to_string())),
    warning("extra headers", |run| map_words(&run.manifest.spec.target.headers)),
    warning("extra fields of the body", |run| {
        let fields = &run.manifest.spec.target.extra_body;
        let fields = fields.iter().map(|(name, value)| format!("{name}={value}"));
        list_words(fields.collect())
    }),
    warning("server's own account", |run| map_words(&run.manifest.server.notes)),
    warning("longest context", |run| {
        run.manifest.server.context_tokens.map(|tokens| format!("{tokens} tokens"))
    }),
    warning("time limits", limits),
    warning("client's processor", |run| {
        let host = &run.manifest.host;
        Some(format!("{} x{}", host.cpu.as_deref().unwrap_or("unknown"), host.cpus))
    }),
    warning("client's system", |run| Some(run.manifest.host.os.clone())),
    warning("kernel receive stamps", |run| Some(yes(run.manifest.host.kernel_stamps))),
    warning("version of the client", |run| {
        Some(format!("{} {}", run.manifest.tool.name, run.manifest.tool.version))
    }),
    warning("what gaps are between", |run| {
        Some(if run.is_inter_event { "events" } else { "tokens" }.to_owned())
    }),
    warning("tokens", |run| {
        Some(if run.is_estimated { "estimated" } else { "counted" }.to_owned())
    }),
];

fn yes(is: bool) -> String {
    if is { "yes" } else { "no" }.to_owned()
}

fn server(run: &Member) -> Option<String> {
    let server = &run.manifest.server;
    let kind = server.kind.as_deref()?;
    Some(format!("{kind} {}", server.version.as_deref().unwrap_or("")).trim().to_owned())
}

fn map_words(map: &std::collections::BTreeMap<String, String>) -> Option<String> {
    list_words(map.iter().map(|(name, value)| format!("{name}={value}")).collect())
}

fn list_words(words: Vec<String>) -> Option<String> {
    Some(if words.is_empty() { "none".to_owned() } else { words.join(", ") })
}

fn limits(run: &Member) -> Option<String> {
    let limits = &run.manifest.spec.limits;
    let each = [
        ("connect", limits.connect_s),
        ("first token", limits.first_token_s),
        ("silence", limits.idle_s),
        ("total", limits.total_s),
    ];
    let set = each.iter().filter_map(|(name, s)| s.map(|s| format!("{name} {s} s")));
    list_words(set.collect())
}

/// Everything that was looked at, differences first by weight, then what is the same.
pub(crate) fn differences(a: &Side, b: &Side) -> Vec<Difference> {
    let mut found: Vec<Difference> = FACTS.iter().map(|fact| of_fact(fact, a, b)).collect();
    found.push(prompts(a, b));
    found.extend(asked_lengths(a, b));
    found.extend(measured_lengths(a, b));
    found.extend(doubts(a, b));
    found.sort_by_key(|difference| std::cmp::Reverse(difference.kind));
    found
}

/// What a fact is over all runs of a side.
fn joined(side: &Side, of: fn(&Member) -> Option<String>) -> Option<String> {
    let mut words: Vec<String> = side.members.iter().filter_map(of).collect();
    words.sort();
    words.dedup();
    (!words.is_empty()).then(|| words.join(" | "))
}

fn of_fact(fact: &Fact, a: &Side, b: &Side) -> Difference {
    let (a, b) = (joined(a, fact.of), joined(b, fact.of));
    let kind = if a == b { DifferenceKind::Same } else { fact.kind };
    Difference { what: fact.what.to_owned(), kind, a, b }
}

/// The prompts themselves: with another seed they are meant to differ, with the same they are not.
fn prompts(a: &Side, b: &Side) -> Difference {
    let sum = |run: &Member| {
        run.manifest.prompts_sha256.as_ref().map(|sum| sum.chars().take(12).collect())
    };
    let seed = |run: &Member| Some(run.manifest.spec.workload.seed.to_string());
    let (sum_a, sum_b) = (joined(a, sum), joined(b, sum));
    let same_seed = joined(a, seed) == joined(b, seed);
    let same_loads = {
        let loads = |side: &Side| side.members.first().map(|run| run.manifest.spec.levels.clone());
        loads(a) == loads(b)
    };
    let kind = match (sum_a == sum_b, same_seed && same_loads) {
        (true, _) => DifferenceKind::Same,
        (false, true) => DifferenceKind::Warning,
        (false, false) => DifferenceKind::Expected,
    };
    Difference { what: "SHA-256 of the prompts".to_owned(), kind, a: sum_a, b: sum_b }
}

/// Whether two numbers differ by more than the share that is allowed.
fn is_far(a: f64, b: f64) -> bool {
    (a - b).abs() > LENGTH_SHARE_MAX * a.abs().max(b.abs())
}

fn mean(lengths: &[(u32, u64)]) -> Option<f64> {
    let requests: u64 = lengths.iter().map(|(_, n)| n).sum();
    let tokens: f64 = lengths.iter().map(|(length, n)| f64::from(*length) * *n as f64).sum();
    (requests > 0).then(|| tokens / requests as f64)
}

/// Mean lengths that were asked for: of what was sent where that is known, else as specified.
fn asked_lengths(a: &Side, b: &Side) -> Vec<Difference> {
    let prompt = |run: &Member| {
        let sent = run.manifest.workload.as_ref().and_then(|sent| mean(&sent.prompt_tokens));
        sent.or(run.manifest.spec.workload.prompt_tokens.map(f64::from))
    };
    let output = |run: &Member| {
        let sent = run.manifest.workload.as_ref().and_then(|sent| mean(&sent.output_tokens));
        sent.or(run.manifest.spec.workload.output_tokens.map(f64::from))
    };
    let over = |side: &Side, of: &dyn Fn(&Member) -> Option<f64>| {
        let values: Vec<f64> = side.members.iter().filter_map(of).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    [
        ("prompt tokens asked for", &prompt as &dyn Fn(&Member) -> Option<f64>),
        ("output tokens asked for", &output),
    ]
    .into_iter()
    .map(|(what, of)| {
        let (a, b) = (over(a, of), over(b, of));
        let kind = match (a, b) {
            (Some(a), Some(b)) if is_far(a, b) => DifferenceKind::Unlike,
            (Some(_), None) | (None, Some(_)) => DifferenceKind::Unlike,
            _ => DifferenceKind::Same,
        };
        let words = |value: Option<f64>| value.map(|value| format!("{value:.0}"));
        Difference { what: what.to_owned(), kind, a: words(a), b: words(b) }
    })
    .collect()
}

/// Mean lengths as they were counted, at each load that both sides have; only where they differ.
fn measured_lengths(a: &Side, b: &Side) -> Vec<Difference> {
    let mut found = Vec::new();
    let lengths = |side: &Side| -> Vec<Lengths> {
        side.members.iter().flat_map(|run| run.lengths.iter().copied()).collect()
    };
    let (of_a, of_b) = (lengths(a), lengths(b));
    for (index, first) in of_a.iter().enumerate() {
        // Repeats of a load have the same lengths.
        if of_a.iter().take(index).any(|before| is_same(before.load, first.load)) {
            continue;
        }
        let Some(second) = of_b.iter().find(|second| is_same(first.load, second.load)) else {
            continue;
        };
        let at = format!("at {}", load_words(first.load));
        let mut add = |what: &str, kind, a: Option<f64>, b: Option<f64>| {
            if let (Some(a), Some(b)) = (a, b)
                && is_far(a, b)
            {
                let words = |value: f64| Some(format!("{value:.1}"));
                let what = format!("{what} {at}");
                found.push(Difference { what, kind, a: words(a), b: words(b) });
            }
        };
        add("mean output tokens", DifferenceKind::Unlike, first.output, second.output);
        // The same prompts count differently where models have other tokenizers.
        add("mean prompt tokens", DifferenceKind::Warning, first.prompt, second.prompt);
    }
    found
}

/// What calls for caution on either side by itself.
fn doubts(a: &Side, b: &Side) -> Vec<Difference> {
    let about = |of: fn(&Member) -> Option<String>, what: &str| {
        let (a, b) = (joined(a, of), joined(b, of));
        let kind = DifferenceKind::Warning;
        let is_found = a.is_some() || b.is_some();
        let told = |words: Option<String>| Some(words.unwrap_or_else(|| "none".to_owned()));
        let (a, b) = (told(a), told(b));
        is_found.then(|| Difference { what: what.to_owned(), kind, a, b })
    };
    let suspect = |run: &Member| {
        let health = run.manifest.health.as_ref()?;
        (health.verdict == HealthVerdict::Suspect).then(|| health.reasons.join("; "))
    };
    let partial = |run: &Member| {
        let reason = run.manifest.stop_reason.clone();
        (run.manifest.state != RunState::Complete)
            .then(|| reason.unwrap_or("not sealed".to_owned()))
    };
    let checks = |run: &Member| {
        let mut ids: Vec<&str> = run.warnings.iter().map(|warning| warning.check).collect();
        ids.dedup();
        (!ids.is_empty()).then(|| ids.join(", "))
    };
    [
        about(suspect, "doubts of the client about its own times"),
        about(partial, "why the run is not complete"),
        about(checks, "checks that call for caution"),
    ]
    .into_iter()
    .flatten()
    .collect()
}
