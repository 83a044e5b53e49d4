//! The kind of failure of a request, as text, and what to do about it.
//!
//! One classification for the message at the end of a run, the check `failures` and reports. It
//! uses the outcome, the HTTP status and the timestamps of a record, and the few sentences that the
//! load generator writes itself. Not here: which outcome a response has, which the decoder decides.

use ifm_core::order::Order as _;
use ifm_core::{Ending, Outcome, RequestRecord, TimeoutKind};

/// Failures that end within this share of their median time ended at the same moment.
const SAME_MOMENT_SHARE: f64 = 0.05;
/// Or within this time of each other, nanoseconds.
const SAME_MOMENT_NS: u64 = 10_000_000;
/// Shortest time that is taken for a time limit, nanoseconds: faster failures are errors at once.
const LIMIT_NS_MIN: u64 = 20_000_000;
/// The same for failures that a server may also compute: those with an HTTP status.
const STATUS_LIMIT_NS_MIN: u64 = 500_000_000;
/// Fewest failures that can show a common moment.
const SAME_MOMENT_MIN: usize = 3;

ifm_core::vocabulary! {
    /// Why a request failed.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum FailureKind {
        /// HTTP 429.
        RateLimited = "rate_limited",
        /// HTTP 503.
        Busy = "busy",
        /// HTTP 502.
        BadGateway = "bad_gateway",
        /// HTTP 504.
        GatewayTimeout = "gateway_timeout",
        /// Another HTTP status of 500 and above.
        ServerError = "server_error",
        /// HTTP 401 or 403.
        Unauthorized = "unauthorized",
        /// HTTP 404 or 405.
        NotFound = "not_found",
        /// HTTP 413.
        TooLarge = "too_large",
        /// HTTP 3xx.
        Redirected = "redirected",
        /// Another HTTP status that is not one of success.
        Refused = "refused",
        /// No connection could be made.
        Unreachable = "unreachable",
        /// The TLS handshake failed.
        Tls = "tls",
        /// The connection ended before any byte of an answer.
        Hangup = "hangup",
        /// The received data are not HTTP.
        NoHttp = "no_http",
        /// The response was cut off before its end.
        Cut = "cut",
        /// The response ended in order, without an end of the answer.
        Truncated = "truncated",
        /// The engine ended the answer, by its finish reason.
        GivenUp = "given_up",
        /// The answer exceeds a bound of the client.
        AnswerTooLarge = "answer_too_large",
        /// The server reported an error under a status of success.
        Reported = "reported",
        /// No connection within the client's limit.
        ConnectLimit = "connect_limit",
        /// No first token within the client's limit.
        FirstTokenLimit = "first_token_limit",
        /// Silence for longer than the client's limit.
        IdleLimit = "idle_limit",
        /// The request took longer than the client's limit.
        TotalLimit = "total_limit",
    }
}

impl FailureKind {
    /// The kind of a failed request; absent for one that did not fail.
    pub fn of(record: &RequestRecord) -> Option<FailureKind> {
        let error = record.error.as_deref().unwrap_or_default();
        Some(match record.outcome {
            Outcome::HttpError => FailureKind::of_status(record.http_status.unwrap_or_default()),
            Outcome::TransportError => FailureKind::of_transport(record, error),
            Outcome::InBandError => {
                let reason = record.finish_reason.as_deref().map(Ending::from_reason);
                match reason {
                    Some(Ending::Failure) => FailureKind::GivenUp,
                    _ if error.starts_with("the answer is too large") => {
                        FailureKind::AnswerTooLarge
                    }
                    _ => FailureKind::Reported,
                }
            }
            Outcome::Truncated => FailureKind::Truncated,
            Outcome::Timeout(TimeoutKind::Connect) => FailureKind::ConnectLimit,
            Outcome::Timeout(TimeoutKind::FirstToken) => FailureKind::FirstTokenLimit,
            Outcome::Timeout(TimeoutKind::Idle) => FailureKind::IdleLimit,
            Outcome::Timeout(TimeoutKind::Total) => FailureKind::TotalLimit,
            Outcome::Ok | Outcome::OkFiltered | Outcome::Cancelled | Outcome::Dropped => {
                return None;
            }
        })
    }

    fn of_status(status: u16) -> FailureKind {
        match status {
            429 => FailureKind::RateLimited,
            503 => FailureKind::Busy,
            502 => FailureKind::BadGateway,
            504 | 408 | 524 => FailureKind::GatewayTimeout,
            500.. => FailureKind::ServerError,
            300..=399 => FailureKind::Redirected,
            401 | 403 => FailureKind::Unauthorized,
            404 | 405 => FailureKind::NotFound,
            413 => FailureKind::TooLarge,
            _ => FailureKind::Refused,
        }
    }

    fn of_transport(record: &RequestRecord, error: &str) -> FailureKind {
        let lower = error.to_ascii_lowercase();
        let is_tls = ["certificate", "tls", "handshake"].iter().any(|word| lower.contains(word));
        match () {
            () if record.head_ns.is_some() => FailureKind::Cut,
            () if is_tls => FailureKind::Tls,
            () if lower.starts_with("cannot connect") => FailureKind::Unreachable,
            () if lower.contains("did not answer with http") => FailureKind::NoHttp,
            () if record.wire_bytes > 0 => FailureKind::Cut,
            () => FailureKind::Hangup,
        }
    }

    /// What happened to every request, where all failed in this way.
    pub fn of_every_request(self) -> &'static str {
        match self {
            FailureKind::RateLimited => "a rate limit rejected every request",
            FailureKind::Busy => "the server had no capacity for any request",
            FailureKind::BadGateway => "a proxy did not reach the server for any request",
            FailureKind::GatewayTimeout => {
                "a proxy stopped waiting for the server on every request"
            }
            FailureKind::ServerError => "the server failed on every request",
            FailureKind::Unauthorized
            | FailureKind::NotFound
            | FailureKind::TooLarge
            | FailureKind::Refused => "the server refused every request",
            FailureKind::Redirected => "the server redirected every request",
            FailureKind::Unreachable => "no request got a connection",
            FailureKind::Tls => "every TLS handshake failed",
            FailureKind::Hangup => "every connection was closed before an answer",
            FailureKind::NoHttp => "no response was HTTP/1.1",
            FailureKind::Cut => "every answer was cut off before its end",
            FailureKind::Truncated => "every answer ended without a finish reason",
            FailureKind::GivenUp => "the server ended every answer early",
            FailureKind::AnswerTooLarge => "every answer was larger than its limit",
            FailureKind::Reported => "every answer was an error",
            FailureKind::ConnectLimit => "no request got a connection in time",
            FailureKind::FirstTokenLimit => "no request got its first token in time",
            FailureKind::IdleLimit => "every answer stopped for longer than the idle limit",
            FailureKind::TotalLimit => "every request reached the time limit",
        }
    }

    /// What to do, if that follows from the kind alone.
    fn hint(self) -> Option<&'static str> {
        Some(match self {
            FailureKind::RateLimited => {
                "send less with -c or --rate, or raise the rate limit of the server or proxy"
            }
            FailureKind::Busy => {
                "check for a connection limit of the server or a proxy, or a server that is still \
                 starting; lower -c"
            }
            FailureKind::BadGateway => "check that the server behind the proxy runs, and its log",
            FailureKind::GatewayTimeout => PROXY_TIMEOUT,
            FailureKind::ServerError | FailureKind::GivenUp | FailureKind::Reported => {
                "the server's log may show the cause"
            }
            FailureKind::AnswerTooLarge => {
                "check --api, and whether the server stops at the requested number of output tokens"
            }
            FailureKind::Unauthorized => {
                "the key comes from OPENAI_API_KEY, or from the variable that --api-key-env names"
            }
            FailureKind::NotFound | FailureKind::Refused | FailureKind::NoHttp => {
                "check the URL, --model and --api"
            }
            FailureKind::TooLarge => {
                "send shorter prompts, or raise the body limit (nginx: client_max_body_size)"
            }
            FailureKind::Redirected => return None,
            FailureKind::Unreachable => "check that the server runs and listens at this address",
            FailureKind::Tls => "check the certificate; --insecure accepts any",
            FailureKind::Hangup => {
                "check the server's log for a crash, and proxies for a connection limit"
            }
            FailureKind::Cut => {
                "check the server's log for a crash, and proxies for a read timeout (nginx: \
                 proxy_read_timeout, HAProxy: timeout server)"
            }
            FailureKind::Truncated => {
                "check --api, and the server's log for requests that it ended early"
            }
            FailureKind::ConnectLimit => "--connect-timeout sets the limit",
            FailureKind::FirstTokenLimit => "--first-token-timeout sets the limit",
            FailureKind::IdleLimit => "--idle-timeout sets the limit",
            FailureKind::TotalLimit => "--timeout sets the limit",
        })
    }

    /// Shortest time that can be a limit of a proxy which causes it, nanoseconds; absent where no limit
    /// can.
    fn limit_ns_min(self) -> Option<u64> {
        match self {
            FailureKind::Cut | FailureKind::Hangup | FailureKind::Truncated => Some(LIMIT_NS_MIN),
            FailureKind::GatewayTimeout | FailureKind::Busy | FailureKind::BadGateway => {
                Some(STATUS_LIMIT_NS_MIN)
            }
            _ => None,
        }
    }
}

/// What to do about a proxy that does not wait.
const PROXY_TIMEOUT: &str =
    "raise the read timeout of the proxy (nginx: proxy_read_timeout, HAProxy: timeout server)";

/// The failures of some requests.
#[derive(Debug, Clone, PartialEq)]
pub struct Failures {
    /// Each kind that occurred with its count, most frequent first.
    pub kinds: Vec<(FailureKind, u64)>,
    /// The sentence that most failures have.
    pub sentence: Option<String>,
    /// When all of them ended, if that is one moment.
    pub moment: Option<Moment>,
    /// Requests that did not fail.
    others: u64,
    retry_after_s_max: Option<u32>,
}

/// A moment that failures have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// They ended this long after their start, nanoseconds.
    AfterStart(u64),
    /// They ended this long after the last byte of an answer, nanoseconds.
    AfterSilence(u64),
    /// They ended together, at about this time of the run, nanoseconds.
    Together(u64),
}

impl Failures {
    /// The failures among the requests; absent where none failed. Requests that the client cut off or
    /// never sent are left out.
    pub fn of<'run>(records: impl Iterator<Item = &'run RequestRecord>) -> Option<Failures> {
        let mut kinds: Vec<(FailureKind, u64)> = Vec::new();
        let mut sentences: Vec<(&str, u64)> = Vec::new();
        let mut failed = Vec::new();
        let (mut others, mut retry_after_s_max) = (0, None);
        for record in records {
            let Some(kind) = FailureKind::of(record) else {
                others += u64::from(record.outcome.is_ok());
                continue;
            };
            count(&mut kinds, kind);
            record.error.as_deref().into_iter().for_each(|error| count(&mut sentences, error));
            retry_after_s_max = retry_after_s_max.max(record.retry_after_s);
            failed.push((kind, record));
        }
        kinds.order_by_key(|(_, count)| std::cmp::Reverse(*count));
        sentences.order_by_key(|(_, count)| std::cmp::Reverse(*count));
        let sentence = sentences.first().map(|(sentence, _)| (*sentence).to_owned());
        let moment = common_moment(&failed);
        (!failed.is_empty()).then_some(Failures {
            kinds,
            sentence,
            moment,
            others,
            retry_after_s_max,
        })
    }

    /// What happened, where every request failed.
    pub fn of_every_request(&self) -> String {
        match self.kinds.as_slice() {
            [(kind, _)] => kind.of_every_request().to_owned(),
            kinds => {
                let each: Vec<String> =
                    kinds.iter().map(|(kind, count)| format!("{count} {}", kind.noun())).collect();
                format!("every request failed ({})", each.join(", "))
            }
        }
    }

    /// When the failures ended, as text, if that is one moment.
    pub fn moment_words(&self) -> Option<String> {
        let who = if self.others == 0 { "all" } else { "all failures" };
        Some(match self.moment? {
            Moment::AfterStart(ns) => {
                format!(
                    "{who} ended {} after their start: is it a time limit of a proxy?",
                    span(ns)
                )
            }
            Moment::AfterSilence(ns) => format!(
                "{who} ended {} after the last byte: is it a read timeout of a proxy?",
                span(ns)
            ),
            Moment::Together(_) => {
                format!("{who} ended at the same time: did the server or a proxy stop?")
            }
        })
    }

    /// What to do about the most frequent kind.
    pub fn hint(&self) -> Option<String> {
        let (kind, _) = self.kinds.first()?;
        let hint = kind.hint()?;
        match self.retry_after_s_max.filter(|_| *kind == FailureKind::RateLimited) {
            Some(seconds) => Some(format!("{hint}; Retry-After asks for {seconds} s")),
            None => Some(hint.to_owned()),
        }
    }
}

impl FailureKind {
    /// The kind as a noun, after a count.
    fn noun(self) -> String {
        self.word().replace('_', " ")
    }
}

fn count<T: PartialEq>(list: &mut Vec<(T, u64)>, item: T) {
    match list.iter_mut().find(|(known, _)| *known == item) {
        Some((_, count)) => *count += 1,
        None => list.push((item, 1)),
    }
}

/// The moment at which all failures ended, if it is one and a time limit or a stop can be its cause.
fn common_moment(failed: &[(FailureKind, &RequestRecord)]) -> Option<Moment> {
    let limits: Option<Vec<u64>> = failed.iter().map(|(kind, _)| kind.limit_ns_min()).collect();
    let limit_ns_min = limits.filter(|_| failed.len() >= SAME_MOMENT_MIN)?.into_iter().max()?;
    let records = || failed.iter().map(|(_, record)| *record);
    let since_start = common(records().map(|it| Some(it.end_ns.saturating_sub(it.start_ns))));
    if let Some(ns) = since_start.filter(|ns| *ns >= limit_ns_min) {
        return Some(Moment::AfterStart(ns));
    }
    let silences = records().map(|it| {
        let last_ns = it.last_token_ns().or(it.first_event_ns).or(it.head_ns)?;
        Some(it.end_ns.saturating_sub(last_ns))
    });
    if let Some(ns) = common(silences).filter(|ns| *ns >= limit_ns_min) {
        return Some(Moment::AfterSilence(ns));
    }
    if limit_ns_min > LIMIT_NS_MIN {
        return None;
    }
    let ends: Vec<u64> = records().map(|it| it.end_ns).collect();
    let (first, last) = (ends.iter().min()?, ends.iter().max()?);
    (last - first <= SAME_MOMENT_NS).then_some(Moment::Together(*first))
}

/// The median of similar spans; absent if they differ, or one is unknown.
fn common(spans: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    let mut spans = spans.collect::<Option<Vec<u64>>>()?;
    spans.sort_unstable();
    let median = *spans.get(spans.len() / 2)?;
    let range = spans.last()? - spans.first()?;
    let most = ((median as f64 * SAME_MOMENT_SHARE) as u64).max(SAME_MOMENT_NS.min(median / 4));
    (range <= most).then_some(median)
}

/// A span with two digits or more: `1.0 s`, `100 ms`.
fn span(ns: u64) -> String {
    match ns {
        1_000_000_000.. => format!("{:.1} s", ns as f64 / 1e9),
        _ => format!("{:.0} ms", ns as f64 / 1e6),
    }
}

/// The failures in one line: how many, of what kind, in whose words, when, and what to do.
pub fn sentence_of(failures: &Failures, counts: &str) -> String {
    let parts = [
        Some(counts.to_owned()),
        failures.sentence.clone(),
        failures.moment_words(),
        failures.hint(),
    ];
    let mut text = String::new();
    for part in parts.into_iter().flatten() {
        match text.chars().next_back() {
            None => {}
            Some('.' | '?' | '!') => text.push(' '),
            Some(_) => text.push_str(". "),
        }
        text.push_str(&capitalized(&part));
    }
    text
}

/// The same with a capital letter at its start.
fn capitalized(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MS, failed, request};

    fn refused(status: u16) -> RequestRecord {
        let mut record = failed(0, 0, 0, 0.0, 5.0);
        record.http_status = Some(status);
        record.error = Some(format!("HTTP {status}: no"));
        record
    }

    fn broken(error: &str, after_ms: f64, tokens_ms: &[f64]) -> RequestRecord {
        let mut record = request(0, 0, 0, 0.0, tokens_ms);
        record.outcome = Outcome::TransportError;
        record.error = Some(error.to_owned());
        record.end_ns = record.start_ns + (after_ms * MS as f64) as u64;
        if tokens_ms.is_empty() {
            (record.head_ns, record.first_event_ns, record.wire_bytes) = (None, None, 0);
        }
        record
    }

    fn of(records: &[RequestRecord]) -> Failures {
        Failures::of(records.iter()).expect("some failed")
    }

    #[test]
    fn each_failure_has_its_sentence_and_its_hint() {
        for (record, sentence, hint) in [
            (refused(429), "a rate limit rejected every request", "--rate"),
            (refused(503), "no capacity", "connection limit"),
            (refused(502), "a proxy did not reach the server", "behind the proxy"),
            (refused(504), "a proxy stopped waiting", "proxy_read_timeout"),
            (refused(500), "the server failed on every request", "log"),
            (refused(401), "the server refused every request", "OPENAI_API_KEY"),
            (refused(404), "the server refused every request", "--model and --api"),
            (refused(413), "the server refused every request", "client_max_body_size"),
            (refused(400), "the server refused every request", "--model and --api"),
            (broken("cannot connect: Connection refused", 1.0, &[]), "got a connection", "runs"),
            (broken("cannot connect: invalid peer certificate", 1.0, &[]), "TLS", "--insecure"),
            (
                broken("the connection was closed within the response head", 1.0, &[]),
                "closed before an answer",
                "connection limit",
            ),
            (
                broken("the connection was closed within the response body", 50.0, &[10.0]),
                "cut off before its end",
                "read timeout",
            ),
        ] {
            let failures = of(std::slice::from_ref(&record));
            let error = &record.error;
            assert!(failures.of_every_request().contains(sentence), "{error:?}: {failures:?}");
            assert!(failures.hint().unwrap().contains(hint), "{error:?}: {:?}", failures.hint());
        }
    }

    #[test]
    fn finish_reason_shows_that_the_engine_gave_up() {
        let mut record = request(0, 0, 0, 0.0, &[10.0]);
        record.outcome = Outcome::InBandError;
        record.finish_reason = Some("abort".to_owned());
        assert_eq!(FailureKind::of(&record), Some(FailureKind::GivenUp));
        record.finish_reason = None;
        assert_eq!(FailureKind::of(&record), Some(FailureKind::Reported));
        record.error = Some("the answer is too large: more than 32 MiB in one event".to_owned());
        assert_eq!(FailureKind::of(&record), Some(FailureKind::AnswerTooLarge));
        record.outcome = Outcome::Cancelled;
        assert_eq!(FailureKind::of(&record), None);
    }

    #[test]
    fn failures_of_several_kinds_are_counted_by_kind() {
        let mut all = vec![refused(503), refused(429), refused(429)];
        all[1].retry_after_s = Some(7);
        let failures = of(&all);
        assert_eq!(failures.kinds, [(FailureKind::RateLimited, 2), (FailureKind::Busy, 1)]);
        assert_eq!(failures.of_every_request(), "every request failed (2 rate limited, 1 busy)");
        assert!(failures.hint().unwrap().ends_with("Retry-After asks for 7 s"));
        assert_eq!(failures.sentence.as_deref(), Some("HTTP 429: no"));
        assert_eq!(Failures::of([request(0, 0, 0, 0.0, &[1.0])].iter()), None);
    }

    #[test]
    fn a_time_limit_of_a_proxy_shows_in_the_moment_of_the_end() {
        let cut = |after_ms: f64, token_ms: f64| broken("closed", after_ms, &[token_ms]);
        let one_second = [cut(1000.0, 10.0), cut(1004.0, 300.0), cut(1012.0, 20.0)];
        assert_eq!(of(&one_second).moment, Some(Moment::AfterStart(1004 * MS)));
        assert!(of(&one_second).moment_words().unwrap().contains("1.0 s after their start"));
        let silence = [cut(600.0, 100.0), cut(1301.0, 800.0), cut(803.0, 300.0)];
        assert_eq!(of(&silence).moment, Some(Moment::AfterSilence(501 * MS)));
        // A crash ends requests that began at different times.
        let mut crash = [cut(300.0, 10.0), cut(200.0, 10.0), cut(100.0, 10.0)];
        for (position, record) in crash.iter_mut().enumerate() {
            let start_ns = position as u64 * 100 * MS;
            record.end_ns += start_ns;
            record.start_ns += start_ns;
            record.events.at_ns[0] += start_ns;
        }
        assert_eq!(of(&crash).moment, Some(Moment::Together(300 * MS)));
        // Different times, refusals at once, and two failures show nothing.
        assert_eq!(of(&[cut(300.0, 10.0), cut(600.0, 20.0), cut(900.0, 50.0)]).moment, None);
        assert_eq!(of(&[refused(503), refused(503), refused(503)]).moment, None);
        assert_eq!(of(&one_second[..2]).moment, None);
    }
}
