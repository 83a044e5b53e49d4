//! Compares the readers with other implementations of the same grammars: hyper, a slow reader
//! written directly from the text of the standard, and the full path against the quick one. Then
//! checks the bodies of every API, and the meaning of its recorded answers.
//!
//! Each test tries the same cases in every run. `IFM_CASES=100000` tries that many, new ones
//! each time.

mod allocation;
mod bodies;
mod custom;
mod failures;
mod forms;
mod hostile;
mod hyper;
mod multipart;
mod quick;
mod recorded;
mod replies;
mod sound;
mod sse;

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

/// Checks `count` cases of the strategy, or as many as the environment asks for.
fn try_cases<S: Strategy>(
    count: u32,
    strategy: &S,
    check: impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    let asked = std::env::var("IFM_CASES").ok().map(|text| text.parse().expect("a number"));
    let config = Config {
        cases: asked.unwrap_or(count),
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..Config::default()
    };
    let mut runner = match asked {
        Some(_) => TestRunner::new(config),
        None => TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha)),
    };
    match runner.run(strategy, check) {
        Ok(()) => {}
        // The reason shows the bytes; the value that made them would fill pages.
        Err(TestError::Fail(reason, _)) => panic!("{reason}"),
        Err(TestError::Abort(reason)) => panic!("no more cases: {reason}"),
    }
}

/// The bytes in the pieces that these cuts make of them.
fn pieces(bytes: &[u8], cuts: &[proptest::sample::Index]) -> Vec<Vec<u8>> {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    places.dedup();
    places.windows(2).map(|pair| bytes[pair[0]..pair[1]].to_vec()).collect()
}
