//! All telemetry sources of a run: found once, read repeatedly.

use super::ask::{MeteredServer, MetricsAsk, PowerAsk, TelemetryAsk};
use ifm_core::series::Signal;
use ifm_probe::server::PageReader;
use ifm_telemetry::drm::Cards;
use ifm_telemetry::engine::{self, ENGINES, Engine};
use ifm_telemetry::nvml::Gpus;
use ifm_telemetry::rapl::Zones;
use ifm_telemetry::{DeviceSource, Page, Reading, dcgm, drm, rapl};
use std::path::Path;

/// Number of consecutive failures after which a page is no longer read.
const FAILURES_MAX: u32 = 10;
/// The source name in the series of a stated power.
const STATED: &str = "stated by the user";

/// What is not recorded and why, and whether it was requested by name.
pub type Absent = Vec<(String, bool)>;

/// The sources of a run.
#[derive(Default)]
pub struct Sources {
    counters: Option<Counters>,
    exporter: Option<Watched>,
    devices: Vec<Box<dyn DeviceSource>>,
    stated_w: Option<f64>,
}

/// The server's page, and its kind.
struct Counters {
    page: Watched,
    engine: &'static Engine,
}

/// A page with its failures.
struct Watched {
    reader: PageReader,
    failures: u32,
}

impl Watched {
    fn new(reader: PageReader) -> Watched {
        Watched { reader, failures: 0 }
    }

    fn read(&mut self) -> Option<String> {
        if self.failures >= FAILURES_MAX {
            return None;
        }
        let text = self.reader.read().ok();
        self.failures = if text.is_some() { 0 } else { self.failures + 1 };
        text
    }
}

impl Sources {
    /// Looks for the requested sources. Without a server, this host's devices do the work.
    pub fn find(ask: &TelemetryAsk, server: Option<&MeteredServer<'_>>) -> (Sources, Absent) {
        let mut sources = Sources::default();
        let mut absent = Absent::new();
        match server.map_or(Ok(None), |server| counters(ask, server)) {
            Ok(counters) => sources.counters = counters,
            Err(why) => absent.push((why, matches!(ask.metrics, MetricsAsk::At(_)))),
        }
        let mut addresses = server.into_iter().flat_map(|server| server.addresses);
        let is_loopback = addresses.all(|address| address.ip().is_loopback());
        match &ask.power {
            PowerAsk::Off => {}
            PowerAsk::IfLoopback if !is_loopback => absent.push((
                "power: the server is not on loopback (--power local if it runs on this host, \
                 --power-url for an exporter on its own)"
                    .to_owned(),
                false,
            )),
            PowerAsk::IfLoopback => match server.map_or(Computes::Anywhere, computes) {
                Computes::Anywhere => sources.find_devices(None, false, &mut absent),
                Computes::OnProcessors => {
                    absent.extend(sources.find_processors().map(|why| (why, false)));
                }
                Computes::Nowhere => absent.push((
                    "power: a simulated server draws none (--power-watts states it)".to_owned(),
                    false,
                )),
            },
            PowerAsk::Local(gpus) => {
                sources.find_devices(gpus.as_deref(), true, &mut absent);
            }
            PowerAsk::Stated(watts) => sources.stated_w = Some(*watts),
            PowerAsk::Exporter(url) => match exporter(server, url) {
                Ok(page) => sources.exporter = Some(page),
                Err(why) => absent.push((why, true)),
            },
        }
        (sources, absent)
    }

    /// GPUs reported by the driver, or else by the kernel; and the processors.
    fn find_devices(&mut self, gpus: Option<&[u32]>, is_asked: bool, absent: &mut Absent) {
        let mut why = Vec::new();
        match Gpus::of_driver(crate::facts::library().as_deref(), gpus) {
            Ok(found) => self.devices.push(Box::new(found)),
            Err(reason) => {
                why.push(reason);
                match Cards::find(Path::new(drm::ROOT), gpus) {
                    Ok(found) => self.devices.push(Box::new(found)),
                    Err(reason) => why.push(reason),
                }
            }
        }
        let is_unmet = gpus.is_some() && self.devices.is_empty();
        let of_processors = self.find_processors();
        let nothing = is_asked && (is_unmet || self.devices.is_empty());
        let why = why.into_iter().map(|why| format!("power: {why}"));
        absent.extend(why.chain(of_processors).map(|why| (why, nothing)));
    }

    /// The processors; or why not, if they report nothing.
    fn find_processors(&mut self) -> Option<String> {
        match Zones::find(Path::new(rapl::ROOT)) {
            Ok(found) => self.devices.push(Box::new(found)),
            Err(reason) => return Some(format!("power: {reason}")),
        }
        None
    }

    /// What is recorded, as text.
    pub fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        words.extend(
            self.counters.as_ref().map(|found| format!("/metrics ({})", found.engine.name)),
        );
        words.extend(self.devices.iter().map(|device| device.words()));
        words.extend(self.exporter.as_ref().map(|page| format!("GPUs of {}", page.reader.url())));
        words.extend(self.stated_w.map(|watts| format!("{watts} W as stated")));
        words
    }

    /// The current values of all sources.
    pub fn read(&mut self) -> Vec<Reading> {
        let mut readings = Vec::new();
        if let Some(counters) = &mut self.counters
            && let Some(text) = counters.page.read()
        {
            readings.extend(counters.engine.read(&Page::read(&text)));
        }
        if let Some(text) = self.exporter.as_mut().and_then(Watched::read) {
            readings.extend(dcgm::read(&Page::read(&text)));
        }
        readings.extend(self.devices.iter_mut().flat_map(|device| device.read()));
        readings
            .extend(self.stated_w.map(|watts| Reading::new(STATED, Signal::StatedPower, watts)));
        readings
    }
}

/// Which devices of its host a server computes on.
enum Computes {
    /// Unknown: on any available device.
    Anywhere,
    /// The embedded engine: on no GPU, whatever one draws meanwhile.
    OnProcessors,
    /// A simulated server: on no device of this host.
    Nowhere,
}

fn computes(server: &MeteredServer<'_>) -> Computes {
    let info = server.info;
    let is_ours = info.kind.as_deref() == Some("inferometer");
    match is_ours {
        true if info.is_simulated() => Computes::Nowhere,
        true => Computes::OnProcessors,
        false => Computes::Anywhere,
    }
}

/// The page of the server's metrics, if a known format is found there.
fn counters(ask: &TelemetryAsk, server: &MeteredServer<'_>) -> Result<Option<Counters>, String> {
    let root = &server.root;
    let url = match &ask.metrics {
        MetricsAsk::Off => return Ok(None),
        MetricsAsk::At(url) => url.clone(),
        MetricsAsk::Tried => {
            let kind = server.info.kind.as_deref();
            let known = ENGINES.iter().find(|engine| Some(engine.name) == kind);
            format!("{root}{}", known.map_or("/metrics", |engine| engine.path))
        }
    };
    // Keys are sent only to the server that they are for.
    let is_server = url.strip_prefix(root.as_str()).is_some_and(|path| path.starts_with('/'));
    let (key, headers) = match is_server {
        true => (server.authorization.map(str::to_owned), server.headers.to_vec()),
        false => (None, Vec::new()),
    };
    let reader = PageReader::new(url, server.insecure, key, headers);
    let text = reader.read().map_err(|error| format!("the server's counters: {error}"))?;
    match engine::recognise(&Page::read(&text)) {
        Some(engine) => Ok(Some(Counters { page: Watched::new(reader), engine })),
        None => {
            Err(format!("the server's counters: {} contains none of a known server", reader.url()))
        }
    }
}

fn exporter(server: Option<&MeteredServer<'_>>, url: &str) -> Result<Watched, String> {
    let insecure = server.is_some_and(|server| server.insecure);
    let reader = PageReader::new(url.to_owned(), insecure, None, Vec::new());
    let text = reader.read().map_err(|error| format!("power: {error}"))?;
    match dcgm::read(&Page::read(&text)).is_empty() {
        true => Err(format!("power: {url} contains no fields of a DCGM exporter")),
        false => Ok(Watched::new(reader)),
    }
}
