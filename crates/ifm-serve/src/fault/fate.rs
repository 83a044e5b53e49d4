//! What one request meets with.
//!
//! Not here: doing it (`body`, `generate`).

use std::time::Duration;

use axum::http::StatusCode;
use ifm_kernels::RandomStream;

use super::{Fault, HowCut};

/// What one request meets with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fate {
    /// The request is refused.
    pub(crate) refusal: Option<StatusCode>,
    /// The request waits so long before it is handed in.
    pub(crate) delay: Duration,
    /// The answer breaks off.
    pub(crate) cut: Option<Cut>,
    /// The answer pauses once.
    pub(crate) pause: Option<Pause>,
    /// Events in one write.
    pub(crate) events_per_write: usize,
    /// Tokens in one event.
    pub(crate) tokens_per_event: usize,
    /// The answer does not have the form that it is to have.
    pub(crate) breaks_form: bool,
    /// The answer may tell its usage.
    pub(crate) tells_usage: bool,
}

/// How and where an answer breaks off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cut {
    pub(crate) how: HowCut,
    /// 0 is behind the first event, 1 before the last.
    pub(crate) place: f64,
}

/// How long and where an answer pauses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Pause {
    pub(crate) length: Duration,
    /// 0 is behind the first event, 1 before the last.
    pub(crate) place: f64,
}

impl Fate {
    /// A request that meets with nothing.
    pub(crate) const NONE: Self = Self {
        refusal: None,
        delay: Duration::ZERO,
        cut: None,
        pause: None,
        events_per_write: 1,
        tokens_per_event: 1,
        breaks_form: false,
        tells_usage: true,
    };

    /// The fate of a request. Refusals and cuts share one draw, so that no request meets
    /// with two and each has just its share; other faults have draws of their own.
    pub(super) fn of(faults: &[Fault], seed: u64, number: u64) -> Self {
        let mut fate = Self::NONE;
        let mut end = draw(seed, number, "end");
        for fault in faults {
            match *fault {
                Fault::Refuse { status, share } => {
                    if (0.0..share).contains(&end) {
                        fate.refusal = StatusCode::from_u16(status).ok();
                    }
                    end -= share;
                }
                Fault::Cut { how, share } => {
                    if (0.0..share).contains(&end) {
                        fate.cut = Some(Cut { how, place: draw(seed, number, "cut") });
                    }
                    end -= share;
                }
                Fault::Stall { share, pause } => {
                    if draw(seed, number, "stall") < share {
                        let place = draw(seed, number, "pause");
                        fate.pause = Some(Pause { length: pause, place });
                    }
                }
                Fault::SlowFirst { share, delay } => {
                    if draw(seed, number, "slow-first") < share {
                        fate.delay += delay;
                    }
                }
                Fault::Cold { delay } => {
                    if number == 0 {
                        fate.delay += delay;
                    }
                }
                Fault::Coalesce { events } => fate.events_per_write = events,
                Fault::MultiToken { tokens } => fate.tokens_per_event = tokens,
                Fault::InvalidForm { share } => {
                    fate.breaks_form = draw(seed, number, "form") < share;
                }
                Fault::NoUsage => fate.tells_usage = false,
                // The backend's, not a request's.
                Fault::Throttle { .. } => {}
            }
        }
        fate
    }

    /// Whether the body of the answer has to be changed on its way.
    pub(crate) fn strikes_body(&self) -> bool {
        self.cut.is_some() || self.pause.is_some() || self.events_per_write > 1
    }
}

/// Uniform over [0, 1), by request and purpose.
fn draw(seed: u64, number: u64, purpose: &str) -> f64 {
    let mut stream = RandomStream::new(seed, &format!("fault.{purpose}.{number}"));
    (stream.next_word() >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Faults;

    #[test]
    fn shares_are_kept_and_nobody_is_struck_twice() {
        let faults = Faults::parse("429:0.1,reset:0.2,500:0.05,stall:0.3:1s", 5).expect("a list");
        let fates: Vec<Fate> = (0..20_000).map(|number| faults.fate(number)).collect();
        let share = |what: &dyn Fn(&Fate) -> bool| {
            fates.iter().filter(|fate| what(fate)).count() as f64 / fates.len() as f64
        };
        let status =
            |code: u16| share(&|fate| fate.refusal.is_some_and(|status| status.as_u16() == code));
        // Five standard deviations of the widest of them are 0.016.
        for (seen, expected) in [
            (status(429), 0.1),
            (status(500), 0.05),
            (share(&|fate| fate.cut.is_some()), 0.2),
            (share(&|fate| fate.pause.is_some()), 0.3),
        ] {
            assert!((seen - expected).abs() < 0.016, "{seen} is not {expected}");
        }
        assert!(fates.iter().all(|fate| fate.refusal.is_none() || fate.cut.is_none()));
        let cut: Vec<f64> = fates.iter().filter_map(|fate| Some(fate.cut?.place)).collect();
        let mean = cut.iter().sum::<f64>() / cut.len() as f64;
        assert!((mean - 0.5).abs() < 0.03, "{mean}");
    }

    #[test]
    fn a_fate_follows_from_seed_and_number() {
        let faults = |seed| Faults::parse("reset:0.5,cold:3s", seed).expect("a list");
        let fates = |seed| (0..64).map(|number| faults(seed).fate(number)).collect::<Vec<_>>();
        assert_eq!(fates(1), fates(1));
        assert_ne!(fates(1), fates(2));
        let delays: Vec<u64> = fates(1).iter().map(|fate| fate.delay.as_secs()).collect();
        assert_eq!((delays[0], delays[1..].iter().sum::<u64>()), (3, 0), "the first alone is cold");
    }

    #[test]
    fn whole_and_no_shares_are_exact() {
        let all = Faults::parse("503:1", 1).expect("a list");
        let none = Faults::parse("503:0,truncate:0", 1).expect("a list");
        for number in 0..1000 {
            assert!(all.fate(number).refusal.is_some());
            assert_eq!(none.fate(number), Fate::NONE);
        }
    }
}
