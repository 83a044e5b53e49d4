//! A deployment: a model on machines, and how its server is set.
//!
//! Not here: what happens in it (`simulation`).

use crate::constants::{Constants, Kind};
use crate::kv::BLOCK_TOKENS;
use crate::step::StepModel;
use ifm_roofline::Setup;
use serde::{Deserialize, Serialize};

/// Bytes that activations take, in addition to those for each token of a step.
const ACTIVATION_BYTES: f64 = 1.5e9;
/// Bytes that activations take for each token of a step.
const ACTIVATION_BYTES_PER_TOKEN: f64 = 8192.0;
/// Length of the sequence by which the room of a token is reckoned, tokens.
const TYPICAL_TOKENS: f64 = 4096.0;
/// Memory from which vLLM takes larger steps, bytes.
const LARGE_MEMORY_BYTES: f64 = 70.0 * 1_073_741_824.0;
/// Most blocks of one replica.
const BLOCKS_MAX: f64 = 64e6;
/// Most replicas.
pub const REPLICAS_MAX: u32 = 1024;

/// Why there is no such deployment.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DeploymentError {
    /// The weights alone are larger than the memory.
    #[error(
        "the weights take {weights_gb:.1} GB on each GPU, and {usable_gb:.1} GB of its memory can be used: {missing_gb:.1} GB are missing"
    )]
    TooLarge {
        /// Weights on each GPU, 1e9 bytes.
        weights_gb: f64,
        /// Memory that may be used, 1e9 bytes.
        usable_gb: f64,
        /// What is missing, 1e9 bytes.
        missing_gb: f64,
    },
    /// Memory of the machine is not known, and neither is the room for keys and values.
    #[error("the memory of this machine is not known: say how many tokens of keys and values fit")]
    UnknownMemory,
    /// Heads of queries that the GPUs cannot share.
    #[error(
        "{gpus} GPUs cannot share the {heads} attention heads of this model: tensor parallelism gives each the same number, so it takes {}",
        degrees(*.heads)
    )]
    Heads {
        /// GPUs of one replica.
        gpus: u32,
        /// Heads of queries of each layer.
        heads: u64,
    },
    /// A setting that cannot be.
    #[error("{0}")]
    Setting(String),
}

/// Who goes first when prompts and answers wait for the same step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Answers first, and pieces of prompts in what is left of the step: vLLM.
    Mixed,
    /// New prompts first, in steps of their own, while answers wait: SGLang, vLLM before version 1.
    PrefillFirst,
    /// Batches: as many prompts as there is room for are read, then answered to the last token before
    /// another is read.
    DecodeFirst,
}

impl Policy {
    /// All of them.
    pub const ALL: [Policy; 3] = [Policy::Mixed, Policy::PrefillFirst, Policy::DecodeFirst];

    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            Policy::Mixed => "mixed",
            Policy::PrefillFirst => "prefill-first",
            Policy::DecodeFirst => "decode-first",
        }
    }
}

/// How requests are given to replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Router {
    /// In turn.
    RoundRobin,
    /// To the one with the fewest requests.
    LeastLoaded,
    /// To the one that holds most of the prompt, among those that are not much fuller than others.
    PrefixAware,
}

impl Router {
    /// All of them.
    pub const ALL: [Router; 3] = [Router::RoundRobin, Router::LeastLoaded, Router::PrefixAware];

    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            Router::RoundRobin => "round-robin",
            Router::LeastLoaded => "least-loaded",
            Router::PrefixAware => "prefix-aware",
        }
    }
}

/// Drafts that are checked by the model.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Speculation {
    /// Draft tokens in a step.
    pub drafts: u32,
    /// Chance that a draft is accepted if the one before it was, from 0 to 1.
    pub acceptance: f64,
    /// Time to make one draft, as a share of a step without drafts; 0 where none is computed.
    pub draft_share: f64,
}

/// Replicas that only read prompts, and hand keys and values on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Disaggregation {
    /// Replicas that read prompts.
    pub prefill_replicas: u32,
    /// Bandwidth of the way between the two kinds, GB/s for each prompt.
    pub transfer_gb_s: f64,
}

/// How a server is set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Most tokens in a step.
    pub step_tokens: u32,
    /// Most sequences at a time.
    pub sequences: u32,
    /// Who goes first.
    pub policy: Policy,
    /// Most tokens of one prompt in a step; absent where only the step limits them.
    pub prompt_piece: Option<u32>,
    /// Room for keys and values, tokens; absent: what the memory leaves.
    pub kv_tokens: Option<u64>,
    /// Share of the memory that the server may use.
    pub memory_share: f64,
    /// Whether keys and values of prompts are kept for those that begin alike.
    pub prefix_cache: bool,
    /// Drafts.
    pub speculation: Option<Speculation>,
    /// Copies of the model that make answers.
    pub replicas: u32,
    /// How requests are given to them.
    pub router: Router,
    /// Replicas of their own for prompts.
    pub disaggregation: Option<Disaggregation>,
    /// Standard deviation of a step's time as a share of it; 0 for none.
    pub jitter_share: f64,
    /// Seed of jitter and of accepted drafts.
    pub seed: u64,
}

impl Settings {
    /// What a kind of server takes when nothing is said.
    pub fn defaults(kind: Kind, setup: &Setup) -> Settings {
        let is_large =
            setup.machine().memory_bytes().is_some_and(|size| size >= LARGE_MEMORY_BYTES)
                && !setup.machine().id.starts_with("a100");
        let (step_tokens, sequences, policy) = match kind {
            Kind::Vllm if is_large => (8192, 1024, Policy::Mixed),
            Kind::Vllm => (2048, 256, Policy::Mixed),
            Kind::Sglang => (8192, 1024, Policy::PrefillFirst),
            Kind::LlamaCpp => (2048, 4, Policy::Mixed),
            Kind::Inferometer => (128, 32, Policy::Mixed),
        };
        Settings {
            step_tokens,
            sequences,
            policy,
            prompt_piece: None,
            kv_tokens: None,
            memory_share: 0.9,
            prefix_cache: kind != Kind::Inferometer,
            speculation: None,
            replicas: 1,
            router: Router::RoundRobin,
            disaggregation: None,
            jitter_share: 0.0,
            seed: 0,
        }
    }
}

/// A model on machines behind a server.
#[derive(Debug, Clone)]
pub struct Deployment {
    /// The model on one replica's machines.
    pub setup: Setup,
    /// The law of a step.
    pub step: StepModel,
    /// How the server is set.
    pub settings: Settings,
    /// Blocks for keys and values of one replica.
    pub blocks: u32,
}

impl Deployment {
    /// Checks that the model fits and that the settings can be.
    ///
    /// # Errors
    /// [`DeploymentError`].
    pub fn new(
        setup: Setup,
        constants: Constants,
        settings: Settings,
    ) -> Result<Deployment, DeploymentError> {
        check(&settings)?;
        check_heads(&setup)?;
        let tokens = match settings.kv_tokens {
            Some(tokens) => tokens as f64,
            None => kv_tokens(&setup, &settings)?,
        };
        let blocks = (tokens / f64::from(BLOCK_TOKENS)).floor().min(BLOCKS_MAX) as u32;
        if blocks == 0 {
            let text = "there is no room for a single block of keys and values".to_owned();
            return Err(DeploymentError::Setting(text));
        }
        let step = StepModel::new(&setup, constants);
        Ok(Deployment { setup, step, settings, blocks })
    }

    /// The same with other constants.
    #[must_use]
    pub fn with_constants(&self, constants: Constants) -> Deployment {
        Deployment { step: StepModel::new(&self.setup, constants), ..self.clone() }
    }

    /// Room for keys and values of one replica, tokens.
    pub fn kv_tokens(&self) -> u64 {
        u64::from(self.blocks) * u64::from(BLOCK_TOKENS)
    }

    /// GPUs of all replicas together.
    pub fn gpus(&self) -> f64 {
        let readers = self.settings.disaggregation.map_or(0, |apart| apart.prefill_replicas);
        self.setup.gpus() * f64::from(self.settings.replicas + readers)
    }
}

/// Tokens of keys and values that the memory leaves.
fn kv_tokens(setup: &Setup, settings: &Settings) -> Result<f64, DeploymentError> {
    let capacity = setup.capacity(TYPICAL_TOKENS);
    let memory = capacity.memory_bytes.ok_or(DeploymentError::UnknownMemory)?;
    let usable = memory * settings.memory_share;
    let activations =
        ACTIVATION_BYTES + ACTIVATION_BYTES_PER_TOKEN * f64::from(settings.step_tokens);
    let free = usable - capacity.weight_bytes - activations;
    if free <= 0.0 {
        return Err(DeploymentError::TooLarge {
            weights_gb: capacity.weight_bytes / 1e9,
            usable_gb: (usable - activations).max(0.0) / 1e9,
            missing_gb: -free / 1e9,
        });
    }
    Ok(free / (capacity.request_bytes / TYPICAL_TOKENS).max(1e-9))
}

/// Heads of keys and values may be copied; heads of queries are shared.
fn check_heads(setup: &Setup) -> Result<(), DeploymentError> {
    let gpus = setup.gpus() as u32;
    let uneven = setup.model().query_heads().find(|heads| !heads.is_multiple_of(u64::from(gpus)));
    uneven.map_or(Ok(()), |heads| Err(DeploymentError::Heads { gpus, heads }))
}

/// The numbers of GPUs that divide the heads: `1, 2, 4, 8, 16 or 32 GPUs`.
fn degrees(heads: u64) -> String {
    let all: Vec<String> = (1..=heads)
        .filter(|gpus| heads.is_multiple_of(*gpus))
        .map(|gpus| gpus.to_string())
        .collect();
    match all.split_last() {
        Some((last, others)) if !others.is_empty() => {
            format!("{} or {last} GPUs", others.join(", "))
        }
        _ => "1 GPU".to_owned(),
    }
}

fn check(settings: &Settings) -> Result<(), DeploymentError> {
    let wrong = |text: &str| Err(DeploymentError::Setting(text.to_owned()));
    if settings.step_tokens == 0 || settings.sequences == 0 || settings.prompt_piece == Some(0) {
        return wrong("a step needs at least one token and one sequence");
    }
    if settings.replicas == 0 || settings.replicas > REPLICAS_MAX {
        return wrong("replicas: 1 to 1024");
    }
    if !(settings.memory_share > 0.0 && settings.memory_share <= 1.0) {
        return wrong("the share of memory is above 0 and at most 1");
    }
    if !(0.0..0.5).contains(&settings.jitter_share) {
        return wrong("jitter is 0 to 0.5");
    }
    if let Some(drafts) = settings.speculation {
        if drafts.drafts == 0 || drafts.drafts > 64 {
            return wrong("speculation takes 1 to 64 drafts in a step");
        }
        if !(0.0..=1.0).contains(&drafts.acceptance) || !(0.0..=1.0).contains(&drafts.draft_share) {
            return wrong("acceptance and the share of a draft's time are 0 to 1");
        }
        if settings.step_tokens <= drafts.drafts {
            return wrong("a step holds fewer tokens than one answer with its drafts");
        }
    }
    if let Some(apart) = settings.disaggregation {
        if apart.prefill_replicas == 0 || apart.prefill_replicas > REPLICAS_MAX {
            return wrong("prefill replicas: 1 to 1024");
        }
        if !(apart.transfer_gb_s > 0.0 && apart.transfer_gb_s.is_finite()) {
            return wrong("the bandwidth between prefill and decode is above 0 GB/s");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_roofline::{Machine, Model, Precision};

    /// Whether GPUs can share a model, or why not.
    fn shared(model: &str, gpus: u32) -> Option<String> {
        let (model, machine) = (Model::find(model).unwrap(), Machine::parse("h200").unwrap());
        let setup = Setup::new(machine, model, Precision::find("bf16").unwrap(), gpus).unwrap();
        let constants = Constants::defaults(Kind::Vllm, &setup);
        let settings = Settings::defaults(Kind::Vllm, &setup);
        Deployment::new(setup, constants, settings).err().map(|error| error.to_string())
    }

    #[test]
    fn gpus_share_heads_of_queries_evenly() {
        // 32 heads, 8 of them of keys and values, which 16 GPUs copy.
        for gpus in [1, 2, 8, 16, 32] {
            assert_eq!(shared("llama-3.1-8b", gpus), None, "{gpus}");
        }
        let said = shared("llama-3.1-8b", 3).expect("a refusal");
        assert!(said.contains("3 GPUs cannot share the 32 attention heads"), "{said}");
        assert!(said.ends_with("so it takes 1, 2, 4, 8, 16 or 32 GPUs"), "{said}");
        // 28 heads.
        let said = shared("qwen2.5-7b", 8).expect("a refusal");
        assert!(said.ends_with("1, 2, 4, 7, 14 or 28 GPUs"), "{said}");
    }
}
