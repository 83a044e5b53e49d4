//! The flags of every server of inferometer, and its lifetime.
//!
//! Not here: the engine or simulation (`serve`, `serve_simulated`).

use crate::exit::{Code, Failure};
use crate::terminal;
use clap::Args;
use ifm_serve::{
    Backend, BrowserAccess, Faults, ImageTokens, MediaOptions, ServeOptions, Shutdown, serve,
};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

/// Maximum cost of a second of audio or a million pixels: tokens, milliseconds.
const MEDIA_COST_MAX: f64 = 1e6;

/// Files that the process opens besides connections: models, standard streams, selectors.
const OWN_FILES: usize = 64;
/// Printed where other machines can use the server without a key.
const OPEN_TO_ALL: &str = "warning: everyone who can reach this address can use the server, because it requires no key\n\
                           hint: set a key with --api-key-env NAME, or listen on 127.0.0.1";

/// The address, the faults and the extra fields of a server.
#[derive(Debug, Args)]
pub struct ServingArgs {
    /// Random seed for weights, words and which requests get faults
    #[arg(long, default_value_t = 0)]
    pub seed: u64,

    /// Address to listen on
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    pub host: IpAddr,

    /// Port to listen on; 0 picks a free one
    #[arg(long, default_value_t = 8000)]
    pub port: u16,

    /// Model name in requests [default: its own]
    #[arg(long, value_name = "NAME")]
    pub served_model_name: Option<String>,

    /// Environment variable that contains the key required in requests
    #[arg(long, value_name = "NAME")]
    pub api_key_env: Option<String>,

    /// Allow web pages of this origin, such as https://chat.example, or * for all; repeatable
    /// [default: pages of this machine]
    #[arg(long, value_name = "ORIGIN", value_parser = BrowserAccess::parse_origin)]
    pub allow_origin: Vec<String>,

    /// Allow clients that reach the server by this host name, or * for all; repeatable
    /// [default: localhost and addresses]
    #[arg(long, value_name = "HOST")]
    pub allow_host: Vec<String>,

    /// Inject faults, such as 429:0.05,stall:0.01:2s,no-usage
    ///
    /// docs/reference/serve.md describes each
    #[arg(long, value_name = "LIST")]
    pub fault: Option<String>,

    /// Grammar compile time, milliseconds [default: 0; with --sim the constant grammar_compile_ms]
    ///
    /// The first request of each structured form waits this long
    #[arg(long, value_name = "MS")]
    pub form_compile_ms: Option<u64>,

    /// Report times in each answer, as vLLM does with this flag
    #[arg(long)]
    pub enable_per_request_metrics: bool,

    /// Tokens per image and video frame: a number, or qwen2-vl (its rule)
    #[arg(long, value_name = "RULE", default_value = "256")]
    pub image_tokens: ImageTokens,

    /// Tokens per second of audio
    #[arg(long, value_name = "TOKENS", default_value_t = MediaOptions::default().audio_tokens_s)]
    pub audio_tokens_s: f64,

    /// Processing time per million pixels before a request is submitted, milliseconds
    #[arg(long, value_name = "MS", default_value_t = 0.0)]
    pub media_ms_per_mpixel: f64,

    /// Disable the media cache: repeated media take as long as new ones
    #[arg(long)]
    pub no_media_cache: bool,

    /// End when standard input closes (for a parent process)
    #[arg(long, hide = true)]
    pub until_stdin_closes: bool,
}

impl ServingArgs {
    /// The flags, checked before a model is loaded.
    ///
    /// # Errors
    /// Unknown faults, or a missing key.
    pub fn checked(&self) -> Result<Serving<'_>, Failure> {
        let faults = self.fault.as_deref().map(|list| Faults::parse(list, self.seed)).transpose();
        let faults = faults.map_err(|error| Failure::usage(format!("--fault: {error}")))?;
        let api_key = self.api_key_env.as_deref().map(key).transpose()?;
        let media = self.media()?;
        let form_compile = Duration::from_millis(self.form_compile_ms.unwrap_or(0));
        let faults = faults.unwrap_or_default();
        Ok(Serving { args: self, faults, api_key, media, form_compile })
    }

    fn media(&self) -> Result<MediaOptions, Failure> {
        let (tokens, ms) = (self.audio_tokens_s, self.media_ms_per_mpixel);
        for (flag, value) in [("--audio-tokens-s", tokens), ("--media-ms-per-mpixel", ms)] {
            if !(0.0..=MEDIA_COST_MAX).contains(&value) {
                let most = format!("use a number from 0 to {MEDIA_COST_MAX}");
                return Err(Failure::usage(format!("{flag} is {value}")).hint(most));
            }
        }
        Ok(MediaOptions {
            image_tokens: self.image_tokens,
            audio_tokens_s: tokens,
            ms_per_mpixel: ms,
            has_cache: !self.no_media_cache,
        })
    }
}

/// Checked flags.
#[derive(Debug)]
pub struct Serving<'a> {
    args: &'a ServingArgs,
    faults: Faults,
    api_key: Option<String>,
    media: MediaOptions,
    form_compile: Duration,
}

impl Serving<'_> {
    /// The same, with the compile time of each grammar from a model of the server; the command line
    /// takes precedence.
    pub fn with_form_compile(mut self, takes: Option<Duration>) -> Self {
        if let (None, Some(takes)) = (self.args.form_compile_ms, takes) {
            self.form_compile = takes;
        }
        self
    }

    /// Serves until a signal; `line` describes the server.
    ///
    /// # Errors
    /// An address that is not available.
    pub fn serve(self, backend: Backend, line: &str) -> Result<Code, Failure> {
        let Serving { args, faults, api_key, media, form_compile } = self;
        let mut options = ServeOptions::new(SocketAddr::new(args.host, args.port), backend);
        options.api_key = api_key;
        options.browsers =
            BrowserAccess { origins: args.allow_origin.clone(), hosts: args.allow_host.clone() };
        options.limits.connections = connections_max(options.limits.connections);
        options.faults = faults;
        options.media = media;
        options.form_compile = form_compile;
        options.per_request_metrics = args.enable_per_request_metrics;
        options.version = env!("CARGO_PKG_VERSION").to_owned();
        if let Some(name) = &args.served_model_name {
            options.model_name.clone_from(name);
        }
        let shutdown = Shutdown::new();
        watch_signals(&shutdown);
        if args.until_stdin_closes {
            watch_stdin(&shutdown);
        }
        let has_key = options.api_key.is_some();
        let name = options.model_name.clone();
        let served = serve(options, &shutdown, |address| {
            terminal::print(&format!("listening on http://{address}\n"));
            terminal::say(&format!("{name}: {line}"));
            if !address.ip().is_loopback() && !has_key {
                terminal::say(OPEN_TO_ALL);
            }
        });
        served.map_err(|error| Failure::usage(error.to_string()))?;
        Ok(Code::Done)
    }
}

/// Connections for which this process may open files, after those that it needs for itself.
fn connections_max(wanted: usize) -> usize {
    match ifm_sys::host::raise_open_files() {
        None => wanted,
        Some(files) => {
            let left = usize::try_from(files).unwrap_or(usize::MAX).saturating_sub(OWN_FILES);
            wanted.min(left.max(1))
        }
    }
}

fn key(name: &str) -> Result<String, Failure> {
    match std::env::var(name) {
        Ok(key) if !key.trim().is_empty() => Ok(key.trim().to_owned()),
        _ => Err(Failure::usage(format!("the environment variable {name} contains no key"))),
    }
}

/// The first signal shuts the server down in order, the second at once.
fn watch_signals(shutdown: &Shutdown) {
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]) else { return };
    let shutdown = shutdown.clone();
    std::thread::spawn(move || {
        let mut caught = 0;
        for _ in signals.forever() {
            caught += 1;
            if caught > 1 {
                std::process::exit(Code::Interrupted as i32);
            }
            shutdown.request();
        }
    });
}

fn watch_stdin(shutdown: &Shutdown) {
    let shutdown = shutdown.clone();
    std::thread::spawn(move || {
        let mut byte = [0];
        // Data and errors do not matter: only the end of the stream counts, and an error is one.
        while matches!(std::io::stdin().read(&mut byte), Ok(count) if count > 0) {}
        shutdown.request();
    });
}
