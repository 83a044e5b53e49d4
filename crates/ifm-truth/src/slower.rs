//! Tests on a host of any speed: tries that are slower and slower.
//!
//! A host that is busy takes some milliseconds away now and then. Against a server that is slow
//! enough they are nothing; how slow that is depends on the host. So a test that cannot do without
//! time says by how much its server is to be slower, and is tried again where it did not hold: what
//! the host did goes away, and what is wrong stays wrong at every speed. Not here: how precise the
//! times of a client are, which is a matter of benchmarks.

use crate::case::{Case, Limits};
use crate::truth::Truth;

/// How much slower each try is than the first one.
const FACTORS: [u64; 5] = [1, 4, 16, 64, 256];

/// Tries with servers that are slower and slower until one holds; what it gave.
///
/// # Errors
/// Where none holds: what each of them said.
pub fn slower_and_slower<T>(
    mut attempt: impl FnMut(u64) -> Result<T, String>,
) -> Result<T, String> {
    let mut said = "does not hold at any speed of the server".to_owned();
    for factor in FACTORS {
        match attempt(factor) {
            Ok(found) => return Ok(found),
            Err(error) => said.push_str(&format!("; {factor} times as slow: {error}")),
        }
    }
    Err(said)
}

impl Case {
    /// The same case, slower by `factor`: its steps, the limits that it needs, and its truth.
    pub fn slower(&self, factor: u64) -> Case {
        let ms = |ms: Option<u64>| ms.map(|ms| ms * factor);
        let times = |ms: Option<f64>| ms.map(|ms| ms * factor as f64);
        let mut case = self.clone();
        case.steps.iter_mut().for_each(|step| step.at_ms *= factor);
        let Limits { first_token_ms, idle_ms, total_ms } = self.limits;
        case.limits = Limits {
            first_token_ms: ms(first_token_ms),
            idle_ms: ms(idle_ms),
            total_ms: ms(total_ms),
        };
        let truth = &self.truth;
        case.truth = Truth {
            ttft_ms: times(truth.ttft_ms),
            ttfat_ms: times(truth.ttfat_ms),
            last_token_ms: times(truth.last_token_ms),
            tpot_ms: times(truth.tpot_ms),
            tpot_after_first_event_ms: times(truth.tpot_after_first_event_ms),
            ..truth.clone()
        };
        case
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_try_is_made_again_until_it_holds_and_fails_where_none_does() {
        let mut tried = Vec::new();
        let held = slower_and_slower(|factor| {
            tried.push(factor);
            if factor < 16 { Err("too fast".to_owned()) } else { Ok(factor) }
        });
        assert_eq!((held, tried.as_slice()), (Ok(16), &FACTORS[..3]));
        let never = slower_and_slower::<()>(|factor| Err(format!("wrong by {factor}")));
        let said = never.expect_err("it never holds");
        assert!(said.contains("256 times as slow: wrong by 256"), "{said}");
    }
}
