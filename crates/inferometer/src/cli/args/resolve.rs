//! From the command line to the run: fills in every default, and finds every error before anything
//! is sent. The only place that defines defaults.

use crate::cli::args::first_requests;
use crate::cli::args::load::{LoadArgs, ResultArgs};
use crate::cli::args::session_headers::{secret_parts, session_headers};
use crate::cli::args::workload::{self, WorkloadArgs};
use crate::exit::Failure;
use crate::job::Job;
use crate::job::client_host::Stamps;
use crate::job::levels::{LevelRequest, items_max, load_specs};
use crate::job::prompt_lengths::{self, LengthsAsk};
use crate::secrets::{Secrets, mask_command, masked, masked_fields};
use ifm_core::Facts;
use ifm_core::regular::read_named_text;
use ifm_core::spec::{Api, LimitSpec, LoadSpec, RunSpec, SloSpec, TargetSpec, WorkloadSpec};
use ifm_drive::TlsTarget;
use ifm_form::Asked;
use ifm_machine::facts;
use ifm_machine::telemetry::{MetricsAsk, PowerAsk, TelemetryAsk};
use ifm_predict::SimulatedDeployment;
use ifm_probe::key::{authorization, key_env};
use ifm_probe::preflight::{FieldRules, Preflight};
use ifm_probe::prompt_calibration::CalibrationAsk;
use ifm_probe::server::{self, Inspection, PageReader};
use ifm_probe::server_tokenizer::ServerTokenizer;
use ifm_probe::traced_client::{CallLimits, Caller, Endpoint};
use ifm_probe::url::BaseUrl;
use ifm_session::level_planner::LevelPlanner;
use ifm_tokenizer::Tokenizer;
use ifm_wire::dialect::custom::Description;
use ifm_wire::dialect::{self, Dialect, FormSpeech};
use ifm_wire::request::{REQUEST_ID, TemplateSpec, is_framing_header};
use ifm_wire::{Expect, RequestTemplate};
use ifm_workload::dataset::mix;
use ifm_workload::{
    Carry, LengthRange, LengthScale, Lengths, OpenedWorkload, WorkloadFacts, WorkloadRequest,
};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Seed of prompts for predictions: two predictions of the same load are equal.
const SIMULATED_SEED: u64 = 0;

/// The tag by which reports compare confidential computing; a user's own tag takes precedence.
const CONFIDENTIAL_TAG: &str = "cc";

/// Whether readers may run on these processors.
fn check_cpus(cpus: &[usize]) -> Result<(), Failure> {
    let Ok(allowed) = ifm_sys::thread::allowed_cpus() else { return Ok(()) };
    let Some(absent) = cpus.iter().find(|cpu| !allowed.contains(cpu)) else { return Ok(()) };
    let known: Vec<String> = allowed.iter().map(usize::to_string).collect();
    Err(Failure::usage(format!("--cpus {absent}: this process may not run on that processor"))
        .hint(format!("it may run on {}", known.join(", "))))
}

/// Whether there are enough processors for the readers: additional readers would wait for each
/// other, and read late.
fn check_readers(readers: Option<usize>) -> Result<(), Failure> {
    let most = std::thread::available_parallelism().map_or(usize::MAX, usize::from);
    let Some(asked) = readers.filter(|asked| *asked == 0 || *asked > most) else { return Ok(()) };
    Err(Failure::usage(format!("--readers {asked}: this process has {most} processors"))
        .hint("use one reader per 500 users, and no more readers than processors"))
}

/// Resolves the flags, and identifies the server.
///
/// # Errors
/// The first mistake, or why the server cannot be used.
pub fn resolve(args: &LoadArgs, levels: &[LevelRequest], words: &[String]) -> Result<Job, Failure> {
    for path in &args.results.out {
        crate::output::check_path(path)?;
    }
    check_cpus(&args.cpus)?;
    check_readers(args.readers)?;
    let seed = args.workload.seed.unwrap_or_else(fresh_seed);
    let tokenizer = args.workload.tokenizer()?;
    let forms = args.workload.asked_forms()?;
    let mut asked = args.workload.request(seed, items_max(levels))?;
    // Several models with shares are a mix; the first one is used where a single model is needed.
    let models = args.model.as_deref().and_then(mix::models);
    if let Some(mixed) = args.model.as_deref().and_then(|it| mix::of_models(it, &asked.text)) {
        asked.text = mixed;
    }
    let typed = typed_url(args)?.map(|typed| BaseUrl::parse(&typed)).transpose()?;
    let api = api(args, typed.as_ref().and_then(|(_, api)| *api))?;
    if api.takes_recordings() {
        asked.carry = Carry::File;
    }
    let model = models.as_ref().and_then(|models| models.first().copied());
    let model = model.or(args.model.as_deref());
    let mut workload = workload::open(&asked, &tokenizer)?;
    check_cadence(&args.workload, &workload)?;
    let mut levels = load_specs(levels, seed, &workload)?;
    end_at_broken_target(&mut levels, &args.results);
    let slo = slo(&args.results, api)?;
    let attached = args.facts.as_deref().map(facts::read).transpose()?;
    let telemetry = args.telemetry.ask()?;
    let headers = headers(&args.headers)?;
    let session_headers =
        session_headers(&args.session_headers, &args.headers_per_session, &headers)?;
    let extra_body = extra_body(args)?;
    let temperature = temperature(args.temperature.as_deref(), dialect::of(api))?;
    let url = match typed {
        Some((url, _)) => url,
        None => server::find_local()?,
    };
    let addresses = url.resolve()?;
    if !args.yes && addresses.iter().any(ifm_probe::url::is_public) {
        return Err(Failure::usage(format!("{} is a public address", url.authority())).hint(
            "load costs money and can look like an attack: add --yes if you may load this server",
        ));
    }
    let dialect = dialect::of(api);
    let key_env = key_env_of(dialect, args.api_key_env.as_deref());
    let authorization = authorization(key_env.as_deref())?;
    let hidden = [headers.clone(), secret_parts(&session_headers)].concat();
    let secrets = Secrets::new(authorization.as_deref(), &hidden, &extra_body).with_words(words);
    crate::terminal::hide(&secrets);
    let secrets = Arc::new(secrets);
    // An API without streams returns whole answers. An API without that field is not asked to
    // ignore the end of text.
    let stream = !args.no_stream && dialect.endpoint.stream.is_some();
    let ignore_eos = args.ignore_eos.unwrap_or(workload.facts.ignore_eos) && dialect.can_ignore_eos;
    let draft = TemplateSpec {
        api,
        host: &url.authority(),
        path: url.path(),
        model: "",
        authorization: authorization.as_deref(),
        headers: &headers,
        stream,
        ignore_eos,
        temperature,
        extra_body: &extra_body,
    };
    // Errors in the workload are reported before anything is sent.
    RequestTemplate::new(&draft).map_err(|error| Failure::usage(error.to_string()))?;
    let tls = url.is_tls().then(|| TlsTarget::new(url.host(), args.insecure)).transpose();
    let tls = tls.map_err(|error| Failure::server(format!("{}: {error}", url)))?;
    let (key, asking) = with_api_headers(dialect, authorization.as_deref(), &headers);
    let patience = list_patience(args);
    let inspection = match dialect.file() {
        Some(file) => {
            let at = (&url, args.insecure);
            server::inspect_by_file(at, file, key.as_deref(), &asking, model)?
        }
        None => server::inspect(&url, args.insecure, key.as_deref(), &asking, model, patience)?,
    };
    if let Some(context) = inspection.info.context_tokens {
        warn_of_context(&workload.facts, context);
    }
    let page = format!("{}/metrics", url.root());
    let known = facts::Known {
        addresses: &addresses,
        inspection: &inspection,
        reads_metrics: telemetry.metrics != MetricsAsk::Off,
        page: PageReader::new(page, args.insecure, key.clone(), asking.clone()),
    };
    let mut machine = facts::of_run(attached, &known);
    if let Some(server) = machine.as_mut().and_then(|machine| machine.server.as_mut()) {
        secrets.blot_process(server);
    }
    let mut tags: BTreeMap<String, String> = args.results.tags.iter().cloned().collect();
    if let Some(word) = machine.as_ref().and_then(Facts::confidential_word) {
        tags.entry(CONFIDENTIAL_TAG.to_owned()).or_insert_with(|| word.to_owned());
    }
    let limits = limits(args, stream);
    let path = dialect::path(api, url.path(), &inspection.model, stream);
    let like_the_run = TemplateSpec { path: &path, model: &inspection.model, ..draft };
    let template = RequestTemplate::new(&like_the_run);
    let template = template.map_err(|error| Failure::usage(error.to_string()))?;
    let field_rules = first_requests::field_rules(args, dialect, &template, &extra_body);
    let address = addresses.first().ok_or_else(|| Failure::server("the host has no address"))?;
    let endpoint = Endpoint {
        url: url.clone(),
        address: *address,
        tls: tls.clone(),
        authorization: authorization.clone(),
        headers: headers.clone(),
        secrets: secrets.clone(),
    };
    let mut preflight = Preflight::new(
        Caller::new(endpoint).with_limits(CallLimits::of(&limits)),
        template,
        Expect { api, keep_text: false, stream },
        field_rules.clone(),
    );
    let made_up = made_up_lengths(&workload.facts);
    let prompt_lengths = match made_up {
        None if is_made_up_mix(&workload.facts) => {
            Some(prompt_lengths::of_classes(args.prompt_lengths)?)
        }
        None => None,
        Some(prompt_tokens) => {
            let calibration = CalibrationAsk {
                tokenizer: &tokenizer,
                prompt_tokens,
                seed,
                context_tokens: inspection.info.context_tokens,
                server: ServerTokenizer::of(inspection.info.kind.as_deref(), &inspection.model),
            };
            let ask = LengthsAsk {
                word: args.prompt_lengths,
                is_given: args.workload.tokenizer.is_some(),
                has_template: dialect.has_template(),
                server: &inspection.info,
                is_quiet: args.results.quiet,
            };
            let (scale, prompt_lengths) =
                prompt_lengths::settle(&ask, &mut preflight, &calibration)?;
            if scale != asked.scale {
                asked.scale = scale;
                workload = workload::open(&asked, &tokenizer)?;
            }
            Some(prompt_lengths)
        }
    };
    first_requests::ask_once(&mut preflight, dialect, &inspection.info)?;
    let rejected = preflight.rejected().to_vec();
    first_requests::report(&rejected);
    let is_rejected = |name: &str| rejected.iter().any(|field| field.field == name);
    let ignore_eos = ignore_eos && !is_rejected("ignore_eos");
    let temperature = temperature.filter(|_| !is_rejected("temperature"));
    let spec = RunSpec {
        target: TargetSpec {
            base_url: url.to_string(),
            api,
            api_file: dialect.file().map(Description::stored),
            // Without the query, which may contain a key.
            path: dialect.file().map(|_| path.split('?').next().unwrap_or_default().to_owned()),
            model: inspection.model.clone(),
            api_key_env: key_env,
            headers: masked(&headers),
            extra_body: masked_fields(&extra_body),
            insecure_tls: args.insecure,
            stream,
            fresh_connections: args.fresh_connections,
            request_ids: !args.no_request_id && !is_given(REQUEST_ID, &headers),
            echo_reasoning: args.echo_reasoning,
            session_headers: match workload.dataset.has_conversations() {
                true => masked(&session_headers),
                false => BTreeMap::new(),
            },
        },
        workload: WorkloadSpec {
            ignore_eos,
            temperature,
            prompt_lengths,
            max_context_tokens: args.workload.max_context,
            cadence_s: args.workload.cadence,
            // An answer that ignores the end of text cannot keep a form, unless the user explicitly
            // requests both.
            forms: ifm_form::specs(&forms, ignore_eos && args.ignore_eos == Some(true)),
            ..workload_spec(&asked, &workload.facts, &tokenizer)
        },
        levels,
        limits,
        slo,
        keep_text: args.results.keep_text,
        cooldown_s: None,
        budget_s: None,
    };
    Ok(Job {
        spec,
        command: secrets.blot_words(&mask_command(words)),
        name: args.results.name.clone(),
        tags,
        plan: args.results.plan_cell.clone(),
        addresses,
        tls,
        url,
        headers,
        session_headers,
        authorization,
        extra_body,
        rejected,
        field_rules,
        scale: asked.scale,
        secrets,
        forms: Asked::forms(&forms, seed),
        form_speech: args.forms_as.unwrap_or_else(|| ifm_form::speech(&inspection.info)),
        dataset: workload.dataset.into(),
        probe: None,
        facts: workload.facts,
        inspection,
        machine,
        deployed: None,
        readers: args.readers,
        cpus: args.cpus.clone(),
        stamps: args.stamps,
        precise: args.precise,
        course: LevelPlanner::Planned,
        measures_again: false,
        format: args.results.output(),
        vllm_lines: args.results.vllm_lines.clone(),
        out: args.results.out.clone(),
        exports: args.results.exports(),
        store: args.results.store.clone(),
        telemetry,
        quiet: args.results.quiet,
        is_a_part: false,
        tui: args.results.tui,
        no_color: args.results.no_color,
        ascii: args.results.ascii,
    })
}

/// Time limit for the list of models: the same as for a request of the load.
fn list_patience(args: &LoadArgs) -> Duration {
    let limit = args.timeout.map_or(args.first_token_timeout, |t| t.min(args.first_token_timeout));
    Duration::try_from_secs_f64(limit).map_or(server::PATIENCE, |it| it.min(server::PATIENCE))
}

/// The time limits of requests.
fn limits(args: &LoadArgs, stream: bool) -> LimitSpec {
    LimitSpec {
        connect_s: Some(args.connect_timeout),
        // Without a stream, there is no first token to wait for.
        first_token_s: stream.then_some(args.first_token_timeout),
        idle_s: stream.then_some(args.idle_timeout),
        total_s: args.timeout.or((!stream).then_some(args.first_token_timeout)),
    }
}

/// Whether there are turns to which a cadence applies.
fn check_cadence(args: &WorkloadArgs, opened: &OpenedWorkload) -> Result<(), Failure> {
    match args.cadence {
        Some(_) if !opened.dataset.has_conversations() => {
            Err(Failure::usage("--cadence needs a workload of conversations")
                .hint("such as -W 'random:500/100?turns=5'; for independent prompts use --rate"))
        }
        _ => Ok(()),
    }
}

/// The workload, without the parameters that are sent with it.
fn workload_spec(
    asked: &WorkloadRequest,
    facts: &WorkloadFacts,
    tokenizer: &Tokenizer,
) -> WorkloadSpec {
    WorkloadSpec {
        kind: facts.kind.clone(),
        text: Some(asked.text.clone()),
        prompt_tokens: facts.prompt_tokens_max,
        output_tokens: facts.output_tokens_max,
        shared_prefix_tokens: asked.shared_prefix_tokens,
        ignore_eos: true,
        temperature: None,
        tokenizer: tokenizer.name().to_owned(),
        tokenizer_sha256: tokenizer.sha256().to_owned(),
        seed: asked.seed,
        classes: facts.classes.clone(),
        prompt_lengths: None,
        max_context_tokens: None,
        cadence_s: None,
        forms: Vec::new(),
        probe: None,
    }
}

/// A default target is evaluated for a level, but does not end it.
fn end_at_broken_target(levels: &mut [LoadSpec], results: &ResultArgs) {
    if results.slo.is_some() || !results.goodput.is_empty() {
        let early = levels.iter_mut().filter_map(|level| level.early_end.as_mut());
        early.for_each(|early| early.at_broken_target = true);
    }
}

/// The same without a server: a simulation answers the requests.
///
/// # Errors
/// The first error.
pub fn resolve_simulated(
    (workload, results): (&WorkloadArgs, &ResultArgs),
    deployed: SimulatedDeployment,
    levels: &[LevelRequest],
    words: &[String],
) -> Result<Job, Failure> {
    for path in &results.out {
        crate::output::check_path(path)?;
    }
    let seed = workload.seed.unwrap_or(SIMULATED_SEED);
    let tokenizer = workload.tokenizer()?;
    let asked = workload.request(seed, items_max(levels))?;
    let opened = workload::open(&asked, &tokenizer)?;
    check_cadence(workload, &opened)?;
    let mut levels = load_specs(levels, seed, &opened)?;
    end_at_broken_target(&mut levels, results);
    let forms = workload.asked_forms()?;
    let api = match opened.dataset.has_conversations() || !forms.is_empty() {
        true => Api::Chat,
        false => Api::Completions,
    };
    let (url, _) = BaseUrl::parse("http://simulated")?;
    let spec = RunSpec {
        target: TargetSpec {
            base_url: deployed.address(),
            api,
            api_file: None,
            path: None,
            model: deployed.deployment.setup.model().id.clone(),
            api_key_env: None,
            headers: BTreeMap::new(),
            extra_body: Map::new(),
            insecure_tls: false,
            stream: true,
            fresh_connections: false,
            request_ids: false,
            echo_reasoning: false,
            session_headers: BTreeMap::new(),
        },
        workload: WorkloadSpec {
            max_context_tokens: workload.max_context,
            cadence_s: workload.cadence,
            forms: ifm_form::specs(&forms, false),
            ..workload_spec(&asked, &opened.facts, &tokenizer)
        },
        levels,
        limits: LimitSpec { connect_s: None, first_token_s: None, idle_s: None, total_s: None },
        slo: slo(results, api)?,
        keep_text: false,
        cooldown_s: None,
        budget_s: None,
    };
    let headers = Vec::new();
    let extra_body = Map::new();
    Ok(Job {
        spec,
        command: mask_command(words),
        name: results.name.clone(),
        tags: results.tags.iter().cloned().collect(),
        plan: results.plan_cell.clone(),
        addresses: Vec::new(),
        tls: None,
        url,
        authorization: None,
        secrets: Arc::new(Secrets::new(None, &headers, &extra_body)),
        headers,
        session_headers: Vec::new(),
        extra_body,
        rejected: Vec::new(),
        field_rules: FieldRules::default(),
        scale: LengthScale::EXACT,
        forms: Asked::forms(&forms, seed),
        // Not used; vLLM's dialect supports every kind.
        form_speech: FormSpeech::Vllm,
        dataset: opened.dataset.into(),
        probe: None,
        facts: opened.facts,
        inspection: Inspection {
            model: deployed.deployment.setup.model().id.clone(),
            info: deployed.server(),
        },
        machine: None,
        deployed: Some(deployed),
        readers: None,
        cpus: Vec::new(),
        stamps: Stamps::Kernel,
        precise: false,
        course: LevelPlanner::Planned,
        measures_again: false,
        format: results.output(),
        vllm_lines: results.vllm_lines.clone(),
        out: results.out.clone(),
        exports: results.exports(),
        store: results.store.clone(),
        telemetry: TelemetryAsk { metrics: MetricsAsk::Off, power: PowerAsk::Off, verbose: false },
        quiet: results.quiet,
        is_a_part: false,
        tui: false,
        no_color: results.no_color,
        ascii: results.ascii,
    })
}

/// Whether the user gives this header.
fn is_given(name: &str, headers: &[(String, String)]) -> bool {
    headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name))
}

fn typed_url(args: &LoadArgs) -> Result<Option<String>, Failure> {
    let by_port = args
        .port
        .map(|port| format!("http://{}:{port}", args.host.as_deref().unwrap_or("127.0.0.1")));
    Ok(args.url.clone().or_else(|| args.base_url.clone()).or(by_port))
}

fn api(args: &LoadArgs, from_path: Option<Api>) -> Result<Api, Failure> {
    let Some(path) = &args.endpoint else {
        return Ok(args.api.or(from_path).unwrap_or(Api::Chat));
    };
    match dialect::api_of_path(path) {
        Some((_base, api)) => Ok(api),
        None => Err(Failure::usage(format!("--endpoint {path} is not a built-in API"))
            .hint("name one with --api; --help lists them")),
    }
}

/// A seed that no earlier run had. With one seed for all runs, the second of two equal runs would
/// find its prompts in the server's prefix cache, and measure that. It is short, so that it can be
/// typed.
pub fn fresh_seed() -> u64 {
    let clock = ifm_sys::ClockPair::sample();
    let now_ns = clock.mono_ns as i64 + clock.offset_ns;
    let mixed = (now_ns as u64 ^ u64::from(std::process::id()).rotate_left(32))
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed >> 32
}

/// Warns that the longest request does not fit, which servers refuse or cut.
fn warn_of_context(facts: &WorkloadFacts, context_tokens: u32) {
    let both = facts.prompt_tokens_max.zip(facts.output_tokens_max);
    let total = both.map(|(prompt, output)| u64::from(prompt) + u64::from(output));
    if let Some(total) = facts.total_tokens_max.or(total).filter(|t| *t > u64::from(context_tokens))
    {
        crate::terminal::warn(&format!(
            "prompts and answers of up to {total} tokens do not fit into the server's context of \
             {context_tokens}"
        ));
    }
}

/// Whether classes of a mix have synthetic prompts.
fn is_made_up_mix(facts: &WorkloadFacts) -> bool {
    !facts.classes.is_empty() && facts.prompt_tokens.is_some()
}

/// Shortest and longest prompt of a workload with synthetic prompts, which are sized in tokens.
pub fn made_up_lengths(facts: &WorkloadFacts) -> Option<LengthRange> {
    let law: Lengths = facts.prompt_tokens.as_deref()?.parse().ok()?;
    LengthRange::new(law.min(), law.max()).ok()
}

/// The given latency target, or the API's default.
///
/// # Errors
/// An invalid term.
pub fn slo(results: &ResultArgs, api: Api) -> Result<SloSpec, Failure> {
    let default = ifm_metrics::slo::default_of(api).terms;
    let is_default = results.slo.is_none() && results.goodput.is_empty();
    let parsed = match results.goodput.is_empty() {
        true => ifm_metrics::slo::parse(results.slo.as_deref().unwrap_or(default)),
        false => ifm_metrics::slo::parse_goodput(&results.goodput),
    };
    parsed.map(|slo| SloSpec { is_default, ..slo }).map_err(|error| {
        Failure::usage(format!("--slo: {error}"))
            .hint("for example --slo \"ttft:p99<500ms,speed:p10>20\"")
    })
}

/// The requested temperature. Greedy decoding is the default, if all models of the API accept a
/// temperature.
fn temperature(asked: Option<&str>, dialect: &Dialect) -> Result<Option<f64>, Failure> {
    let Some(text) = asked else {
        return Ok(dialect.takes_temperature.then_some(0.0));
    };
    match text.parse::<f64>() {
        _ if text == "none" => Ok(None),
        Ok(value) if (0.0..=10.0).contains(&value) => Ok(Some(value)),
        _ => Err(Failure::usage(format!("--temperature {text} is not a number from 0 to 10"))),
    }
}

/// Headers to send.
///
/// # Errors
/// A header without a colon, or one that HTTP itself needs.
pub fn headers(typed: &[String]) -> Result<Vec<(String, String)>, Failure> {
    typed
        .iter()
        .map(|text| match text.split_once(':') {
            Some((name, _)) if is_framing_header(name.trim()) => Err(Failure::usage(format!(
                "--header cannot set {}: inferometer sets that header itself",
                name.trim()
            ))
            .hint("the host comes from the URL, and the length from the body")),
            Some((name, value)) if !name.trim().is_empty() => {
                Ok((name.trim().to_owned(), value.trim().to_owned()))
            }
            // The text itself may be a secret: it is not repeated.
            _ => Err(Failure::usage("a --header has no colon").hint("write -H \"name: value\"")),
        })
        .collect()
}

/// Largest file of body fields, bytes.
const BODY_BYTES_MAX: u64 = 16 << 20;

fn extra_body(args: &LoadArgs) -> Result<Map<String, Value>, Failure> {
    let Some(typed) = args.extra_body.as_deref() else { return Ok(Map::new()) };
    let (text, name) = match typed.strip_prefix('@') {
        None => (typed.to_owned(), "--extra-body".to_owned()),
        Some(path) => match read_named_text(std::path::Path::new(path), BODY_BYTES_MAX) {
            Ok(text) => (text, format!("--extra-body {typed}")),
            Err(error) => {
                return Err(Failure::usage(format!(
                    "--extra-body {typed} cannot be read: {error}"
                ))
                .hint("use @FILE, where FILE contains a JSON object"));
            }
        },
    };
    match serde_json::from_str(&text) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(Failure::usage(format!("{name} is not a JSON object"))),
        Err(error) => Err(Failure::usage(format!("{name} is not JSON: {error}"))
            .hint("for example '{\"top_k\": 1}', or @FILE")),
    }
}

/// The environment variable with the key: the given one, or that of the API's file. If the file
/// names a variable that is not set, no other key is sent.
pub fn key_env_of(dialect: &Dialect, named: Option<&str>) -> Option<String> {
    let own = dialect.file().and_then(|file| file.key_env.as_deref());
    match (named, own) {
        (None, Some(own)) => {
            let is_set = std::env::var_os(own).is_some_and(|key| !key.is_empty());
            is_set.then(|| own.to_owned())
        }
        _ => key_env(named),
    }
}

/// The value of `Authorization`, and all other headers, as the API requires.
pub fn with_api_headers(
    dialect: &Dialect,
    authorization: Option<&str>,
    headers: &[(String, String)],
) -> (Option<String>, Vec<(String, String)>) {
    let mut key = None;
    let mut all = headers.to_vec();
    for (name, value) in dialect.headers(authorization) {
        if name.eq_ignore_ascii_case("Authorization") {
            key = Some(value);
        } else if !is_given(name, headers) {
            all.push((name.to_owned(), value));
        }
    }
    (key, all)
}

/// A server for single requests, by its URL, with the value of the key's variable.
///
/// # Errors
/// The host's name, its certificates, or the key's variable.
pub fn endpoint(
    url: BaseUrl,
    key: Option<&str>,
    headers: Vec<(String, String)>,
    insecure: bool,
) -> Result<Endpoint, Failure> {
    endpoint_of(url, key_env(key).as_deref(), headers, insecure)
}

/// The same, with the variable that contains the key.
///
/// # Errors
/// As [`endpoint`].
pub fn endpoint_of(
    url: BaseUrl,
    key_env: Option<&str>,
    headers: Vec<(String, String)>,
    insecure: bool,
) -> Result<Endpoint, Failure> {
    let authorization = authorization(key_env)?;
    let addresses = url.resolve()?;
    let address = *addresses.first().ok_or_else(|| Failure::server("the host has no address"))?;
    let tls = url.is_tls().then(|| TlsTarget::new(url.host(), insecure)).transpose();
    let tls = tls.map_err(|error| Failure::server(format!("{url}: {error}")))?;
    let secrets = Arc::new(Secrets::new(authorization.as_deref(), &headers, &Map::new()));
    crate::terminal::hide(&secrets);
    Ok(Endpoint { url, address, tls, authorization, headers, secrets })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_temperature_is_sent_unasked_where_models_refuse_it() {
        let of = |asked, api| temperature(asked, dialect::of(api)).unwrap();
        assert_eq!(of(None, Api::Chat), Some(0.0));
        assert_eq!(of(None, Api::Messages), None);
        assert_eq!(of(Some("0"), Api::Messages), Some(0.0));
        assert_eq!(of(Some("none"), Api::Chat), None);
        assert!(temperature(Some("hot"), dialect::of(Api::Chat)).is_err());
    }

    #[test]
    fn every_run_without_a_seed_has_one_of_its_own() {
        let seeds: std::collections::BTreeSet<u64> = (0..8).map(|_| fresh_seed()).collect();
        assert_eq!(seeds.len(), 8);
    }
}
