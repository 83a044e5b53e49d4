//! The start of a session: the head of its run, the template of its requests, the plan of a level, and
//! reasons not to start.
//!
//! Not here: its results (`session`).

use crate::exit::Failure;
use crate::job::Job;
use crate::job::client_host;
use ifm_core::manifest::{ClockInfo, HostInfo, SCHEMA_VERSION, ToolInfo};
use ifm_core::words::counted;
use ifm_core::{Manifest, Message, Prompt, Role, RunState};
use ifm_drive::{LevelPlan, Limits, Loop, Target};
use ifm_predict::SimulatedDeployment;
use ifm_session::source::{Source, Templates, slots};
use ifm_sys::ClockPair;
use ifm_wire::dialect;
use ifm_wire::request::{Ask, RequestError, TemplateSpec};
use ifm_wire::{Expect, RequestBytes, RequestTemplate};
use ifm_workload::WorkItem;
use std::time::{Duration, Instant};

/// Users per reading thread.
const USERS_PER_READER: u32 = 500;
/// File descriptors that a run needs in addition to its connections.
const SPARE_FILES: u64 = 64;

/// The plan of a job's level, for a host whose clock started at 0 and that takes no timestamps.
pub fn level_plan(job: &Job, index: usize, first_seq: u32, source: &Source) -> LevelPlan {
    let follows_answers = source.follows_answers();
    let spec = &job.spec;
    let load = &spec.levels[index];
    let ns = |seconds: Option<f64>| seconds.map(|seconds| (seconds * 1e9) as u64);
    let processors = ifm_sys::thread::allowed_cpus().map_or(1, |cpus| cpus.len());
    let slots = slots(load.concurrency, source.parallel());
    let wanted = slots.div_ceil(USERS_PER_READER) as usize;
    LevelPlan {
        level: index as u16,
        first_seq,
        target: Target {
            addresses: job.addresses.clone(),
            tls: job.tls.clone(),
            fresh_connections: spec.target.fresh_connections,
        },
        expect: Expect {
            api: spec.target.api,
            // An answer with a form is read once, and dropped unless it should be kept.
            keep_text: spec.keep_text || follows_answers || !job.forms.is_empty(),
            stream: spec.target.stream,
        },
        follows_answers,
        arrivals: if load.arrivals.is_some() { Loop::Open } else { Loop::Closed },
        slots,
        warmup_requests: load.warmup_requests,
        requests: load.requests,
        duration_ns: ns(load.duration_s),
        limits: Limits {
            connect_ns: ns(spec.limits.connect_s),
            first_token_ns: ns(spec.limits.first_token_s),
            idle_ns: ns(spec.limits.idle_s),
            total_ns: ns(spec.limits.total_s),
        },
        origin_ns: 0,
        kernel_stamps: false,
        shards: job.readers.unwrap_or(wanted.min(processors.saturating_sub(1))).max(1),
        cpus: job.cpus.clone(),
        precise: job.precise,
    }
}

pub(super) fn first_manifest(job: &Job, clock: ClockPair) -> Manifest {
    let unix_ns = (clock.mono_ns as i64 + clock.offset_ns).max(0) as u64;
    let salt = (clock.mono_ns ^ u64::from(std::process::id()).wrapping_mul(0x9e37_79b9)) as u16;
    let time = jiff::Timestamp::from_nanosecond(i128::from(unix_ns)).unwrap_or_default();
    Manifest {
        schema_version: SCHEMA_VERSION.to_owned(),
        run_id: ifm_store::new_run_id(unix_ns, salt),
        name: job.name.clone(),
        tags: job.tags.clone(),
        tool: ToolInfo {
            name: "inferometer".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        },
        created_utc: format!("{time:.0}"),
        command: job.command.clone(),
        settings: crate::job::call_settings::of_this_call(),
        state: RunState::Open,
        stop_reason: None,
        spec: job.spec.clone(),
        host: match &job.deployed {
            // Nothing is received, so there are no timestamps.
            Some(_) => HostInfo { kernel_stamps: false, ..client_host::describe() },
            None => client_host::describe_with(job.stamps),
        },
        server: job.inspection.info.clone(),
        facts: job.machine.clone(),
        clock: ClockInfo {
            source: if job.deployed.is_some() { "simulated" } else { "CLOCK_MONOTONIC" }.to_owned(),
            origin_unix_ns: unix_ns,
            origin_monotonic_ns: Some(clock.mono_ns),
            offset_ns: Vec::new(),
        },
        levels: Vec::new(),
        prompts_sha256: None,
        prompts_blake3: None,
        workload: None,
        media_pairs: Vec::new(),
        rejected_fields: job.rejected.clone(),
        health: None,
        capacity: None,
        plan: job.plan.clone(),
        predicted: job.deployed.as_ref().map(SimulatedDeployment::prediction),
        files: Vec::new(),
        extra: serde_json::Map::new(),
    }
}

/// Writes the requests of a job. The run's ID is part of the IDs of its requests and sessions.
///
/// # Errors
/// The part that cannot be sent.
pub fn request_template(job: &Job, run_id: &str) -> Result<RequestTemplate, Failure> {
    template(job, run_id, job.spec.workload.ignore_eos)
}

/// Writes the requests of its probe.
///
/// # Errors
/// The part that cannot be sent.
pub(super) fn probe_template(
    job: &Job,
    run_id: &str,
    ignore_eos: bool,
) -> Result<RequestTemplate, Failure> {
    template(job, run_id, ignore_eos)
}

fn template(job: &Job, run_id: &str, ignore_eos: bool) -> Result<RequestTemplate, Failure> {
    let spec = &job.spec;
    let target = &spec.target;
    let path = dialect::path(target.api, job.url.path(), &target.model, target.stream);
    RequestTemplate::new(&TemplateSpec {
        api: spec.target.api,
        host: &job.url.authority(),
        path: &path,
        model: &spec.target.model,
        authorization: job.authorization.as_deref(),
        headers: &job.headers,
        stream: spec.target.stream,
        ignore_eos,
        temperature: spec.workload.temperature,
        extra_body: &job.extra_body,
    })
    .map(|template| template.without_rejected(&job.rejected))
    .map(|template| template.with_request_ids(target.request_ids.then_some(run_id)))
    .and_then(|template| template.with_session_headers(run_id, &job.session_headers))
    .map_err(|error| Failure::usage(error.to_string()))
}

/// The templates of a run and of its forms.
///
/// # Errors
/// A form that the API does not support.
pub fn form_templates(job: &Job, free: RequestTemplate) -> Result<Templates, Failure> {
    let ignore_eos = job.spec.workload.forms.iter().any(|form| form.ignore_eos);
    let manner = (job.form_speech, ignore_eos);
    Templates::new(free, job.forms.clone(), manner).map_err(|error| {
        Failure::usage(error.to_string())
            .hint("choose the API with --api, and the server dialect with --forms-as")
    })
}

/// Maximum number of items whose requests are written before anything is sent, and the time limit:
/// synthetic media take long, and the first item represents all.
const CHECKED_ITEMS_MAX: u32 = 4096;
const CHECKED_TIME_MAX: Duration = Duration::from_secs(1);

/// Checks, before anything is stored or sent, whether the API accepts the workload: each of the first
/// items, as far as they differ and time allows.
pub(super) fn check_items(job: &Job, template: &RequestTemplate) -> Result<(), Failure> {
    let began = Instant::now();
    let different = u32::try_from(job.dataset.distinct_items()).ok();
    let items = job.dataset.items().or(different).unwrap_or(1).clamp(1, CHECKED_ITEMS_MAX);
    let items = if job.dataset.are_items_alike() { 1 } else { items };
    let mut buffer = RequestBytes::default();
    for number in 0..items {
        let item = match job.dataset.item(number) {
            Ok(item) => item,
            Err(_) if number > 0 => return Ok(()),
            Err(error) => {
                return Err(Failure::usage(format!("the workload cannot be created: {error}")));
            }
        };
        check_item(&item, template, &mut buffer).map_err(|error| {
            let hint = "use another --api, or another workload";
            match number {
                0 => Failure::usage(error.to_string()).hint(hint),
                _ => Failure::usage(format!("item {} of the workload: {error}", number + 1))
                    .hint(hint),
            }
        })?;
        if began.elapsed() > CHECKED_TIME_MAX {
            break;
        }
    }
    Ok(())
}

/// Writes the requests of an item, each without the earlier turns.
fn check_item(
    item: &WorkItem,
    template: &RequestTemplate,
    buffer: &mut RequestBytes,
) -> Result<(), RequestError> {
    let is_alone = item.turns.len() == 1 && item.agents.is_empty();
    let said = Prompt::Messages(vec![Message::text(Role::User, "")]);
    let of_agents = item.agents.iter().flat_map(|agent| &agent.turns);
    let turns = item.turns.iter().chain(of_agents);
    let prompts = turns.map(|turn| (&turn.prompt, turn.fields.as_deref()));
    // A conversation continues with messages, whatever it started with.
    let prompts = prompts.chain((!is_alone).then_some((&said, None)));
    for (prompt, fields) in prompts {
        let ask = Ask {
            prompt,
            said: &[],
            said_media: &[],
            output_tokens: None,
            fields,
            number: None,
            session: None,
        };
        template.write(&ask, buffer)?;
    }
    Ok(())
}

pub(super) fn check_open_files(job: &Job) -> Result<(), Failure> {
    if job.deployed.is_some() {
        return Ok(());
    }
    let parallel = job.dataset.parallel();
    let most = job.spec.levels.iter().map(|level| u64::from(slots(level.concurrency, parallel)));
    let most = most.max().unwrap_or(0);
    match ifm_sys::host::raise_open_files() {
        Some(limit) if limit < most + SPARE_FILES => Err(Failure::usage(format!(
            "{} need {} open files, and this process may have {limit}",
            counted(most, "user"),
            most + SPARE_FILES
        ))
        .hint("raise the limit (ulimit -n), or use fewer users")),
        _ => Ok(()),
    }
}
