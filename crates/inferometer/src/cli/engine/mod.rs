//! `inferometer engine`: measures an engine without a server's queue, in llama-bench's notation or
//! in static batches.

mod ask;
mod flags;
mod tables;

pub use flags::spelled_out;

use crate::cli::growing_document::{DocumentArgs, GrowingDocument, shown};
use crate::cli::id_list::{Entry, List};
use crate::exit::{Code, Failure};
use crate::interrupt;
use crate::output;
use crate::terminal;
use clap::{Args, ValueEnum};
use ifm_bench::engine::{self, Done};
use ifm_core::Sheet;
use ifm_core::sheet::PartKind;
use ifm_engine::{Preset, Quantization};
use ifm_report::page;
use ifm_store::Import;
use serde::Serialize;
use std::path::PathBuf;
use tables::tables;

/// Format of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// llama-bench's table, Markdown
    Md,
    /// llama-bench's fields, CSV
    Csv,
    /// llama-bench's fields, JSON
    Json,
    /// llama-bench's fields, JSON Lines
    Jsonl,
    /// llama-bench's fields, SQL
    Sql,
}

/// The names of the formats.
pub fn formats() -> Vec<clap::builder::PossibleValue> {
    Format::value_variants().iter().filter_map(ValueEnum::to_possible_value).collect()
}

impl Format {
    fn export(self) -> &'static str {
        match self {
            Format::Md => "llama-bench",
            Format::Csv => "llama-bench-csv",
            Format::Json => "llama-bench-json",
            Format::Jsonl => "llama-bench-jsonl",
            Format::Sql => "llama-bench-sql",
        }
    }
}

/// A list of numbers for one flag.
#[derive(Debug, Clone)]
struct Numbers(Vec<u32>);

fn numbers(text: &str) -> Result<Numbers, String> {
    engine::values(text).map(Numbers)
}

fn pair(text: &str) -> Result<(u32, u32), String> {
    let whole = text.replace('/', ",");
    match engine::values(&whole)?.as_slice() {
        [prompt, generated] => Ok((*prompt, *generated)),
        _ => Err("expected two numbers: PROMPT,GENERATED".to_owned()),
    }
}

fn batch(text: &str) -> Result<(u32, u32, u32), String> {
    let numbers: Result<Vec<u32>, String> = text
        .split(['x', '/', ':', ','])
        .map(|word| engine::values(word).map(|all| all[0]))
        .collect();
    match numbers?.as_slice() {
        [size, input, output] if *size > 0 && *input > 0 && *output > 0 => {
            Ok((*size, *input, *output))
        }
        _ => {
            Err("expected three positive numbers: SEQUENCESxINPUT/OUTPUT, such as 8x128/64".into())
        }
    }
}

/// Flags of `engine`.
#[derive(Debug, Args)]
pub struct EngineArgs {
    /// Models: preset (nano, tiny, small, llama-1b), GGUF file, folder, or engine's name
    #[arg(
        help_heading = "Engine",
        short,
        long = "model",
        value_name = "MODEL",
        value_delimiter = ','
    )]
    models: Vec<String>,

    /// Weight formats, for presets and folders of floats; see --list [default: q8_0 for presets]
    #[arg(
        help_heading = "Engine",
        long,
        value_name = "FORMAT,…",
        value_delimiter = ',',
        visible_alias = "quant"
    )]
    weights: Vec<String>,

    /// Server to measure instead of the embedded engine
    #[arg(help_heading = "Engine", long, value_name = "URL", conflicts_with_all = ["adapter", "command", "llama_bench"])]
    url: Option<String>,

    /// Environment variable that contains the server's key
    #[arg(help_heading = "Engine", long, value_name = "NAME", requires = "url")]
    api_key_env: Option<String>,

    /// Shipped adapter for a Python engine: vllm, sglang
    #[arg(help_heading = "Engine", long, value_name = "NAME", conflicts_with_all = ["command", "llama_bench"])]
    adapter: Option<String>,

    /// Python interpreter that runs the adapter
    #[arg(help_heading = "Engine", long, default_value = "python3", value_name = "PATH")]
    python: PathBuf,

    /// Command that speaks the engine protocol on standard input and output
    #[arg(help_heading = "Engine", long, value_name = "COMMAND", conflicts_with = "llama_bench")]
    command: Option<String>,

    /// Measure llama.cpp with its own tool, llama-bench
    #[arg(help_heading = "Engine", long, value_name = "PATH", num_args = 0..=1, default_missing_value = "llama-bench")]
    llama_bench: Option<PathBuf>,

    /// A flag that only llama.cpp has, passed to its tool; written by `flags`.
    #[arg(long = "llama-flag", hide = true, value_name = "FLAG=VALUE")]
    llama_flags: Vec<String>,

    /// Number of compute threads, one process per number [default: all processors]
    #[arg(help_heading = "Engine", short, long, value_parser = numbers, value_name = "N,…")]
    threads: Vec<Numbers>,

    /// Instructions allowed: baseline, avx2, avx512, avx512-vnni [default: all the processor has]
    ///
    /// For the embedded engine
    #[arg(help_heading = "Engine", long, value_name = "NAME")]
    instructions: Option<String>,

    /// Logical batch size: maximum prompt tokens that wait together
    #[arg(help_heading = "Engine", short, long = "batch-size", default_value = "2048", value_parser = numbers, value_name = "N,…")]
    batch_size: Vec<Numbers>,

    /// Physical batch size: maximum prompt tokens in one pass (-ub)
    #[arg(help_heading = "Engine", long = "ubatch-size", default_value = "512", value_parser = numbers, value_name = "N,…")]
    ubatch_size: Vec<Numbers>,

    /// KV cache type for K (-ctk)
    ///
    /// The embedded engine supports f32 and f16, the same for K and V
    #[arg(
        help_heading = "Engine",
        long = "cache-type-k",
        default_value = "auto",
        value_delimiter = ',',
        value_name = "TYPE"
    )]
    cache_type_k: Vec<String>,

    /// KV cache type for V (-ctv)
    #[arg(
        help_heading = "Engine",
        long = "cache-type-v",
        default_value = "auto",
        value_delimiter = ',',
        value_name = "TYPE"
    )]
    cache_type_v: Vec<String>,

    /// Prompt tokens [default: 512; 0 skips the test]
    #[arg(help_heading = "Tests", short = 'p', long = "n-prompt", value_parser = numbers, value_name = "N,…")]
    n_prompt: Vec<Numbers>,

    /// Generated tokens [default: 128; 0 skips the test]
    #[arg(help_heading = "Tests", short = 'n', long = "n-gen", value_parser = numbers, value_name = "N,…")]
    n_gen: Vec<Numbers>,

    /// Prompt and generated tokens of one test (also -pg); repeatable
    #[arg(help_heading = "Tests", long = "prompt-gen", value_parser = pair, value_name = "P,N")]
    prompt_gen: Vec<(u32, u32)>,

    /// Context depth: tokens in the KV cache before each test
    #[arg(help_heading = "Tests", short = 'd', long = "n-depth", default_value = "0", value_parser = numbers, value_name = "N,…")]
    n_depth: Vec<Numbers>,

    /// Static batch, such as 8x128/64: sequences, prompt tokens, output tokens; repeatable
    #[arg(help_heading = "Tests", long = "static", value_parser = batch, value_name = "BxIN/OUT")]
    batches: Vec<(u32, u32, u32)>,

    /// Named static batches: quick, variants
    ///
    /// variants is seven batches (1 to 64 sequences) x seven weight formats of nano, in rounds
    #[arg(help_heading = "Tests", long, value_name = "NAME")]
    preset: Option<String>,

    /// Repeats of each test [default: 5; 3 for static batches]
    #[arg(help_heading = "Tests", short = 'r', long, visible_alias = "repeat", value_parser = clap::value_parser!(u32).range(1..=1000), value_name = "N")]
    repetitions: Option<u32>,

    /// Skip the warm-up run
    #[arg(help_heading = "Tests", long)]
    no_warmup: bool,

    /// Order of the repeats: tests, rounds
    ///
    /// tests: all repeats of one test, then the next. rounds: one repeat of each test with every
    /// model, all of them loaded, then the next round
    #[arg(help_heading = "Tests", long, value_parser = ["tests", "rounds"])]
    order: Option<String>,

    /// Count disturbed repeats too, instead of measuring them again
    #[arg(help_heading = "Tests", long)]
    keep_disturbed: bool,

    /// Skip the roofline of this machine
    ///
    /// It takes half a second for each start of the engine
    #[arg(help_heading = "Tests", long)]
    no_limit: bool,

    /// Pause before each test, seconds
    #[arg(help_heading = "Tests", long, default_value_t = 0.0, value_name = "S")]
    delay: f64,

    /// Time limit per repeat, seconds
    #[arg(help_heading = "Tests", long, default_value_t = 600.0, value_name = "S")]
    timeout: f64,

    /// Time limit for loading a model, seconds
    #[arg(help_heading = "Tests", long, default_value_t = 1800.0, value_name = "S")]
    start_timeout: f64,

    /// Format (md, csv, json, jsonl, sql) or file to write; repeatable
    ///
    /// Formats are llama-bench's and go to standard output. Files are .html, .md, .json or .csv
    #[arg(
        help_heading = "Results",
        short,
        long = "output",
        visible_alias = "out",
        value_name = "FORMAT|FILE"
    )]
    output: Vec<String>,

    /// Format on standard error, as in --output
    #[arg(help_heading = "Results", long = "output-err", value_name = "FORMAT")]
    output_err: Option<Format>,

    /// List presets, weight formats, static batches and adapters, and exit
    #[arg(help_heading = "Results", long)]
    list: bool,

    #[command(flatten)]
    kept: DocumentArgs,
}

/// What `engine --json` writes.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EngineDocument<'a> {
    /// What kind of document this is.
    #[cfg_attr(test, schemars(extend("const" = "inferometer_engine")))]
    kind: &'static str,
    /// Tests that have no repeat.
    failed: usize,
    /// The measurements, as they are stored.
    import: &'a Import,
}

/// Runs the command.
///
/// # Errors
/// An invalid flag, an engine without a result, or results that cannot be stored.
pub fn run(args: &EngineArgs) -> Result<Code, Failure> {
    if args.list {
        list().tell(args.kept.json);
        return Ok(Code::Done);
    }
    let (formats, files) = args.outputs()?;
    let interrupts = interrupt::watch();
    let ask = args.ask(&interrupts)?;
    engine::find_model(&ask).map_err(Failure::usage)?;
    let kept = GrowingDocument::new(&args.kept)?;
    let import_of =
        |all: &[Done]| kept.import(engine::sheet(&ask, kept.name(), &args.kept.factors(), all));
    // Results are stored test by test, so that none is lost if the program ends early.
    let keep = |all: &[Done]| {
        let done: Vec<Done> = all.iter().filter(|done| done.is_begun()).cloned().collect();
        if done.iter().any(|done| !done.repeats.is_empty()) {
            kept.keep(&import_of(&done));
        }
    };
    let all = engine::measure(&ask, |all, index, is_done| {
        if is_done {
            args.kept.say(&engine::line(&ask, &all[index]));
        }
        keep(all);
    });
    keep(&all);
    let import = import_of(&all);
    if !args.kept.quiet {
        engine::warnings(&ask, &all).iter().for_each(|text| terminal::warn(text));
    }
    args.tell(&import, &all, (&formats, &files))?;
    kept.end()?;
    if let Some(code) = interrupt::code(&interrupts) {
        return Ok(code);
    }
    let failed = failed(&all);
    match (failed, all.len()) {
        (0, _) if all.iter().all(|done| done.trouble.is_none()) => Ok(Code::Done),
        (failed, total) if failed == total => Err(Failure::new(
            Code::Invalid,
            format!("no test gave a result: {}", all[0].trouble.as_deref().unwrap_or("none ran")),
        )),
        _ => Ok(Code::Partly),
    }
}

fn failed(all: &[Done]) -> usize {
    all.iter().filter(|done| done.repeats.is_empty()).count()
}

/// Prints what can be requested by name.
fn list() -> List {
    let presets = Preset::ALL.iter().map(|preset| Entry {
        group: Some("preset"),
        id: preset.name(),
        title: format!("{:.1} M parameters", preset.shape().parameters() as f64 / 1e6),
    });
    let weights = Quantization::all().map(|quantization| Entry {
        group: Some("weights"),
        id: quantization.name(),
        title: quantization.label(),
    });
    let batches = engine::presets().map(|(name, batches)| Entry {
        group: Some("static"),
        id: name,
        title: batches
            .iter()
            .map(|(size, input, output)| format!("{size}x{input}/{output}"))
            .collect::<Vec<_>>()
            .join(" "),
    });
    let adapters = engine::ADAPTERS.iter().map(|(id, _)| Entry {
        group: Some("adapter"),
        id,
        title: "its offline engine, run by --python".to_owned(),
    });
    List::new("engines", presets.chain(weights).chain(batches).chain(adapters))
}

impl EngineArgs {
    /// The formats for standard output, and the files.
    fn outputs(&self) -> Result<(Vec<Format>, Vec<PathBuf>), Failure> {
        let (mut formats, mut files) = (Vec::new(), Vec::new());
        for word in &self.output {
            match Format::from_str(word, true) {
                Ok(format) => formats.push(format),
                Err(_) => {
                    let path = PathBuf::from(word);
                    output::check_path(&path)?;
                    files.push(path);
                }
            }
        }
        if formats.len() + usize::from(self.kept.json) > 1 {
            return Err(Failure::usage("only one format can go to standard output"));
        }
        Ok((formats, files))
    }

    /// Prints the measurements, and writes them to the requested files.
    fn tell(
        &self,
        import: &Import,
        all: &[Done],
        (formats, files): (&[Format], &[PathBuf]),
    ) -> Result<(), Failure> {
        let sheets = &import.sheets;
        if failed(all) == all.len() && !self.kept.json {
            return Ok(());
        }
        if let Some(page) = shown(sheets).filter(|_| !files.is_empty()) {
            self.kept.write(&page, files)?;
        }
        if let Some(format) = self.output_err {
            terminal::say(tables(sheets, format).trim_end());
        }
        if self.kept.json {
            let document =
                EngineDocument { kind: "inferometer_engine", failed: failed(all), import };
            terminal::print_document(&document);
        } else if let Some(format) = formats.first() {
            let has_batches =
                all.iter().any(|done| matches!(done.test.shape, engine::Shape::Batch(_)));
            if has_batches {
                terminal::warn("llama-bench's formats do not support static batches; use --json");
            }
            terminal::print(&tables(sheets, *format));
        } else {
            terminal::print(&tables(sheets, Format::Md));
            let has_batches =
                |sheet: &Sheet| sheet.parts.iter().any(|part| part.kind == PartKind::StaticBatch);
            if let Some(page) = shown(sheets).filter(|_| sheets.iter().any(has_batches)) {
                terminal::print(&page::terminal(&page, &self.kept.style()));
            }
        }
        Ok(())
    }
}
