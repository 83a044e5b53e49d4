//! When the tokens of a request went out: for the page of metrics, and for the request
//! itself where its answer tells its times.
//!
//! Not here: the page (`metrics`).

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    event::{Finish, Piece},
    metrics::Metrics,
};

/// When the tokens of a request went out.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    metrics: Arc<Metrics>,
    arrival: Instant,
    first: Option<Instant>,
    last: Instant,
    tokens: usize,
    tells: bool,
}

impl Stopwatch {
    /// A stopwatch of a request; with `tells`, its answer tells its times.
    pub(crate) fn new(metrics: Arc<Metrics>, arrival: Instant, tells: bool) -> Self {
        Self { metrics, arrival, first: None, last: arrival, tokens: 0, tells }
    }

    /// Notes tokens that go out together; the last ones note the request as well.
    pub(crate) fn note(&mut self, piece: &Piece) {
        let now = Instant::now();
        self.tokens += piece.tokens;
        if let Some(due) = piece.due {
            self.metrics.lag.record(now.saturating_duration_since(due));
        }
        match self.first {
            None => {
                self.first = Some(now);
                self.metrics.first_token.record(now - self.arrival);
            }
            Some(_) => self.metrics.between_tokens.record(now - self.last),
        }
        self.last = now;
        if piece.finish.is_some() {
            self.metrics.request.record(now - self.arrival);
            if let (Some(first), Some(gaps @ 1..)) = (self.first, self.tokens.checked_sub(1)) {
                let gaps = u32::try_from(gaps).unwrap_or(u32::MAX);
                self.metrics.per_output_token.record((now - first) / gaps);
            }
        }
    }

    /// Tokens that went out.
    pub(crate) fn tokens(&self) -> usize {
        self.tokens
    }

    /// The times of a request that has ended, as vLLM tells them in `metrics`; null where
    /// the backend does not know. None where answers do not tell.
    pub(crate) fn told(&self, finish: &Finish) -> Option<Value> {
        self.tells.then(|| {
            let tokens = finish.completion_tokens as f64;
            let times = finish.times;
            let generation = match times {
                Some(times) => Some(ms(times.generation_ns)),
                None => self.first.map(|first| (self.last - first).as_secs_f64() * 1e3),
            };
            let inference_ns = times.map(|times| times.first_token_ns + times.generation_ns);
            json!({
                "time_to_first_token_ms": times.map(|times| ms(times.first_token_ns)),
                "generation_time_ms": generation,
                "queue_time_ms": times.map(|times| ms(times.queued_ns)),
                "mean_itl_ms": generation.filter(|_| tokens > 1.0).map(|ms| ms / (tokens - 1.0)),
                "tokens_per_second":
                    inference_ns.filter(|ns| *ns > 0).map(|ns| tokens * 1e9 / ns as f64),
            })
        })
    }
}

fn ms(ns: u64) -> f64 {
    Duration::from_nanos(ns).as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Times;
    use ifm_engine::FinishReason;

    fn told(completion_tokens: usize, times: Option<Times>) -> Value {
        let mut stopwatch = Stopwatch::new(Arc::new(Metrics::new()), Instant::now(), true);
        let (reason, prompt_tokens, cached_tokens) = (FinishReason::Length, 7, None);
        let finish = Finish { reason, prompt_tokens, completion_tokens, cached_tokens, times };
        let (text, tokens, due) = (String::new(), completion_tokens, None);
        stopwatch.note(&Piece { text, tokens, due, finish: Some(finish) });
        stopwatch.told(&finish).expect("it tells")
    }

    #[test]
    fn times_are_vllms() {
        let times =
            Times { queued_ns: 2_000_000, first_token_ns: 10_000_000, generation_ns: 10_000_000 };
        let told = told(5, Some(times));
        assert_eq!(told["queue_time_ms"], 2.0);
        assert_eq!(told["time_to_first_token_ms"], 10.0);
        assert_eq!(told["generation_time_ms"], 10.0);
        assert_eq!(told["mean_itl_ms"], 2.5);
        assert_eq!(told["tokens_per_second"], 250.0);
    }

    #[test]
    fn what_a_backend_does_not_know_is_null() {
        let told = told(1, None);
        for name in ["queue_time_ms", "time_to_first_token_ms", "mean_itl_ms", "tokens_per_second"]
        {
            assert!(told[name].is_null(), "{name}");
        }
        assert_eq!(told["generation_time_ms"], 0.0);
    }
}
