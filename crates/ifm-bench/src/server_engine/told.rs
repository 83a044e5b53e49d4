//! Contents of one answer: when its tokens came, who counted them, and the times that the server
//! itself wrote into it.
//!
//! Not here: what follows from it (`repeat`).

use ifm_probe::traced_client::Reply;
use ifm_wire::Answer;
use serde_json::{Map, Value};

/// One sequence of a batch. Times are on the monotonic clock, nanoseconds.
#[derive(Debug, Clone, Default)]
pub struct Heard {
    /// When the request was begun to be sent.
    pub begun_ns: u64,
    /// When its last byte was sent, as far as this thread was on a processor to see it.
    pub sent_ns: u64,
    /// When each event with tokens was here, in order.
    pub at_ns: Vec<u64>,
    /// Tokens of each event; empty where the server does not report them.
    pub tokens: Vec<u32>,
    /// Prompt tokens by the server's count.
    pub prompt: Option<u32>,
    /// Those that came from its cache, by its own word.
    pub cached: Option<u32>,
    /// Output tokens, and whether the server counted them.
    pub output: Option<(u32, bool)>,
    /// Why the answer ended.
    pub finish_reason: Option<String>,
    /// What the server timed.
    pub server: ServerTimes,
}

/// Times that a server measured of one request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServerTimes {
    /// From the beginning of its work on the prompt to the first token, nanoseconds.
    pub prompt_ns: Option<u64>,
    /// From the first token to the last, nanoseconds.
    pub steps_ns: Option<u64>,
    /// All numbers in its own words.
    pub words: Map<String, Value>,
}

impl Heard {
    /// Of a good answer.
    pub fn of(reply: &Reply, answer: Answer) -> Heard {
        let counted = |count: Option<ifm_core::record::Counted>| {
            count.filter(|one| !one.from.is_estimate()).map(|one| one.tokens)
        };
        Heard {
            begun_ns: reply.start_ns,
            sent_ns: reply.sent_ns,
            prompt: counted(answer.prompt_tokens),
            cached: answer.usage.cached_tokens,
            output: answer.output_tokens.map(|one| (one.tokens, !one.from.is_estimate())),
            finish_reason: answer.finish_reason,
            server: ServerTimes::of(&reply.body()),
            at_ns: answer.events.at_ns,
            tokens: answer.events.tokens,
        }
    }

    /// When the first token was here.
    pub fn first_ns(&self) -> Option<u64> {
        self.at_ns.first().copied()
    }

    /// When the last one was.
    pub fn last_ns(&self) -> Option<u64> {
        self.at_ns.last().copied()
    }

    /// Tokens that came later than a moment. Where events are not counted one by one, each is taken for
    /// as many tokens as another.
    pub fn tokens_after(&self, moment_ns: u64) -> u64 {
        let later = self.at_ns.iter().filter(|at_ns| **at_ns > moment_ns).count();
        if self.tokens.len() == self.at_ns.len() {
            let after = self.tokens.iter().skip(self.at_ns.len() - later);
            return after.map(|tokens| u64::from(*tokens)).sum();
        }
        let all = self.output.map_or(self.at_ns.len() as u64, |(tokens, _)| u64::from(tokens));
        match self.at_ns.len() as u64 {
            0 => 0,
            // One event is the first token, whatever an event holds.
            events => (later as u64 * all).div_ceil(events).min(all.saturating_sub(1)),
        }
    }
}

impl ServerTimes {
    /// Reads the last event of the answer that has times. Supported are the object `timings` of llama.cpp
    /// (`prompt_ms`, `predicted_ms`, the latter without the first token), the object `metrics` of vLLM
    /// (`time_to_first_token_ms` from when the request was scheduled, `generation_time_ms` from the first
    /// token to the last), and SGLang's `meta_info`, whose times include the queue and are kept only as
    /// words.
    fn of(body: &[u8]) -> ServerTimes {
        let text = String::from_utf8_lossy(body);
        let event = |line: &str| serde_json::from_str::<Value>(line.strip_prefix("data:")?).ok();
        for event in text.lines().rev().filter_map(event) {
            for (name, prompt, steps) in [
                ("timings", "prompt_ms", "predicted_ms"),
                ("metrics", "time_to_first_token_ms", "generation_time_ms"),
                ("meta_info", "", ""),
            ] {
                let Some(object) = event.get(name).and_then(Value::as_object) else { continue };
                let ns = |name: &str| {
                    let ms = object.get(name)?.as_f64().filter(|ms| *ms > 0.0)?;
                    Some((ms * 1e6).round() as u64)
                };
                let numbers = object.iter().filter(|(_, value)| value.is_number());
                let words = numbers
                    .map(|(word, value)| (format!("server_{word}"), value.clone()))
                    .collect();
                return ServerTimes { prompt_ns: ns(prompt), steps_ns: ns(steps), words };
            }
        }
        ServerTimes::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_from_the_event_that_has_them() {
        let of = |text: &str| ServerTimes::of(text.as_bytes());
        let llama =
            of("data: {\"content\":\"a\"}\n\ndata: {\"stop\":true,\"timings\":{\"cache_n\":3,\
             \"prompt_ms\":11.5,\"predicted_ms\":2}}\n\n");
        assert_eq!((llama.prompt_ns, llama.steps_ns), (Some(11_500_000), Some(2_000_000)));
        assert_eq!(llama.words["server_cache_n"], 3);
        let vllm = of("data: {\"choices\":[],\"metrics\":{\"queue_time_ms\":1.0,\
             \"time_to_first_token_ms\":4.0,\"generation_time_ms\":null}}\n\ndata: [DONE]\n\n");
        assert_eq!((vllm.prompt_ns, vllm.steps_ns), (Some(4_000_000), None));
        let sglang =
            of("data: {\"text\":\"a\",\"meta_info\":{\"id\":\"x\",\"e2e_latency\":0.5}}\n\n");
        assert_eq!((sglang.prompt_ns, sglang.words.len()), (None, 1));
        assert_eq!(of("data: {\"choices\":[]}\n\n"), ServerTimes::default());
    }

    #[test]
    fn tokens_are_counted_from_a_moment() {
        let mut heard = Heard {
            at_ns: vec![10, 20, 20, 30],
            tokens: vec![2, 1, 1, 3],
            output: Some((7, true)),
            ..Heard::default()
        };
        assert_eq!([9, 10, 20, 30].map(|at| heard.tokens_after(at)), [7, 5, 3, 0]);
        // Without counts in the events: 8 tokens in 4 events.
        heard.tokens.clear();
        heard.output = Some((8, true));
        assert_eq!([10, 20, 30].map(|at| heard.tokens_after(at)), [6, 2, 0]);
    }
}
