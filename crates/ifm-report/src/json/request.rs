//! One request as one line of JSON.

use super::media::RequestMedia;
use super::metrics::LineMetrics;
use super::{known, objects};
use ifm_core::{Counted, RequestRecord};
use ifm_metrics::RequestMetrics;
use ifm_metrics::tpot::TpotAbsence;

const NS_PER_MS: f64 = 1e6;

fn ms(ns: u64) -> f64 {
    ns as f64 / NS_PER_MS
}

fn ms_exact(ns: f64) -> f64 {
    ns / NS_PER_MS
}

/// One request with its durations in milliseconds and its stamps in nanoseconds since the run's
/// origin; no line break. Where the number of output tokens is only the number of events,
/// `output_tokens` and `tpot_ms` are left out and `output_tokens_estimated` and
/// `tpot_ms_estimated` replace them. `id` is what the request carried as its id, if it did.
pub fn request_line(record: &RequestRecord, id: Option<&str>) -> String {
    let metrics = RequestMetrics::derive(record);
    known(&RequestLine::from((record, &metrics, id))).to_string()
}

/// A real count, not an estimate.
fn exact(counted: Option<Counted>) -> Option<u32> {
    counted.filter(|counted| !counted.from.is_estimate()).map(|counted| counted.tokens)
}

/// A count of events used as an estimate of tokens.
fn estimated(counted: Option<Counted>) -> Option<u32> {
    counted.filter(|counted| counted.from.is_estimate()).map(|counted| counted.tokens)
}

fn from(counted: Option<Counted>) -> Option<&'static str> {
    counted.map(|counted| counted.from.word())
}

objects! {
    /// One line of `--json=requests` and `report --format requests`. What is not known is left out;
    /// it is never 0.
    RequestLine of given: (&RequestRecord, &RequestMetrics, Option<&str>) {
        /// Order of the start, over the run.
        seq: u32 = given.0.seq,
        /// What it carried as `X-Request-Id`.
        request_id: Option<String> = given.2.map(str::to_owned),
        /// Index of the level.
        level: u16 = given.0.level,
        /// Warm-up or measurement.
        phase: &'static str = given.0.phase.word(),
        /// User or connection.
        slot: u32 = given.0.slot,
        /// Prompt of the workload.
        item: u32 = given.0.item,
        /// Conversation.
        session: Option<u32> = given.0.session,
        /// Turn of the conversation.
        turn: Option<u16> = given.0.turn,
        /// Agent of the session, where it has several: 0 began it.
        agent: Option<u16> = given.0.agent,
        /// Turns that the agent's conversation was to have.
        agent_turns: Option<u16> = given.0.agent_turns,
        /// Class of mixed traffic, an index.
        class: Option<u16> = given.0.class,
        /// The form that the answer was to have, an index.
        form: Option<u16> = given.0.form,
        /// Whether it has that form: `valid`, `invalid`, `cut` or `unchecked`.
        validity: Option<&'static str> = given.0.validity.map(ifm_core::Validity::word),
        /// How it ended: `ok`, or a kind of failure.
        outcome: &'static str = given.0.outcome.word(),
        /// HTTP status.
        http_status: Option<u16> = given.0.http_status,
        /// Pause that the server asked for, seconds.
        retry_after_s: Option<u32> = given.0.retry_after_s,
        /// Why it failed.
        error: Option<String> = given.0.error.clone(),
        /// Why the answer ended, by the server.
        finish_reason: Option<String> = given.0.finish_reason.clone(),
        /// Whether the answer was streamed.
        streamed: bool = given.0.streamed,
        /// The value of each metric of which a request has one.
        #[serde(flatten)]
        metrics: LineMetrics = (given.0, given.1).into(),
        /// Time to connect, milliseconds.
        connect_ms: Option<f64> = given.0.connect_ns.map(ms),
        /// Time of the TLS handshake, milliseconds.
        tls_ms: Option<f64> = given.0.tls_ns.map(ms),
        /// Time lost on a keep-alive connection that the server had closed, milliseconds: part of TTFT
        /// and E2E.
        dead_connection_ms: Option<f64> = given.0.dead_connection_ns.map(ms),
        /// Time per output token after the tokens of the first read, milliseconds.
        tpot_ms: Option<f64> = given.1.tpot_ns.map(ms_exact),
        /// The same where the number of tokens in that time is an estimate, milliseconds.
        tpot_ms_estimated: Option<f64> = given.1.tpot_ns_estimated.map(ms_exact),
        /// Equals `tpot_ms`, which leaves out the tokens of the first event too; only where the
        /// server counts with each event. Kept for readers of earlier versions.
        tpot_ms_after_first_event: Option<f64> =
            given.1.tpot_ns.filter(|_| given.0.first_event_tokens.is_some()).map(ms_exact),
        /// Why an answer of two tokens or more has no time per output token: `at_once` or
        /// `not_sent`.
        tpot_absent_because: Option<&'static str> = given.1.tpot_absence.map(TpotAbsence::word),
        /// Decode speed, tokens per second.
        user_tok_per_s: Option<f64> = given.1.user_tok_per_s(),
        /// Output tokens.
        output_tokens: Option<u32> = exact(given.0.output_tokens),
        /// Output tokens where events are counted as tokens.
        output_tokens_estimated: Option<u32> = estimated(given.0.output_tokens),
        /// Who counted the output tokens.
        output_tokens_from: Option<&'static str> = from(given.0.output_tokens),
        /// Prompt tokens.
        prompt_tokens: Option<u32> = exact(given.0.prompt_tokens),
        /// Prompt tokens where events are counted as tokens.
        prompt_tokens_estimated: Option<u32> = estimated(given.0.prompt_tokens),
        /// Who counted the prompt tokens.
        prompt_tokens_from: Option<&'static str> = from(given.0.prompt_tokens),
        /// Images, recordings and videos of the prompt.
        media: Option<RequestMedia> = given.0.media.as_ref().map(RequestMedia::from),
        /// Prompt tokens of text.
        text_tokens: Option<u32> = exact(given.0.text_tokens),
        /// Who counted them.
        text_tokens_from: Option<&'static str> = from(given.0.text_tokens),
        /// Prompt tokens of images.
        image_tokens: Option<u32> = exact(given.0.image_tokens),
        /// Who counted them.
        image_tokens_from: Option<&'static str> = from(given.0.image_tokens),
        /// Prompt tokens of recordings.
        audio_tokens: Option<u32> = exact(given.0.audio_tokens),
        /// Who counted them.
        audio_tokens_from: Option<&'static str> = from(given.0.audio_tokens),
        /// Prompt tokens of videos.
        video_tokens: Option<u32> = exact(given.0.video_tokens),
        /// Who counted them.
        video_tokens_from: Option<&'static str> = from(given.0.video_tokens),
        /// Output tokens asked for.
        output_tokens_asked: Option<u32> = given.0.output_tokens_asked,
        /// Prompt tokens asked for.
        prompt_tokens_asked: Option<u32> = given.0.prompt_tokens_asked,
        /// Tokens of the first event.
        first_event_tokens: Option<u32> = given.0.first_event_tokens,
        /// Bytes of generated text in the events, as UTF-8.
        text_bytes: Option<u32> = given.0.text_bytes,
        /// Of these, bytes in the events that share the stamp of the first one.
        first_text_bytes: Option<u32> = given.0.first_text_bytes,
        /// Reasoning tokens.
        reasoning_tokens: Option<u32> = given.0.reasoning_tokens,
        /// Prompt tokens from a cache.
        cached_tokens: Option<u32> = given.0.cached_tokens,
        /// Prompt tokens that had been said before, by the workload's arithmetic.
        known_tokens: Option<u32> = given.0.known_tokens,
        /// Steps in which a draft was made.
        draft_steps: Option<u32> = given.0.draft_steps,
        /// Arrival at the server until scheduled, as reported by the server, milliseconds.
        server_queue_ms: Option<f64> = given.0.server_queue_ns.map(ms),
        /// Scheduled to first token, as reported by the server, milliseconds.
        server_first_token_ms: Option<f64> = given.0.server_first_token_ns.map(ms),
        /// First token to last token, as reported by the server, milliseconds.
        server_decode_ms: Option<f64> = given.0.server_decode_ns.map(ms),
        /// Until the server answered, as reported in a header, milliseconds.
        server_processing_ms: Option<f64> = given.0.server_processing_ns.map(ms),
        /// Draft tokens accepted.
        accepted_draft_tokens: Option<u32> = given.0.accepted_draft_tokens,
        /// Draft tokens rejected.
        rejected_draft_tokens: Option<u32> = given.0.rejected_draft_tokens,
        /// Answers to the one prompt.
        choices: u16 = given.0.choices,
        /// Events with tokens.
        events: usize = given.0.events.len(),
        /// Events that shared their read with another.
        co_arrived_events: u32 = given.0.co_arrived_events,
        /// Times.
        stamps: Stamps = given.0.into(),
        /// Reads.
        reads: u32 = given.0.reads,
        /// Reads with a stamp of the kernel.
        stamped_reads: u32 = given.0.stamped_reads,
        /// Longest delay from the kernel's stamp to the read, milliseconds.
        reader_lag_ms_max: Option<f64> = given.0.reader_lag_ns_max.map(ms),
        /// Bytes received.
        wire_bytes: u64 = given.0.wire_bytes,
        /// Bytes sent.
        sent_bytes: u64 = given.0.sent_bytes,
        /// The answer, where it was kept.
        text: Option<String> = given.0.text.clone(),
    }

    /// Times, nanoseconds since the run's origin.
    Stamps of record: &RequestRecord {
        /// When it was due.
        due_ns: u64 = record.due_ns,
        /// Start.
        start_ns: u64 = record.start_ns,
        /// Last byte sent.
        sent_ns: Option<u64> = record.sent_ns,
        /// Last byte acknowledged by the server's machine, as reported by the kernel.
        acked_ns: Option<u64> = record.acked_ns,
        /// Head of the answer.
        head_ns: Option<u64> = record.head_ns,
        /// First event.
        first_event_ns: Option<u64> = record.first_event_ns,
        /// First token.
        first_token_ns: Option<u64> = record.first_token_ns(),
        /// First token that is not reasoning.
        first_answer_ns: Option<u64> = record.first_answer_ns,
        /// Last token.
        last_token_ns: Option<u64> = record.last_token_ns(),
        /// End of the stream.
        stream_end_ns: Option<u64> = record.stream_end_ns,
        /// End.
        end_ns: u64 = record.end_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_core::CountSource;
    use ifm_metrics::testing::{failed, request};
    use serde_json::Value;

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
