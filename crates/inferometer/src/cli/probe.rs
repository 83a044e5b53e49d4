//! `inferometer probe URL`: identifies a server and its features.

use crate::cli::args::api_word::ApiWord;
use crate::cli::args::resolve;
use crate::cli::args::workload::open_tokenizer;
use crate::exit::{Code, Failure};
use crate::terminal;
use clap::Args;
use ifm_core::Prompt;
use ifm_core::duration::seconds;
use ifm_core::regular::read_named;
use ifm_core::spec::Api;
use ifm_probe::key::authorization;
use ifm_probe::question::{Inquiry, ProbeDocument, Report, Wish};
use ifm_probe::traced_client::Caller;
use ifm_probe::url::BaseUrl;
use ifm_probe::{question, server};
use ifm_wire::dialect;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Flags of `probe`.
#[derive(Debug, Args)]
pub struct ProbeArgs {
    /// Base URL of the server [default: the first that answers on loopback at 8000, 8080, 11434,
    /// 30000, 1234]
    #[arg(value_name = "URL")]
    url: Option<String>,

    /// Model to request [default: the only one that the server offers]
    #[arg(short, long)]
    model: Option<String>,

    /// Show what an API file finds in one answer, instead of probing
    #[arg(long, value_name = "custom:FILE", value_parser = ApiWord)]
    api: Option<Api>,

    /// Read a saved answer instead of asking a server
    ///
    /// Either its body, or a whole response
    #[arg(long, value_name = "FILE", requires = "api", conflicts_with = "url")]
    answer: Option<PathBuf>,

    /// Print the file of --api, for editing, and exit
    #[arg(long, requires = "api", conflicts_with_all = ["url", "answer", "json"])]
    print: bool,

    /// Tokenizer to compare the server's counts with, as in `run` [default: the embedded one]
    #[arg(long, value_name = "PATH|NAME")]
    tokenizer: Option<String>,

    /// Maximum time for all questions together
    ///
    /// One request takes at most a third of it
    #[arg(long, default_value = "10s", value_parser = seconds, value_name = "SPAN")]
    limit: f64,

    /// Extra header, "name: value"; repeatable
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    headers: Vec<String>,

    /// Environment variable that contains the API key [default: OPENAI_API_KEY, if set]
    #[arg(long, value_name = "NAME")]
    api_key_env: Option<String>,

    /// Do not verify the server's certificate
    #[arg(long)]
    insecure: bool,

    /// One JSON document on standard output
    #[arg(long)]
    json: bool,

    /// Print without color (also: NO_COLOR)
    #[arg(long)]
    no_color: bool,

    /// Print only ASCII characters (default on terminals without UTF-8)
    #[arg(long)]
    ascii: bool,
}

/// Runs the command.
pub fn run(args: &ProbeArgs) -> Result<Code, Failure> {
    if let Some(api) = args.api {
        return of_file(args, api);
    }
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
    let (findings, inquiry) = question::probe(inquiry);
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
        false => _ = terminal::print(&question::text(&report, &style)),
    }
    match report.has_answers {
        true => Ok(Code::Done),
        false => Err(Failure::server(format!(
            "{url} does not respond to any API that inferometer supports"
        ))
        .hint("check --model and the API key; the report says what was tried")),
    }
}

/// Prompt for testing an API file.
const TRIED_PROMPT: &str = "Count from one to five in words.";
/// Maximum output tokens of the answer.
const TRIED_TOKENS: u32 = 24;
/// Maximum size of a saved answer, bytes.
const SAVED_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Shows what an API file finds in a first answer.
fn of_file(args: &ProbeArgs, api: Api) -> Result<Code, Failure> {
    let Some(file) = dialect::of(api).file() else {
        return Err(Failure::usage(format!("--api {} is known here", api.word())).hint(
            "probe tries every built-in API; --api is for the file of another one: custom:FILE",
        ));
    };
    if args.print {
        terminal::print(&file.stored().text);
        return Ok(Code::Done);
    }
    let since = Instant::now();
    let (subject, response, requests) = match &args.answer {
        Some(path) => (path.display().to_string(), saved(path)?, 0),
        None => {
            let (url, response) = asked(args, api)?;
            (url, response, 1)
        }
    };
    let is_streamed = dialect::of(api).endpoint.stream.is_some();
    let answer = question::custom::answer(api, &response, is_streamed);
    let report = Report {
        url: subject,
        findings: question::custom::findings(api, &response, &answer),
        requests,
        took: since.elapsed(),
        has_answers: answer.outcome.is_ok(),
    };
    let style = terminal::style(args.no_color, args.ascii);
    match args.json {
        true => terminal::print_document(&ProbeDocument::from(&report)),
        false => _ = terminal::print(&question::text(&report, &style)),
    }
    match report.has_answers {
        true => Ok(Code::Done),
        false => Err(Failure::server(format!(
            "{} is not a valid answer according to this file",
            report.url
        ))
        .hint("the report shows what the fields of the file contain")),
    }
}

fn saved(path: &Path) -> Result<Vec<u8>, Failure> {
    let told = |why: String| Failure::usage(format!("{} cannot be read: {why}", path.display()));
    let bytes = read_named(path, SAVED_BYTES_MAX).map_err(|error| told(error.to_string()))?;
    Ok(question::custom::response(&bytes))
}

/// Asks a server for a first answer: its address, and the response as received.
fn asked(args: &ProbeArgs, api: Api) -> Result<(String, Vec<u8>), Failure> {
    let url = match &args.url {
        Some(typed) => BaseUrl::parse(typed)?.0,
        None => server::find_local()?,
    };
    let dialect = dialect::of(api);
    let key = resolve::key_env_of(dialect, args.api_key_env.as_deref());
    let headers = resolve::headers(&args.headers)?;
    let model = match dialect.file() {
        Some(file) => {
            let value = authorization(key.as_deref())?;
            let (key, asking) = resolve::with_api_headers(dialect, value.as_deref(), &headers);
            let (at, wanted) = ((&url, args.insecure), args.model.as_deref());
            server::inspect_by_file(at, file, key.as_deref(), &asking, wanted)?.model
        }
        None => args.model.clone().unwrap_or_default(),
    };
    let endpoint = resolve::endpoint_of(url.clone(), key.as_deref(), headers, args.insecure)?;
    let secrets = endpoint.secrets.clone();
    let prompt = Prompt::Text(TRIED_PROMPT.to_owned());
    let wish = Wish {
        api,
        prompt: &prompt,
        tokens: TRIED_TOKENS,
        stream: dialect.endpoint.stream.is_some(),
        ignore_eos: false,
        fields: serde_json::Value::Null,
    };
    let request = question::written(&endpoint, &model, &wish).map_err(Failure::usage)?;
    let reply = Caller::new(endpoint).send(&request, Duration::from_secs_f64(args.limit));
    if reply.status().is_none() {
        return Err(Failure::server(format!("{url}: {}", reply.fault())));
    }
    // A key that a server echoes is not shown.
    let response = String::from_utf8_lossy(&reply.response()).into_owned();
    Ok((url.to_string(), secrets.blot(&response).into_owned().into_bytes()))
}
