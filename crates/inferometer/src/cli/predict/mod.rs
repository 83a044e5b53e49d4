//! `inferometer predict`: predicts a server that does not exist, under any load that a real one
//! accepts.

mod against;
mod args;
mod vary;

pub use args::PredictArgs;

use crate::cli::args::resolve::resolve_simulated;
use crate::exit::{Code, Failure};
use crate::session::execute;
use crate::terminal;

/// Runs the command.
///
/// # Errors
/// An impossible deployment or load.
pub fn run(args: &PredictArgs, words: &[String]) -> Result<Code, Failure> {
    if args.vary.is_asked() {
        return vary::run(args, words);
    }
    let deployed = args.deployed()?;
    let name = args.deployment.calibration.as_deref().unwrap_or_default();
    for sentence in &deployed.unsaid {
        terminal::warn(&format!("calibration \"{name}\": {sentence}"));
    }
    if let Some(result) = &args.against {
        return against::against(args, result, deployed, words);
    }
    let asked = (&args.workload, &args.results);
    execute(resolve_simulated(asked, deployed, &args.levels()?, words)?)
}
