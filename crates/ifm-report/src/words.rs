//! Sentences that several formats share: the answers, the verdict of a level, the checks.
//!
//! What is not here: layout. Each function gives plain text without line breaks; names that come
//! from a server have been cleaned by `plain` before they get here.

pub(crate) use crate::account::{drafts, drafts_counted, level_facts};
use crate::format::{ABSENT, count, limit, marked_span, meant, number, percent, span};
use crate::model::{ReportModel, load, load_words};
use ifm_core::LevelEnd;
use ifm_core::Metric;
use ifm_core::spec::{Asked, SloSpec, SloTerm};
use ifm_core::words::counted;
use ifm_metrics::answer::{Answers, LevelAnswer, NextWorse, UsersAnswer, UsersState};
use ifm_metrics::level::{GapLabel, Latencies, Load, WindowKind};
use ifm_metrics::repeats::Between;
use ifm_metrics::slo::{TermVerdict, Verdict, VerdictState};
use ifm_metrics::stat::quantile::is_enough;
use ifm_metrics::telemetry::tokens_per_kwh;
use ifm_metrics::warning::{CheckState, Severity};
use ifm_metrics::{CheckResult, LevelSummary, Repeated, Warning};
use ifm_rules::insight::Meant;

/// What is asked about the load that fits.
const EACH_USER: &str = "Each user there";
/// A first wave that changes the P99 of the TTFT by a smaller factor is not reported in numbers.
const FIRST_WAVE_TOLD_MIN: f64 = 1.05;

/// What an answer is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerTopic {
    /// How much fits inside the target.
    Capacity,
    /// How fast it is for one user.
    Speed,
    /// Where the time to first token goes, where it fails the target.
    Cause,
    /// Output.
    Output,
    /// Whether to believe the others.
    Trust,
}

/// An answer: the question, the short answer, and what it rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// What it is about.
    pub topic: AnswerTopic,
    /// The question.
    pub question: String,
    /// The short answer.
    pub value: String,
    /// Its unit; empty where it has none.
    pub unit: &'static str,
    /// What it rests on.
    pub detail: String,
}

/// The name of the metric of a term as it was asked for, in a table or sentence: a speed is not
/// written as the TPOT that it is judged by.
fn metric_name(term: &SloTerm, label: GapLabel) -> &'static str {
    if term.metric == Metric::Itl { label.short() } else { term.asked().0 }
}

fn term_words(term: &SloTerm) -> String {
    let (name, over) = term.asked();
    let sign = if term.is_least() { "≥" } else { "≤" };
    format!("{name} {over} {sign} {}", limit_words(term))
}

fn limit_words(term: &SloTerm) -> String {
    match term.limit_shown() {
        Asked::Ms(ms) => limit(ms),
        Asked::TokPerS(least) | Asked::Ratio(least) => meant(least, Meant::Load),
        Asked::Share(share) => meant(share, Meant::Share),
    }
}

/// A value of a term and its limit, in the requested unit: `712 ms`, `500 ms`; for a speed `17.1`,
/// `20`.
pub fn value_and_limit(term: &SloTerm, value_ms: f64) -> (String, String) {
    let value = match term.shown(value_ms) {
        Asked::Ms(ms) => span(ms * 1e6),
        Asked::TokPerS(value) | Asked::Ratio(value) => number(value),
        Asked::Share(share) => meant(share, Meant::Share),
    };
    (value, limit_words(term))
}

/// The sign of a limit that is missed.
pub fn missed_sign(term: &SloTerm) -> &'static str {
    if term.is_least() { "<" } else { ">" }
}

/// The latency target: `TTFT p99 ≤ 500 ms and ITL p99 ≤ 50 ms`.
pub(crate) fn target(slo: &SloSpec) -> String {
    slo.terms.iter().map(term_words).collect::<Vec<_>>().join(" and ")
}

fn failing_term(term: &TermVerdict, label: GapLabel) -> String {
    let over = term.term.asked().1;
    let name = metric_name(&term.term, label);
    match term.value_ms {
        Some(value) => {
            let (value, limit) = value_and_limit(&term.term, value);
            format!(
                "{name} {over} {}{value} {} {limit}",
                if term.term.percentile.zip(term.n).is_none_or(|(p, n)| is_enough(n, p)) {
                    ""
                } else {
                    "~"
                },
                missed_sign(&term.term),
            )
        }
        None => format!("{name} is not known"),
    }
}

/// The answers, in order: how many users fit, the speed for one of them, the output, and
/// whether to believe it. Where no target was named the first is how fast it is: at the lowest load,
/// and at the one with the most output.
pub fn answers(answers: &Answers, checks: &[CheckResult]) -> Vec<Answer> {
    let (at, users) = (&answers.at, &answers.users);
    if !answers.slo.is_default {
        return vec![
            questioned(users_answer(users, &answers.slo, at.gap_label), answers, checks),
            one_user(EACH_USER, at, users),
            output(at, answers.knee),
            trust(answers, checks),
        ];
    }
    let mut all = vec![one_user("How fast?", at, users)];
    all.extend(answers.most.as_ref().map(|most| one_user("With most output", most, users)));
    let most = answers.most.as_ref().unwrap_or(at);
    all.extend([output(most, answers.knee), trust(answers, checks)]);
    all
}

fn users_answer(answer: &UsersAnswer, slo: &SloSpec, label: GapLabel) -> Answer {
    let worse = answer.next_worse.as_ref().map(|worse| next_worse(worse, label));
    let value = match (answer.state, answer.load) {
        (UsersState::Found, asked) => load(asked),
        (UsersState::AtLeast, asked) => format!("at least {}", load(asked)),
        (UsersState::None, _) => "none".to_owned(),
        (UsersState::Unknown, _) => "not known".to_owned(),
    };
    let mut detail = match (answer.state, worse) {
        (UsersState::Unknown, _) if slo.terms.is_empty() => {
            "no latency target was given".to_owned()
        }
        (UsersState::Unknown, _) if answer.is_changing => {
            "the rate changed during the level, so no constant rate is shown to fit".to_owned()
        }
        (UsersState::Unknown, _) if answer.is_cut => {
            "no level ran to its end, and one that was cut off is not judged".to_owned()
        }
        (UsersState::Unknown, _) if answer.is_searched => {
            format!("no load was shown to be inside {}", target(slo))
        }
        (UsersState::Unknown, _) => {
            format!("no measured level shows whether it meets {}", target(slo))
        }
        (UsersState::AtLeast, _) => format!("inside {}, no higher level was measured", target(slo)),
        (UsersState::None, Some(worse)) => {
            format!("of the measured loads meets {}: {worse}", target(slo))
        }
        (UsersState::None, None) => format!("of the measured loads meets {}", target(slo)),
        (_, Some(worse)) => format!("inside {} ({worse})", target(slo)),
        (_, None) => format!("inside {}", target(slo)),
    };
    if let Some(words) = contradicted(answer) {
        detail.push_str(&words);
    } else if answer.state != UsersState::Unknown && !answer.is_sure {
        let interval = crate::format::capacity_interval(answer);
        detail.push_str(&format!("; not settled: too few requests to be sure{interval}"));
    }
    if let Some((lowest, highest)) = answer.unsettled {
        let lowest_words = load(Some(lowest));
        detail.push_str(&match lowest == highest {
            true => format!("; {lowest_words} could not be settled"),
            false => format!("; {lowest_words} to {} could not be settled", load(Some(highest))),
        });
    }
    if let Some(words) = with_first_requests(answer, label) {
        detail.push_str(&format!("; {words}"));
    }
    if !answer.inside_above.is_empty() {
        let above: Vec<String> =
            answer.inside_above.iter().map(|above| load(Some(*above))).collect();
        detail.push_str(&format!("; yet {} is inside, measure again", above.join(", ")));
    }
    let question = match (answer.load, answer.next_worse.as_ref().map(|worse| worse.load)) {
        (Some(Load::ReqPerS(_)), _) | (_, Some(Load::ReqPerS(_))) => "How many requests?",
        _ if answer.is_changing => "How many requests?",
        _ => "How many users?",
    };
    Answer { topic: AnswerTopic::Capacity, question: question.to_owned(), value, unit: "", detail }
}

/// The answer with what a check says against the level that it rests on: such a level does not show
/// what it was meant to show.
fn questioned(mut answer: Answer, answers: &Answers, checks: &[CheckResult]) -> Answer {
    let Some(at) = answers.users.load else { return answer };
    let is_against = |warning: &Warning| {
        warning.severity == Severity::Invalid
            && (warning.load == Some(at) || warning.level.is_none())
    };
    let against = checks.iter().filter(|check| check.warnings.iter().any(is_against));
    let names: Vec<String> = against.map(|check| check.id.replace('_', " ")).collect();
    if !names.is_empty() {
        answer.detail.push_str(&format!("; ✗ {} failed at this load", names.join(", ")));
    }
    let overload = checks.iter().filter(|check| check.id == "overload");
    let mut overload = overload.flat_map(|check| &check.warnings);
    if overload.any(|warning| warning.load == Some(at)) {
        answer.detail.push_str("; ⚠ the server did not keep up with this rate");
    }
    answer
}

/// That a look after the search showed the contrary of it; absent where none did.
fn contradicted(answer: &UsersAnswer) -> Option<String> {
    let is_inside = |load: &Load| Some(*load) == answer.load;
    let each = answer.contradicted.iter().map(|at| {
        let other = if is_inside(at) { "outside" } else { "inside" };
        format!("{} was {other}", load(Some(*at)))
    });
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| format!("; contradicted by a repeat: {}", each.join(", ")))
}

/// That a load which fits would not with each user's first request; absent where that changes nothing.
pub fn with_first_requests(answer: &UsersAnswer, label: GapLabel) -> Option<String> {
    let with = answer.with_first_wave.as_ref()?;
    let worse = next_worse(with, label);
    Some(format!("including each user's first request (all start at once), {worse}"))
}

fn next_worse(worse: &NextWorse, label: GapLabel) -> String {
    let mut reasons: Vec<String> =
        worse.terms.iter().map(|term| failing_term(term, label)).collect();
    reasons
        .extend(worse.error_rate.map(|rate| format!("{} of the requests failed", percent(rate))));
    let verb = if worse.state == VerdictState::Fail { "fails" } else { "cannot be judged" };
    if reasons.is_empty() {
        return format!("{} {verb} over all repeats", load(Some(worse.load)));
    }
    format!("{} {verb}: {}", load(Some(worse.load)), reasons.join(", "))
}

fn one_user(question: &str, at: &LevelAnswer, answer: &UsersAnswer) -> Answer {
    // Where most gaps are zero, tokens came in the same reads: their speed is that of the reads.
    let speed = at.user_tok_per_s.filter(|_| at.gap_ns_p50 != Some(0.0));
    let mut parts = Vec::new();
    parts.extend(over_repeats(at.user_tok_per_s_between.as_ref().filter(|_| speed.is_some())));
    let tail = at
        .ttft_ns_p99
        .map(|(p99, is_enough)| format!("p99 {}{}", if is_enough { "" } else { "~" }, span(p99)));
    let (value, unit) = match (speed, at.ttft_ns_p50) {
        // Without a target the question is how fast it is, and answers of one token have no other speed.
        (None, Some(p50)) if question != EACH_USER => {
            parts.extend(tail);
            (span(p50), "to the first token")
        }
        (speed, p50) => {
            parts.extend(p50.map(|p50| {
                let tail = tail.map_or_else(String::new, |tail| format!(" ({tail})"));
                format!("first token after {}{tail}", span(p50))
            }));
            let mark = if at.user_speed_is_estimated { "~" } else { "" };
            match speed {
                Some(speed) => {
                    let speed = of_repeats(speed, at.user_tok_per_s_between.as_ref());
                    (format!("{mark}{speed}"), "tok/s")
                }
                None => ("not known".to_owned(), ""),
            }
        }
    };
    parts.extend(at.gap_ns_p50.map(|gap| gap_words(at.gap_label, gap)));
    if at.is_cut {
        parts.push("the level was cut off".to_owned());
    }
    let served = at.req_per_s.map(|served| format!("{} served", number(served)));
    match at.load {
        _ if answer.is_changing => parts.push("over all rates".to_owned()),
        Some(Load::ReqPerS(_)) => {
            let asked = format!("{} asked", load_words(at.load));
            parts.push([Some(asked), served].into_iter().flatten().collect::<Vec<_>>().join(", "));
        }
        _ if answer.load.is_none() => parts.push(format!("with {}", load_words(at.load))),
        _ => {}
    }
    Answer {
        topic: AnswerTopic::Speed,
        question: question.to_owned(),
        value,
        unit,
        detail: parts.join(" · "),
    }
}

/// What the table of repeats shows.
pub(crate) const REPEATS_CAPTION: &str = "Geometric mean over the repeats of a load ± half of its 95 % \
    interval (Student) as a share of it, from three repeats on; percentiles are per \
    repeat.";

/// A figure over repeats: `302 ±4.1%`.
pub(crate) fn between(between: &Between, write: impl Fn(f64) -> String) -> String {
    let half = between.relative_half_width().map(|half| format!(" ±{}", half_width(half)));
    format!("{}{}", write(between.mean), half.unwrap_or_default())
}

/// Half of an interval as a share of its middle; one as wide as the middle says nothing more.
fn half_width(share: f64) -> String {
    if share > 1.0 { ">100%".to_owned() } else { percent(share) }
}

/// How many repeats are inside the target: `yes`, `no`, `2 of 3`, or unknown.
pub(crate) fn inside(repeated: &Repeated) -> String {
    let all = repeated.levels.len() as u32;
    match (repeated.inside, repeated.outside) {
        (inside, _) if inside == all => "yes".to_owned(),
        (_, outside) if outside == all => "no".to_owned(),
        (0, 0) => ABSENT.to_owned(),
        (inside, _) => format!("{inside} of {all}"),
    }
}

/// A figure of an answer: of repeats that differ too much the smallest and the largest, since their mean is not a
/// result.
fn of_repeats(value: f64, between: Option<&Between>) -> String {
    match between.filter(|between| between.is_noise()) {
        Some(between) => format!("{} to {}", number(between.min), number(between.max)),
        None => number(value),
    }
}

/// Over how many repeats a figure of an answer is, and how far it may be off; absent where it was
/// measured once.
fn over_repeats(figure: Option<&Between>) -> Option<String> {
    let figure = figure?;
    if figure.is_noise() {
        return Some(format!("{} repeats that differ too much for a mean", figure.n));
    }
    Some(match figure.relative_half_width() {
        Some(half) => format!("±{} over {} repeats", half_width(half), figure.n),
        None if figure.n > 1 => {
            let (min, max) = (number(figure.min), number(figure.max));
            format!("mean of {} repeats, {min} to {max}", figure.n)
        }
        None => "in one of the repeats".to_owned(),
    })
}

/// The median gap: `ITL 12.3 ms`. A gap of 0 is no gap: most tokens came in one read with others.
fn gap_words(label: GapLabel, gap_ns: f64) -> String {
    match gap_ns > 0.0 {
        true => format!("{} {}", label.short(), span(gap_ns)),
        false => format!("{} unknown: most tokens shared reads", label.short()),
    }
}

fn output(at: &LevelAnswer, knee: Option<Load>) -> Answer {
    let mut parts = Vec::new();
    parts.extend(over_repeats(at.output_tok_per_s_between.as_ref()));
    let is_noise = at.output_tok_per_s_between.is_some_and(|between| between.is_noise());
    let per_hour = at.output_tok_per_hour.filter(|_| !is_noise);
    parts.extend(per_hour.map(|rate| format!("= {} tokens/hour", number(rate))));
    parts.extend(
        at.share_of_best
            .filter(|share| *share < 1.0 && !is_noise)
            .map(|share| format!("{} of the best level", percent(share))),
    );
    if at.window == Some(WindowKind::Whole) {
        parts.push("over the whole level".to_owned());
    }
    parts.extend(
        knee.map(|at| format!("best balance of output and latency at {}", load_words(Some(at)))),
    );
    parts.extend(at.joules_per_output_token.map(|joules| {
        format!("{} J/token, {} tokens/kWh", number(joules), number(tokens_per_kwh(joules)))
    }));
    Answer {
        topic: AnswerTopic::Output,
        question: "Output".to_owned(),
        value: at.output_tok_per_s.map_or_else(
            || "not known".to_owned(),
            |rate| of_repeats(rate, at.output_tok_per_s_between.as_ref()),
        ),
        unit: if at.output_tok_per_s.is_some() { "tok/s" } else { "" },
        detail: parts.join(", "),
    }
}

/// The line of the checks: `11 passed, 2 notes, 1 warning`, with the names of the failing ones.
pub(crate) fn trust(answers: &Answers, checks: &[CheckResult]) -> Answer {
    let trust = &answers.trust;
    let noted = checks.iter().filter(|check| is_noted(check)).count() as u32;
    let value = tally(
        trust.passed - noted,
        [(noted, "note"), (trust.cautions, "warning"), (trust.invalid, "error")],
    );
    let failing = checks
        .iter()
        .filter(|check| matches!(check.state(), CheckState::Caution | CheckState::Invalid))
        .map(|check| check.id.replace('_', " "));
    let detail = failing.collect::<Vec<_>>().join(", ");
    Answer { topic: AnswerTopic::Trust, question: "Trust".to_owned(), value, unit: "", detail }
}

/// How many checks or rules passed, and the others by the word for one of them; zeros are left out.
pub(crate) fn tally(passed: u32, others: [(u32, &str); 3]) -> String {
    let others = others.into_iter().filter(|(count, _)| *count > 0);
    let others = others.map(|(count, name)| counted(count.into(), name));
    std::iter::once(format!("{passed} passed")).chain(others).collect::<Vec<_>>().join(", ")
}

/// Whether a check passed and still has something to say.
pub(crate) fn is_noted(check: &CheckResult) -> bool {
    check.state() == CheckState::Passed && !check.warnings.is_empty()
}

/// What one line says: how much it weighs, and the words.
pub(crate) type Told = (Severity, String);

/// Warnings as lines: what the same check found in the same words at several levels is one line,
/// `1, 2 and 4 users: only 3 complete answers`.
pub(crate) fn told(warnings: &[Warning]) -> Vec<Told> {
    // Users and rates are not counted in the same unit.
    let kind = |warning: &Warning| warning.load.as_ref().map(std::mem::discriminant);
    let same = |a: &Warning, b: &Warning| {
        (a.check, a.severity, &a.text) == (b.check, b.severity, &b.text)
            && a.load.is_some()
            && kind(a) == kind(b)
    };
    let mut lines = Vec::new();
    for (index, first) in warnings.iter().enumerate() {
        if warnings.iter().take(index).any(|before| same(before, first)) {
            continue;
        }
        let mut levels: Vec<String> = Vec::new();
        for other in warnings.iter().skip(index).filter(|other| same(first, other)) {
            // Repeats of a load are named once.
            let at = load(other.load);
            if !levels.contains(&at) {
                levels.push(at);
            }
        }
        let text = match levels.split_last() {
            Some((last, before)) if !before.is_empty() => {
                let unit = if matches!(first.load, Some(Load::Users(_))) { " users" } else { "" };
                format!("{} and {last}{unit}: {}", before.join(", "), first.text)
            }
            _ => warning(first),
        };
        lines.push((first.severity, text));
    }
    lines
}

/// A warning with its level: `64 users: 3 of 120 requests failed`.
pub(crate) fn warning(warning: &Warning) -> String {
    match (warning.level, warning.load) {
        (Some(_), Some(_)) => format!("{}: {}", load_words(warning.load), warning.text),
        (Some(level), None) => format!("level {level}: {}", warning.text),
        (None, _) => warning.text.clone(),
    }
}

/// What the checks found that may mislead, in sentences: notes are left out.
pub fn findings(model: &ReportModel) -> Vec<String> {
    let loud = told(&model.summary.warnings).into_iter();
    loud.filter(|(severity, _)| *severity != Severity::Note).map(|(_, text)| text).collect()
}

/// The sign of a severity; accompanied by a word wherever there is room.
pub(crate) fn sign(severity: Severity) -> char {
    match severity {
        Severity::Note => '·',
        Severity::Caution => '⚠',
        Severity::Invalid => '✗',
    }
}

/// The last column of a level: what fails, or the mark of the largest level that fits.
pub(crate) fn note(level: &LevelSummary, is_fitting: bool) -> String {
    let mut parts = Vec::new();
    let failing = failing_names(&level.verdict, level.latencies.gap_label);
    match level.verdict.state {
        VerdictState::Fail => parts.push(format!("{} fail", failing.join(", "))),
        VerdictState::Pass if is_fitting => parts.push("◀ max in SLO".to_owned()),
        VerdictState::Pass | VerdictState::Unknown => {}
    }
    if level.is_scout() {
        parts.push("scout".to_owned());
    }
    if level.complete != Some(true) {
        parts.push("partial".to_owned());
    }
    if level.measured_again.is_some() {
        parts.push("measured again".to_owned());
    }
    parts.join(", ")
}

fn failing_names(verdict: &Verdict, label: GapLabel) -> Vec<&'static str> {
    let mut names: Vec<&str> =
        verdict.failing().map(|term| metric_name(&term.term, label)).collect();
    names.dedup();
    if verdict.too_many_errors {
        names.insert(0, "requests");
    }
    names
}

/// That latencies leave out what began together, and where that changes the tail of the TTFT most;
/// absent where everything counts.
pub(crate) fn first_wave(levels: &[LevelSummary]) -> Option<String> {
    levels.iter().find(|level| level.first_wave.is_some())?;
    let mut text = "latencies exclude each user's first request (all start at once)".to_owned();
    let p99 = |latencies: &Latencies| latencies.ttft()?.percentile(99.0).copied();
    let moved = levels.iter().filter_map(|level| {
        let with = p99(&level.first_wave.as_ref()?.latencies_with)?;
        let without = p99(&level.latencies)?;
        let ratio = with.value / without.value;
        Some((ratio.max(1.0 / ratio), level, with, without))
    });
    let most = moved.max_by(|a, b| a.0.total_cmp(&b.0));
    if let Some((_, level, with, without)) = most.filter(|most| most.0 > FIRST_WAVE_TOLD_MIN) {
        let [with, without] = [with, without].map(|found| marked_span(&found));
        let at = load_words(level.load());
        text.push_str(&format!(
            "; including them, TTFT p99 at {at} is {with} instead of {without}"
        ));
    }
    Some(text)
}

/// From when waits count, where requests waited to be sent; absent where none did.
pub(crate) fn due(levels: &[LevelSummary]) -> Option<String> {
    levels.iter().any(|level| level.latencies.waited_to_be_sent()).then(|| {
        "TTFT counts from the due time: requests waited to be sent because the maximum was in \
         flight"
            .to_owned()
    })
}

/// Who counted the output tokens of all levels.
pub(crate) fn provenance(levels: &[LevelSummary]) -> String {
    let mut words: Vec<&str> =
        levels.iter().map(|level| level.tokens.output_from.provenance().words()).collect();
    words.dedup();
    words.join("; ")
}

/// What ended a level before its planned end; absent where nothing did.
pub(crate) fn end(end: LevelEnd) -> Option<&'static str> {
    match end {
        LevelEnd::Planned | LevelEnd::Stopped => None,
        LevelEnd::Settled => Some("early: its intervals were as narrow as asked"),
        LevelEnd::TargetBroken => Some("early: the latency target was surely missed"),
        LevelEnd::TooManyErrors => Some("early: surely too many requests failed"),
        LevelEnd::Budget => Some("cut at the end of the budget"),
    }
}

/// Requests of a level in one line: `400 sent, 398 ok, 2 failed (2 http_error)`.
pub(crate) fn accounting(level: &LevelSummary) -> String {
    let counts = &level.counts;
    let mut parts =
        vec![format!("{} sent", count(counts.sent)), format!("{} ok", count(counts.ok))];
    let mut kinds = counts
        .outcomes
        .iter()
        .filter(|(outcome, _)| outcome.is_failure())
        .map(|(outcome, number)| format!("{} {outcome}", count(*number)))
        .peekable();
    if kinds.peek().is_some() {
        let kinds = kinds.collect::<Vec<_>>().join(", ");
        parts.push(format!("{} failed ({kinds})", count(counts.failed)));
    }
    if counts.cancelled > 0 {
        parts.push(format!("{} cut off", count(counts.cancelled)));
    }
    if counts.dropped > 0 {
        parts.push(format!("{} never sent", count(counts.dropped)));
    }
    parts.join(" · ")
}

/// What each printed metric means: name and definition.
pub(crate) const DEFINITIONS: [(&str, &str); 17] = [
    (
        "users",
        "requests in flight; a closed loop sends a user's next request when the previous one ended",
    ),
    ("TTFT", "start of sending to the first token of any kind, per request"),
    (
        "TTFT from the last byte",
        "the last byte that the server's machine had acknowledged to the first token, per request; \
         only where the client's kernel reports it",
    ),
    (
        "TTFAT",
        "start of sending to the first token of the answer proper, reasoning skipped, per request",
    ),
    (
        "E2E",
        "start of sending to the last token, per request; anything after it is recorded separately",
    ),
    ("TPOT", "(last token - first token) / (tokens after the first read), per request"),
    ("ITL", "gap between successive token-bearing events, pooled over requests"),
    (
        "IEL",
        "the same gap where more than 1 % of the events carry several tokens: inter-event latency",
    ),
    ("tok/s/user", "1 / TPOT, median over requests"),
    (
        "out tok/s",
        "output tokens that arrived in the window, on whatever request, per second of the window",
    ),
    (
        "req/s",
        "complete answers per second of the window; with users each answer by the share of its tokens that arrived in the window, at a rate those whose end lies in it",
    ),
    (
        "RTFx",
        "seconds of audio in the prompt over seconds of E2E, per request; of a level: seconds of audio of all complete answers over those from the first start to the last end",
    ),
    (
        "TTFA",
        "start of sending to the first byte of sound, per request; the header of a sound file does not count",
    ),
    ("RTF", "seconds of E2E over seconds of sound that was made, per request"),
    (
        "silence",
        "time in which a listener who plays the sound from its first byte hears nothing, because playback has caught up with what has arrived, per request",
    ),
    (
        "window",
        "steady: from the first user's second request to the last moment with all users in flight, what was still warming up left out; whole: first start to last end, used where steady is too short",
    ),
    (
        "ok",
        "complete answers over requests that ended by themselves; latencies are over complete answers, without each user's first where all begin together",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{burst, model};

    fn said(first_wait_ms: u64) -> (Option<String>, String) {
        let model = model(&burst(first_wait_ms));
        let found = model.summary.answers.as_ref().expect("a level");
        let users = answers(found, &model.summary.checks).remove(0);
        (first_wave(&model.summary.levels), format!("{}; {}", users.value, users.detail))
    }

    #[test]
    fn a_median_gap_of_zero_is_told_as_what_it_is() {
        assert_eq!(gap_words(GapLabel::InterToken, 12.3e6), "ITL 12.3 ms");
        let said = gap_words(GapLabel::InterToken, 0.0);
        assert_eq!(said, "ITL unknown: most tokens shared reads");
    }

    #[test]
    fn the_first_wave_is_told_with_what_it_would_change() {
        let (note, answer) = said(900);
        let note = note.expect("32 users begin together");
        assert!(
            note.contains("including them, TTFT p99 at 32 users is ~900 ms instead of ~80.0 ms")
        );
        assert!(answer.starts_with("at least 32; "), "{answer}");
        let would = "(all start at once), 32 fails: TTFT p99 ~900 ms > 500 ms";
        assert!(answer.contains(would), "{answer}");
        // Slower, but still inside the target.
        let (note, answer) = said(300);
        assert!(note.is_some_and(|note| note.contains("is ~300 ms instead")));
        assert!(!answer.contains("start at once"), "{answer}");
        // No slower than the others: only the note that they are excluded.
        assert!(said(80).0.is_some_and(|note| !note.contains("including them")));
    }

    #[test]
    fn users_and_rates_stand_in_lines_of_their_own() {
        let loads = [Load::Users(1), Load::ReqPerS(2.0), Load::Users(8), Load::ReqPerS(4.0)];
        let warnings = loads.map(|load| Warning {
            check: "few",
            severity: Severity::Note,
            level: Some(0),
            load: Some(load),
            text: "few".to_owned(),
        });
        let lines: Vec<String> = told(&warnings).into_iter().map(|(_, text)| text).collect();
        assert_eq!(lines, ["1 and 8 users: few", "2.00/s and 4.00/s: few"]);
    }
}
