//! The head of a response: parsed with httparse, and what its fields say about framing
//! (RFC 9112, 6.3) and about the connection (RFC 9112, 9.3).

use super::{HEAD_BYTES_MAX, HttpError};
use crate::dialect::json;

/// Most header fields accepted.
pub(super) const HEADER_FIELDS_MAX: usize = 128;

/// The head of a response: what framing, outcome and reports need of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Status code.
    pub status: u16,
    /// Whether the connection can carry another request afterwards.
    pub keep_alive: bool,
    /// `Content-Type`, as sent.
    pub content_type: Option<String>,
    /// `Content-Encoding`, as sent; absent if it contains only `identity`.
    pub content_encoding: Option<String>,
    /// `Server`, as sent.
    pub server: Option<String>,
    /// `Location`, as sent.
    pub location: Option<String>,
    /// `Retry-After` in seconds, if it came in that form.
    pub retry_after_s: Option<u32>,
    /// How long the request waited in the server, nanoseconds, as `x-queue-time` says.
    pub queue_ns: Option<u64>,
    /// Processing time reported by the server or a proxy before it, in nanoseconds, from the first
    /// header that reports it.
    pub processing_ns: Option<u64>,
    /// `x-session-token`, as sent: the token that a router expects in later requests.
    pub session_token: Option<String>,
}

/// Headers with a time in milliseconds until the answer, the one nearest to the model first: OpenAI,
/// Text Generation Inference, Envoy. `Server-Timing` comes behind them.
const PROCESSING: [&str; 3] =
    ["openai-processing-ms", "x-total-time", "x-envoy-upstream-service-time"];

impl Head {
    /// Whether the status says that the request succeeded.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// How the body of a response is framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// No body at all.
    None,
    Length(u64),
    Chunked,
    UntilClose,
}

/// A complete head: the bytes it used, what it says and how its body is framed.
pub(super) type ParsedHead = (usize, (Head, Framing));

/// Parses a head if it is complete. The answer is the same whether the head comes whole or grows
/// from call to call: nothing behind [`HEAD_BYTES_MAX`] is looked at.
pub(super) fn parse_head(bytes: &[u8]) -> Result<Option<ParsedHead>, HttpError> {
    let mut fields = [httparse::EMPTY_HEADER; HEADER_FIELDS_MAX];
    let mut response = httparse::Response::new(&mut fields);
    let mut config = httparse::ParserConfig::default();
    config.allow_spaces_after_header_name_in_responses(true);
    config.allow_obsolete_multiline_headers_in_responses(true);
    let seen = &bytes[..bytes.len().min(HEAD_BYTES_MAX)];
    match config.parse_response(&mut response, seen) {
        Ok(httparse::Status::Complete(used)) => interpret(&response).map(|head| Some((used, head))),
        Ok(httparse::Status::Partial) if bytes.len() > HEAD_BYTES_MAX => {
            Err(HttpError::HeadTooLarge)
        }
        Ok(httparse::Status::Partial) => Ok(None),
        Err(httparse::Error::TooManyHeaders) => Err(HttpError::HeadTooLarge),
        Err(error) => Err(HttpError::NotHttp(error.to_string())),
    }
}

/// What the fields of a complete head say.
fn interpret(response: &httparse::Response<'_, '_>) -> Result<(Head, Framing), HttpError> {
    let is_old = response.version == Some(0);
    let mut head = Head {
        status: response.code.unwrap_or(0),
        keep_alive: false,
        content_type: None,
        content_encoding: None,
        server: None,
        location: None,
        retry_after_s: None,
        queue_ns: None,
        processing_ns: None,
        session_token: None,
    };
    let mut processing_ns = [None; PROCESSING.len()];
    let mut timings: Vec<String> = Vec::new();
    let mut lengths: Vec<String> = Vec::new();
    let mut last_coding: Option<String> = None;
    let (mut closes, mut keeps) = (false, false);
    for field in response.headers.iter() {
        let is = |name: &str| field.name.eq_ignore_ascii_case(name);
        let text = || field_text(field.value);
        if is("content-length") {
            lengths.push(text());
        } else if is("transfer-encoding") {
            let coding = elements(&text()).last().map(str::to_owned);
            last_coding = coding.or(last_coding).or(Some(String::new()));
        } else if is("connection") {
            closes |= elements(&text()).any(|word| word.eq_ignore_ascii_case("close"));
            keeps |= elements(&text()).any(|word| word.eq_ignore_ascii_case("keep-alive"));
        } else if is("content-encoding") {
            if elements(&text()).any(|word| !word.eq_ignore_ascii_case("identity")) {
                head.content_encoding = Some(text());
            }
        } else if is("content-type") {
            head.content_type = Some(text());
        } else if is("server") {
            head.server = Some(text());
        } else if is("location") {
            head.location = Some(text());
        } else if is("retry-after") {
            head.retry_after_s = digits(&text()).and_then(|seconds| seconds.try_into().ok());
        } else if is("x-queue-time") {
            head.queue_ns = ms(&text());
        } else if is("x-session-token") {
            head.session_token = Some(text());
        } else if let Some(place) = PROCESSING.iter().position(|name| is(name)) {
            processing_ns[place] = ms(&text());
        } else if is("server-timing") {
            timings.push(text());
        }
    }
    // Several lines are one list (RFC 9110, 5.3), of which one metric may be the answer.
    let timing_ns = || server_timing(&timings.join(","));
    head.processing_ns = processing_ns.into_iter().flatten().next().or_else(timing_ns);
    // In the order of RFC 9112, 6.3: what a former rule decides makes the later fields idle,
    // and wrong values in them harmless.
    let framing = match (head.status, last_coding.as_deref()) {
        (100..=199 | 204 | 304, _) => Framing::None,
        (_, Some(coding)) if coding.eq_ignore_ascii_case("chunked") => Framing::Chunked,
        (_, Some(_)) => Framing::UntilClose,
        (_, None) => merge_lengths(&lengths)?.map_or(Framing::UntilClose, Framing::Length),
    };
    // `close` outweighs `keep-alive`; after 101 the connection speaks another protocol; a
    // transfer coding in HTTP/1.0 is faulty framing (RFC 9112, 6.1).
    let faulty = is_old && last_coding.is_some();
    head.keep_alive = (keeps || !is_old)
        && !closes
        && !faulty
        && framing != Framing::UntilClose
        && head.status != 101;
    Ok((head, framing))
}

/// Milliseconds as nanoseconds.
fn ms(text: &str) -> Option<u64> {
    text.parse().ok().and_then(json::ns_of_ms)
}

/// The duration of a `Server-Timing` field (W3C): that of the metric `total`, or of the only one that
/// has a duration. What several parts mean together is not told.
fn server_timing(text: &str) -> Option<u64> {
    let durations = elements(text).filter_map(|metric| {
        let mut parts = metric.split(';').map(trim);
        let name = parts.next()?;
        let duration = parts.find_map(|part| {
            let (key, value) = part.split_once('=')?;
            trim(key).eq_ignore_ascii_case("dur").then(|| trim(value).trim_matches('"'))
        });
        Some((name, ms(duration?)?))
    });
    let durations: Vec<(&str, u64)> = durations.collect();
    let total = durations.iter().find(|(name, _)| name.eq_ignore_ascii_case("total"));
    match (total, durations.as_slice()) {
        (Some((_, ns)), _) | (None, [(_, ns)]) => Some(*ns),
        _ => None,
    }
}

/// A field value as text: folded lines joined (RFC 9112, 5.2), white space around it removed.
fn field_text(value: &[u8]) -> String {
    let text = String::from_utf8_lossy(value).replace(['\r', '\n'], " ");
    trim(&text).to_owned()
}

/// Without the optional white space of RFC 9110, 5.6.3, which knows only two characters.
fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}

/// The elements of a list; empty ones do not count (RFC 9110, 5.6.1.2).
fn elements(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(trim).filter(|element| !element.is_empty())
}

/// A number of digits alone, if it fits.
fn digits(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// Joins all `Content-Length` values: a list of equal numbers is one number (RFC 9110, 8.6),
/// anything else is refused.
fn merge_lengths(values: &[String]) -> Result<Option<u64>, HttpError> {
    let mut merged = None;
    for part in values.iter().flat_map(|value| value.split(',')).map(trim) {
        let length = digits(part)
            .ok_or_else(|| HttpError::BadLength(format!("content-length is \"{part:.40}\"")))?;
        if merged.is_some_and(|other| other != length) {
            return Err(HttpError::BadLength("two different content-lengths".to_owned()));
        }
        merged = Some(length);
    }
    Ok(merged)
}
