//! `inferometer probe URL`: what a server is and can do.

use super::resolve;
use super::workload_args::open_tokenizer;
use crate::caller::Caller;
use crate::exit::{Code, Failure};
use crate::probe::{Inquiry, ProbeDocument, Report};
use crate::url::BaseUrl;
use crate::{probe, server, terminal};
use clap::Args;
use ifm_core::duration::seconds;
use std::time::{Duration, Instant};

/// Flags of `probe`.
#[derive(Debug, Args)]
pub struct ProbeArgs {
    /// Base URL of the server [default: the first that answers on loopback at 8000, 8080, 11434,
    /// 30000, 1234]
    #[arg(value_name = "URL")]
    url: Option<String>,

    /// Model to ask for [default: the only one that the server offers]
    #[arg(short, long)]
    model: Option<String>,

    /// Tokenizer to compare the server's counts with, as for `run` [default: the embedded one]
    #[arg(long, value_name = "PATH|NAME")]
    tokenizer: Option<String>,

    /// Longest time for all questions together; one request takes at most a third of it
    #[arg(long, default_value = "10s", value_parser = seconds, value_name = "SPAN")]
    limit: f64,

    /// Extra header, "name: value"; may be repeated
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    headers: Vec<String>,

    /// Environment variable that holds the API key [default: OPENAI_API_KEY, if set]
    #[arg(long, value_name = "NAME")]
    api_key_env: Option<String>,

    /// Do not check the server's certificate
    #[arg(long)]
    insecure: bool,

    /// One JSON document on standard output
    #[arg(long)]
    json: bool,

    /// No colour (also: NO_COLOR)
    #[arg(long)]
    no_color: bool,

    /// Only ASCII characters
    #[arg(long)]
    ascii: bool,
}

/// Runs the command.
pub fn run(args: &ProbeArgs) -> Result<Code, Failure> {
    let since = Instant::now();
    let limit = Duration::from_secs_f64(args.limit);
    let tokenizer = open_tokenizer(args.tokenizer.as_deref())?;
    let url = match &args.url {
        Some(typed) => BaseUrl::parse(typed)?.0,
        None => server::find_local()?,
    };
    let headers = resolve::headers(&args.headers)?;
    let key = args.api_key_env.as_deref();
    let endpoint = resolve::endpoint(url.clone(), key, headers.clone(), args.insecure)?;
    let inspection = server::inspect(
        &url,
        args.insecure,
        endpoint.authorization.as_deref(),
        &headers,
        args.model.as_deref(),
        limit / 3,
    )?;
    let inquiry = Inquiry::new(
        Caller::new(endpoint),
        (inspection.info, inspection.model),
        (tokenizer, args.tokenizer.is_some()),
        resolve::fresh_seed(),
        (limit, since),
    );
    let (findings, inquiry) = probe::probe(inquiry);
    let report = Report {
        url: url.to_string(),
        findings,
        requests: inquiry.caller.calls(),
        took: since.elapsed(),
        has_answers: inquiry.api.is_some(),
    };
    let style = terminal::style(args.no_color, args.ascii);
    match args.json {
        true => terminal::print_document(&ProbeDocument::from(&report)),
        false => _ = terminal::print(&probe::text(&report, &style)),
    }
    match report.has_answers {
        true => Ok(Code::Done),
        false => {
            Err(Failure::server(format!("{url} gives no answer to any API that is known here"))
                .hint("check --model and the API key; the report says what was tried"))
        }
    }
}
