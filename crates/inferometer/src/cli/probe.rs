//! `inferometer probe URL`: what a server is and can do.

use super::resolve;
use super::workload_args::open_tokenizer;
use crate::caller::{Caller, Endpoint};
use crate::exit::{Code, Failure};
use crate::probe::{Inquiry, ProbeDocument, Report};
use crate::secrets::Secrets;
use crate::url::BaseUrl;
use crate::{key, probe, server, terminal};
use clap::Args;
use ifm_core::duration::seconds;
use ifm_drive::TlsTarget;
use serde_json::Map;
use std::sync::Arc;
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
    let key_env = key::key_env(args.api_key_env.as_deref());
    let authorization = key::authorization(key_env.as_deref())?;
    let addresses = url.resolve()?;
    let address = *addresses.first().ok_or_else(|| Failure::server("the host has no address"))?;
    let tls = url.is_tls().then(|| TlsTarget::new(url.host(), args.insecure)).transpose();
    let tls = tls.map_err(|error| Failure::server(format!("{url}: {error}")))?;
    let inspection = server::inspect(
        &url,
        args.insecure,
        authorization.as_deref(),
        &headers,
        args.model.as_deref(),
        limit / 3,
    )?;
    let secrets = Arc::new(Secrets::new(authorization.as_deref(), &headers, &Map::new()));
    let caller =
        Caller::new(Endpoint { url: url.clone(), address, tls, authorization, headers, secrets });
    let inquiry = Inquiry::new(
        caller,
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
