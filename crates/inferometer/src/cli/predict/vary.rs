//! `inferometer predict --vary`: finds the cheapest of many deployments that meet a latency target.
//!
//! Each variant is the same command line with other values of some flags. Not here: the measurement
//! of one load (`ifm_predict::what_if`).

use super::args::PredictArgs;
use crate::cli::args::price::money;
use crate::cli::args::resolve::{resolve_simulated, slo};
use crate::cli::{Cli, Verb, command};
use crate::exit::{Code, Failure};
use crate::job::Job;
use crate::job::levels::{Ending, LevelRequest};
use crate::output::{self, Format, OwnFormats};
use crate::session::{level_plan, request_template, store_root};
use crate::terminal;
use clap::FromArgMatches as _;
use clap::error::ErrorKind;
use ifm_core::spec::Api;
use ifm_predict::SimulatedDeployment;
use ifm_predict::what_if::{self, Looked, Variant, WhatIfDocument};
use ifm_report::page::{Pictures, markdown};
use ifm_session::source::{Carrying, Source};
use ifm_store::Store;

/// Maximum variants of one question.
const VARIANTS_MAX: usize = 500;
/// Requests per measurement of a load, or per user if that is more.
const REQUESTS: (u32, u32) = (300, 6);
/// The search ends when the largest load inside and the smallest outside are this close.
const PRECISION: f64 = 0.03;

/// Every combination of values, the last flag changing fastest.
fn combinations(axes: &[(String, Vec<String>)]) -> Vec<Vec<(String, String)>> {
    let mut all: Vec<Vec<(String, String)>> = vec![Vec::new()];
    for (flag, values) in axes {
        let with = |row: &Vec<(String, String)>| {
            let add = |value: &String| {
                let mut row = row.clone();
                row.push((flag.clone(), value.clone()));
                row
            };
            values.iter().map(add).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(with).collect();
    }
    all
}

/// Runs the command.
///
/// # Errors
/// Too many variants, an unknown flag, or a variant that cannot be read.
pub fn run(args: &PredictArgs, words: &[String]) -> Result<Code, Failure> {
    args.results.refuse_run_flags(args.vary.flags())?;
    args.results.out.iter().try_for_each(|path| output::check_path(path))?;
    // Without --vary, --price is about the deployment of the command line.
    let gpu = args.deployment.setup.gpu.clone();
    let only: Vec<_> = gpu.map(|gpu| ("gpu".to_owned(), vec![gpu])).into_iter().collect();
    let axes = if args.vary.vary.is_empty() { &only } else { &args.vary.vary };
    let all = combinations(axes);
    if all.len() > VARIANTS_MAX {
        return Err(Failure::usage(format!(
            "--vary: {} combinations, and the maximum is {VARIANTS_MAX}",
            all.len()
        )));
    }
    let mut variants = Vec::new();
    for setting in all {
        let changed = changed(words, &setting)?;
        let price = price(args.vary.price.as_deref(), &changed)?;
        changed.deployment.check_names(&Store::at(store_root(args.results.store.as_ref())))?;
        let outcome = match changed.deployed() {
            Ok(deployed) => {
                let gpus = deployed.deployment.gpus();
                search(&changed, deployed, words)?.map(|found| (found, gpus))
            }
            // The only deployment is not a variant: its error is the user's.
            Err(failure) if args.vary.vary.is_empty() => return Err(failure),
            // For a model that does not fit, that is the answer.
            Err(failure) => Err(failure.sentence().to_owned()),
        };
        variants.push(Variant::new(setting, outcome, price));
    }
    Variant::rank(&mut variants);
    let target = ifm_metrics::slo::words(&slo(&args.results, Api::Completions)?);
    let document = WhatIfDocument::new(target.clone(), &variants);
    let style = terminal::style(args.results.no_color, args.results.ascii);
    let page = what_if::page(&target, &variants, &subject(args));
    match args.results.output() {
        Format::Json => terminal::print_document(&document),
        Format::Md => _ = terminal::print(&markdown(&page, Pictures::None)),
        _ => _ = terminal::print(&what_if::text(&target, &variants, &style)),
    }
    let text = output::document_text(&document)?;
    let own = || text.clone();
    for path in &args.results.out {
        for written in output::write_result(&page, &OwnFormats::json(&own), path)? {
            terminal::say(&format!("wrote {}", written.display()));
        }
    }
    Ok(Code::Done)
}

/// What the variants have in common: the model and the workload.
fn subject(args: &PredictArgs) -> String {
    let setup = &args.deployment.setup;
    let config = setup.config.as_ref().map(|path| path.display().to_string());
    let model = setup.model.clone().or(config);
    let is_varied = |flag: &str| args.vary.vary.iter().any(|(varied, _)| varied == flag);
    let model = model.filter(|_| !is_varied("model") && !is_varied("config"));
    let workload = (!is_varied("workload")).then(|| args.workload.workload.clone());
    let parts: Vec<String> = model.into_iter().chain(workload).collect();
    if parts.is_empty() { "one target".to_owned() } else { parts.join(", ") }
}

/// The command with other values of some flags.
fn changed(words: &[String], setting: &[(String, String)]) -> Result<PredictArgs, Failure> {
    let mut line = words.to_vec();
    for (flag, value) in setting {
        line.push(format!("--{flag}"));
        // A switch is on or off.
        if value != "on" {
            line.push(value.clone());
        }
        if value == "off" {
            line.truncate(line.len() - 2);
        }
    }
    let known = command().args_override_self(true);
    let told = |error: &clap::Error| {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        let words: Vec<String> =
            setting.iter().map(|(flag, value)| format!("{flag}={value}")).collect();
        let failure = Failure::usage(format!(
            "--vary {}: {}",
            words.join(" "),
            first.trim_start_matches("error: ")
        ));
        match error.kind() {
            ErrorKind::UnknownArgument => failure.hint(
                "flags of predict vary: gpu, model, quant, kv, tp, replicas, users, rate, \
                 workload=512/64,8192/64, max-num-seqs, max-num-batched-tokens and all others",
            ),
            _ => failure,
        }
    };
    let matches = known.try_get_matches_from(line).map_err(|error| told(&error))?;
    match Cli::from_arg_matches(&matches).map_err(|error| told(&error))?.verb {
        Some(Verb::Predict(args)) => Ok(*args),
        _ => Err(Failure::usage("--vary belongs to predict")),
    }
}

/// The price of an hour of one GPU of a variant.
fn price(text: Option<&str>, args: &PredictArgs) -> Result<Option<f64>, Failure> {
    let Some(text) = text else { return Ok(None) };
    let read = |text: &str| {
        money(text).map_err(|error| Failure::usage(format!("--price {text}: {error}")))
    };
    if !text.contains('=') {
        return read(text).map(Some);
    }
    let gpu = args.deployment.setup.gpu.as_deref().unwrap_or_default();
    for pair in text.split(',') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if name.trim().eq_ignore_ascii_case(gpu) {
            return read(value.trim()).map(Some);
        }
    }
    Ok(None)
}

/// Answers the first level of a job, and stores nothing.
fn look(job: &Job) -> Result<Looked, Failure> {
    let nothing = || Failure::new(Code::Internal, "no simulation or no load");
    let deployed = job.deployed.as_ref().ok_or_else(nothing)?;
    let template = request_template(job, "simulated")?;
    let mut source = Source::new(job.dataset.clone(), template, Carrying::of(&job.spec));
    let load = job.spec.levels.first().ok_or_else(nothing)?;
    source.begin_level(0, load).map_err(Failure::usage)?;
    what_if::look(deployed, &job.spec, &level_plan(job, 0, 0, &source), &mut source)
}

/// The load at which to compare a variant: the given one, or the largest that meets the target.
fn search(
    args: &PredictArgs,
    deployed: SimulatedDeployment,
    words: &[String],
) -> Result<Result<Looked, String>, Failure> {
    let with = |deployed: SimulatedDeployment, level: LevelRequest| {
        let asked = (&args.workload, &args.results);
        let mut job = resolve_simulated(asked, deployed, &[level], words)?;
        // Without a named target, the best variant is that for the default target.
        job.spec.slo.is_default = false;
        look(&job)
    };
    let other = |constants| {
        let deployment = deployed.deployment.with_constants(constants);
        SimulatedDeployment { deployment, ..deployed.clone() }
    };
    if args.names_a_load()? {
        let levels = args.levels()?;
        let [only] = levels.as_slice() else {
            let flags = args.vary.flags();
            let need = if flags.contains(" and ") { "need" } else { "needs" };
            return Err(Failure::usage(format!(
                "{flags} {need} one load, or none: {} are given",
                levels.len()
            ))
            .hint("without -c and --rate, the largest load inside the target is found"));
        };
        let looked = with(deployed.clone(), only.clone())?;
        let again = |constants| with(other(constants), only.clone());
        return Ok(Ok(looked.with_assumption(again)?));
    }
    let level = |count: u32| -> Result<LevelRequest, Failure> {
        let (least, each) = REQUESTS;
        let requests = args.ending.requests().unwrap_or(least.max(count.saturating_mul(each)));
        let ending = Ending::new(Some(requests), None, None)?;
        Ok(LevelRequest { concurrency: count, arrivals: None, ending, warmup: None })
    };
    let users = |count: u32| with(deployed.clone(), level(count)?);
    let most = args.vary.max_users;
    let (mut inside, mut outside) = (None, None);
    let mut count = 1;
    while outside.is_none() {
        let looked = users(count)?;
        match looked.is_inside() {
            true => inside = Some((count, looked)),
            false => outside = Some((count, looked)),
        }
        if count == most {
            break;
        }
        count = count.saturating_mul(2).min(most);
    }
    while let (Some((low, _)), Some((high, _))) = (&inside, &outside)
        && high - low > 1
        && f64::from(high - low) > PRECISION * f64::from(*high)
    {
        let middle = low + (high - low) / 2;
        let looked = users(middle)?;
        match looked.is_inside() {
            true => inside = Some((middle, looked)),
            false => outside = Some((middle, looked)),
        }
    }
    match (inside, outside) {
        (Some((count, looked)), outside) => {
            let decides = outside.as_ref().map_or(count, |(count, _)| *count);
            let looked = looked.ended_by(outside.map(|(_, looked)| looked));
            looked.with_assumption(|constants| with(other(constants), level(decides)?)).map(Ok)
        }
        (None, Some((_, looked))) => Ok(Err(format!(
            "one user is outside: {}",
            looked.fails().unwrap_or_else(|| "the target".to_owned())
        ))),
        (None, None) => Ok(Err("nothing was measured".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_make_every_combination() {
        let axis =
            |flag: &str, values: [&str; 2]| (flag.to_owned(), values.map(str::to_owned).to_vec());
        let all =
            combinations(&[axis("gpu", ["l40s", "h100-sxm"]), axis("quant", ["bf16", "fp8"])]);
        assert_eq!(all.len(), 4);
        assert_eq!(all[1][0], ("gpu".to_owned(), "l40s".to_owned()));
        assert_eq!(all[1][1], ("quant".to_owned(), "fp8".to_owned()));
    }
}
