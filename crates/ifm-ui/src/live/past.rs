//! Output by the second, in a bounded number of seconds: when there are too many, two become one.
//!
//! A token is counted where it arrived. Tokens of answers that are still under way are not known
//! yet, so the last stretch of the past is too low; it is left out of the picture.

use ifm_core::RequestRecord;

/// Stretches at most.
const STRETCHES_MAX: usize = 400;
const NS_PER_S: u64 = 1_000_000_000;

/// Tokens by stretch of time.
#[derive(Debug)]
pub(crate) struct Past {
    tokens: Vec<f64>,
    stretch_s: u64,
    /// How long the answers of the last while took, at most.
    longest_ns: u64,
}

impl Default for Past {
    fn default() -> Past {
        Past { tokens: Vec::new(), stretch_s: 1, longest_ns: 0 }
    }
}

impl Past {
    /// Counts the tokens of an answer where they arrived.
    pub(crate) fn add(&mut self, record: &RequestRecord, tokens: u64) {
        let took_ns = record.end_ns.saturating_sub(record.start_ns);
        // Old answers matter less and less: a level of short ones follows one of long ones.
        self.longest_ns = took_ns.max(self.longest_ns - self.longest_ns / 64);
        if tokens == 0 {
            return;
        }
        let events = &record.events.at_ns;
        if events.is_empty() {
            self.count(record.end_ns, tokens as f64);
            return;
        }
        let each = tokens as f64 / events.len() as f64;
        events.iter().for_each(|at_ns| self.count(*at_ns, each));
    }

    fn count(&mut self, at_ns: u64, tokens: f64) {
        let second = usize::try_from(at_ns / NS_PER_S).unwrap_or(usize::MAX);
        let mut place = second / self.stretch_s as usize;
        while place >= STRETCHES_MAX && self.stretch_s < u64::MAX / 2 {
            self.tokens = self.tokens.chunks(2).map(|pair| pair.iter().sum()).collect();
            self.stretch_s *= 2;
            place = second / self.stretch_s as usize;
        }
        if place >= self.tokens.len() {
            self.tokens.resize(place + 1, 0.0);
        }
        if let Some(stretch) = self.tokens.get_mut(place) {
            *stretch += tokens;
        }
    }

    /// Middle of each stretch, seconds, and its tokens per second, as far as they are known whole:
    /// `last_ns` is the end of the last answer.
    pub(crate) fn points(&self, last_ns: u64) -> Vec<(f64, f64)> {
        let stretch_s = self.stretch_s as f64;
        let known_s = last_ns.saturating_sub(self.longest_ns) / NS_PER_S;
        let whole = usize::try_from(known_s / self.stretch_s).unwrap_or(usize::MAX);
        let point =
            |(place, tokens): (usize, &f64)| ((place as f64 + 0.5) * stretch_s, tokens / stretch_s);
        self.tokens.iter().take(whole).enumerate().map(point).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_metrics::testing::request;

    #[test]
    fn a_long_run_stays_small_and_keeps_its_tokens() {
        let mut past = Past::default();
        for second in 0..10_000u32 {
            past.add(&request(second, 0, 0, f64::from(second) * 1000.0, &[10.0, 20.0]), 2);
        }
        assert!(past.tokens.len() <= STRETCHES_MAX && past.tokens.len() > STRETCHES_MAX / 4);
        assert!((past.tokens.iter().sum::<f64>() - 20_000.0).abs() < 1e-6);
        let points = past.points(9_999 * NS_PER_S);
        assert!(points.iter().all(|(_, rate)| (rate - 2.0).abs() < 1e-9), "{points:?}");
        assert!(points.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn what_is_under_way_is_not_drawn_as_a_fall() {
        let mut past = Past::default();
        for second in 0..20u32 {
            past.add(&request(second, 0, 0, f64::from(second) * 1000.0, &[10.0, 3000.0]), 2);
        }
        let points = past.points(22 * NS_PER_S);
        assert_eq!(points.len(), 19, "answers take three seconds, and end at 22");
        assert_eq!(points.last().map(|point| point.1), Some(2.0));
    }
}
