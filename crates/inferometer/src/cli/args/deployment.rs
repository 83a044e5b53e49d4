//! The flags that describe a simulated server: a machine, a model, and the server's settings.
//!
//! Not here: the load (`workload`), and the result (`ifm_predict`).

use crate::cli::args::setup::SetupArgs;
use crate::exit::Failure;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, value_parser};
use ifm_predict::{Calibration, SimulatedDeployment};
use ifm_roofline::Setup;
use ifm_sim::{
    Constants, Deployment, DeploymentError, Disaggregation, Kind, Policy, Router, Settings,
    Speculation,
};
use ifm_store::Store;

/// Default bandwidth between prefill replicas and those that answer: one network card of 400
/// Gbit/s, GB/s.
const TRANSFER_GB_S: f64 = 50.0;

/// A simulated server.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Deployment")]
pub struct DeploymentArgs {
    #[command(flatten)]
    pub setup: SetupArgs,

    /// Server to simulate: vllm, sglang, llama.cpp, inferometer [default: the calibration's, else
    /// vllm]
    ///
    /// Sets the scheduler and the constants
    #[arg(long, value_name = "KIND", value_parser = |text: &str| text.parse::<Kind>())]
    pub server: Option<Kind>,

    /// Name of the calibration whose constants to use
    ///
    /// Machine, model and settings are also the calibration's, unless a flag sets them
    #[arg(long, value_name = "NAME")]
    pub calibration: Option<String>,

    /// Override a model constant, e.g. bandwidth_share=0.85 or sequence_host_us=90; repeatable
    #[arg(long = "constant", value_parser = constant, value_name = "NAME=VALUE")]
    pub constants: Vec<(String, f64)>,

    /// Maximum requests per step
    #[arg(long, aliases = ["max-running-requests", "parallel"], value_parser = value_parser!(u32).range(1..), value_name = "N")]
    pub max_num_seqs: Option<u32>,

    /// Maximum tokens per step
    #[arg(long, alias = "chunked-prefill-size", value_parser = value_parser!(u32).range(1..), value_name = "TOKENS")]
    pub max_num_batched_tokens: Option<u32>,

    /// Maximum tokens of one prompt per step
    #[arg(long, alias = "long-prefill-token-threshold", value_parser = value_parser!(u32).range(1..), value_name = "TOKENS")]
    pub prompt_piece: Option<u32>,

    /// Scheduling policy: decode-first with chunked prefill, prefill-first, or static batches
    #[arg(long, value_parser = policies(), value_name = "POLICY")]
    pub policy: Option<Policy>,

    /// KV cache size of one replica, tokens [default: what the memory leaves]
    #[arg(long, alias = "max-total-tokens", value_parser = value_parser!(u64).range(16..), value_name = "TOKENS")]
    pub kv_tokens: Option<u64>,

    /// Share of the memory that the server may use
    #[arg(long, alias = "mem-fraction-static", value_name = "SHARE")]
    pub gpu_memory_utilization: Option<f64>,

    /// Disable the prefix cache
    #[arg(long, aliases = ["no-enable-prefix-caching", "disable-radix-cache"])]
    pub no_prefix_cache: bool,

    /// Draft tokens of speculative decoding per step
    #[arg(long, alias = "num-speculative-tokens", value_parser = value_parser!(u32).range(1..), requires = "acceptance", value_name = "N")]
    pub draft_tokens: Option<u32>,

    /// Acceptance probability of a draft token after an accepted one, 0 to 1
    #[arg(long, requires = "draft_tokens", value_name = "SHARE")]
    pub acceptance: Option<f64>,

    /// Time per draft token, as a share of a step without drafts
    #[arg(long, requires = "draft_tokens", default_value_t = 0.0, value_name = "SHARE")]
    pub draft_share: f64,

    /// Number of replicas of the model, sharing one router
    #[arg(long, alias = "data-parallel-size", value_name = "N")]
    pub replicas: Option<u32>,

    /// Routing policy across replicas
    #[arg(long, value_parser = routers(), value_name = "HOW")]
    pub router: Option<Router>,

    /// Number of additional prefill-only replicas (disaggregated prefill)
    #[arg(long, value_name = "N")]
    pub prefill_replicas: Option<u32>,

    /// Bandwidth from prefill replicas to the others, GB/s per prompt
    #[arg(long, requires = "prefill_replicas", default_value_t = TRANSFER_GB_S, value_name = "GB/S")]
    pub transfer_gb_s: f64,

    /// Standard deviation of the step time, as a share of it
    #[arg(long, default_value_t = 0.0, value_name = "SHARE")]
    pub jitter: f64,
}

fn policies() -> impl TypedValueParser<Value = Policy> {
    PossibleValuesParser::new(Policy::ALL.map(Policy::word)).try_map(|word| {
        Policy::ALL.into_iter().find(|policy| policy.word() == word).ok_or("no such policy")
    })
}

fn routers() -> impl TypedValueParser<Value = Router> {
    PossibleValuesParser::new(Router::ALL.map(Router::word)).try_map(|word| {
        Router::ALL.into_iter().find(|router| router.word() == word).ok_or("no such router")
    })
}

/// `bandwidth_share=0.85`, with its name and value checked.
fn constant(text: &str) -> Result<(String, f64), String> {
    let (name, value) = text.split_once('=').ok_or("write it as NAME=VALUE")?;
    let value: f64 = value.trim().parse().map_err(|_| format!("\"{value}\" is not a number"))?;
    let mut any = Constants::NONE_LOST;
    any.set(name.trim(), value)?;
    Ok((name.trim().to_owned(), value))
}

impl DeploymentArgs {
    /// Checks the machine, model, number format and calibration, which a deployment that is merely
    /// impossible has too.
    ///
    /// # Errors
    /// An unknown or ambiguous name.
    pub fn check_names(&self, store: &Store) -> Result<(), Failure> {
        let calibration =
            self.calibration.as_ref().map(|name| Calibration::open(store, name)).transpose()?;
        self.setup_or(calibration.as_ref(), store).map(|_| ())
    }

    /// The deployment, and the text that describes it.
    ///
    /// # Errors
    /// Unknown names, contradictory settings, or a model that does not fit.
    pub fn deployed(&self, store: &Store, seed: u64) -> Result<SimulatedDeployment, Failure> {
        let calibration = match &self.calibration {
            Some(name) => Some(Calibration::open(store, name)?),
            None => None,
        };
        let setup = self.setup_or(calibration.as_ref(), store)?;
        let kind = self.server.or(calibration.as_ref().map(|own| own.server)).unwrap_or(Kind::Vllm);
        let mut constants = match &calibration {
            Some(own) => own.constants()?,
            None => Constants::defaults(kind, &setup),
        };
        for (name, value) in &self.constants {
            constants.set(name, *value).map_err(Failure::usage)?;
        }
        let settings = self.settings(kind, &setup, calibration.as_ref(), seed);
        let deployment = Deployment::new(setup, constants, settings).map_err(|error| {
            let failure = Failure::usage(error.to_string());
            match error {
                DeploymentError::TooLarge { .. } => failure.hint(
                    "more GPUs share it with --tp, --quant stores it smaller, and \
                     --gpu-memory-utilization lets the server use more",
                ),
                DeploymentError::UnknownMemory => {
                    failure.hint("use --kv-tokens, or --gpu NAME,mem=GIB")
                }
                _ => failure,
            }
        })?;
        let mut from = calibration.as_ref().map_or("defaults".to_owned(), |own| own.name.clone());
        if !self.constants.is_empty() {
            from.push_str(", some overridden");
        }
        // Constants set on the command line need not be determined from the rows.
        let own = calibration.filter(|_| self.constants.is_empty());
        let spread = own.as_ref().map(|own| own.spread.spread(constants));
        let unsaid = own.as_ref().map(Calibration::cautions).unwrap_or_default();
        let undetermined = own.map(|own| own.undetermined()).unwrap_or_default();
        if !undetermined.is_empty() {
            from.push_str(&format!(" (not determined: {})", undetermined.join(", ")));
        }
        Ok(SimulatedDeployment { deployment, kind, constants_from: from, unsaid, spread })
    }

    /// The model on the machines; by default, both are from the calibration.
    fn setup_or(&self, calibration: Option<&Calibration>, store: &Store) -> Result<Setup, Failure> {
        let mut asked = self.setup.clone();
        if let Some(own) = calibration {
            if asked.gpu.is_none() {
                asked.gpu = Some(own.gpu.clone());
                asked.tp = asked.tp.or(Some(own.gpus));
            }
            if asked.model.is_none() && asked.config.is_none() {
                return asked.of_calibration(own, store);
            }
        }
        Ok(asked.setup(store)?.0)
    }

    fn settings(
        &self,
        kind: Kind,
        setup: &Setup,
        calibration: Option<&Calibration>,
        seed: u64,
    ) -> Settings {
        let defaults = Settings::defaults(kind, setup);
        let mut settings = match calibration {
            // The KV cache size is that of the calibrated machine and model.
            Some(own) if self.changes_nothing() => own.settings.clone(),
            Some(own) => Settings { kv_tokens: None, ..own.settings.clone() },
            None => defaults,
        };
        settings.step_tokens = self.max_num_batched_tokens.unwrap_or(settings.step_tokens);
        settings.sequences = self.max_num_seqs.unwrap_or(settings.sequences);
        settings.prompt_piece = self.prompt_piece.or(settings.prompt_piece);
        settings.policy = self.policy.unwrap_or(settings.policy);
        settings.kv_tokens = self.kv_tokens.or(settings.kv_tokens);
        settings.memory_share = self.gpu_memory_utilization.unwrap_or(settings.memory_share);
        settings.prefix_cache &= !self.no_prefix_cache;
        settings.replicas = self.replicas.unwrap_or(settings.replicas);
        settings.router = self.router.unwrap_or(settings.router);
        settings.jitter_share = self.jitter;
        settings.seed = seed;
        if let Some((drafts, acceptance)) = self.draft_tokens.zip(self.acceptance) {
            let draft_share = self.draft_share;
            settings.speculation = Some(Speculation { drafts, acceptance, draft_share });
        }
        if let Some(prefill_replicas) = self.prefill_replicas {
            let transfer_gb_s = self.transfer_gb_s;
            settings.disaggregation = Some(Disaggregation { prefill_replicas, transfer_gb_s });
        }
        settings
    }

    /// Whether machine, model and format come from the calibration.
    fn changes_nothing(&self) -> bool {
        let setup = &self.setup;
        setup.gpu.is_none()
            && setup.model.is_none()
            && setup.config.is_none()
            && setup.quant.is_none()
            && setup.tp.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::constant;

    #[test]
    fn constants_are_checked_when_they_are_read() {
        assert_eq!(constant("sequence_host_us=90"), Ok(("sequence_host_us".to_owned(), 90.0)));
        for bad in ["speed=1", "kv_share", "kv_share=fast", "kv_share=-1"] {
            assert!(constant(bad).is_err(), "{bad}");
        }
    }
}
