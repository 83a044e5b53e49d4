//! Progress of a command, from the values in its lines and their times: steps, tokens, loss, and rates of them.
//!
//! A line has the time of the read that brought its end. Not here: the contents of a line
//! (`pattern`).

use super::pattern::{Field, Found};
use serde::Serialize;

/// Most marks that are kept; of more every second one is, then every fourth, and so on.
const MARKS_MAX: usize = 20_000;
/// Numbers of tokens that all rise, from this many on, are totals.
const RISING_MIN: u64 = 10;

/// What had been done at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Mark {
    /// Nanoseconds since the origin.
    pub at_ns: u64,
    /// Steps; without a pattern for them, lines that reported tokens.
    pub steps: f64,
    /// Tokens.
    pub tokens: f64,
    /// The last reported loss.
    pub loss: Option<f64>,
}

/// All reported progress.
#[derive(Debug, Default)]
pub struct Progress {
    marks: Vec<Mark>,
    /// The last mark of all, and marks in all.
    last: Option<Mark>,
    seen: u64,
    stride: u64,
    has_steps: bool,
    first_step: Option<f64>,
    step: f64,
    steps: f64,
    tokens: f64,
    has_tokens: bool,
    /// The last number of tokens, and how many in a row rose.
    tokens_told: Option<f64>,
    rising: u64,
    tokens_lines: u64,
    loss: Option<f64>,
    /// First and last loss.
    pub losses: Option<(f64, f64)>,
    /// Losses that were no finite number.
    pub losses_lost: u64,
    /// Numbers that could not be read.
    pub unread: u64,
    /// How often the step count restarted.
    pub began_anew: u64,
    /// Marks that came with the same read as the one before.
    pub together: u64,
    last_read: u64,
}

/// Results for a whole run. What was not reported is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Rates {
    /// Steps done.
    pub steps: Option<f64>,
    /// Tokens done.
    pub tokens: Option<f64>,
    /// Steps per second between two marks.
    pub steps_per_s: Option<f64>,
    /// Tokens per second between them.
    pub tokens_per_s: Option<f64>,
    /// Time between them, seconds.
    pub window_s: Option<f64>,
}

impl Progress {
    /// Records the values of a line. `read` is the number of the read that brought its end.
    pub fn add(&mut self, told: &[(Field, Found)], at_ns: u64, read: u64) {
        let (mut is_step, mut has_tokens) = (false, false);
        for (field, found) in told {
            match (field, found) {
                (_, Found::Unread) => self.unread += 1,
                (Field::Step, Found::OneMore) => is_step |= self.step_to(self.step + 1.0),
                (Field::Step, Found::Number(step)) if *step >= 0.0 => {
                    is_step |= self.step_to(*step)
                }
                (Field::Loss, Found::Number(loss)) if loss.is_finite() => {
                    self.loss = Some(*loss);
                    self.losses = Some((self.losses.map_or(*loss, |(first, _)| first), *loss));
                }
                (Field::Loss, _) => self.losses_lost += 1,
                (Field::Tokens, Found::Number(tokens)) if *tokens >= 0.0 => {
                    has_tokens = true;
                    self.tokens += tokens;
                    let rises = self.tokens_told.is_some_and(|before| *tokens > before);
                    self.rising += u64::from(rises);
                    self.tokens_told = Some(*tokens);
                }
                (Field::TokensTotal, Found::Number(total)) if *total >= 0.0 => {
                    has_tokens = true;
                    // A total that fell was restarted.
                    let before = self.tokens_told.filter(|before| total >= before).unwrap_or(0.0);
                    self.tokens += total - before;
                    self.tokens_told = Some(*total);
                }
                _ => self.unread += 1,
            }
        }
        self.has_tokens |= has_tokens;
        self.tokens_lines += u64::from(has_tokens);
        if is_step || (has_tokens && !self.has_steps) {
            self.mark(at_ns, read);
        }
    }

    /// Records the number of a step and returns whether it is a new step. A number that is not
    /// above the first one begins a new count; any other number that is not above the last, such as
    /// a second process reporting the same step, is ignored.
    fn step_to(&mut self, step: f64) -> bool {
        if !self.has_steps {
            // Until here lines with tokens were counted.
            (self.has_steps, self.seen, self.last) = (true, 0, None);
            self.marks.clear();
        }
        let Some(first) = self.first_step else {
            (self.first_step, self.step, self.steps) = (Some(step), step, step);
            return true;
        };
        if step > self.step {
            self.steps += step - self.step;
        } else if step < self.step && step <= first {
            self.began_anew += 1;
            self.steps += step;
        } else {
            return false;
        }
        self.step = step;
        true
    }

    fn mark(&mut self, at_ns: u64, read: u64) {
        self.together += u64::from(self.last.is_some() && read == self.last_read);
        self.last_read = read;
        let steps = if self.has_steps { self.steps } else { self.tokens_lines as f64 };
        let mark = Mark { at_ns, steps, tokens: self.tokens, loss: self.loss };
        if self.marks.len() == MARKS_MAX {
            let mut place = 0;
            self.marks.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.stride *= 2;
        }
        self.stride = self.stride.max(1);
        if self.seen.is_multiple_of(self.stride) {
            self.marks.push(mark);
        }
        self.seen += 1;
        self.last = Some(mark);
    }

    /// The marks that were kept, the last one among them.
    pub fn marks(&self) -> impl Iterator<Item = Mark> + '_ {
        let last = self.last.filter(|last| self.marks.last() != Some(last));
        self.marks.iter().copied().chain(last)
    }

    /// Marks in all.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Whether all numbers of tokens rose, so that they look like totals.
    pub fn looks_like_totals(&self) -> bool {
        self.tokens_lines >= RISING_MIN && self.rising + 1 == self.tokens_lines
    }

    /// What follows. Rates are between the first mark from step `skip` on and the last mark: what
    /// came before the first mark, the start above all, is in no rate.
    pub fn rates(&self, skip: u64, tokens_per_step: Option<f64>) -> Rates {
        let steps = self.has_steps.then_some(self.steps);
        let told = self.has_tokens.then_some(self.tokens);
        let tokens = tokens_per_step.zip(steps).map(|(each, steps)| each * steps).or(told);
        let base = self.marks().find(|mark| mark.steps >= skip as f64);
        let (Some(base), Some(last)) = (base, self.last) else {
            return Rates { steps, tokens, ..Rates::default() };
        };
        let window_s = last.at_ns.saturating_sub(base.at_ns) as f64 / 1e9;
        let per_s = |amount: f64| (window_s > 0.0 && amount > 0.0).then(|| amount / window_s);
        let steps_per_s = steps.and_then(|_| per_s(last.steps - base.steps));
        let tokens_per_s = match tokens_per_step {
            Some(each) => steps_per_s.map(|rate| rate * each),
            None => told.and_then(|_| per_s(last.tokens - base.tokens)),
        };
        let window_s = steps_per_s.or(tokens_per_s).map(|_| window_s);
        Rates { steps, tokens, steps_per_s, tokens_per_s, window_s }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn step(number: f64) -> (Field, Found) {
        (Field::Step, Found::Number(number))
    }

    fn tokens(number: f64) -> (Field, Found) {
        (Field::Tokens, Found::Number(number))
    }

    fn told(lines: &[(u64, &[(Field, Found)])]) -> Progress {
        let mut progress = Progress::default();
        for (read, (at_s, line)) in lines.iter().enumerate() {
            progress.add(line, at_s * S, read as u64);
        }
        progress
    }

    #[test]
    fn rates_begin_after_the_skipped_steps() {
        // The first step is reported after 60 s, each further one takes 2 s and 100 tokens.
        let lines: Vec<(u64, Vec<(Field, Found)>)> = (1..=11_u32)
            .map(|n| (58 + 2 * u64::from(n), vec![step(f64::from(n)), tokens(100.0)]))
            .collect();
        let lines: Vec<(u64, &[(Field, Found)])> =
            lines.iter().map(|(at_s, line)| (*at_s, line.as_slice())).collect();
        let progress = told(&lines);
        let rates = progress.rates(0, None);
        assert_eq!((rates.steps, rates.tokens), (Some(11.0), Some(1100.0)));
        assert_eq!((rates.steps_per_s, rates.tokens_per_s), (Some(0.5), Some(50.0)));
        assert_eq!((rates.window_s, progress.together), (Some(20.0), 0));
        let later = progress.rates(6, None);
        assert_eq!((later.steps_per_s, later.window_s), (Some(0.5), Some(10.0)));
        assert_eq!(progress.rates(0, Some(4096.0)).tokens_per_s, Some(2048.0));
        // Nothing follows the last step.
        for skip in [11, 12, 500] {
            let none = progress.rates(skip, None);
            assert_eq!((none.steps_per_s, none.tokens_per_s, none.steps), (None, None, Some(11.0)));
        }
        assert!(!progress.looks_like_totals());
    }

    #[test]
    fn numbers_may_skip_repeat_and_begin_anew() {
        let epoch = [0.0, 10.0, 10.0, 20.0];
        let lines: Vec<[(Field, Found); 1]> =
            epoch.iter().chain(&epoch).map(|number| [step(*number)]).collect();
        let lines: Vec<(u64, &[(Field, Found)])> =
            lines.iter().enumerate().map(|(at_s, line)| (at_s as u64, line.as_slice())).collect();
        let progress = told(&lines);
        assert_eq!((progress.rates(0, None).steps, progress.began_anew), (Some(40.0), 1));
        // A late line of another process is ignored.
        let late = told(&[(0, &[step(5.0)]), (1, &[step(7.0)]), (2, &[step(6.0)])]);
        assert_eq!((late.rates(0, None).steps, late.seen()), (Some(7.0), 2));
    }

    #[test]
    fn tokens_alone_count_their_lines() {
        let total = |number| (Field::TokensTotal, Found::Number(number));
        let progress =
            told(&[(1, &[total(100.0)]), (2, &[total(300.0)]), (4, &[total(50.0)]), (5, &[])]);
        let rates = progress.rates(0, None);
        assert_eq!((rates.steps, rates.tokens), (None, Some(350.0)));
        assert_eq!((rates.tokens_per_s, rates.steps_per_s), (Some(250.0 / 3.0), None));
        assert_eq!(progress.rates(2, None).tokens_per_s, Some(25.0));
        assert_eq!(told(&[]).rates(0, None), Rates::default());
        let mut rising = Progress::default();
        (1..=10).for_each(|n| rising.add(&[tokens(f64::from(n) * 64.0)], n as u64, n as u64));
        assert!(rising.looks_like_totals());
    }

    #[test]
    fn reports_losses_and_unreadable_numbers() {
        let loss = |number| (Field::Loss, Found::Number(number));
        let unread = (Field::Step, Found::Unread);
        let progress = told(&[
            (0, &[step(1.0), loss(4.0)]),
            (1, &[loss(f64::NAN), unread]),
            (2, &[step(-3.0), loss(1.5)]),
        ]);
        assert_eq!((progress.losses, progress.losses_lost), (Some((4.0, 1.5)), 1));
        assert_eq!((progress.unread, progress.seen()), (2, 1));
    }

    #[test]
    fn marks_have_a_bound_and_rates_stay_exact() {
        let mut progress = Progress::default();
        let all = 5 * MARKS_MAX as u64 + 7;
        (0..all).for_each(|n| progress.add(&[step(n as f64)], n * S, n / 2));
        assert!(progress.marks().count() <= MARKS_MAX + 1);
        assert_eq!(progress.marks().last().map(|mark| mark.steps), Some(all as f64 - 1.0));
        assert_eq!((progress.seen(), progress.together), (all, all / 2));
        assert_eq!(progress.rates(1000, None).steps_per_s, Some(1.0));
        assert!(progress.marks().zip(progress.marks().skip(1)).all(|(a, b)| a.at_ns < b.at_ns));
    }
}
