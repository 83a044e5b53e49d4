//! One request as one line of JSON.

use super::Object;
use ifm_analysis::RequestMetrics;
use ifm_core::{Counted, RequestRecord};
use serde_json::Value;

const NS_PER_MS: f64 = 1e6;

fn ms(ns: u64) -> f64 {
    ns as f64 / NS_PER_MS
}

/// One request with its durations in milliseconds and its stamps in nanoseconds since the run's
/// origin; no line break. Where the number of output tokens is only the number of events,
/// `output_tokens` and `tpot_ms` are left out and `output_tokens_estimated` and
/// `tpot_ms_estimated` stand for them. `id` is what the request carried as its id, if it did.
pub fn request_line(record: &RequestRecord, id: Option<&str>) -> String {
    let mut line = Object::default();
    line.set("seq", record.seq)
        .set_known("request_id", id)
        .set("level", record.level)
        .set("phase", record.phase.word())
        .set("slot", record.slot)
        .set("item", record.item)
        .set_known("session", record.session)
        .set_known("turn", record.turn)
        .set("outcome", record.outcome.word())
        .set_known("http_status", record.http_status)
        .set_known("retry_after_s", record.retry_after_s)
        .set_known("error", record.error.as_deref())
        .set_known("finish_reason", record.finish_reason.as_deref())
        .set("streamed", record.streamed);
    durations(&mut line, record);
    tokens(&mut line, record);
    line.set("stamps", stamps(record))
        .set("reads", record.reads)
        .set("stamped_reads", record.stamped_reads)
        .set_known("reader_lag_ms_max", record.reader_lag_ns_max.map(ms))
        .set("wire_bytes", record.wire_bytes)
        .set("sent_bytes", record.sent_bytes)
        .set_known("text", record.text.as_deref());
    line.take().to_string()
}

fn durations(line: &mut Object, record: &RequestRecord) {
    let metrics = RequestMetrics::derive(record);
    let is_open_loop = record.due_ns != record.start_ns;
    line.set_known("ttft_ms", metrics.ttft_ns.map(ms))
        .set_known("ttft_ms_from_due", metrics.ttft_ns_from_due.filter(|_| is_open_loop).map(ms))
        .set_known("ttfat_ms", metrics.ttfat_ns.map(ms))
        .set_known("e2e_ms", metrics.e2e_ns.map(ms))
        .set_known("e2e_ms_from_due", metrics.e2e_ns_from_due.filter(|_| is_open_loop).map(ms))
        .set_known("stream_end_ms", metrics.stream_end_ns.map(ms))
        .set_known("upload_ms", metrics.upload_ns.map(ms))
        .set_known("connect_ms", record.connect_ns.map(ms))
        .set_known("tls_ms", record.tls_ns.map(ms))
        .set_known("tpot_ms", metrics.tpot_ns.map(|ns| ns / NS_PER_MS))
        .set_known("tpot_ms_estimated", metrics.tpot_ns_estimated.map(|ns| ns / NS_PER_MS))
        .set_known(
            "tpot_ms_after_first_event",
            metrics.tpot_ns_after_first_event.map(|ns| ns / NS_PER_MS),
        )
        .set_known("user_tok_per_s", metrics.user_tok_per_s());
}

fn tokens(line: &mut Object, record: &RequestRecord) {
    let counted = |line: &mut Object, name: &str, counted: Option<Counted>| {
        if let Some(counted) = counted {
            let suffix = if counted.from.is_estimate() { "_estimated" } else { "" };
            line.set(&format!("{name}{suffix}"), counted.tokens);
            line.set(&format!("{name}_from"), counted.from.word());
        }
    };
    counted(line, "output_tokens", record.output_tokens);
    counted(line, "prompt_tokens", record.prompt_tokens);
    line.set_known("output_tokens_asked", record.output_tokens_asked)
        .set_known("prompt_tokens_asked", record.prompt_tokens_asked)
        .set_known("first_event_tokens", record.first_event_tokens)
        .set_known("reasoning_tokens", record.reasoning_tokens)
        .set_known("cached_tokens", record.cached_tokens)
        .set_known("accepted_draft_tokens", record.accepted_draft_tokens)
        .set_known("rejected_draft_tokens", record.rejected_draft_tokens)
        .set("choices", record.choices)
        .set("events", record.events.len())
        .set("co_arrived_events", record.co_arrived_events);
}

fn stamps(record: &RequestRecord) -> Value {
    let mut stamps = Object::default();
    stamps
        .set("due_ns", record.due_ns)
        .set("start_ns", record.start_ns)
        .set_known("sent_ns", record.sent_ns)
        .set_known("head_ns", record.head_ns)
        .set_known("first_event_ns", record.first_event_ns)
        .set_known("first_token_ns", record.first_token_ns())
        .set_known("first_answer_ns", record.first_answer_ns)
        .set_known("last_token_ns", record.last_token_ns())
        .set_known("stream_end_ns", record.stream_end_ns)
        .set("end_ns", record.end_ns)
        .take()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_analysis::testing::{failed, request};
    use ifm_core::CountSource;

    fn parsed(record: &RequestRecord) -> Value {
        let line = request_line(record, Some("run-7"));
        assert!(!line.contains('\n'));
        serde_json::from_str(&line).expect("one JSON object")
    }

    #[test]
    fn a_complete_answer() {
        let value = parsed(&request(3, 1, 2, 1000.0, &[100.0, 120.0, 160.0]));
        assert_eq!(value["seq"], 3);
        assert_eq!(value["outcome"], "ok");
        assert_eq!(value["phase"], "measure");
        assert_eq!(value["ttft_ms"], 100.0);
        assert_eq!(value["e2e_ms"], 160.0);
        assert_eq!(value["tpot_ms"], 30.0);
        assert_eq!(value["output_tokens"], 3);
        assert_eq!(value["output_tokens_from"], "final_usage");
        assert_eq!(value["stamps"]["start_ns"], 1_000_000_000u64);
        assert_eq!(value["stamps"]["last_token_ns"], 1_160_000_000u64);
        let absent = ["error", "tpot_ms_estimated", "output_tokens_estimated", "ttft_ms_from_due"];
        assert!(absent.iter().all(|name| value.get(name).is_none()));
    }

    #[test]
    fn an_estimate_has_another_name() {
        let mut record = request(0, 0, 0, 0.0, &[100.0, 120.0]);
        record.output_tokens = Some(Counted { tokens: 2, from: CountSource::Events });
        let value = parsed(&record);
        assert!(value.get("output_tokens").is_none() && value.get("tpot_ms").is_none());
        assert_eq!(value["output_tokens_estimated"], 2);
        assert_eq!(value["tpot_ms_estimated"], 20.0);
        assert_eq!(value["output_tokens_from"], "events");
    }

    #[test]
    fn a_failure_has_its_reason_and_no_latency() {
        let mut record = failed(0, 0, 0, 0.0, 5.0);
        record.error = Some("line one\nline \"two\"".to_owned());
        let value = parsed(&record);
        assert_eq!(value["outcome"], "http_error");
        assert_eq!(value["http_status"], 503);
        assert_eq!(value["error"], "line one\nline \"two\"");
        assert!(value.get("ttft_ms").is_none() && value.get("e2e_ms").is_none());
        assert!(value.get("output_tokens").is_none());
    }
}
