//! `inferometer limit`: computes the upper bounds of a model on a machine.

use crate::cli::args::level_list;
use crate::cli::args::page::PageArgs;
use crate::cli::args::setup::SetupArgs;
use crate::exit::{Code, Failure};
use crate::output::{self, OwnFormats};
use crate::secrets::mask_command;
use crate::session::store_root;
use crate::terminal;
use clap::{Args, ValueEnum};
use ifm_predict::limit::{self, Answer, LimitDocument, LimitList, Measured, Request};
use ifm_store::Store;
use std::path::PathBuf;

/// Maximum number of tokens of a prompt or an answer.
const TOKENS_MAX: u64 = 100_000_000;

/// Flags of `limit`.
#[derive(Debug, Args)]
pub struct LimitArgs {
    #[command(flatten)]
    setup: SetupArgs,

    /// Prompt tokens per request
    #[arg(long, visible_alias = "input", alias = "isl", default_value_t = 1024, value_name = "TOKENS",
          value_parser = clap::value_parser!(u64).range(1..=TOKENS_MAX))]
    prompt: u64,

    /// Output tokens per request
    #[arg(long, alias = "osl", default_value_t = 256, value_name = "TOKENS",
          value_parser = clap::value_parser!(u64).range(1..=TOKENS_MAX))]
    output: u64,

    /// Users: 1,8,32 or 1..64 (doubling)
    #[arg(long, short, default_value = "1,8,32", value_name = "LIST")]
    concurrency: String,

    /// Measured value to compare with the limit, e.g. itl=22.2ms@1; repeatable
    ///
    /// Other examples: ttft=115.9ms, latency=11.4s@1, tok_s=885@100, tg=279, pp=16634
    #[arg(long, value_name = "NAME=VALUE[@USERS]", value_parser = Measured::parse)]
    measured: Vec<Measured>,

    /// List the known machines and models, and exit
    #[arg(long)]
    list: bool,

    /// Folder of stored results, for --gpu measured [default: .inferometer/runs]
    #[arg(long, value_name = "DIR", env = "INFEROMETER_STORE")]
    store: Option<PathBuf>,

    #[command(flatten)]
    files: PageArgs,

    /// Format of standard output
    #[arg(short, long, value_enum, default_value = "text")]
    format: LimitFormat,

    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LimitFormat {
    /// For people
    Text,
    /// One JSON document
    Json,
}

/// Runs the command.
pub fn run(args: &LimitArgs, words: &[String]) -> Result<Code, Failure> {
    args.files.check()?;
    let users = level_list::parse(&args.concurrency)
        .map_err(|error| Failure::usage(format!("--concurrency {}: {error}", args.concurrency)))?;
    let is_json = args.json || args.format == LimitFormat::Json;
    if args.list {
        match is_json {
            true => terminal::print_document(&LimitList::of_tables()),
            false => _ = terminal::print(&terminal::folded(&limit::list_text())),
        }
        return Ok(Code::Done);
    }
    let store = Store::at(store_root(args.store.as_ref()));
    let (setup, origin) = args.setup.setup(&store)?;
    let request = Request { input: args.prompt as f64, output: args.output as f64 };
    let answer = Answer::new(setup, origin, request, &users, &args.measured);
    let document = output::document_text(&LimitDocument::from(&answer))?;
    let own = || document.clone();
    let page = || Ok(limit::page(&answer, &mask_command(words)));
    args.files.write(page, &OwnFormats::json(&own))?;
    match is_json {
        true => terminal::print_document(&LimitDocument::from(&answer)),
        false if !args.files.out.is_empty() => {}
        false => _ = terminal::print(&terminal::folded(&limit::text(&answer))),
    }
    Ok(Code::Done)
}
