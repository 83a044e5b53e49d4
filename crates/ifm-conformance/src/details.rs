//! One case in full: the bytes that are sent and when, the truth, and the client's answer.

use crate::score::{ending, number, summary};
use crate::{Attempt, Check, Trial, Tried};
use ifm_truth::case::Action;
use ifm_truth::scripted::Exchange;
use ifm_truth::{Case, Truth};
use std::fmt::Write as _;

/// Maximum number of lines shown per send, and of characters per line; the rest is counted.
const LINES_MAX: usize = 12;
const LINE_CHARS_MAX: usize = 200;
/// Maximum number of bytes shown of a request's body.
const BODY_BYTES_MAX: usize = 400;

/// A case: what it is, what is sent, and the truth.
pub fn case(case: &Case) -> String {
    let mut out = format!("{} ({}): {}\n\n", case.name, case.class.word(), case.what);
    out.push_str("sent, milliseconds after the whole request had come:\n");
    for step in &case.steps {
        let at = format!("{:>6}  ", step.at_ms);
        match &step.action {
            Action::Send(bytes) => out.push_str(&sent(&at, bytes)),
            Action::Close => writeln!(out, "{at}(the connection is closed)").unwrap_or_default(),
            Action::Reset => writeln!(out, "{at}(the connection is reset)").unwrap_or_default(),
        }
    }
    writeln!(out, "\ntrue: {}\nbecause {}", truth(&case.truth), case.why).unwrap_or_default();
    if case.requests > 1 {
        writeln!(out, "asked {} times, one after the other", case.requests).unwrap_or_default();
    }
    out.push('\n');
    out
}

/// A case and the client's result.
pub fn tried(tried: &Tried, trial: &Trial, again: &str) -> String {
    let mut out = case(&tried.case);
    let (runs, right) = (tried.attempts.len(), tried.right_runs());
    if runs > 1 {
        writeln!(out, "right in {right} of {runs} runs; this is one of the majority")
            .unwrap_or_default();
    }
    match tried.example() {
        Some(attempt) => out.push_str(&said(attempt, trial)),
        None => writeln!(out, "verdict: {}", applies(tried)).unwrap_or_default(),
    }
    writeln!(out, "\nagain: {again} --case {}\n", tried.case.name).unwrap_or_default();
    out
}

fn applies(tried: &Tried) -> String {
    match tried.verdict {
        crate::Verdict::NotApplicable(reason) => format!("does not apply: {reason}"),
        other => other.word().to_owned(),
    }
}

/// What a run of the client did and reported.
fn said(attempt: &Attempt, trial: &Trial) -> String {
    let mut out = String::new();
    let seconds = attempt.lasted.as_secs_f64();
    writeln!(out, "the client: {} after {seconds:.1} s", ending(attempt)).unwrap_or_default();
    for exchange in &attempt.exchanges {
        out.push_str(&asked(exchange));
    }
    if attempt.exchanges.is_empty() {
        out.push_str("it sent no request to this case\n");
    }
    if let Some(source) = &attempt.source {
        writeln!(out, "\nit reported, as read from {source}:").unwrap_or_default();
        for check in &attempt.checks {
            out.push_str(&line(check, trial.tolerance_ms));
        }
    }
    if attempt.checks.iter().any(|check| !check.is_right) || attempt.source.is_none() {
        for (position, words) in attempt.last_words.iter().enumerate() {
            let lead = if position == 0 { "its last lines:" } else { "" };
            writeln!(out, "{lead:<16}{words}").unwrap_or_default();
        }
    }
    writeln!(out, "\nverdict: {}", summary(attempt)).unwrap_or_default();
    out
}

/// `  output tokens        9.0   truth 10.0   wrong`.
fn line(check: &Check, tolerance_ms: f64) -> String {
    let ranges: Vec<String> = check
        .accepted
        .iter()
        .map(|range| match (range.start(), range.end()) {
            (start, end) if start == end => format!("{start:.1}"),
            (start, end) => format!("{start:.1} to {end:.1}"),
        })
        .collect();
    let tolerance = match check.what.ends_with("ms") {
        true => format!(", tolerance {tolerance_ms} ms"),
        false => String::new(),
    };
    let verdict = match (check.is_right, check.said) {
        (false, _) => "wrong",
        (true, None) => "not reported",
        (true, Some(_)) => "right",
    };
    let truth = ranges.join(" or ");
    format!(
        "  {:<17} {:>9}   truth {truth}{tolerance}: {verdict}\n",
        check.what,
        number(check.said)
    )
}

/// The truth of a case, in words.
fn truth(truth: &Truth) -> String {
    let mut parts = vec![format!("outcome {}", truth.outcome.word())];
    for (name, value) in
        [("TTFT", truth.ttft_ms), ("last token", truth.last_token_ms), ("TPOT", truth.tpot_ms)]
    {
        parts.extend(value.map(|ms| format!("{name} {ms:.1} ms")));
    }
    parts.extend(truth.output_tokens.map(|tokens| format!("{tokens} output tokens")));
    parts.join(", ")
}

/// A request as the server received it.
fn asked(exchange: &Exchange) -> String {
    let late_ms = exchange.lateness_ns_max() as f64 / 1e6;
    let mut out = format!(
        "it sent: POST {}, {} bytes; the server was at most {late_ms:.2} ms late{}\n",
        exchange.path,
        exchange.body_bytes,
        if exchange.left_early { "; the client left before the last step" } else { "" },
    );
    let body = exchange.body.get(..BODY_BYTES_MAX).unwrap_or(&exchange.body);
    out.push_str(&sent("        ", body));
    out
}

/// Bytes in lines, each with its line ending visible. A byte that is not visible ASCII is `<hex>`.
fn sent(lead: &str, bytes: &[u8]) -> String {
    let lines = lines(bytes);
    let mut out = String::new();
    for (position, line) in lines.iter().take(LINES_MAX).enumerate() {
        let lead = if position == 0 { lead.to_owned() } else { " ".repeat(lead.len()) };
        writeln!(out, "{lead}{}", visible(line)).unwrap_or_default();
    }
    let rest = lines.get(LINES_MAX..).unwrap_or_default();
    if !rest.is_empty() {
        let bytes: usize = rest.iter().map(|line| line.len()).sum();
        let indent = lead.len();
        writeln!(out, "{:indent$}… {} lines more, {bytes} bytes", "", rest.len())
            .unwrap_or_default();
    }
    out
}

/// Lines with their endings: LF, CR LF or CR.
fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
        let end = end.map_or(rest.len(), |end| match rest.get(end..end + 2) {
            Some(b"\r\n") => end + 2,
            _ => end + 1,
        });
        let (line, after) = rest.split_at(end);
        lines.push(line);
        rest = after;
    }
    lines
}

fn visible(line: &[u8]) -> String {
    let mut out = String::new();
    for byte in line.iter().take(LINE_CHARS_MAX) {
        match byte {
            b'\r' => out.push_str("\\r"),
            b'\n' => out.push_str("\\n"),
            b' '..=b'~' => out.push(char::from(*byte)),
            other => out.push_str(&format!("<{other:02x}>")),
        }
    }
    match line.len().saturating_sub(LINE_CHARS_MAX) {
        0 => out,
        more => format!("{out} … {more} bytes more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_show_their_line_ends_and_what_is_not_ascii() {
        let shown = sent("   100  ", b"data: a\r\n\xef\xbb\xbfdata: \"b\\n\"\r\n\n");
        assert_eq!(
            shown,
            "   100  data: a\\r\\n\n        <ef><bb><bf>data: \"b\\n\"\\r\\n\n        \\n\n"
        );
        let long = sent("", &b"x\n".repeat(100));
        assert!(long.ends_with("… 88 lines more, 176 bytes\n"), "{long}");
        assert!(sent("", &[b'x'; 300]).ends_with(" … 100 bytes more\n"));
    }

    #[test]
    fn every_case_can_be_shown() {
        for each in ifm_truth::cases::suite() {
            let shown = case(&each);
            assert!(shown.contains(each.what) && shown.contains("true: outcome "), "{shown}");
            assert!(shown.is_ascii() || shown.contains('…'), "{}", each.name);
        }
    }
}
