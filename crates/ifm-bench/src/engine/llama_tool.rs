//! llama.cpp through its own tool, `llama-bench`: started once for each test, read line by line.
//!
//! It loads the model, warms up and repeats by itself, and reports the time of each repeat. It does
//! not separate the prompts and steps of one test. Not here: `llama-batched-bench`, so batches have
//! one sequence.

use super::case::Case;
use super::protocol::About;
use super::{Engine, Repeat, Setup, Trouble};
use crate::program::{Limits, NoLine, Program};
use serde::Deserialize;
use std::path::Path;
use std::time::Duration;

/// How long the tool may take to say its version.
const VERSION: Duration = Duration::from_secs(30);
/// What it computes from the repeats: computed here from all of them.
const COMPUTED: [&str; 6] =
    ["avg_ns", "stddev_ns", "avg_ts", "stddev_ts", "samples_ns", "samples_ts"];

/// The tool, for one model with one setup.
#[derive(Debug)]
pub struct LlamaBench {
    about: About,
    words: Vec<String>,
    limits: Limits,
}

/// Asks the tool what it is. The model is loaded by each test.
///
/// # Errors
/// It cannot be started, or cannot do what is set.
pub fn start(
    program: &Path,
    (warms_up, flags): (bool, &[String]),
    setup: &Setup,
    limits: &Limits,
) -> Result<LlamaBench, String> {
    if let Some(weights) = &setup.weights {
        return Err(format!("llama-bench takes the weights of a file as they are, not {weights}"));
    }
    let program = program.display().to_string();
    // Builds that do not know the flag end with a failure, and their version stays unknown.
    let mut tool = Program::start("engine", &[program.clone(), "--version".to_owned()], limits)?;
    let mut said: Vec<String> = Vec::new();
    loop {
        match tool.line(VERSION) {
            Ok(line) => said.push(line),
            Err(NoLine::Closed) => break,
            Err(none) => return Err(none.words("engine", VERSION)),
        }
    }
    said.extend(tool.errors());
    let version = said.iter().find_map(|line| line.trim().strip_prefix("version:"));
    let about = About {
        engine: "llama.cpp".to_owned(),
        engine_version: version.map(|version| version.trim().to_owned()),
        warms_up: true,
        ..About::default()
    };
    let mut words = vec![program];
    let mut add = |flag: &str, value: &str| words.extend([flag.to_owned(), value.to_owned()]);
    add("-o", "jsonl");
    add("-m", &setup.model);
    add("-b", &setup.batch_tokens.to_string());
    add("-ub", &setup.pass_tokens.to_string());
    if let Some(threads) = setup.threads {
        add("-t", &threads.to_string());
    }
    for (flag, kind) in [("-ctk", &setup.kv.0), ("-ctv", &setup.kv.1)] {
        if kind != "auto" {
            add(flag, kind);
        }
    }
    words.extend_from_slice(flags);
    if !warms_up {
        words.push("--no-warmup".to_owned());
    }
    Ok(LlamaBench { about, words, limits: limits.clone() })
}

/// What is needed of a line of the tool: one test.
#[derive(Debug, Deserialize)]
struct Line {
    n_prompt: u32,
    n_gen: u32,
    #[serde(default)]
    n_depth: u32,
    samples_ns: Vec<u64>,
    model_type: Option<String>,
    model_size: Option<u64>,
    model_n_params: Option<u64>,
    backends: Option<String>,
    gpu_info: Option<String>,
    n_threads: Option<u32>,
}

impl Engine for LlamaBench {
    fn about(&self) -> &About {
        &self.about
    }

    fn run(&mut self, case: &Case, times: u32) -> Result<Vec<Repeat>, Trouble> {
        let words = self.words_of(case, times)?;
        // Loading, warming up, and the repeats.
        let repeats = self.limits.repeat.saturating_mul(times.saturating_add(1));
        let limit = self.limits.start.saturating_add(repeats);
        let begun_ns = ifm_sys::mono_ns();
        let mut tool = Program::start("engine", &words, &self.limits).map_err(Trouble::Cannot)?;
        tool.end_input();
        let line = loop {
            match tool.line(limit) {
                // What is not a test is talk.
                Ok(line) if line.starts_with('{') => break line,
                Ok(_) => {}
                Err(NoLine::Closed) => return Err(Trouble::Cannot(tool.how_it_ended())),
                Err(none) => return Err(Trouble::Cannot(none.words("engine", limit))),
            }
        };
        let wall_ns = ifm_sys::mono_ns() - begun_ns;
        if !tool.status().is_some_and(|status| status.success()) {
            return Err(Trouble::Cannot(tool.how_it_ended()));
        }
        drop(tool);
        let told: Line = serde_json::from_str(&line).map_err(|error| {
            Trouble::Cannot(format!("llama-bench's line is not understood: {error}"))
        })?;
        if let Some(why) = contradiction(&told, case, (times, wall_ns)) {
            return Err(Trouble::Cannot(why));
        }
        self.learn(&line, &told);
        Ok(told.samples_ns.iter().map(|ns| repeat(case, *ns)).collect())
    }
}

impl LlamaBench {
    fn words_of(&self, case: &Case, times: u32) -> Result<Vec<String>, Trouble> {
        if case.batch != 1 {
            return Err(Trouble::Cannot(format!(
                "llama-bench takes one sequence, not {}: measure batches on llama-server with --url",
                case.batch
            )));
        }
        let (mut prompt, mut steps) = (case.prompt, case.steps);
        let mut words = self.words.clone();
        let mut add = |flag: &str, value: String| words.extend([flag.to_owned(), value]);
        if prompt > 0 && steps > 0 {
            add("-pg", format!("{prompt},{steps}"));
            (prompt, steps) = (0, 0);
        }
        add("-p", prompt.to_string());
        add("-n", steps.to_string());
        // Older builds do not know it, and need not.
        if case.depth > 0 {
            add("-d", case.depth.to_string());
        }
        add("-r", times.to_string());
        Ok(words)
    }

    /// What a line says about the tool, the model and the test.
    fn learn(&mut self, line: &str, told: &Line) {
        let about = &mut self.about;
        about.model = told.model_type.clone();
        about.weight_bytes = told.model_size;
        about.parameters = told.model_n_params;
        about.backend = told.backends.clone();
        about.gpu = told.gpu_info.clone().filter(|gpu| !gpu.is_empty());
        about.threads = told.n_threads;
        about.told = serde_json::from_str(line).unwrap_or_default();
        about.told.retain(|name, _| !COMPUTED.contains(&name.as_str()));
    }
}

/// Why a line cannot be that of the test, if it cannot.
fn contradiction(told: &Line, case: &Case, (times, wall_ns): (u32, u64)) -> Option<String> {
    let of_test = (told.n_prompt, told.n_gen, told.n_depth);
    if of_test != (case.prompt, case.steps, case.depth) {
        return Some(format!("llama-bench measured another test: {of_test:?}"));
    }
    if told.samples_ns.len() != times as usize || told.samples_ns.contains(&0) {
        return Some(format!(
            "llama-bench reported the times {:?} where {times} repeats were requested",
            told.samples_ns
        ));
    }
    let all_ns = told.samples_ns.iter().fold(0, |sum: u64, ns| sum.saturating_add(*ns));
    (all_ns > wall_ns)
        .then(|| format!("llama-bench reported {all_ns} ns for a run that took {wall_ns} ns here"))
}

fn repeat(case: &Case, ns: u64) -> Repeat {
    let (has_prompt, has_steps) = (case.prompt > 0, case.steps > 0);
    Repeat {
        prompt_ns: Some(ns).filter(|_| !has_steps),
        steps_ns: Some(ns).filter(|_| !has_prompt),
        whole_ns: Some(ns).filter(|_| has_prompt && has_steps),
        ..Repeat::default()
    }
}
