//! A second, independent reading of a case: slow, one byte at a time, straight from the grammars
//! and the definitions. It knows nothing of how cases are written down.

use ifm_core::{Outcome, TimeoutKind};
use ifm_truth::{Action, Case, Truth};
use serde_json::Value;
use std::collections::BTreeMap;

/// Bytes with the time at which they come, milliseconds.
type Timeline = Vec<(u64, u8)>;

/// How the connection ends after the last byte.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Open,
    Closed,
    Reset,
}

/// How the message ends.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Message {
    Complete,
    Broken,
    Silent,
}

struct Head {
    status: u16,
    fields: Vec<(String, String)>,
    bytes: usize,
    version_1_0: bool,
}

impl Head {
    fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// What the case means.
pub fn judge(case: &Case) -> Truth {
    let (timeline, end) = timeline_of(case);
    let broken = |status| Truth::ended(Outcome::TransportError, status);
    let first_limit_ms = case.limits.first_token_ms.or(case.limits.total_ms);
    let mut at = 0;
    let head = loop {
        match head_of(&timeline[at..]) {
            Ok(Some(head)) if (100..200).contains(&head.status) => at += head.bytes,
            Ok(Some(head)) => break head,
            Ok(None) if end == End::Open && first_limit_ms.is_some() => {
                return Truth::ended(Outcome::Timeout(TimeoutKind::FirstToken), None);
            }
            Ok(None) | Err(()) => return broken(None),
        }
    };
    let (body, message) = body_of(&head, &timeline[at + head.bytes..], end);
    let status = Some(head.status);
    if !(200..300).contains(&head.status) {
        let retry_after_s = head.field("retry-after").and_then(|value| value.parse().ok());
        return Truth { retry_after_s, ..Truth::ended(Outcome::HttpError, status) };
    }
    if head.field("content-type").is_none_or(|kind| !kind.starts_with("text/event-stream")) {
        return document(&body, status);
    }
    stream(case, &body, message, status)
}

fn timeline_of(case: &Case) -> (Timeline, End) {
    let mut timeline = Vec::new();
    let mut end = End::Open;
    for step in &case.steps {
        match &step.action {
            Action::Send(bytes) => timeline.extend(bytes.iter().map(|byte| (step.at_ms, *byte))),
            Action::Close => end = End::Closed,
            Action::Reset => end = End::Reset,
        }
    }
    (timeline, end)
}

/// The head, `None` while it is incomplete, an error when it is not HTTP.
fn head_of(timeline: &[(u64, u8)]) -> Result<Option<Head>, ()> {
    let bytes: Vec<u8> = timeline.iter().map(|(_, byte)| *byte).collect();
    if !b"HTTP/1.".starts_with(&bytes[..bytes.len().min(7)]) {
        return Err(());
    }
    let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(&bytes[..end]).replace("\r\n ", " ").replace("\r\n\t", " ");
    let mut lines = text.split("\r\n");
    let first = lines.next().ok_or(())?;
    let status = first.split(' ').nth(1).and_then(|word| word.parse().ok()).ok_or(())?;
    let fields = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(key, value)| (key.to_lowercase(), value.trim().to_lowercase()))
        .collect();
    Ok(Some(Head { status, fields, bytes: end + 4, version_1_0: first.starts_with("HTTP/1.0") }))
}

fn body_of(head: &Head, rest: &[(u64, u8)], end: End) -> (Timeline, Message) {
    let unfinished = if end == End::Open { Message::Silent } else { Message::Broken };
    if head.field("transfer-encoding") == Some("chunked") {
        return dechunk(rest, unfinished);
    }
    if let Some(length) = head.field("content-length") {
        let length: usize = length.parse().unwrap();
        if rest.len() < length {
            return (rest.to_vec(), unfinished);
        }
        return (rest[..length].to_vec(), Message::Complete);
    }
    assert!(head.version_1_0 || head.field("connection") == Some("close"));
    let message = if end == End::Closed { Message::Complete } else { unfinished };
    (rest.to_vec(), message)
}

/// Undoes the chunked coding. The trailer must be there for the message to be complete.
fn dechunk(rest: &[(u64, u8)], unfinished: Message) -> (Timeline, Message) {
    let mut body = Vec::new();
    let mut at = 0;
    loop {
        let Some(line) = rest[at..].windows(2).position(|pair| pair[0].1 == 13 && pair[1].1 == 10)
        else {
            return (body, unfinished);
        };
        let text: String = rest[at..at + line].iter().map(|(_, byte)| *byte as char).collect();
        at += line + 2;
        let Ok(size) = usize::from_str_radix(text.split(';').next().unwrap(), 16) else {
            return (body, Message::Broken);
        };
        if size == 0 {
            let trailer: Vec<u8> = rest[at..].iter().map(|(_, byte)| *byte).collect();
            let ended = trailer.starts_with(b"\r\n")
                || trailer.windows(4).any(|window| window == b"\r\n\r\n");
            return (body, if ended { Message::Complete } else { unfinished });
        }
        body.extend_from_slice(&rest[at..(at + size).min(rest.len())]);
        if rest.len() < at + size + 2 {
            return (body, unfinished);
        }
        at += size + 2;
    }
}

/// The events: payload and the time of its last byte. A last one that has no blank line counts if
/// nothing of it is missing.
fn events_of(body: &[(u64, u8)]) -> Vec<(String, u64)> {
    let mut bytes = body;
    if body.len() >= 3 && body[..3].iter().map(|(_, byte)| *byte).eq([0xef, 0xbb, 0xbf]) {
        bytes = &body[3..];
    }
    let mut lines: Vec<Timeline> = Vec::new();
    let mut line = Timeline::new();
    let mut after_cr = false;
    for (at_ms, byte) in bytes {
        match byte {
            b'\n' if after_cr => after_cr = false,
            b'\n' | b'\r' => {
                lines.push(std::mem::take(&mut line));
                after_cr = *byte == b'\r';
            }
            _ => {
                line.push((*at_ms, *byte));
                after_cr = false;
            }
        }
    }
    let mut events = Vec::new();
    let mut payload: Option<(Vec<u8>, u64)> = None;
    let ended = lines.len();
    lines.extend([line, Timeline::new()]);
    for (position, line) in lines.into_iter().enumerate() {
        let text: Vec<u8> = line.iter().map(|(_, byte)| *byte).collect();
        if text.is_empty() {
            if let Some((bytes, at_ms)) = payload.take() {
                let text = String::from_utf8(bytes).unwrap();
                let is_whole = || {
                    text == "[DONE]"
                        || serde_json::from_str::<Value>(&text).is_ok_and(|v| v.is_object())
                };
                if position < ended || is_whole() {
                    events.push((text, at_ms));
                }
            }
            continue;
        }
        let colon = text.iter().position(|byte| *byte == b':').unwrap_or(text.len());
        if &text[..colon] != b"data" {
            continue;
        }
        let value = text.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let at_ms = line.last().unwrap().0;
        payload = Some(match payload {
            Some((bytes, _)) => ([bytes.as_slice(), b"\n", value].concat(), at_ms),
            None => (value.to_vec(), at_ms),
        });
    }
    events
}

fn is_error(chunk: &Value) -> bool {
    !chunk["error"].is_null() || chunk["object"] == "error"
}

fn document(body: &[(u64, u8)], status: Option<u16>) -> Truth {
    let bytes: Vec<u8> = body.iter().map(|(_, byte)| *byte).collect();
    let parsed = serde_json::from_slice::<Value>(&bytes).ok().filter(|value| !is_error(value));
    let outcome = if parsed.is_some() { Outcome::Ok } else { Outcome::InBandError };
    let tokens = parsed.and_then(|value| value["usage"]["completion_tokens"].as_u64());
    Truth {
        output_tokens: tokens.map(|count| count as u32),
        streamed: false,
        ..Truth::ended(outcome, status)
    }
}

/// One event that holds output or may hold it.
struct Output {
    at_ms: u64,
    choice: u64,
    empty: bool,
    /// Whether the choice ends with it.
    closing: bool,
    reasoning: bool,
    /// Tokens so far as told before and in this chunk.
    counts: (Option<u64>, Option<u64>),
}

/// Whether a delta or choice has output under a name, and whether the output is empty text.
fn text_under(holder: &Value, names: &[&str]) -> Option<bool> {
    let texts: Vec<&str> = names.iter().filter_map(|name| holder[*name].as_str()).collect();
    (!texts.is_empty()).then(|| texts.iter().all(|text| text.is_empty()))
}

/// A number of things, however the number is written.
fn whole(value: &Value) -> Option<u64> {
    let number = value.as_f64().or(value.as_str().and_then(|text| text.parse().ok()))?;
    (number >= 0.0 && number.fract() == 0.0).then_some(number as u64)
}

fn output_of(choice: &Value, at_ms: u64, counts: (Option<u64>, Option<u64>)) -> Option<Output> {
    let delta = &choice["delta"];
    let thought = text_under(delta, &["reasoning", "reasoning_content"]) == Some(false);
    let call = delta["tool_calls"].as_array().is_some_and(|calls| !calls.is_empty())
        || delta["function_call"].is_object();
    let text = text_under(delta, &["content", "refusal"]).or(text_under(choice, &["text"]));
    let written = text == Some(false) || call;
    let candidate = text == Some(true) && delta["role"].is_null();
    let ends = choice["finish_reason"].as_str().is_some_and(|reason| !reason.is_empty());
    (thought || written || candidate).then(|| Output {
        at_ms,
        choice: whole(&choice["index"]).unwrap_or(0),
        closing: candidate && !thought && !written && ends,
        empty: !thought && !written,
        reasoning: thought && !written,
        counts,
    })
}

fn stream(case: &Case, body: &[(u64, u8)], message: Message, status: Option<u16>) -> Truth {
    let mut outputs = Vec::new();
    let mut choices = std::collections::BTreeSet::new();
    let (mut count, mut finish, mut done, mut error, mut refused) =
        (None, None, false, false, false);
    for (payload, at_ms) in events_of(body) {
        if payload.trim() == "[DONE]" {
            done = true;
            break;
        }
        let chunk: Value = serde_json::from_str(&payload).unwrap();
        error |= is_error(&chunk);
        let told = whole(&chunk["usage"]["completion_tokens"]);
        for choice in chunk["choices"].as_array().into_iter().flatten() {
            choices.insert(whole(&choice["index"]).unwrap_or(0));
            refused |= text_under(&choice["delta"], &["refusal"]) == Some(false);
            finish = choice["finish_reason"].as_str().map(str::to_owned).or(finish);
            outputs.extend(output_of(choice, at_ms, (count, told)));
        }
        count = told.or(count);
    }
    let outputs = tokens_among(outputs, count);
    let outcome = match (error, done || finish.is_some(), message) {
        (true, _, _) => Outcome::InBandError,
        (_, true, _) if refused || finish.as_deref() == Some("content_filter") => {
            Outcome::OkFiltered
        }
        (_, true, _) => Outcome::Ok,
        (_, _, Message::Complete) => Outcome::Truncated,
        (_, _, Message::Broken) => Outcome::TransportError,
        (_, _, Message::Silent) => timeout_of(case, body, &outputs),
    };
    let mut truth = Truth::ended(outcome, status);
    truth.token_events = Some(outputs.len() as u32);
    if outcome.is_ok() {
        truth.choices = Some(choices.len() as u16);
        times(&mut truth, &outputs, count);
    }
    truth
}

/// Drops the empty texts that have no token.
fn tokens_among(outputs: Vec<Output>, count: Option<u64>) -> Vec<Output> {
    let fits = |closing: bool| {
        let events = outputs.iter().filter(|output| closing || !output.closing).count() as u64;
        count.is_some_and(|tokens| events <= tokens)
    };
    let (within, closing) = (fits(false), fits(true));
    outputs
        .into_iter()
        .filter(|output| match output.counts {
            _ if !output.empty => true,
            (before, Some(now)) => now > before.unwrap_or(0),
            _ if output.closing => closing,
            _ => within,
        })
        .collect()
}

fn times(truth: &mut Truth, outputs: &[Output], count: Option<u64>) {
    truth.output_tokens = count.map(|tokens| tokens as u32);
    let (Some(first), Some(last)) = (outputs.first(), outputs.last()) else {
        return;
    };
    let answer = outputs.iter().find(|output| !output.reasoning && !output.closing);
    truth.ttft_ms = Some(first.at_ms as f64);
    truth.ttfat_ms = answer.map(|output| output.at_ms as f64);
    truth.last_token_ms = Some(last.at_ms as f64);
    let Some(tokens) = count else { return };
    if let Some(first_tokens) = first.counts.1.filter(|told| *told < tokens) {
        let span = (last.at_ms - first.at_ms) as f64;
        truth.tpot_after_first_event_ms = Some(span / (tokens - first_tokens) as f64);
    }
    let mut sequences: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for output in outputs {
        sequences.entry(output.choice).or_default().push(output.at_ms);
    }
    let alone = sequences.len() == 1;
    assert!(alone || outputs.len() as u64 == tokens, "unknown which sequence has which token");
    let tpots: Vec<f64> = sequences
        .values()
        .filter_map(|times| {
            let held = if alone { tokens } else { times.len() as u64 };
            let span = (times.last()? - times.first()?) as f64;
            (held > 1).then(|| span / (held - 1) as f64)
        })
        .collect();
    if !tpots.is_empty() {
        truth.tpot_ms = Some(tpots.iter().sum::<f64>() / tpots.len() as f64);
    }
}

/// Which of the case's limits a stream without an end reaches first.
fn timeout_of(case: &Case, body: &[(u64, u8)], outputs: &[Output]) -> Outcome {
    let mut reached = Vec::new();
    if let Some(limit) = case.limits.first_token_ms
        && outputs.first().is_none_or(|first| first.at_ms > limit)
    {
        reached.push((limit, TimeoutKind::FirstToken));
    }
    if let Some(limit) = case.limits.idle_ms {
        let times: Vec<u64> = body.iter().map(|(at_ms, _)| *at_ms).collect();
        let gap = times.windows(2).find(|pair| pair[1] - pair[0] > limit).map(|pair| pair[0]);
        reached.push((gap.or(times.last().copied()).unwrap() + limit, TimeoutKind::Idle));
    }
    if let Some(limit) = case.limits.total_ms {
        reached.push((limit, TimeoutKind::Total));
    }
    Outcome::Timeout(reached.into_iter().min_by_key(|(at_ms, _)| *at_ms).unwrap().1)
}
