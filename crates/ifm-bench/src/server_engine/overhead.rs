//! What client-side times contain in addition to the computation: the way to the server and back, and
//! the work of its frontend.
//!
//! A prompt of one token takes one pass of the model, as each step after it does. What its first token
//! takes longer than a step is taken for the way, and is taken off the time to the first token of a test.

use super::told::Heard;

/// Requests of one token that measure the overhead.
pub const REQUESTS: u32 = 5;
/// Tokens that each asks for: the first, and steps to compare it with.
pub const TOKENS: u32 = 5;

/// The way to a server and back, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overhead {
    /// Median of the requests.
    pub median_ns: u64,
    /// Shortest.
    pub min_ns: u64,
    /// Longest.
    pub max_ns: u64,
}

impl Overhead {
    /// Of requests of one token; absent without any.
    pub fn of(requests: &[Heard]) -> Option<Overhead> {
        let mut ways: Vec<u64> = requests.iter().filter_map(way_ns).collect();
        ways.sort_unstable();
        let median_ns = *ways.get(ways.len() / 2)?;
        Some(Overhead { median_ns, min_ns: *ways.first()?, max_ns: *ways.last()? })
    }
}

/// Time to the first token less the median step after it; 0 where a step took longer.
fn way_ns(heard: &Heard) -> Option<u64> {
    let first_ns = heard.first_ns()?.saturating_sub(heard.sent_ns);
    let mut steps: Vec<u64> = heard.at_ns.windows(2).map(|pair| pair[1] - pair[0]).collect();
    steps.sort_unstable();
    let step_ns = steps.get(steps.len() / 2).copied().unwrap_or_default();
    Some(first_ns.saturating_sub(step_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_taken_off_the_first_token() {
        let heard = |first: u64| Heard {
            sent_ns: 100,
            at_ns: vec![first, first + 10, first + 21, first + 31],
            ..Heard::default()
        };
        let requests = [heard(150), heard(130), heard(105)];
        let overhead = Overhead { median_ns: 20, min_ns: 0, max_ns: 40 };
        assert_eq!(Overhead::of(&requests), Some(overhead));
        assert_eq!(Overhead::of(&[]), None);
    }
}
