//! The job of a session, with every default filled in.
//!
//! Not here: how it follows from the command line (`cli::args::resolve`), and running it (`session`).

pub mod call_settings;
pub mod client_host;
pub mod levels;
pub mod prompt_lengths;

use crate::output::Format;
use crate::output::tool_files::ExportAsk;
use crate::secrets::Secrets;
use client_host::Stamps;
use ifm_core::Facts;
use ifm_core::PlanCell;
use ifm_core::manifest::RejectedField;
use ifm_core::spec::RunSpec;
use ifm_drive::TlsTarget;
use ifm_machine::telemetry::{MeteredServer, TelemetryAsk};
use ifm_predict::SimulatedDeployment;
use ifm_probe::preflight::{FieldRules, Preflight};
use ifm_probe::server::Inspection;
use ifm_probe::traced_client::{CallLimits, Caller, Endpoint};
use ifm_probe::url::BaseUrl;
use ifm_report::VllmLines;
use ifm_session::level_planner::LevelPlanner;
use ifm_wire::dialect::FormSpeech;
use ifm_wire::{Expect, RequestTemplate};
use ifm_workload::{Dataset, Forms, LengthScale, WorkloadFacts};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// Everything that a session needs.
pub struct Job {
    /// The resolved specification, which is stored.
    pub spec: RunSpec,
    /// Command words, secrets masked.
    pub command: Vec<String>,
    /// Name of the run.
    pub name: Option<String>,
    /// The user's tags.
    pub tags: BTreeMap<String, String>,
    /// The measured cell of a plan, if any.
    pub plan: Option<PlanCell>,
    /// Addresses of the server.
    pub addresses: Vec<SocketAddr>,
    /// TLS, if the URL asks for it.
    pub tls: Option<TlsTarget>,
    /// The base URL, for the `Host` header and the path.
    pub url: BaseUrl,
    /// Headers as they are sent, secrets included. Never stored, never printed.
    pub headers: Vec<(String, String)>,
    /// Headers of a turn, with `{session}` as the placeholder of its session in the values.
    /// Likewise.
    pub session_headers: Vec<(String, String)>,
    /// Value of the `Authorization` header. Never stored, never printed.
    pub authorization: Option<String>,
    /// Fields of each body as they are sent, secrets included. Never stored, never printed.
    pub extra_body: Map<String, Value>,
    /// Fields of each body that the server rejected before the load, and that are not sent.
    pub rejected: Vec<RejectedField>,
    /// The origin of these fields, and the effect of a rejection.
    pub field_rules: FieldRules,
    /// Length of synthetic prompts by the server's count.
    pub scale: LengthScale,
    /// What to redact in the server's text.
    pub secrets: Arc<Secrets>,
    /// Creates the prompts.
    pub dataset: Arc<dyn Dataset>,
    /// The forms of answers.
    pub forms: Forms,
    /// The dialect in which the server is asked for them.
    pub form_speech: FormSpeech,
    /// Creates the prompts of the background probe; absent without one.
    pub probe: Option<Arc<dyn Dataset>>,
    /// What the prompts are.
    pub facts: WorkloadFacts,
    /// What the server reported about itself.
    pub inspection: Inspection,
    /// The machine of the server; absent if unknown.
    pub machine: Option<Facts>,
    /// The simulation that answers instead of a server; absent if a server is measured.
    pub deployed: Option<SimulatedDeployment>,
    /// Number of reading threads; absent means by the number of users.
    pub readers: Option<usize>,
    /// Processors for the reading threads.
    pub cpus: Vec<usize>,
    /// Source of receive timestamps.
    pub stamps: Stamps,
    /// Whether the reading threads run before all others, on processors that are kept awake.
    pub precise: bool,
    /// Which levels are run.
    pub course: LevelPlanner,
    /// Whether to remeasure levels that were worse than a larger load.
    pub measures_again: bool,
    /// Output format of standard output.
    pub format: Format,
    /// Lines of vLLM's block, for that format.
    pub vllm_lines: Option<VllmLines>,
    /// Report files to write.
    pub out: Vec<PathBuf>,
    /// Files of other tools to write.
    pub exports: Vec<ExportAsk>,
    /// Folder of stored runs.
    pub store: Option<PathBuf>,
    /// Telemetry to record.
    pub telemetry: TelemetryAsk,
    /// No progress.
    pub quiet: bool,
    /// Whether something else also shows the result.
    pub is_a_part: bool,
    /// Progress on the full screen.
    pub tui: bool,
    /// No color.
    pub no_color: bool,
    /// Only ASCII.
    pub ascii: bool,
}

impl Job {
    /// The target of its requests; absent for a host without an address.
    pub fn endpoint(&self) -> Option<Endpoint> {
        Some(Endpoint {
            url: self.url.clone(),
            address: *self.addresses.first()?,
            tls: self.tls.clone(),
            authorization: self.authorization.clone(),
            headers: self.headers.clone(),
            secrets: self.secrets.clone(),
        })
    }

    /// Its server, as far as telemetry is concerned.
    pub fn metered_server(&self) -> MeteredServer<'_> {
        MeteredServer {
            addresses: &self.addresses,
            root: self.url.root(),
            info: &self.inspection.info,
            authorization: self.authorization.as_deref(),
            headers: &self.headers,
            insecure: self.spec.target.insecure_tls,
        }
    }

    /// Preflight requests, written by this template.
    pub fn preflight(&self, template: RequestTemplate) -> Option<Preflight> {
        let target = &self.spec.target;
        let expect = Expect { api: target.api, keep_text: false, stream: target.stream };
        let caller = Caller::new(self.endpoint()?).with_limits(CallLimits::of(&self.spec.limits));
        Some(Preflight::new(caller, template, expect, self.field_rules.clone()))
    }
}
