//! What a session is to do, every default filled in.
//!
//! Not here: how it comes from what was typed (`cli::resolve`), and doing it (`session`).

use crate::caller::{CallLimits, Caller, Endpoint};
use crate::course::Course;
use crate::exported::ExportAsk;
use crate::host::Stamps;
use crate::output::Format;
use crate::predict::Deployed;
use crate::preflight::{FieldRules, Preflight};
use crate::secrets::Secrets;
use crate::server::Inspection;
use crate::url::BaseUrl;
use ifm_core::Facts;
use ifm_core::PlanCell;
use ifm_core::manifest::RejectedField;
use ifm_core::spec::RunSpec;
use ifm_drive::TlsTarget;
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
    /// What the user says was set.
    pub tags: BTreeMap<String, String>,
    /// The cell of a plan that is measured, if it is one.
    pub plan: Option<PlanCell>,
    /// Addresses of the server.
    pub addresses: Vec<SocketAddr>,
    /// TLS, if the URL asks for it.
    pub tls: Option<TlsTarget>,
    /// The base URL, for the `Host` header and the path.
    pub url: BaseUrl,
    /// Headers as they are sent, secrets included. Never stored, never printed.
    pub headers: Vec<(String, String)>,
    /// Headers of a turn, in whose values `{session}` stands for its session. Likewise.
    pub session_headers: Vec<(String, String)>,
    /// Value of the `Authorization` header. Never stored, never printed.
    pub authorization: Option<String>,
    /// Fields of each body as they are sent, secrets included. Never stored, never printed.
    pub extra_body: Map<String, Value>,
    /// Fields of each body that the server rejected before the load, and that are not sent.
    pub rejected: Vec<RejectedField>,
    /// Whose fields they are, and what a rejection means.
    pub field_rules: FieldRules,
    /// How long made-up prompts are by the server's count.
    pub scale: LengthScale,
    /// What is blotted out in what the server says.
    pub secrets: Arc<Secrets>,
    /// Makes the prompts.
    pub dataset: Arc<dyn Dataset>,
    /// The forms that answers are to have.
    pub forms: Forms,
    /// Whose words tell the server of them.
    pub form_speech: FormSpeech,
    /// Makes the prompts of the probe beside the load; absent where there is none.
    pub probe: Option<Arc<dyn Dataset>>,
    /// What the prompts are.
    pub facts: WorkloadFacts,
    /// What the server said about itself.
    pub inspection: Inspection,
    /// The machine of the server; absent where nobody tells of it.
    pub machine: Option<Facts>,
    /// What answers in place of a server; absent where one is measured.
    pub deployed: Option<Deployed>,
    /// Reading threads; absent means by the number of users.
    pub readers: Option<usize>,
    /// Processors for the reading threads.
    pub cpus: Vec<usize>,
    /// Who stamps what arrives.
    pub stamps: Stamps,
    /// Whether the reading threads run before all others, on processors that are kept awake.
    pub precise: bool,
    /// Which levels are run.
    pub course: Course,
    /// Whether levels that were worse than a larger load are measured again.
    pub measures_again: bool,
    /// What goes to standard output.
    pub format: Format,
    /// Report files to write.
    pub out: Vec<PathBuf>,
    /// Files of other tools to write.
    pub exports: Vec<ExportAsk>,
    /// Folder of stored runs.
    pub store: Option<PathBuf>,
    /// What is recorded beside the answers.
    pub telemetry: TelemetryAsk,
    /// No progress.
    pub quiet: bool,
    /// Whether something else shows the result, among others.
    pub is_a_part: bool,
    /// Progress on the full screen.
    pub tui: bool,
    /// No colour.
    pub no_color: bool,
    /// Only ASCII.
    pub ascii: bool,
}

impl Job {
    /// Where its requests go; absent for a host without an address.
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

    /// The requests before its load, written by this template.
    pub fn preflight(&self, template: RequestTemplate) -> Option<Preflight> {
        let target = &self.spec.target;
        let expect = Expect { api: target.api, keep_text: false, stream: target.stream };
        let caller = Caller::new(self.endpoint()?).with_limits(CallLimits::of(&self.spec.limits));
        Some(Preflight::new(caller, template, expect, self.field_rules.clone()))
    }
}

/// What to record.
#[derive(Debug, Clone, PartialEq)]
pub struct TelemetryAsk {
    /// The server's counters.
    pub metrics: MetricsAsk,
    /// Power.
    pub power: PowerAsk,
    /// Whether to say what is not there.
    pub verbose: bool,
}

/// Where the server's counters are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MetricsAsk {
    /// Not to be read.
    Off,
    /// At the usual place, if something that is known stands there.
    Tried,
    /// At this URL.
    At(String),
}

/// Whose power is the server's.
#[derive(Debug, Clone, PartialEq)]
pub enum PowerAsk {
    /// Nobody's.
    Off,
    /// That of this host's devices, if the server is on loopback.
    IfLoopback,
    /// That of this host's devices, or of these of its GPUs.
    Local(Option<Vec<u32>>),
    /// That of the GPUs on the page of a DCGM exporter.
    Exporter(String),
    /// This many watts, as the user says.
    Stated(f64),
}
