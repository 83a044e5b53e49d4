//! From the answers of a batch to times and counts, with who timed and who counted.
//!
//! A rate divides by tokens that were computed: prompt tokens by the server's count minus the tokens
//! from its cache, and generated tokens within the measured time. Not here: rows (`engine/row`).

use super::overhead::Overhead;
use super::together::{Span, together};
use super::told::Heard;
use crate::engine::{Case, Repeat, Trouble};
use serde_json::{Map, Value, json};

/// By how much a server may count otherwise than was asked for, as a share, and in tokens.
const OFF_SHARE: f64 = 0.02;
const OFF_TOKENS: u64 = 1;
/// The prefix was in the cache, or was not, where at least or at most this share came from there.
const CACHED_SHARE: f64 = 0.9;
const COMPUTED_SHARE: f64 = 0.1;

/// What was seen of a batch.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'seen> {
    /// What was asked for.
    pub case: Case,
    /// The answers, one for each sequence.
    pub batch: &'seen [Heard],
    /// Prompt tokens of all prefixes together that were sent before, by the server's count; absent
    /// where none was sent, or it does not count.
    pub prefix_tokens: Option<u64>,
}

impl Seen<'_> {
    /// Whether the client has to time the prompts, and so needs to know the way.
    pub fn needs_overhead(&self) -> bool {
        self.case.prompt > 0 && self.server_prompt_ns().is_none()
    }

    /// Whether all tokens of the steps came in one read: the server does not stream, or one of both sides
    /// was kept from running.
    pub fn came_in_one_read(&self) -> bool {
        let span = together(self.batch).ok().filter(|_| self.case.steps > 0);
        span.is_some_and(|span| span.last_ns == span.firsts_ns)
    }

    /// The time of the prompt by the server. For a batch no server reports one: each sequence has its
    /// own, with its own start.
    fn server_prompt_ns(&self) -> Option<u64> {
        match self.batch {
            [only] => only.server.prompt_ns,
            _ => None,
        }
    }

    /// Converts the answers to a repeat.
    ///
    /// # Errors
    /// Why it is invalid: an answer that is shorter than requested, a batch that did not run
    /// together,
    /// times that cannot be.
    pub fn repeat(&self, overhead: Option<Overhead>) -> Result<Repeat, Trouble> {
        self.check_lengths()?;
        let span = together(self.batch).map_err(Trouble::Cannot)?;
        let mut repeat = Repeat::default();
        let told = &mut repeat.told;
        if let [only] = self.batch {
            told.extend(only.server.words.clone());
        }
        let mut timers = Vec::new();
        if self.case.prompt > 0 {
            let (prompt_ns, timer) = self.prompt_time(&span, overhead, told)?;
            repeat.prompt_ns = Some(prompt_ns);
            timers.push(timer);
        }
        if self.case.steps > 0 {
            let steps_ns = span.last_ns - span.firsts_ns;
            if steps_ns == 0 {
                let why = "all tokens came in one read, so that their steps cannot be timed";
                return Err(Trouble::Cannot(why.to_owned()));
            }
            repeat.steps_ns = Some(steps_ns);
            let counts = self.batch.iter().map(|heard| heard.tokens_after(span.firsts_ns));
            repeat.step_tokens = Some(counts.sum());
            repeat.step_ns = self.step_ns();
            timers.push("client");
        }
        timers.dedup();
        told.insert("timed_by".to_owned(), json!(timers.join(" and ")));
        if self.batch.len() > 1 {
            told.insert("begin_spread_ns".to_owned(), json!(span.begin_spread_ns));
            told.insert("first_token_spread_ns".to_owned(), json!(span.firsts_ns - span.first_ns));
        }
        if span.began_apart {
            repeat.remarks.push(format!(
                "requests of the batch began {:.1} ms apart",
                span.begin_spread_ns as f64 / 1e6
            ));
        }
        self.count_prompts(&mut repeat);
        Ok(repeat)
    }

    /// Every answer has the tokens that were asked for.
    fn check_lengths(&self) -> Result<(), Trouble> {
        let asked = self.case.steps + 1;
        for heard in self.batch {
            let (tokens, _) = heard.output.unwrap_or_default();
            if tokens != asked {
                let reason = heard.finish_reason.as_deref().unwrap_or("none");
                return Err(Trouble::Cannot(format!(
                    "an answer has {tokens} tokens where {asked} were requested (finish reason: \
                     {reason})"
                )));
            }
        }
        Ok(())
    }

    /// The time of the prompts, and whose clock it is.
    fn prompt_time(
        &self,
        span: &Span,
        overhead: Option<Overhead>,
        told: &mut Map<String, Value>,
    ) -> Result<(u64, &'static str), Trouble> {
        let first_token_ns = span.firsts_ns.saturating_sub(span.sent_ns);
        told.insert("client_first_token_ns".to_owned(), json!(first_token_ns));
        let ms = |ns: u64| ns as f64 / 1e6;
        if let Some(prompt_ns) = self.server_prompt_ns() {
            // Who sends may lose the processor before it sees that all is sent.
            let longest_ns = span.firsts_ns.saturating_sub(span.begun_ns);
            if prompt_ns > longest_ns {
                return Err(Trouble::Cannot(format!(
                    "the server reports {:.3} ms for a prompt whose first token arrived here after {:.3} ms",
                    ms(prompt_ns),
                    ms(longest_ns)
                )));
            }
            return Ok((prompt_ns, "server"));
        }
        let Some(overhead) = overhead else { return Ok((first_token_ns, "client")) };
        told.insert("overhead_ns".to_owned(), json!(overhead.median_ns));
        told.insert("overhead_min_ns".to_owned(), json!(overhead.min_ns));
        told.insert("overhead_max_ns".to_owned(), json!(overhead.max_ns));
        match first_token_ns.checked_sub(overhead.median_ns).filter(|ns| *ns > 0) {
            Some(prompt_ns) => Ok((prompt_ns, "client")),
            None => Err(Trouble::Cannot(format!(
                "the first token arrived after {:.3} ms, and the round trip alone takes {:.3} ms: the prompt \
                 is too short to be timed from here",
                ms(first_token_ns),
                ms(overhead.median_ns)
            ))),
        }
    }

    /// Each step of one sequence, where an event is a token.
    fn step_ns(&self) -> Vec<u64> {
        match self.batch {
            [only] if only.at_ns.len() == self.case.steps as usize + 1 => {
                only.at_ns.windows(2).map(|pair| pair[1] - pair[0]).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Who counted the prompts, how many of their tokens were computed, and how many of those were
    /// not requested.
    fn count_prompts(&self, repeat: &mut Repeat) {
        let case = self.case;
        let sum = |of: fn(&Heard) -> Option<u32>| -> Option<u64> {
            self.batch.iter().map(|heard| of(heard).map(u64::from)).sum()
        };
        let batch = self.batch.len() as u64;
        let asked = batch * u64::from(case.depth + case.prompt.max(1));
        let (counted, cached) = (sum(|heard| heard.prompt), sum(|heard| heard.cached));
        let told = &mut repeat.told;
        let by = if counted.is_some() { "server" } else { "asked" };
        told.insert("counted_by".to_owned(), json!(by));
        repeat.cached = cached;
        match counted {
            Some(counted) => {
                told.insert("counted_prompt_tokens".to_owned(), json!(counted));
                let off = counted.abs_diff(asked);
                if off > OFF_TOKENS * batch && off as f64 > OFF_SHARE * asked as f64 {
                    let share = 100.0 * (counted as f64 / asked as f64 - 1.0);
                    repeat.remarks.push(format!(
                        "the server counted {counted} prompt tokens where {asked} were requested \
                         ({share:+.1} %), and rates are of its count"
                    ));
                }
            }
            None => repeat.remarks.push(
                "the server does not count prompt tokens, and rates are of those asked for"
                    .to_owned(),
            ),
        }
        if case.prompt == 0 {
            return;
        }
        let all = counted.unwrap_or(asked);
        let depth = self.prefix_tokens.unwrap_or(batch * u64::from(case.depth));
        let fresh = all.saturating_sub(depth);
        repeat.prompt_tokens = Some(match (cached, case.depth) {
            (Some(cached), _) => all.saturating_sub(cached),
            // What no cache can know was computed.
            (None, 0) => all,
            (None, _) => fresh,
        });
        if case.depth == 0 {
            if let Some(cached) = cached.filter(|one| *one as f64 > OFF_SHARE * all as f64) {
                repeat.remarks.push(format!(
                    "{cached} of {all} prompt tokens came from the server's cache although they were \
                     new, and rates leave them out"
                ));
            }
            return;
        }
        let share = cached.map(|cached| cached as f64 / depth.max(1) as f64);
        let from = match share {
            None => "unknown",
            Some(share) if share >= CACHED_SHARE => "cache",
            Some(share) if share <= COMPUTED_SHARE => "computed",
            Some(_) => "partly cache",
        };
        told.insert("depth_from".to_owned(), json!(from));
        match (cached, from) {
            (None, _) => repeat.remarks.push(format!(
                "the server does not tell what came from its cache: rates are of the {fresh} fresh \
                 tokens, and too low if it computed the {depth} in front of them again"
            )),
            (_, "cache") => {}
            (Some(cached), _) => repeat.remarks.push(format!(
                "{cached} of the {depth} context tokens came from the server's cache, so that rates \
                 are of all {} that it computed, not of the {fresh} fresh ones",
                all.saturating_sub(cached)
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// An answer of tokens 10 ms apart after a prompt of 100 ms.
    fn heard(prompt: u32, cached: Option<u32>, output: u32) -> Heard {
        Heard {
            begun_ns: MS,
            sent_ns: MS,
            at_ns: (0..u64::from(output)).map(|token| 101 * MS + token * 10 * MS).collect(),
            prompt: Some(prompt),
            cached,
            output: Some((output, true)),
            finish_reason: Some("length".to_owned()),
            ..Heard::default()
        }
    }

    fn repeat(case: Case, heard: Heard, prefix_tokens: Option<u64>) -> Result<Repeat, Trouble> {
        let overhead = Overhead { median_ns: 20 * MS, min_ns: 19 * MS, max_ns: 30 * MS };
        let batch = [heard];
        Seen { case, batch: &batch, prefix_tokens }.repeat(Some(overhead))
    }

    const PP: Case = Case { batch: 1, depth: 0, prompt: 512, steps: 0 };
    const PP_AT: Case = Case { batch: 1, depth: 4096, prompt: 512, steps: 0 };

    #[test]
    fn the_client_takes_the_way_off_and_the_server_needs_it_not() {
        let one = repeat(PP, heard(512, None, 1), None).unwrap();
        assert_eq!((one.prompt_ns, one.prompt_tokens), (Some(80 * MS), Some(512)));
        assert_eq!(
            (&one.told["timed_by"], &one.told["counted_by"]),
            (&json!("client"), &json!("server"))
        );
        assert!(one.remarks.is_empty() && one.steps_ns.is_none(), "{:?}", one.remarks);
        let mut timed = heard(512, None, 3);
        timed.server.prompt_ns = Some(90 * MS);
        let case = Case { steps: 2, ..PP };
        let two = repeat(case, timed.clone(), None).unwrap();
        assert_eq!((two.prompt_ns, two.steps_ns), (Some(90 * MS), Some(20 * MS)));
        assert_eq!((two.step_tokens, two.step_ns), (Some(2), vec![10 * MS; 2]));
        assert_eq!(two.told["timed_by"], "server and client");
        timed.server.prompt_ns = Some(101 * MS);
        let why = repeat(case, timed, None).unwrap_err();
        assert!(why.why().contains("101.000 ms for a prompt"), "{why:?}");
    }

    #[test]
    fn a_depth_is_from_the_cache_or_computed_or_unknown() {
        for (cached, tokens, from, remark) in [
            (Some(4096), 512, "cache", None),
            (Some(4080), 528, "cache", None),
            (Some(0), 4608, "computed", Some("0 of the 4096 context tokens")),
            (Some(2048), 2560, "partly cache", Some("rates are of all 2560 that it computed")),
            (None, 512, "unknown", Some("of the 512 fresh tokens")),
        ] {
            let one = repeat(PP_AT, heard(4608, cached, 1), Some(4096)).unwrap();
            assert_eq!(one.prompt_tokens, Some(tokens), "{cached:?}");
            assert_eq!(one.told["depth_from"], from);
            assert_eq!(one.remarks.len(), usize::from(remark.is_some()), "{:?}", one.remarks);
            assert!(one.remarks.iter().all(|text| text.contains(remark.unwrap())));
        }
    }

    #[test]
    fn a_template_is_counted_and_reported() {
        let one = repeat(PP, heard(540, Some(0), 1), None).unwrap();
        assert_eq!(one.prompt_tokens, Some(540));
        assert!(one.remarks[0].contains("540 prompt tokens where 512 were requested (+5.5 %)"));
        // The template precedes both requests, so that the fresh tokens are the difference.
        let two = repeat(PP_AT, heard(4636, None, 1), Some(4124)).unwrap();
        assert_eq!(two.prompt_tokens, Some(512));
        let mut silent = heard(0, None, 1);
        silent.prompt = None;
        let three = repeat(PP, silent, None).unwrap();
        assert_eq!((three.prompt_tokens, &three.told["counted_by"]), (Some(512), &json!("asked")));
        assert!(three.remarks[0].contains("does not count"));
    }

    #[test]
    fn what_is_short_or_at_once_is_no_repeat() {
        let case = Case { prompt: 0, steps: 128, ..PP };
        let why = repeat(case, heard(1, None, 45), None).unwrap_err();
        let text = "an answer has 45 tokens where 129 were requested (finish reason: length)";
        assert_eq!(why, Trouble::Cannot(text.to_owned()));
        let mut at_once = heard(1, None, 129);
        at_once.at_ns = vec![MS * 101; 129];
        assert!(repeat(case, at_once, None).unwrap_err().why().contains("in one read"));
        // 100 ms to the first token, and a way of 100 ms.
        let seen = Seen { case: PP, batch: &[heard(512, None, 1)], prefix_tokens: None };
        let way = Overhead { median_ns: 100 * MS, min_ns: 0, max_ns: 0 };
        assert!(seen.repeat(Some(way)).unwrap_err().why().contains("too short"));
    }

    #[test]
    fn a_batch_counts_what_came_within_its_steps() {
        // The second sequence begins its answer 15 ms later: 1 of the first one's tokens came before.
        let mut late = heard(128, Some(0), 4);
        late.at_ns.iter_mut().for_each(|at_ns| *at_ns += 15 * MS);
        late.server.prompt_ns = Some(MS);
        let batch = [heard(128, Some(0), 4), late];
        let case = Case { batch: 2, depth: 0, prompt: 128, steps: 3 };
        let seen = Seen { case, batch: &batch, prefix_tokens: None };
        assert!(seen.needs_overhead());
        let one = seen.repeat(None).unwrap();
        assert_eq!((one.prompt_ns, one.prompt_tokens), (Some(115 * MS), Some(256)));
        assert_eq!((one.steps_ns, one.step_tokens), (Some(30 * MS), Some(5)));
        assert_eq!(one.told["first_token_spread_ns"], 15 * MS);
    }
}
