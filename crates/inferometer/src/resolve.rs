//! From what was typed to what will be done: every default filled in, every mistake found before
//! anything is sent. The one place where defaults live.

use crate::cli::load_args::{Format, LoadArgs};
use crate::exit::Failure;
use crate::server::{self, Inspection};
use crate::url::BaseUrl;
use ifm_core::spec::{Api, LimitSpec, LoadSpec, RunSpec, SloSpec, TargetSpec, WorkloadSpec};
use ifm_drive::TlsTarget;
use ifm_tokenizer::Tokenizer;
use ifm_wire::request::is_secret_header;
use ifm_workload::{LengthRange, RandomSpec, Shape};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

/// How a level ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ending {
    requests: Option<u32>,
    duration_s: Option<f64>,
}

impl Ending {
    /// Seconds that a level takes when nothing is said.
    const DEFAULT_S: f64 = 20.0;

    /// After a number of requests, after a time, or whichever comes first.
    ///
    /// # Errors
    /// A level of no request.
    pub fn new(requests: Option<u32>, duration_s: Option<f64>) -> Result<Ending, Failure> {
        if requests == Some(0) {
            return Err(Failure::usage("--requests 0 measures nothing"));
        }
        let duration_s = duration_s.or(requests.is_none().then_some(Ending::DEFAULT_S));
        Ok(Ending { requests, duration_s })
    }
}

/// One level as asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelRequest {
    /// Users.
    pub concurrency: u32,
    /// How it ends.
    pub ending: Ending,
    /// Warm-up requests; one per user when absent.
    pub warmup: Option<u32>,
}

/// Everything that a session needs.
pub struct Job {
    /// The resolved specification, which is stored.
    pub spec: RunSpec,
    /// Command words, secrets masked.
    pub command: Vec<String>,
    /// Name of the run.
    pub name: Option<String>,
    /// Addresses of the server.
    pub addresses: Vec<SocketAddr>,
    /// TLS, if the URL asks for it.
    pub tls: Option<TlsTarget>,
    /// The base URL, for the `Host` header and the path.
    pub url: BaseUrl,
    /// Headers as they are sent, secrets included. Never stored, never printed.
    pub headers: Vec<(String, String)>,
    /// Value of the `Authorization` header. Never stored, never printed.
    pub authorization: Option<String>,
    /// Makes the prompts.
    pub random: RandomSpec,
    /// Counts them.
    pub tokenizer: Tokenizer,
    /// What the server said about itself.
    pub inspection: Inspection,
    /// Reading threads; absent means by the number of users.
    pub readers: Option<usize>,
    /// Processors for the reading threads.
    pub cpus: Vec<usize>,
    /// Whether a sweep ends when more users bring nothing.
    pub stop_at_plateau: bool,
    /// What goes to standard output.
    pub format: Format,
    /// Report files to write.
    pub out: Vec<PathBuf>,
    /// Folder of stored runs.
    pub store: Option<PathBuf>,
    /// No progress.
    pub quiet: bool,
    /// No colour.
    pub no_color: bool,
    /// Only ASCII.
    pub ascii: bool,
}

/// Resolves the flags; asks the server what it is.
///
/// # Errors
/// The first mistake, or why the server cannot be used.
pub fn resolve(args: &LoadArgs, levels: &[LevelRequest], words: &[String]) -> Result<Job, Failure> {
    for path in &args.out {
        crate::output::check_path(path)?;
    }
    let (random, shape_kind) = random_spec(args)?;
    let slo = slo(args)?;
    let headers = headers(args)?;
    let extra_body = extra_body(args)?;
    let temperature = temperature(args)?;
    let tokenizer = tokenizer(args)?;
    let (url, api_from_path) = match typed_url(args)? {
        Some(typed) => BaseUrl::parse(&typed)?,
        None => (server::find_local()?, None),
    };
    let api = api(args, api_from_path)?;
    let addresses = url.resolve()?;
    if !args.yes && addresses.iter().any(crate::url::is_public) {
        return Err(Failure::usage(format!("{} is a public address", url.authority())).hint(
            "load costs money and may be taken for an attack: add --yes if it is yours to load",
        ));
    }
    let key_env = args.api_key_env.clone().or_else(|| {
        std::env::var_os("OPENAI_API_KEY").filter(|key| !key.is_empty())?;
        Some("OPENAI_API_KEY".to_owned())
    });
    let authorization = authorization(key_env.as_deref())?;
    let tls = url.is_tls().then(|| TlsTarget::new(url.host(), args.insecure)).transpose();
    let tls = tls.map_err(|error| Failure::server(format!("{}: {error}", url)))?;
    let inspection = server::inspect(
        &url,
        args.insecure,
        authorization.as_deref(),
        &headers,
        args.model.as_deref(),
    )?;
    let stream = !args.no_stream;
    let spec = RunSpec {
        target: TargetSpec {
            base_url: url.to_string(),
            api,
            model: inspection.model.clone(),
            api_key_env: key_env,
            headers: masked(&headers),
            extra_body,
            insecure_tls: args.insecure,
            stream,
            fresh_connections: args.fresh_connections,
        },
        workload: WorkloadSpec {
            kind: shape_kind,
            prompt_tokens: random.prompt_tokens.max(),
            output_tokens: random.output_tokens.max(),
            shared_prefix_tokens: random.shared_prefix_tokens,
            ignore_eos: args.ignore_eos,
            temperature,
            tokenizer: tokenizer.name().to_owned(),
            tokenizer_sha256: tokenizer.sha256().to_owned(),
            seed: args.seed,
        },
        levels: levels.iter().map(load_spec).collect(),
        limits: LimitSpec {
            connect_s: Some(args.connect_timeout),
            // Without a stream there is no first token to wait for.
            first_token_s: stream.then_some(args.first_token_timeout),
            idle_s: stream.then_some(args.idle_timeout),
            total_s: args.timeout.or((!stream).then_some(args.first_token_timeout)),
        },
        slo,
        keep_text: args.keep_text,
    };
    Ok(Job {
        spec,
        command: mask_command(words),
        name: args.name.clone(),
        addresses,
        tls,
        url,
        headers,
        authorization,
        random,
        tokenizer,
        inspection,
        readers: args.readers,
        cpus: args.cpus.clone(),
        stop_at_plateau: false,
        format: args.output(),
        out: args.out.clone(),
        store: args.store.clone(),
        quiet: args.quiet,
        no_color: args.no_color,
        ascii: args.ascii,
    })
}

fn load_spec(level: &LevelRequest) -> LoadSpec {
    LoadSpec {
        concurrency: level.concurrency,
        requests: level.ending.requests,
        duration_s: level.ending.duration_s,
        warmup_requests: level.warmup.unwrap_or(level.concurrency),
    }
}

fn typed_url(args: &LoadArgs) -> Result<Option<String>, Failure> {
    let by_port = args
        .port
        .map(|port| format!("http://{}:{port}", args.host.as_deref().unwrap_or("127.0.0.1")));
    Ok(args.url.clone().or_else(|| args.base_url.clone()).or(by_port))
}

fn api(args: &LoadArgs, from_path: Option<Api>) -> Result<Api, Failure> {
    if let Some(word) = args.api {
        return Ok(word.into());
    }
    match args.endpoint.as_deref() {
        None => Ok(from_path.unwrap_or(Api::Chat)),
        Some(path) if path.ends_with("/chat/completions") => Ok(Api::Chat),
        Some(path) if path.ends_with("/completions") => Ok(Api::Completions),
        Some(path) => {
            Err(Failure::usage(format!("--endpoint {path} is no API that is known here"))
                .hint("use --api chat or --api completions"))
        }
    }
}

fn random_spec(args: &LoadArgs) -> Result<(RandomSpec, String), Failure> {
    let shape: Shape = args
        .workload
        .parse()
        .map_err(|error| Failure::usage(format!("--workload {}: {error}", args.workload)))?;
    let mut spec = RandomSpec::from_shape(&shape, args.seed);
    let fixed = |flag: &str, tokens: u32| {
        LengthRange::fixed(tokens)
            .map_err(|error| Failure::usage(format!("{flag} {tokens}: {error}")))
    };
    if let Some(tokens) = args.input_len {
        spec.prompt_tokens = fixed("--input-len", tokens)?;
    }
    if let Some(tokens) = args.output_len {
        spec.output_tokens = fixed("--output-len", tokens)?;
    }
    spec.shared_prefix_tokens = args.shared_prefix;
    if spec.shared_prefix_tokens > spec.prompt_tokens.min() {
        return Err(Failure::usage(format!(
            "--shared-prefix {} is longer than the prompt ({} tokens)",
            spec.shared_prefix_tokens,
            spec.prompt_tokens.min()
        )));
    }
    Ok((spec, shape.kind().to_string()))
}

fn slo(args: &LoadArgs) -> Result<SloSpec, Failure> {
    let parsed = match args.goodput.is_empty() {
        true => ifm_analysis::slo::parse(&args.slo),
        false => ifm_analysis::slo::parse_goodput(&args.goodput),
    };
    parsed.map_err(|error| {
        Failure::usage(format!("--slo: {error}"))
            .hint("for example --slo \"ttft:p99<500ms,itl:p99<50ms\"")
    })
}

fn temperature(args: &LoadArgs) -> Result<Option<f64>, Failure> {
    match args.temperature.as_str() {
        "none" => Ok(None),
        text => match text.parse::<f64>() {
            Ok(value) if (0.0..=10.0).contains(&value) => Ok(Some(value)),
            _ => Err(Failure::usage(format!("--temperature {text} is no number from 0 to 10"))),
        },
    }
}

fn tokenizer(args: &LoadArgs) -> Result<Tokenizer, Failure> {
    match &args.tokenizer {
        None => Tokenizer::embedded().map_err(|error| Failure::files(error.to_string())),
        Some(path) => Tokenizer::from_file(path).map_err(|error| {
            Failure::usage(format!("--tokenizer {}: {error}", path.display()))
                .hint("give the tokenizer.json of the model, or leave the flag out")
        }),
    }
}

fn headers(args: &LoadArgs) -> Result<Vec<(String, String)>, Failure> {
    args.headers
        .iter()
        .map(|text| match text.split_once(':') {
            Some((name, value)) if !name.trim().is_empty() => {
                Ok((name.trim().to_owned(), value.trim().to_owned()))
            }
            // The text itself may hold a secret: it is not repeated.
            _ => Err(Failure::usage("a --header has no colon").hint("write -H \"name: value\"")),
        })
        .collect()
}

fn extra_body(args: &LoadArgs) -> Result<serde_json::Map<String, serde_json::Value>, Failure> {
    match args.extra_body.as_deref().map(serde_json::from_str) {
        None => Ok(serde_json::Map::new()),
        Some(Ok(serde_json::Value::Object(fields))) => Ok(fields),
        Some(Ok(_)) => Err(Failure::usage("--extra-body is no JSON object")),
        Some(Err(error)) => Err(Failure::usage(format!("--extra-body is no JSON: {error}"))),
    }
}

fn authorization(key_env: Option<&str>) -> Result<Option<String>, Failure> {
    let Some(name) = key_env else { return Ok(None) };
    match std::env::var(name) {
        Ok(key) if !key.trim().is_empty() => Ok(Some(format!("Bearer {}", key.trim()))),
        _ => Err(Failure::usage(format!("the environment variable {name} holds no API key"))),
    }
}

/// Headers as they are stored.
fn masked(headers: &[(String, String)]) -> BTreeMap<String, String> {
    headers
        .iter()
        .map(|(name, value)| {
            let shown = if is_secret_header(name) { "***" } else { value.as_str() };
            (name.clone(), shown.to_owned())
        })
        .collect()
}

/// The command line as it is stored: header values that look secret are masked.
fn mask_command(words: &[String]) -> Vec<String> {
    let mask = |text: &str| match text.split_once(':') {
        Some((name, _)) if is_secret_header(name.trim()) => format!("{name}: ***"),
        _ => text.to_owned(),
    };
    let mut masked = Vec::with_capacity(words.len());
    let mut is_header = false;
    for word in words {
        let shown = if is_header {
            mask(word)
        } else if let Some(value) = word.strip_prefix("--header=") {
            format!("--header={}", mask(value))
        } else if let Some(value) = word.strip_prefix("-H").filter(|value| !value.is_empty()) {
            format!("-H{}", mask(value))
        } else {
            word.clone()
        };
        is_header = !is_header && matches!(word.as_str(), "-H" | "--header");
        masked.push(shown);
    }
    masked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_do_not_get_into_the_stored_command() {
        let words: Vec<String> = [
            "inferometer",
            "run",
            "-H",
            "Authorization: Bearer sk-1",
            "-HX-Api-Key: sk-2",
            "--header=x-token:sk-3",
            "-H",
            "x-id: 7",
        ]
        .map(str::to_owned)
        .to_vec();
        let text = mask_command(&words).join(" ");
        assert!(!text.contains("sk-"), "{text}");
        assert!(text.contains("Authorization: ***") && text.contains("x-id: 7"), "{text}");
    }

    #[test]
    fn a_level_needs_an_end() {
        let ending = Ending::new(None, None).unwrap();
        assert_eq!(ending.duration_s, Some(Ending::DEFAULT_S));
        assert_eq!(Ending::new(Some(5), None).unwrap().duration_s, None);
        assert!(Ending::new(Some(0), None).is_err());
    }
}
