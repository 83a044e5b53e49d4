//! The flags that every command that drives load understands.

use super::api_word::ApiWord;
use super::telemetry_args::TelemetryArgs;
use super::workload_args::WorkloadArgs;
use crate::exported::ExportAsk;
use crate::host::Stamps;
use crate::lengths::LengthsWord;
use crate::output::Format;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use ifm_core::duration::seconds;
use ifm_core::parse_tag;
use ifm_core::spec::Api;
use ifm_wire::dialect::FormSpeech;
use std::path::PathBuf;

/// Reads whose words a form is told in.
fn form_speeches() -> impl TypedValueParser<Value = FormSpeech> {
    PossibleValuesParser::new(FormSpeech::ALL.map(FormSpeech::word))
        .try_map(|word| FormSpeech::from_word(&word).ok_or("no such words"))
}

/// What `--json` may say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum JsonKind {
    /// One document
    Document,
    /// One line per finished request
    Requests,
    /// One line per session of a conversation
    Sessions,
}

impl JsonKind {
    /// The output format, `--json` folded in.
    pub fn or(json: Option<JsonKind>, format: Format) -> Format {
        match json {
            Some(JsonKind::Document) => Format::Json,
            Some(JsonKind::Requests) => Format::Requests,
            Some(JsonKind::Sessions) => Format::Sessions,
            None => format,
        }
    }
}

/// The server, what to send, and where results go.
#[derive(Debug, Clone, Args)]
pub struct LoadArgs {
    /// Base URL of the server [default: the first that answers on loopback at 8000, 8080, 11434,
    /// 30000, 1234]
    #[arg(value_name = "URL")]
    pub url: Option<String>,

    #[arg(long = "base-url", visible_aliases = ["url", "target"], value_name = "URL", hide = true, conflicts_with = "url")]
    pub base_url: Option<String>,

    #[arg(long, hide = true, conflicts_with_all = ["url", "base_url"], requires = "port")]
    pub host: Option<String>,

    #[arg(long, hide = true, conflicts_with_all = ["url", "base_url"])]
    pub port: Option<u16>,

    /// Model to ask for [default: the only one that the server offers]
    #[arg(help_heading = "Server", short, long, aliases = ["served-model-name", "api-model-name"])]
    pub model: Option<String>,

    /// API to benchmark [default: chat]
    #[arg(help_heading = "Server", long, value_parser = ApiWord)]
    pub api: Option<Api>,

    #[arg(long, hide = true, value_name = "PATH", conflicts_with = "api")]
    pub endpoint: Option<String>,

    #[command(flatten)]
    pub workload: WorkloadArgs,

    /// Who counts the tokens of made-up prompts
    #[arg(long, value_enum, default_value = "auto", value_name = "WHO")]
    pub prompt_lengths: LengthsWord,

    /// Tell the server to go on past its end-of-text token [default: as the workload has it: yes
    /// for made-up prompts]
    #[arg(long, default_missing_value = "true", num_args = 0..=1, require_equals = true, value_name = "BOOL")]
    pub ignore_eos: Option<bool>,

    /// Whose words ask for structured answers [default: by what the server is]
    #[arg(
        help_heading = "Workload",
        long,
        hide_short_help = true,
        value_parser = form_speeches(),
        value_name = "WHO"
    )]
    pub forms_as: Option<FormSpeech>,

    /// Sampling temperature; "none" sends none [default: 0, and none for the API messages]
    #[arg(long)]
    pub temperature: Option<String>,

    /// Ask for whole answers instead of streams
    #[arg(help_heading = "Server", long)]
    pub no_stream: bool,

    /// Open a new connection for each request; its time counts
    #[arg(help_heading = "Server", long)]
    pub fresh_connections: bool,

    /// Extra header, "name: value"; may be repeated. Values are not stored, but for a few that are
    /// known to be no secrets
    #[arg(help_heading = "Server", short = 'H', long = "header", value_name = "HEADER")]
    pub headers: Vec<String>,

    /// Send no X-Request-Id with each request; one given with --header replaces ours as well
    #[arg(help_heading = "Server", long)]
    pub no_request_id: bool,

    /// Header with the session of each turn of a conversation; may be repeated, "none" sends none. What a
    /// router answers in x-session-token goes back to that agent of the session alone [default:
    /// X-Session-ID]
    #[arg(help_heading = "Server", long = "session-header", value_name = "NAME")]
    pub session_headers: Vec<String>,

    /// The same with a value of your own, NAME=VALUE, with {session} in the value; may be repeated.
    /// Values are not stored
    #[arg(help_heading = "Server", long = "header-per-session", value_name = "HEADER")]
    pub headers_per_session: Vec<String>,

    /// Send what the model thought back in its conversations, in the API's own field
    #[arg(help_heading = "Server", long)]
    pub echo_reasoning: bool,

    /// JSON object merged into each request body, or @FILE; null removes a field
    #[arg(help_heading = "Server", long, alias = "extra-request-body", value_name = "JSON")]
    pub extra_body: Option<String>,

    /// Fail if the server rejects a field of the requests [default: leave it out]
    #[arg(help_heading = "Server", long, hide_short_help = true)]
    pub strict: bool,

    /// Environment variable that holds the API key [default: OPENAI_API_KEY, if set]
    #[arg(help_heading = "Server", long, value_name = "NAME")]
    pub api_key_env: Option<String>,

    /// Do not check the server's certificate
    #[arg(help_heading = "Server", long)]
    pub insecure: bool,

    /// Longest wait for a connection
    #[arg(help_heading = "Time limits", long, default_value = "10s", value_parser = seconds, value_name = "SPAN")]
    pub connect_timeout: f64,

    /// Longest wait for a first token
    #[arg(help_heading = "Time limits", long, default_value = "10m", value_parser = seconds, value_name = "SPAN")]
    pub first_token_timeout: f64,

    /// Longest silence after the first token
    #[arg(help_heading = "Time limits", long, default_value = "2m", value_parser = seconds, value_name = "SPAN")]
    pub idle_timeout: f64,

    /// Longest whole request
    #[arg(help_heading = "Time limits", long, value_parser = seconds, value_name = "SPAN")]
    pub timeout: Option<f64>,

    /// Facts of the server's machine, as inferometer facts -o writes them there [default: those of this
    /// host, if the server is on loopback]
    #[arg(help_heading = "Server", long, value_name = "FILE")]
    pub facts: Option<PathBuf>,

    /// Drive load to a public address
    #[arg(help_heading = "Server", long)]
    pub yes: bool,

    /// Threads that read [default: 1 per 500 users, at most one less than there are processors]
    #[arg(help_heading = "Client", long, value_name = "N")]
    pub readers: Option<usize>,

    /// Processors to which readers are tied, e.g. 1 or 1,2
    #[arg(help_heading = "Client", long, value_delimiter = ',', value_name = "LIST")]
    pub cpus: Vec<usize>,

    /// Send to the microsecond: readers run before all other threads, on processors kept awake;
    /// costs a processor for each reader and needs the right to real-time priority
    #[arg(help_heading = "Client", long)]
    pub precise: bool,

    /// Who stamps what arrives: the kernel, or the reading thread, as on systems whose kernel does not;
    /// how late its stamps are is measured while the load runs
    #[arg(help_heading = "Client", long, default_value = "kernel", hide_short_help = true)]
    pub stamps: Stamps,

    #[command(flatten)]
    pub telemetry: TelemetryArgs,

    #[command(flatten)]
    pub results: ResultArgs,
}

/// What results are called and held against, and where they go.
#[derive(Debug, Clone, Args)]
pub struct ResultArgs {
    /// Latency target: terms such as ttft:p99<500ms,itl:mean<50ms, or a name such as chat, rag, code,
    /// agent, mlperf-llama3.1-8b (all: capacity --list); a bare number is in ms [default: none; of a search: chat, or that of the API]
    #[arg(help_heading = "Results", long, value_name = "TERMS")]
    pub slo: Option<String>,

    #[arg(long, hide = true, num_args = 1.., value_name = "TERM", conflicts_with = "slo")]
    pub goodput: Vec<String>,

    /// Name of the run
    #[arg(help_heading = "Results", long, alias = "label")]
    pub name: Option<String>,

    /// What was set that a client cannot see, such as gpu=L40S or cc=on: reports group and compare
    /// by it; may be repeated
    #[arg(help_heading = "Results", long = "tag", alias = "metadata", value_parser = parse_tag, value_name = "NAME=VALUE")]
    pub tags: Vec<(String, String)>,

    /// The cell of a plan, written by `plan run`.
    #[arg(long, hide = true, value_name = "PLAN/CELL/REPEAT/ATTEMPT")]
    pub plan_cell: Option<ifm_core::PlanCell>,

    /// Also write a report: .html, .md, .json, .csv, .svg or .png
    #[arg(help_heading = "Results", short, long, value_name = "FILE")]
    pub out: Vec<PathBuf>,

    /// Also write another tool's file at the end, as `export --as` has them, such as vllm:result.json; may be
    /// repeated. {model} and {date} in its name are filled in. vllm and sglang have options, as in
    /// vllm?backend=openai-chat&metrics=ttft,e2el&percentiles=50,99&detailed=no:result.json
    #[arg(help_heading = "Results", long = "export", hide_short_help = true, value_parser = ExportAsk::parse, value_name = "FORMAT:FILE")]
    pub exports: Vec<ExportAsk>,

    /// The same at the end of a file that may be there, for formats of a line for each result
    #[arg(help_heading = "Results", long = "export-append", hide_short_help = true, value_parser = ExportAsk::parse, value_name = "FORMAT:FILE")]
    pub appended: Vec<ExportAsk>,

    /// What goes to standard output
    #[arg(help_heading = "Results", short, long, value_enum, default_value = "text")]
    pub format: Format,

    /// The same as --format json; --json=requests for one line per finished request
    #[arg(help_heading = "Results", long, value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "document", conflicts_with = "format", value_name = "KIND")]
    pub json: Option<JsonKind>,

    /// Folder of stored runs [default: .inferometer/runs]
    #[arg(help_heading = "Results", long, value_name = "DIR", env = "INFEROMETER_STORE")]
    pub store: Option<PathBuf>,

    /// Keep generated texts in the stored run
    #[arg(help_heading = "Results", long)]
    pub keep_text: bool,

    /// No progress lines
    #[arg(help_heading = "Results", short = 's', long)]
    pub quiet: bool,

    /// Show the run on the full screen while it goes on; q stops it, ? helps
    #[arg(help_heading = "Results", long, conflicts_with = "quiet")]
    pub tui: bool,

    /// No colour (also: NO_COLOR)
    #[arg(help_heading = "Results", long)]
    pub no_color: bool,

    /// Only ASCII characters
    #[arg(help_heading = "Results", long)]
    pub ascii: bool,
}

impl ResultArgs {
    /// The files of other tools that the run is to leave.
    pub fn exports(&self) -> Vec<ExportAsk> {
        let appended = self.appended.iter().map(|ask| ask.clone().appends(true));
        self.exports.iter().cloned().chain(appended).collect()
    }

    /// The output format, `--json` folded in.
    pub fn output(&self) -> Format {
        JsonKind::or(self.json, self.format)
    }
}
