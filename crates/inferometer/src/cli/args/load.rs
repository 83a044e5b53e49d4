//! The flags of every command that drives load.

use crate::cli::args::api_word::ApiWord;
use crate::cli::args::telemetry::TelemetryArgs;
use crate::cli::args::workload::WorkloadArgs;
use crate::exit::Failure;
use crate::job::client_host::Stamps;
use crate::job::prompt_lengths::LengthsWord;
use crate::output::Format;
use crate::output::tool_files::ExportAsk;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use ifm_core::duration::seconds;
use ifm_core::parse_tag;
use ifm_core::spec::Api;
use ifm_core::tag::check_name;
use ifm_interop::ExportOptions;
use ifm_report::VllmLines;
use ifm_wire::dialect::FormSpeech;
use std::path::PathBuf;

/// Parses the server dialect of structured-output fields.
fn form_speeches() -> impl TypedValueParser<Value = FormSpeech> {
    PossibleValuesParser::new(FormSpeech::ALL.map(FormSpeech::word))
        .try_map(|word| FormSpeech::from_word(&word).ok_or("no such dialect"))
}

/// Parses `metrics=ttft,tpot&percentiles=50,99`.
fn vllm_lines(text: &str) -> Result<VllmLines, String> {
    let options = ExportOptions::parse(text)?;
    let own = VllmLines::default();
    Ok(VllmLines {
        metrics: options.metrics.unwrap_or(own.metrics),
        percentiles: options.percentiles.unwrap_or(own.percentiles),
    })
}

/// Values of `--json`.
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

/// The server, the workload, and the destination of results.
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

    /// Model to request [default: the only one that the server offers]
    #[arg(help_heading = "Server", short, long, aliases = ["served-model-name", "api-model-name"])]
    pub model: Option<String>,

    /// API to benchmark [default: chat]
    #[arg(help_heading = "Server", long, value_parser = ApiWord)]
    pub api: Option<Api>,

    #[arg(long, hide = true, value_name = "PATH", conflicts_with = "api")]
    pub endpoint: Option<String>,

    #[command(flatten)]
    pub workload: WorkloadArgs,

    /// Tokenizer used to size synthetic prompts
    #[arg(long, value_enum, default_value = "auto", value_name = "WHO")]
    pub prompt_lengths: LengthsWord,

    /// Generate past the end-of-text token [default: set by the workload: yes for synthetic
    /// prompts]
    #[arg(long, default_missing_value = "true", num_args = 0..=1, require_equals = true, value_name = "BOOL")]
    pub ignore_eos: Option<bool>,

    /// Server dialect for structured-output fields [default: from the server's identity]
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

    /// Request whole answers instead of streams
    #[arg(help_heading = "Server", long)]
    pub no_stream: bool,

    /// Open a new connection for each request; its time counts
    #[arg(help_heading = "Server", long)]
    pub fresh_connections: bool,

    /// Extra header, "name: value"; repeatable
    ///
    /// Values are not stored, except for a few headers known to contain no secrets
    #[arg(help_heading = "Server", short = 'H', long = "header", value_name = "HEADER")]
    pub headers: Vec<String>,

    /// Send no X-Request-Id header
    ///
    /// One given with --header also replaces inferometer's own
    #[arg(help_heading = "Server", long)]
    pub no_request_id: bool,

    /// Header with the session ID of each conversation turn; repeatable [default: X-Session-ID]
    ///
    /// "none" sends none. The value that a router returns in x-session-token is sent back only by
    /// that agent of the session
    #[arg(help_heading = "Server", long = "session-header", value_name = "NAME")]
    pub session_headers: Vec<String>,

    /// Session header with your own value, NAME=VALUE with {session} in it; repeatable
    ///
    /// Values are not stored
    #[arg(help_heading = "Server", long = "header-per-session", value_name = "HEADER")]
    pub headers_per_session: Vec<String>,

    /// Send reasoning content back in later turns, in the API's own field
    #[arg(help_heading = "Server", long)]
    pub echo_reasoning: bool,

    /// JSON object to merge into request bodies, or @FILE; null removes a field
    #[arg(help_heading = "Server", long, alias = "extra-request-body", value_name = "JSON")]
    pub extra_body: Option<String>,

    /// Fail if the server rejects a request field [default: leave it out]
    #[arg(help_heading = "Server", long, hide_short_help = true)]
    pub strict: bool,

    /// Environment variable that contains the API key [default: OPENAI_API_KEY, if set]
    #[arg(help_heading = "Server", long, value_name = "NAME")]
    pub api_key_env: Option<String>,

    /// Do not verify the server's certificate
    #[arg(help_heading = "Server", long)]
    pub insecure: bool,

    /// Maximum wait for a connection
    #[arg(help_heading = "Time limits", long, default_value = "10s", value_parser = seconds, value_name = "SPAN")]
    pub connect_timeout: f64,

    /// Maximum wait for a first token
    #[arg(help_heading = "Time limits", long, default_value = "10m", value_parser = seconds, value_name = "SPAN")]
    pub first_token_timeout: f64,

    /// Maximum silence after the first token
    #[arg(help_heading = "Time limits", long, default_value = "2m", value_parser = seconds, value_name = "SPAN")]
    pub idle_timeout: f64,

    /// Maximum time of a whole request
    #[arg(help_heading = "Time limits", long, value_parser = seconds, value_name = "SPAN")]
    pub timeout: Option<f64>,

    /// Facts file of the server's machine, written there by inferometer facts -o [default: this
    /// host, if the server is on loopback]
    #[arg(help_heading = "Server", long, value_name = "FILE")]
    pub facts: Option<PathBuf>,

    /// Allow load on a public address
    #[arg(help_heading = "Server", long)]
    pub yes: bool,

    /// Number of reader threads [default: 1 per 500 users, maximum one less than the processors]
    #[arg(help_heading = "Client", long, value_name = "N")]
    pub readers: Option<usize>,

    /// Processors to pin the readers to, e.g. 1 or 1,2
    #[arg(help_heading = "Client", long, value_delimiter = ',', value_name = "LIST")]
    pub cpus: Vec<usize>,

    /// Send with microsecond precision; requires permission for real-time priority
    ///
    /// Readers run before all other threads, on processors kept awake. This costs one processor per
    /// reader
    #[arg(help_heading = "Client", long)]
    pub precise: bool,

    /// Source of receive timestamps
    ///
    /// The reading thread is also used on systems whose kernel takes none. The delay of its
    /// timestamps is measured while the load runs
    #[arg(help_heading = "Client", long, default_value = "kernel", hide_short_help = true)]
    pub stamps: Stamps,

    #[command(flatten)]
    pub telemetry: TelemetryArgs,

    #[command(flatten)]
    pub results: ResultArgs,
}

/// The target for results, and their destination.
#[derive(Debug, Clone, Args)]
pub struct ResultArgs {
    /// Latency target: terms such as ttft:p99<500ms,speed:p10>20, or a name [default: none; for a
    /// search chat, or that of the API]
    ///
    /// Names are for example chat, rag, code, agent and mlperf-llama3.1-8b (all: capacity --list).
    /// A bare number is in ms
    #[arg(help_heading = "Results", long, value_name = "TERMS")]
    pub slo: Option<String>,

    #[arg(long, hide = true, num_args = 1.., value_name = "TERM", conflicts_with = "slo")]
    pub goodput: Vec<String>,

    /// Name of the run
    #[arg(help_heading = "Results", long, alias = "label", value_parser = check_name)]
    pub name: Option<String>,

    /// Tag the run with a setting the client cannot detect, e.g. gpu=L40S
    ///
    /// Reports group and compare by tags. Repeatable
    #[arg(help_heading = "Results", long = "tag", alias = "metadata", value_parser = parse_tag, value_name = "NAME=VALUE")]
    pub tags: Vec<(String, String)>,

    /// The cell of a plan, written by `plan run`.
    #[arg(long, hide = true, value_name = "PLAN/CELL/REPEAT/ATTEMPT")]
    pub plan_cell: Option<ifm_core::PlanCell>,

    /// Also write a report: .html, .md, .json, .csv, .svg or .png
    #[arg(help_heading = "Results", short, long, value_name = "FILE")]
    pub out: Vec<PathBuf>,

    /// Also write another tool's file at the end, such as vllm:result.json; repeatable
    ///
    /// Formats are as in `export --as`. {model} and {date} in the file name are filled in. vllm
    /// and sglang have options, as in
    /// vllm?backend=openai-chat&metrics=ttft,e2el&percentiles=50,99&detailed=no:result.json
    #[arg(help_heading = "Results", long = "export", hide_short_help = true, value_parser = ExportAsk::parse, value_name = "FORMAT:FILE")]
    pub exports: Vec<ExportAsk>,

    /// Append to another tool's file, for formats with one line per result
    #[arg(help_heading = "Results", long = "export-append", hide_short_help = true, value_parser = ExportAsk::parse, value_name = "FORMAT:FILE")]
    pub appended: Vec<ExportAsk>,

    /// Format of standard output
    #[arg(help_heading = "Results", short, long, value_enum, default_value = "text")]
    pub format: Format,

    /// Latencies and percentiles of --format vllm, written by `as`.
    #[arg(long, hide = true, value_name = "metrics=LIST&percentiles=LIST", value_parser = vllm_lines)]
    pub vllm_lines: Option<VllmLines>,

    /// The same as --format json; --json=requests for one line per finished request
    #[arg(help_heading = "Results", long, value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "document", conflicts_with = "format", value_name = "KIND")]
    pub json: Option<JsonKind>,

    /// Folder of stored runs [default: .inferometer/runs]
    #[arg(help_heading = "Results", long, value_name = "DIR", env = "INFEROMETER_STORE")]
    pub store: Option<PathBuf>,

    /// Keep generated texts in the stored run
    #[arg(help_heading = "Results", long)]
    pub keep_text: bool,

    /// Print no progress lines
    #[arg(help_heading = "Results", short = 's', long)]
    pub quiet: bool,

    /// Show a full-screen live view; q stops the run, ? shows help
    #[arg(help_heading = "Results", long, conflicts_with = "quiet")]
    pub tui: bool,

    /// Print without color (also: NO_COLOR)
    #[arg(help_heading = "Results", long)]
    pub no_color: bool,

    /// Print only ASCII characters (default on terminals without UTF-8)
    #[arg(help_heading = "Results", long)]
    pub ascii: bool,
}

impl ResultArgs {
    /// The files of other tools to write after the run.
    pub fn exports(&self) -> Vec<ExportAsk> {
        let appended = self.appended.iter().map(|ask| ask.clone().appends(true));
        self.exports.iter().cloned().chain(appended).collect()
    }

    /// Rejects flags of a stored run, for an answer that stores none. `what` is the cause.
    ///
    /// # Errors
    /// The first such flag.
    pub fn refuse_run_flags(&self, what: &str) -> Result<(), Failure> {
        let format = self.output().to_possible_value();
        let format =
            format.map_or_else(String::new, |word| format!("--format {}", word.get_name()));
        let has_format = matches!(self.output(), Format::Text | Format::Json | Format::Md);
        let given = [
            ("--name", self.name.is_some()),
            ("--tag", !self.tags.is_empty()),
            ("--export", !self.exports().is_empty()),
            ("--keep-text", self.keep_text),
            ("--tui", self.tui),
            (format.as_str(), !has_format),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((flag, _)) => {
                Err(Failure::usage(format!("{flag} is not possible with {what}: no run is stored"))
                    .hint("remove it; --json and --format md print the answer in other forms"))
            }
        }
    }

    /// The output format, `--json` folded in.
    pub fn output(&self) -> Format {
        JsonKind::or(self.json, self.format)
    }
}
