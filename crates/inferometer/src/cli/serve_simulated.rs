//! `inferometer serve --sim`: runs a simulated server for real clients.
//!
//! Not here: the flags of the embedded engine (`serve`), and runs without a client (`ifm-predict`).

use crate::cli::args::deployment::DeploymentArgs;
use crate::cli::args::serving::ServingArgs;
use crate::exit::{Code, Failure};
use crate::session::store_root;
use clap::Args;
use ifm_serve::{Backend, SimulatedOptions};
use ifm_store::Store;
use std::path::PathBuf;
use std::time::Duration;

/// The command that `serve --sim` becomes before flags are parsed.
pub const VERB: &str = "serve-simulated";

/// Its usage.
pub const USAGE: &str = "inferometer serve --sim --gpu NAME --model NAME [OPTIONS]";

/// Flags of `serve --sim`.
#[derive(Debug, Args)]
pub struct ServeSimulatedArgs {
    /// Real seconds per simulated second: 0.1 is ten times as fast
    #[arg(long, default_value_t = 1.0, value_name = "SECONDS")]
    time_scale: f64,

    /// Maximum tokens of a prompt and its answer [default: what fits in memory]
    #[arg(long, alias = "max-model-len", value_name = "TOKENS")]
    context: Option<usize>,

    #[command(flatten)]
    serving: ServingArgs,

    /// Folder of stored results, for --gpu measured and --calibration [default: .inferometer/runs]
    #[arg(long, value_name = "DIR", env = "INFEROMETER_STORE")]
    store: Option<PathBuf>,

    #[command(flatten)]
    deployment: DeploymentArgs,
}

/// Runs the command.
///
/// # Errors
/// An impossible deployment, or an error of the server.
pub fn run(args: &ServeSimulatedArgs) -> Result<Code, Failure> {
    let serving = args.serving.checked()?;
    let store = Store::at(store_root(args.store.as_ref()));
    let deployed = args.deployment.deployed(&store, args.serving.seed)?;
    let line = format!("simulated, nothing is computed; {}", deployed.prediction().words());
    let notes = [
        ("server_defaults", deployed.kind.word().to_owned()),
        ("constants_from", deployed.constants_from),
    ];
    let compile_s = deployed.deployment.step.constants().grammar_compile_s;
    let options = SimulatedOptions {
        notes: notes.map(|(name, text)| (name.to_owned(), text)).into(),
        context: args.context,
        time_scale: args.time_scale,
        seed: args.serving.seed,
        ..SimulatedOptions::new(deployed.deployment)
    };
    let backend = Backend::simulate(options)
        .map_err(|error| Failure::usage(format!("nothing can be simulated: {error}")))?;
    let on_the_clock = |seconds: f64| Duration::try_from_secs_f64(seconds * args.time_scale).ok();
    serving.with_form_compile(compile_s.and_then(on_the_clock)).serve(backend, &line)
}
