//! `simulated://GPU/MODEL`: a simulated server in virtual time, instead of a URL.
//!
//! The settings of `predict` follow a question mark, as in
//! `simulated://h100-sxm/llama-3.1-8b?quant=fp8&jitter=0.05`.

use crate::cli::args::deployment::DeploymentArgs;
use crate::cli::args::load::LoadArgs;
use crate::cli::args::probe::OpenedProbe;
use crate::cli::args::resolve::{resolve, resolve_simulated};
use crate::exit::Failure;
use crate::job::Job;
use crate::job::levels::LevelRequest;
use crate::session::store_root;
use clap::Parser;
use ifm_predict::SimulatedDeployment;
use ifm_store::Store;

/// What such a URL begins with.
const SCHEME: &str = "simulated://";

/// The flags of a deployment, as a command line of their own.
#[derive(Debug, Parser)]
struct Flags {
    #[command(flatten)]
    deployment: DeploymentArgs,
}

/// What is measured at these levels: a server, or a simulation if the URL names one.
///
/// # Errors
/// The first error of what was typed, or a probe of a simulated server.
pub fn job(
    load: &LoadArgs,
    levels: &[LevelRequest],
    words: &[String],
    probe: Option<OpenedProbe>,
) -> Result<Job, Failure> {
    let mut job = match deployed(load)? {
        Some(_) if probe.is_some() => {
            return Err(Failure::usage("--probe needs a real server, not a simulated one"));
        }
        Some(deployed) => {
            resolve_simulated((&load.workload, &load.results), deployed, levels, words)?
        }
        None => resolve(load, levels, words)?,
    };
    probe.map_or(Ok(()), |probe| probe.add_to(&mut job))?;
    Ok(job)
}

/// The simulated server that the URL names; absent for any other URL.
///
/// # Errors
/// An unknown machine, model or setting.
fn deployed(load: &LoadArgs) -> Result<Option<SimulatedDeployment>, Failure> {
    let url = load.url.as_deref().or(load.base_url.as_deref());
    let Some(rest) = url.and_then(|url| url.strip_prefix(SCHEME)) else { return Ok(None) };
    let (names, settings) = rest.split_once('?').unwrap_or((rest, ""));
    let refused = |text: String| {
        Failure::usage(text).hint("for example simulated://h100-sxm/llama-3.1-8b?quant=fp8")
    };
    let (gpu, model) = names
        .split_once('/')
        .ok_or_else(|| refused(format!("\"{SCHEME}{rest}\" names no model")))?;
    let settings = settings.split('&').filter(|setting| !setting.is_empty());
    let flags = [format!("--gpu={gpu}"), format!("--model={model}")]
        .into_iter()
        .chain(settings.map(|setting| format!("--{setting}")));
    let words = std::iter::once("predict".to_owned()).chain(flags);
    let flags = Flags::try_parse_from(words).map_err(|error| {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        refused(format!("\"{SCHEME}{rest}\": {}", first.trim_start_matches("error: ")))
    })?;
    let store = Store::at(store_root(load.results.store.as_ref()));
    let seed = load.workload.seed.unwrap_or(0);
    flags.deployment.deployed(&store, seed).map(Some)
}
