//! A simulated server, instead of a measured one.
//!
//! ```text
//! flags ──► SimulatedDeployment ──► drive_level: the requests of a run, in virtual time ──► records
//!              ▲
//!         Calibration
//! ```
//!
//! Everything else of a run is unchanged: workload, loads, store, summaries. Not here: the
//! simulation (`ifm-sim`), and how predicted runs are reported (`ifm-metrics`, `ifm-report`).

use crate::content::Contents;
use crate::drive::{Flow, drive_level};
use crate::grammars::Grammars;
use crate::range::Range;
use ifm_core::FormSpec;
use ifm_core::Prediction;
use ifm_core::manifest::ServerInfo;
use ifm_core::prediction::{ClosedForm, PredictedLevel};
use ifm_core::spec::LoadSpec;
use ifm_drive::{DriveError, LevelPlan, LevelResult, Progress, RequestSource, Sink, Stop};
use ifm_sim::{Deployment, Kind, Policy, Simulation, Spread, Stats, steady};
use std::collections::BTreeMap;

/// A deployment, and the source of its constants.
#[derive(Debug, Clone)]
pub struct SimulatedDeployment {
    /// The simulated deployment.
    pub deployment: Deployment,
    /// The kind of its server.
    pub kind: Kind,
    /// `defaults`, or the name of a calibration.
    pub constants_from: String,
    /// What the rows of the calibration do not show, one sentence each.
    pub unsaid: Vec<String>,
    /// Alternative sets of the calibration's constants; absent without a calibration.
    pub spread: Option<Spread>,
}

impl SimulatedDeployment {
    /// The address in a run of it.
    pub fn address(&self) -> String {
        let setup = &self.deployment.setup;
        format!("simulated://{}/{}", setup.machine().id, setup.model().id)
    }

    /// What a run records about its server.
    pub fn server(&self) -> ServerInfo {
        ServerInfo {
            kind: Some("simulated".to_owned()),
            models: vec![self.deployment.setup.model().id.clone()],
            ..ServerInfo::default()
        }
    }

    /// The mark of a run.
    pub fn prediction(&self) -> Prediction {
        let (setup, settings) = (&self.deployment.setup, &self.deployment.settings);
        let constants = self.deployment.step.constants().named();
        Prediction {
            machine: setup.machine().name.clone(),
            model: setup.model().id.clone(),
            quantization: setup.precision().weights.id.to_owned(),
            kv: setup.precision().kv.id.to_owned(),
            gpus: setup.gpus() as u32,
            replicas: settings.replicas,
            server: self.kind.word().to_owned(),
            constants_from: self.constants_from.clone(),
            constants: constants
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            settings: self.settings(),
            levels: Vec::new(),
        }
    }

    /// The settings of the server, as text.
    fn settings(&self) -> BTreeMap<String, String> {
        let settings = &self.deployment.settings;
        let on = |is_on: bool| if is_on { "on" } else { "off" }.to_owned();
        let mut words = BTreeMap::from([
            ("policy".to_owned(), settings.policy.word().to_owned()),
            ("step_tokens".to_owned(), settings.step_tokens.to_string()),
            ("sequences".to_owned(), settings.sequences.to_string()),
            ("kv_tokens".to_owned(), self.deployment.kv_tokens().to_string()),
            ("prefix_cache".to_owned(), on(settings.prefix_cache)),
        ]);
        let mut add = |name: &str, value: String| _ = words.insert(name.to_owned(), value);
        if let Some(piece) = settings.prompt_piece {
            add("prompt_piece_tokens", piece.to_string());
        }
        if settings.replicas > 1 {
            add("router", settings.router.word().to_owned());
        }
        if let Some(drafts) = settings.speculation {
            add("draft_tokens", drafts.drafts.to_string());
            add("draft_acceptance", drafts.acceptance.to_string());
            add("draft_share", drafts.draft_share.to_string());
        }
        if let Some(apart) = settings.disaggregation {
            add("prefill_replicas", apart.prefill_replicas.to_string());
            add("transfer_gb_s", apart.transfer_gb_s.to_string());
        }
        if settings.jitter_share > 0.0 {
            add("jitter_share", settings.jitter_share.to_string());
        }
        words
    }
}

/// A simulation that answers the levels of a run, one after another: its cache keeps its content.
#[derive(Debug)]
pub struct Simulated {
    simulation: Simulation,
    contents: Contents,
    grammars: Grammars,
    levels: Vec<PredictedLevel>,
    spread: Option<Spread>,
    ranges: Vec<Range>,
}

impl Simulated {
    /// An idle server that is asked for answers of these forms.
    pub fn new(deployed: &SimulatedDeployment, forms: &[FormSpec]) -> Simulated {
        let takes_s = deployed.deployment.step.constants().grammar_compile_s;
        Simulated {
            simulation: Simulation::new(deployed.deployment.clone()),
            contents: Contents::default(),
            grammars: Grammars::new(takes_s, forms),
            levels: Vec::new(),
            spread: deployed.spread.clone(),
            ranges: Vec::new(),
        }
    }

    /// Answers a level.
    ///
    /// # Errors
    /// As `drive_level`.
    pub fn drive(
        &mut self,
        plan: &LevelPlan,
        load: &LoadSpec,
        source: &mut dyn RequestSource,
        sink: &mut dyn Sink,
        seen: (&Stop, &Progress),
    ) -> Result<LevelResult, DriveError> {
        let server = (&mut self.simulation, &mut self.contents, &mut self.grammars);
        let (result, flow) = drive_level(plan, server, source, sink, seen)?;
        self.levels.push(level_seen(plan.level, load, &self.simulation, &flow));
        if let Some((spread, lengths)) = self.spread.as_ref().zip(flow.lengths()) {
            let deployment = self.simulation.deployment();
            self.ranges.extend(Range::of(deployment, spread, (load, lengths)));
        }
        Ok(result)
    }

    /// Virtual time since the beginning, nanoseconds.
    pub fn now_ns(&self) -> u64 {
        self.simulation.now_ns()
    }

    /// What a calibration leaves uncertain for the levels: one sentence for each uncertain mean.
    pub fn warnings(&self) -> Vec<String> {
        self.ranges.iter().flat_map(Range::warnings).collect()
    }

    /// Its statistics, level by level.
    pub fn into_levels(self) -> Vec<PredictedLevel> {
        self.levels
    }
}

/// Statistics of the simulation during a level.
fn level_seen(level: u16, load: &LoadSpec, simulation: &Simulation, flow: &Flow) -> PredictedLevel {
    let stats = simulation.stats();
    let deployment = simulation.deployment();
    let replicas = f64::from(deployment.settings.replicas);
    PredictedLevel {
        level,
        steps: stats.steps,
        preemptions: stats.preemptions,
        cached_tokens: stats.cached_tokens,
        kv_peak_share: Some(f64::from(stats.blocks_peak) / f64::from(deployment.blocks)),
        batch_mean: (stats.steps > 0).then(|| stats.in_steps / stats.steps as f64),
        closed_form: closed_form(deployment, load, flow, replicas),
        binds: binds(&stats),
    }
}

/// The bottleneck for most of the time. A queue caused by a lack of memory outweighs what steps
/// wait for.
fn binds(stats: &Stats) -> Option<String> {
    let is_short_of_room = stats.preemptions > 0;
    let word = if is_short_of_room { Some("KV capacity") } else { stats.binds() };
    word.map(str::to_owned)
}

/// The means of the level in closed form, if it is a steady one without a cache or drafts.
fn closed_form(
    deployment: &Deployment,
    load: &LoadSpec,
    flow: &Flow,
    replicas: f64,
) -> Option<ClosedForm> {
    let settings = &deployment.settings;
    let is_plain = settings.policy == Policy::Mixed
        && settings.speculation.is_none()
        && settings.disaggregation.is_none();
    if !is_plain || flow.cached_tokens > 0 {
        return None;
    }
    let lengths = flow.lengths()?;
    let steady = match &load.arrivals {
        None => steady::closed_loop(deployment, f64::from(load.concurrency) / replicas, lengths),
        Some(arrivals) => {
            let rate = arrivals.constant_req_per_s()?;
            steady::open_loop(deployment, rate / replicas, lengths)?
        }
    };
    Some(ClosedForm {
        ttft_ms: Some(steady.ttft_s * 1e3),
        itl_ms: Some(steady.itl_s * 1e3),
        output_tok_per_s: Some(steady.output_tok_per_s * replicas),
    })
}
