//! The flags of the workload.

use crate::exit::Failure;
use clap::{Args, ValueEnum};
use ifm_form::Asked;
use ifm_tokenizer::Tokenizer;
use ifm_workload::{
    AfterLast, Answers, HubAccess, Lengths, OnBadRow, OpenedWorkload, RangeRatio, WorkloadError,
    WorkloadRequest,
};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How to handle a malformed row of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BadRowWord {
    /// Stop, and report file, line and reason
    Stop,
    /// Skip the row, and report the number of skipped rows
    Skip,
}

/// Source of the answers that later turns of a conversation include.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AnswersWord {
    /// Answers of the measured server
    Server,
    /// Answers in the dataset, so that every run sends the same
    Recorded,
}

/// The workload.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Workload")]
pub struct WorkloadArgs {
    /// Workload: lengths (1024/256), a preset (chat, sharegpt), or KIND:WHAT
    ///
    /// Options follow a question mark; `inferometer workload list` shows all
    #[arg(short = 'W', long, default_value = "chat", value_name = "WORKLOAD", aliases = ["data", "traffic-scenario"])]
    pub workload: String,

    /// Dataset kind in the naming of vLLM and SGLang; file: --dataset-path
    #[arg(long, hide = true, value_name = "NAME", conflicts_with = "workload")]
    pub dataset_name: Option<String>,

    #[arg(long, hide = true, value_name = "PATH", conflicts_with = "workload")]
    pub dataset_path: Option<String>,

    /// Prompt tokens (overrides the workload's): 1024, 512-2048, normal(1000,100)
    #[arg(long, aliases = ["random-input-len", "isl", "random-input"], value_name = "LENGTHS")]
    pub input_len: Option<String>,

    /// Output tokens (overrides the workload's)
    #[arg(long, aliases = ["random-output-len", "osl", "random-output", "sharegpt-output-len", "custom-output-len", "hf-output-len"], value_name = "LENGTHS")]
    pub output_len: Option<String>,

    #[arg(
        long = "random-range-ratio",
        hide = true,
        value_name = "RATIO",
        requires = "range_ratio_of"
    )]
    pub range_ratio: Option<f64>,

    /// Tool whose range ratio --random-range-ratio uses: vllm, sglang or vllm-bench-0.1
    #[arg(long, hide = true, value_name = "TOOL", requires = "range_ratio")]
    pub range_ratio_of: Option<String>,

    /// Number of tokens shared by all prompts at their start
    #[arg(long, alias = "random-prefix-len", default_value_t = 0, value_name = "TOKENS")]
    pub shared_prefix: u32,

    /// Columns of the file, e.g. prompt=question,output_tokens=n
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub columns: Vec<String>,

    /// How to handle a malformed row
    #[arg(long, value_enum, default_value = "stop", value_name = "WHAT")]
    pub on_bad_row: BadRowWord,

    /// Source of answers repeated in later turns [default: as the dataset has it]
    #[arg(long, value_enum, value_name = "WHOSE")]
    pub answers: Option<AnswersWord>,

    /// Maximum tokens of a session's prompt and answer together
    ///
    /// A session whose next turn would be longer ends there. Without this flag, it ends when the
    /// server refuses the request
    #[arg(long, hide_short_help = true, value_name = "TOKENS")]
    pub max_context: Option<u32>,

    /// Send each user's turns at fixed intervals, instead of the workload's pauses
    ///
    /// If an answer is late, the next turn waits for it
    #[arg(long, value_parser = ifm_core::duration::seconds, value_name = "SPAN")]
    pub cadence: Option<f64>,

    /// Structured answers, KIND:WHAT or SHARE*KIND:WHAT; repeatable
    ///
    /// Kinds are json, json:FILE, json-unique:FILE, preset:NAME, regex:PATTERN, choice:A,B and
    /// grammar:FILE. Answers without a form are free
    #[arg(long = "form", hide_short_help = true, value_name = "FORM")]
    pub forms: Vec<String>,

    /// Begin again after the last row of a dataset
    ///
    /// A server with a prefix cache then knows the prompts
    #[arg(long)]
    pub repeat_prompts: bool,

    /// Seed for sampling from a file [default: the rule's, such as 0 for vLLM's]
    #[arg(long, value_name = "SEED")]
    pub selection_seed: Option<u64>,

    /// Folder of your own workload presets
    #[arg(long, value_name = "DIR", env = "INFEROMETER_PRESETS")]
    pub presets: Option<PathBuf>,

    /// Do not download from the hub
    #[arg(long, env = "HF_HUB_OFFLINE", value_parser = clap::builder::FalseyValueParser::new())]
    pub offline: bool,

    /// Tokenizer that counts prompts: a file, folder or name [default: embedded]
    ///
    /// Files are a tokenizer.json, SentencePiece model, tiktoken rank file, GGUF file or folder
    /// with one of them. Names are cl100k_base, o200k_base, o200k_harmony, p50k_base, r50k_base, or
    /// an OpenAI model such as gpt-4o
    #[arg(long, value_name = "PATH|NAME")]
    pub tokenizer: Option<String>,

    /// Seed of prompts [default: a new one for each run]
    ///
    /// The same seed creates the same prompts, which a server may have cached
    #[arg(long)]
    pub seed: Option<u64>,
}

impl WorkloadArgs {
    /// The forms that answers have to keep.
    ///
    /// # Errors
    /// A form that cannot be read.
    pub fn asked_forms(&self) -> Result<Vec<Asked>, Failure> {
        Asked::read(&self.forms).map_err(|error| Failure::usage(error.to_string()))
    }

    /// The tokenizer that counts prompts.
    ///
    /// # Errors
    /// An invalid file.
    pub fn tokenizer(&self) -> Result<Tokenizer, Failure> {
        open_tokenizer(self.tokenizer.as_deref())
    }

    /// The requested workload.
    ///
    /// # Errors
    /// An invalid flag.
    pub fn request(&self, seed: u64, items_max: Option<u32>) -> Result<WorkloadRequest, Failure> {
        let mut request = WorkloadRequest::new(self.text()?, seed);
        request.prompt_tokens = lengths("--input-len", self.input_len.as_deref())?;
        request.output_tokens = lengths("--output-len", self.output_len.as_deref())?;
        request.shared_prefix_tokens = self.shared_prefix;
        request.selection_seed = self.selection_seed;
        request.items_max = items_max;
        request.columns = self.column_map()?;
        request.on_bad_row = match self.on_bad_row {
            BadRowWord::Stop => OnBadRow::Stop,
            BadRowWord::Skip => OnBadRow::Skip,
        };
        request.answers = self.answers.map(|answers| match answers {
            AnswersWord::Server => Answers::Server,
            AnswersWord::Recorded => Answers::Recorded,
        });
        if self.repeat_prompts {
            request.after_last = AfterLast::Repeat;
        }
        request.hub = HubAccess::from_variables(|name| std::env::var(name).ok());
        request.hub.fetch &= !self.offline;
        request.preset_folder.clone_from(&self.presets);
        Ok(request)
    }

    /// The workload in inferometer's own notation, whatever tool's flags were used.
    fn text(&self) -> Result<String, Failure> {
        let mut text = match (self.dataset_name.as_deref(), self.dataset_path.as_deref()) {
            (None, None) => self.workload.clone(),
            (None, Some(path)) => format!("custom:{path}"),
            // vLLM's default lengths; --random-input-len and --random-output-len change them.
            (Some("random"), _) => "random:1024/128".to_owned(),
            (Some(name), None) => name.to_owned(),
            (Some(name), Some(path)) => format!("{name}:{path}"),
        };
        if let (Some(ratio), Some(of)) = (self.range_ratio, &self.range_ratio_of) {
            let of = RangeRatio::find(of).map_err(|error| Failure::usage(error.to_string()))?;
            let sign = if text.contains('?') { '&' } else { '?' };
            text.push_str(&format!("{sign}range_ratio={ratio}&ratio={}", of.word()));
        }
        Ok(text)
    }

    fn column_map(&self) -> Result<BTreeMap<String, String>, Failure> {
        let pair = |text: &String| match text.split_once('=') {
            Some((name, column)) if !name.trim().is_empty() && !column.trim().is_empty() => {
                Ok((name.trim().to_owned(), column.trim().to_owned()))
            }
            _ => Err(Failure::usage(format!("--columns {text} maps nothing"))
                .hint("write --columns prompt=question,answer=reply")),
        };
        self.columns.iter().map(pair).collect()
    }
}

/// Opens a workload.
///
/// # Errors
/// An unusable name, option, file, row or column.
pub fn open(request: &WorkloadRequest, tokenizer: &Tokenizer) -> Result<OpenedWorkload, Failure> {
    let begin = Instant::now();
    let opened = ifm_workload::open(request, tokenizer).map_err(|error| {
        let failure = Failure::usage(format!("--workload {}: {error}", request.text));
        match error {
            // The workload is valid: the error is in a file.
            WorkloadError::File { .. }
            | WorkloadError::Read { .. }
            | WorkloadError::BadRow { .. }
            | WorkloadError::NoRows { .. } => failure,
            _ => failure.hint("inferometer workload list shows all workloads"),
        }
    })?;
    let is_bounded = request.items_max.is_some();
    let kept = opened.facts.rows.as_ref().map(|rows| rows.kept).filter(|_| !is_bounded);
    if let Some(said) = kept.and_then(|kept| slow(begin.elapsed(), kept)) {
        crate::terminal::tell(&said);
    }
    Ok(opened)
}

/// A note for a load that waited for all rows of a file, though it may need only a few.
fn slow(took: Duration, items: u64) -> Option<String> {
    /// Shorter waits are not worth a note.
    const PATIENCE: Duration = Duration::from_secs(5);
    (took >= PATIENCE).then(|| {
        format!(
            "reading the workload and counting the tokens of its {items} items took {} s; -n, or \
             items=N in the workload, limits the number of items",
            took.as_secs()
        )
    })
}

/// The tokenizer of a file or a name, or the embedded one.
///
/// # Errors
/// An invalid file, or an unknown name.
pub fn open_tokenizer(text: Option<&str>) -> Result<Tokenizer, Failure> {
    match text {
        None => Tokenizer::embedded().map_err(|error| Failure::files(error.to_string())),
        Some(text) => Tokenizer::open(text).map_err(|error| {
            Failure::usage(format!("--tokenizer: {error}"))
                .hint("use the tokenizer of the model, or leave the flag out")
        }),
    }
}

fn lengths(flag: &str, text: Option<&str>) -> Result<Option<Lengths>, Failure> {
    let parse = |text: &str| {
        text.parse().map_err(|error| Failure::usage(format!("{flag} {text}: {error}")))
    };
    text.map(parse).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_took_long_to_count_says_how_to_take_less() {
        assert_eq!(slow(Duration::from_millis(4999), 100_000), None);
        let said = slow(Duration::from_secs(58), 100_000).unwrap();
        assert!(said.contains("its 100000 items took 58 s; -n, or items=N"), "{said}");
    }
}
