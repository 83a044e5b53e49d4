//! A latency target as text: `ttft:p99<500ms,speed:p10>20`, read and written.
//!
//! Not here: targets by name (`preset`), and whether a level is inside (`judge`).

use super::error::{SloError, TEXT_MAX};
use super::preset::preset;
use ifm_core::Metric;
use ifm_core::metric::MetricUnit;
use ifm_core::spec::{Asked, SloSpec, SloTerm, other_end};

/// The percentile of terms written as a bare limit, `ttft:500`.
const BARE_PERCENTILE: f64 = 99.0;
/// The name of the speed of a user in a target.
pub const SPEED: &str = "speed";
/// Decimals that a ratio keeps on its way through milliseconds.
const RATIO_DIGITS: f64 = 1e9;
/// Percentiles of a speed above this one are of the fast tail.
const SLOW_TAIL_MAX: f64 = 50.0;
const MS_PER_S: f64 = 1e3;
const MS_PER_MIN: f64 = 60e3;

/// Reads the name of a [`Preset`](super::Preset), or `"ttft:p99<500ms, itl:p99<50ms"`: terms between commas or spaces, each a metric (`ttft`,
/// `ttft_acked`, `ttfat`, `itl`, `tpot`, `e2e`, `ttfa`, `silence`), a percentile (`p99`) or `mean`, and a limit in
/// `ms`, `s` or `us` (`ms` if no unit is written); a ratio (`rtf`, `rtf_heard`) has a limit without a unit. `<`, `<=` and `≤` mean the same: at most. A bare `ttft:500` is read as P99. The speed
/// of a user is bounded from below by a percentile up to the median: `speed:p10>20`, tokens per
/// second; `>`, `>=` and `≥` mean at least. So is the RTFx of requests: `rtfx:p10>20`. Of sessions of
/// conversations: `session:p95<5min`, `session_cached:p10>60%`, and the share of them that fail or are
/// complete, `session_failed<1%` or `session_ok>99%`.
///
/// # Errors
/// [`SloError`] with the term that cannot be read.
pub fn parse(text: &str) -> Result<SloSpec, SloError> {
    if text.len() > TEXT_MAX {
        return Err(SloError::TooLong);
    }
    let name = text.trim();
    if let Some(found) = preset(name) {
        return Ok(SloSpec { name: name.to_owned(), ..parse(found.terms)? });
    }
    if is_like_a_name(name) {
        return Err(SloError::unknown(name));
    }
    let compact = close_up(text);
    let terms = compact
        .split([',', ' ', ';'])
        .filter(|term| !term.is_empty() && !is_usual_error_rate(term))
        .map(parse_term)
        .collect::<Result<Vec<_>, _>>()?;
    if terms.is_empty() {
        return Err(SloError::Empty);
    }
    Ok(SloSpec { name: "custom".to_owned(), terms, is_default: false })
}

/// Reads the words of `vllm bench serve --goodput`: `ttft:500 tpot:50`, milliseconds, each a bound
/// on single requests. As a target for a level, each becomes a bound on P99.
///
/// # Errors
/// [`SloError`] with the term that cannot be read.
pub fn parse_goodput(words: &[String]) -> Result<SloSpec, SloError> {
    let spec = parse(&words.join(" "))?;
    Ok(SloSpec { name: "goodput".to_owned(), ..spec })
}

/// Whether a target can only be meant as a name: one word without a bound that is not a metric
/// either.
fn is_like_a_name(text: &str) -> bool {
    let of_terms = |c: char| c.is_whitespace() || ":<>≤≥,;=%".contains(c);
    let is_metric = [SPEED, "e2el", "err"].contains(&text) || Metric::from_word(text).is_some();
    !text.is_empty() && !text.contains(of_terms) && !is_metric
}

/// Whether a term says what always holds: at most 1 % of the requests failed.
fn is_usual_error_rate(term: &str) -> bool {
    let lower = term.to_ascii_lowercase();
    let limit = ["err", "errors", "error_rate"].iter().find_map(|name| lower.strip_prefix(name));
    matches!(limit, Some("<1%" | "<=1%" | "≤1%" | "<0.01" | "<=0.01" | "≤0.01"))
}

/// Removes the spaces within terms: `p99 < 50 ms` is one term, so a space next to an operator or
/// before a unit does not separate terms.
fn close_up(text: &str) -> String {
    let spaced = text.replace("<=", "<").replace('≤', "<").replace('<', " < ");
    let spaced = spaced.replace(">=", ">").replace('≥', ">").replace('>', " > ");
    let mut closed = String::with_capacity(spaced.len());
    for word in spaced.split_whitespace() {
        let word_alone = word.trim_end_matches([',', ';']);
        let joins =
            matches!(word_alone, "<" | ">" | "s" | "ms" | "us" | "min" | "tok/s" | "x" | "%");
        if !joins && !closed.is_empty() && !closed.ends_with(['<', '>']) {
            closed.push(' ');
        }
        closed.push_str(word);
    }
    closed
}

fn parse_term(term: &str) -> Result<SloTerm, SloError> {
    let named = || term.to_owned();
    let grammar = || SloError::Grammar { term: named() };
    let lower = term.to_ascii_lowercase();
    if lower.starts_with("err") {
        return Err(SloError::ErrorRate { term: named() });
    }
    if let Some(share) = share_of_sessions(term, &lower) {
        return share;
    }
    let (metric, bound) = split(term, &lower)?;
    if metric == Metric::SessionCached.word() {
        return parse_cached(term, bound);
    }
    if metric == SPEED || metric == Metric::UserSpeed.word() {
        return parse_least(term, bound, SPEED);
    }
    if metric == Metric::Rtfx.word() {
        return parse_least(term, bound, Metric::Rtfx.word());
    }
    if bound.contains('>') {
        return Err(SloError::TimeAbove { term: named() });
    }
    let word = if metric == "e2el" { "e2e" } else { metric };
    let metric = Metric::from_word(word)
        .filter(|metric| metric.is_bounded_by_targets())
        .ok_or_else(|| SloError::Metric { term: named() })?;
    let (percentile, limit) = match bound.split_once('<') {
        None => (Some(BARE_PERCENTILE), bound),
        Some(("mean" | "avg", limit)) => (None, limit),
        Some((percentile, limit)) => {
            let number = percentile.strip_prefix('p').ok_or_else(grammar)?;
            let percentile = number.parse::<f64>().map_err(|_| grammar())?;
            if !(percentile > 0.0 && percentile <= 100.0) {
                return Err(SloError::Percentile { term: named() });
            }
            (Some(percentile), limit)
        }
    };
    let limit_ms = match metric.unit() {
        MetricUnit::Ns => milliseconds(limit),
        MetricUnit::Share => share(limit).map(|share| rounded(share * MS_PER_S)),
        _ => limit.parse().ok().map(|ratio: f64| rounded(ratio * MS_PER_S)),
    };
    let limit_ms = limit_ms.ok_or_else(grammar)?;
    if !(limit_ms > 0.0 && limit_ms.is_finite()) {
        return Err(match metric.unit() {
            MetricUnit::Ns => SloError::Limit { term: named() },
            _ => SloError::Ratio { term: named() },
        });
    }
    Ok(SloTerm { metric, percentile, limit_ms, speed_min: None })
}

/// The metric of a term, and what follows the colon; a point is accepted instead, as in thresholds.
///
/// # Errors
/// [`SloError`] with the term that was perhaps meant, if its percentile or its limit is missing.
fn split<'t>(term: &str, lower: &'t str) -> Result<(&'t str, &'t str), SloError> {
    let bound_at = lower.find(['<', '>']).unwrap_or(lower.len());
    let (head, bound) = lower.split_at(bound_at);
    let colon = lower.find(':').or_else(|| head.find('.'));
    let word = colon.and_then(|at| lower.get(..at)).unwrap_or(head);
    let is_speed = [SPEED, "tok_s", Metric::UserSpeed.word(), Metric::Rtfx.word()].contains(&word);
    let own = match word {
        "tok_s" => SPEED,
        "e2el" => Metric::E2e.word(),
        word => word,
    };
    let is_known = is_speed || Metric::from_word(own).is_some_and(Metric::is_bounded_by_targets);
    if !is_known && word != Metric::SessionCached.word() {
        return Err(SloError::Metric { term: term.to_owned() });
    }
    let usual = if is_speed { "p10" } else { "p99" };
    let Some(at) = colon else {
        let limit = match bound {
            "" if is_speed => ">20",
            "" => "<500ms",
            bound => bound,
        };
        let meant = format!("{own}:{usual}{limit}");
        return Err(SloError::NoPercentile { term: term.to_owned(), meant });
    };
    let rest = lower.get(at + 1..).unwrap_or_default();
    let is_bare = rest.starts_with(|c: char| c.is_ascii_digit());
    if !is_bare && !rest.contains(['<', '>']) {
        let over = if rest.is_empty() { usual } else { rest };
        let meant = format!("{own}:{over}{}", if is_speed { ">20" } else { "<500ms" });
        return Err(SloError::NoLimit { term: term.to_owned(), meant });
    }
    Ok((own, rest))
}

/// Reads a time, milliseconds if no unit is written.
fn milliseconds(limit: &str) -> Option<f64> {
    let units = [("ms", 1.0), ("us", 0.001), ("s", MS_PER_S), ("min", MS_PER_MIN)];
    let of_unit =
        |(unit, ms): &(&str, f64)| limit.strip_suffix(unit).map(|number| (number.to_owned(), *ms));
    let (number, ms) = units.iter().find_map(of_unit).unwrap_or((limit.to_owned(), 1.0));
    Some(number.parse::<f64>().ok()? * ms)
}

/// Reads a share: `0.6`, `60%`.
fn share(text: &str) -> Option<f64> {
    let share = match text.strip_suffix('%') {
        Some(percent) => rounded(percent.parse::<f64>().ok()? / 100.0),
        None => text.parse::<f64>().ok()?,
    };
    (share > 0.0 && share < 1.0).then_some(share)
}

/// Reads `session_failed<1%` and `session_ok>99%`, which are one number for all sessions; absent for
/// other terms.
fn share_of_sessions(term: &str, lower: &str) -> Option<Result<SloTerm, SloError>> {
    let of = |metric: Metric| {
        let bound = lower.strip_prefix(metric.word())?;
        Some(bound.strip_prefix(":share").unwrap_or(bound))
    };
    let wrong = |why: fn(String) -> SloError| Some(Err(why(term.to_owned())));
    if let Some(bound) = of(Metric::SessionOk) {
        let Some(least) = bound.strip_prefix('>') else {
            return wrong(|term| SloError::Sessions { term });
        };
        let Some(least) = share(least) else { return wrong(|term| SloError::Share { term }) };
        return Some(Ok(SloTerm::share(Metric::SessionFailed, None, least)));
    }
    let bound = of(Metric::SessionFailed)?;
    let Some(most) = bound.strip_prefix('<') else {
        return wrong(|term| SloError::Sessions { term });
    };
    let Some(most) = share(most) else { return wrong(|term| SloError::Share { term }) };
    let limit_ms = rounded(most * MS_PER_S);
    let metric = Metric::SessionFailed;
    Some(Ok(SloTerm { metric, percentile: None, limit_ms, speed_min: None }))
}

/// Reads the bound of the cached share of sessions: `p10>60%`, `mean>0.6`.
fn parse_cached(term: &str, bound: &str) -> Result<SloTerm, SloError> {
    let term = || term.to_owned();
    let grammar = || SloError::Grammar { term: term() };
    let (over, least) = bound.split_once('>').ok_or_else(|| SloError::Cached { term: term() })?;
    let percentile = match over {
        "mean" | "avg" => None,
        _ => Some(over.strip_prefix('p').and_then(|p| p.parse::<f64>().ok()).ok_or_else(grammar)?),
    };
    if percentile.is_some_and(|p| !(p > 0.0 && p <= SLOW_TAIL_MAX)) {
        return Err(SloError::Cached { term: term() });
    }
    let least = share(least).ok_or_else(|| SloError::Share { term: term() })?;
    Ok(SloTerm::share(Metric::SessionUncached, percentile, least))
}

fn rounded(value: f64) -> f64 {
    (value * RATIO_DIGITS).round() / RATIO_DIGITS
}

/// Reads the bound of a speed, of tokens or of audio: `p10>20`, `p10>20tok/s`, `p10>20x`.
fn parse_least(term: &str, bound: &str, word: &'static str) -> Result<SloTerm, SloError> {
    let term = || term.to_owned();
    let grammar = || SloError::Grammar { term: term() };
    let below = || SloError::SpeedBelow { term: term(), word };
    if bound.contains('<') {
        return Err(below());
    }
    let (percentile, limit) = bound.split_once('>').ok_or_else(below)?;
    if matches!(percentile, "mean" | "avg") {
        return Err(SloError::SpeedMean { term: term(), word });
    }
    let p = percentile.strip_prefix('p').ok_or_else(grammar)?;
    let p = p.parse::<f64>().map_err(|_| grammar())?;
    if !(p > 0.0 && p <= 100.0) {
        return Err(SloError::Percentile { term: term() });
    }
    let is_of_tokens = word == SPEED;
    let number = limit.strip_suffix(if is_of_tokens { "tok/s" } else { "x" }).unwrap_or(limit);
    let limit = number.parse::<f64>().map_err(|_| grammar())?;
    if !(limit > 0.0 && limit.is_finite()) {
        return Err(SloError::Speed { term: term(), word });
    }
    if p > SLOW_TAIL_MAX {
        let others = if p < 100.0 { other_end(p).to_string() } else { "1".to_owned() };
        let meant = format!("{word}:p{others}>{limit}");
        return Err(SloError::FastTail { term: term(), p: p.to_string(), others, meant });
    }
    Ok(if is_of_tokens { SloTerm::speed(p, limit) } else { SloTerm::rtfx(p, limit) })
}

/// A target in the words that [`parse`] reads: `ttft:p99<500ms,itl:p99<50ms`.
pub fn words(slo: &SloSpec) -> String {
    let terms: Vec<String> = slo
        .terms
        .iter()
        .map(|term| match (term.speed_min, term.limit_shown()) {
            (Some(least), _) if term.metric == Metric::SessionFailed => {
                format!("{}>{}", Metric::SessionOk.word(), rounded(least))
            }
            (None, Asked::Share(most)) if term.metric == Metric::SessionFailed => {
                format!("{}<{}", term.metric.word(), rounded(most))
            }
            (Some(least), _) => {
                let metric = term.speed_metric();
                let word = if metric == Metric::UserSpeed { SPEED } else { metric.word() };
                format!("{word}:{}>{least}", term.asked().1)
            }
            (None, Asked::Ratio(limit) | Asked::Share(limit)) => {
                format!("{}:{}<{}", term.metric.word(), term.over(), rounded(limit))
            }
            (None, _) => format!("{}:{}<{}ms", term.metric.word(), term.over(), term.limit_ms),
        })
        .collect();
    terms.join(",")
}
