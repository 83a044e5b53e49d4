//! The answer, and the tables, each as one JSON document.

use super::{Answer, FormatOrigin, Held, Level};
use ifm_roofline::{
    Bound, Capacity, Limit, Machine, Model, Operator, Precision, Question, Share, WeightFormat,
};
use serde::Serialize;

/// Version of the documents.
const VERSION: u32 = 1;

/// What `limit --json` writes.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LimitDocument<'a> {
    /// What the document is.
    #[cfg_attr(feature = "schema", schemars(extend("const" = "inferometer_limit")))]
    kind: &'static str,
    /// Version of the document.
    #[cfg_attr(feature = "schema", schemars(extend("const" = VERSION)))]
    version: u32,
    /// The machine: peak rates and memory.
    machine: &'a Machine,
    /// GPUs that share the model.
    gpus: f64,
    /// The model: its dimensions.
    model: &'a Model,
    /// Parameters.
    parameters: f64,
    /// Parameters that a token uses.
    active_parameters: f64,
    /// Number formats of the weights and of the KV cache.
    precision: &'a Precision,
    /// Where the format of the weights comes from.
    weight_format_from: FormatOrigin,
    /// Size of the weights, bytes.
    weight_bytes: f64,
    /// KV cache size per token, bytes.
    kv_bytes_per_token: f64,
    /// Prompt tokens of a request.
    input_tokens: f64,
    /// Output tokens of a request.
    output_tokens: f64,
    /// What fits into the memory, bytes and requests.
    capacity: Capacity,
    /// Tokens per step above which arithmetic is the bottleneck; null if the rate is unknown.
    ridge_tokens: Option<f64>,
    /// One prompt.
    prefill: RatedBound<'a>,
    /// By number of users.
    levels: Vec<LimitLevel<'a>>,
    /// Measured values.
    measured: Vec<MeasuredShare<'a>>,
}

/// The limit of some users.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct LimitLevel<'a> {
    /// Users.
    users: u32,
    /// One step for all users.
    step: RatedBound<'a>,
    /// One request of each user.
    closed_loop: RatedBound<'a>,
}

/// A measured value and its bound.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct MeasuredShare<'a> {
    /// As given by the user.
    given: &'a str,
    /// The bound.
    bound: RatedBound<'a>,
    /// Bound over measured time, 0 to 1 where possible.
    share: Share,
}

/// The shortest times for one question, with the terms that they consist of.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct RatedBound<'a> {
    /// The question; sizes in tokens.
    question: Question,
    /// Certain: all bytes at peak bandwidth and all operations at peak rate, at the same time.
    strict: RatedLimit,
    /// The same with experts used evenly.
    balanced: RatedLimit,
    /// Part by part.
    serial: RatedLimit,
    /// The parts.
    operators: &'a [Operator],
    /// Tokens produced in that time.
    tokens: f64,
    /// Share of the bytes of a step that could stay in the last-level cache.
    cache_share: f64,
}

/// A shortest time and its rate.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct RatedLimit {
    #[serde(flatten)]
    limit: Limit,
    /// Tokens per second at that time; null where the time is 0.
    #[cfg_attr(feature = "schema", schemars(extend("type" = ["number", "null"])))]
    tokens_per_s: f64,
}

impl<'a> From<&'a Answer> for LimitDocument<'a> {
    fn from(answer: &'a Answer) -> LimitDocument<'a> {
        let setup = &answer.setup;
        LimitDocument {
            kind: "inferometer_limit",
            version: VERSION,
            machine: setup.machine(),
            gpus: setup.gpus(),
            model: setup.model(),
            parameters: setup.model().parameters(),
            active_parameters: setup.model().active_parameters(),
            precision: setup.precision(),
            weight_format_from: answer.origin,
            weight_bytes: setup.weight_bytes(),
            kv_bytes_per_token: setup.kv_bytes_per_token(),
            input_tokens: answer.request.input,
            output_tokens: answer.request.output,
            capacity: answer.capacity,
            ridge_tokens: answer.ridge_tokens,
            prefill: (&answer.prefill).into(),
            levels: answer.levels.iter().map(LimitLevel::from).collect(),
            measured: answer.held.iter().map(MeasuredShare::from).collect(),
        }
    }
}

impl<'a> From<&'a Level> for LimitLevel<'a> {
    fn from(Level { users, step, closed_loop }: &'a Level) -> LimitLevel<'a> {
        LimitLevel { users: *users, step: step.into(), closed_loop: closed_loop.into() }
    }
}

impl<'a> From<&'a Held> for MeasuredShare<'a> {
    fn from(Held { text, bound, share }: &'a Held) -> MeasuredShare<'a> {
        MeasuredShare { given: text, bound: bound.into(), share: *share }
    }
}

impl<'a> From<&'a Bound> for RatedBound<'a> {
    fn from(bound: &'a Bound) -> RatedBound<'a> {
        let rated = |limit| RatedLimit { limit, tokens_per_s: bound.tokens_per_s(limit) };
        RatedBound {
            question: bound.question,
            strict: rated(bound.strict),
            balanced: rated(bound.balanced),
            serial: rated(bound.serial),
            operators: &bound.operators,
            tokens: bound.tokens,
            cache_share: bound.cache_share,
        }
    }
}

/// What `limit --list --json` writes.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LimitList {
    /// What the document is.
    #[cfg_attr(feature = "schema", schemars(extend("const" = "inferometer_limit_list")))]
    kind: &'static str,
    /// Version of the document.
    #[cfg_attr(feature = "schema", schemars(extend("const" = VERSION)))]
    version: u32,
    /// The known machines.
    machines: Vec<&'static Machine>,
    /// The known models.
    models: Vec<ListedModel>,
    /// The known number formats.
    formats: Vec<&'static WeightFormat>,
}

/// A model and its size.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ListedModel {
    /// The model: its dimensions.
    model: &'static Model,
    /// Parameters.
    parameters: f64,
    /// Parameters that a token uses.
    active_parameters: f64,
}

impl LimitList {
    /// Everything that is known.
    pub fn of_tables() -> LimitList {
        let listed = |model: &'static Model| ListedModel {
            model,
            parameters: model.parameters(),
            active_parameters: model.active_parameters(),
        };
        LimitList {
            kind: "inferometer_limit_list",
            version: VERSION,
            machines: Machine::all().iter().collect(),
            models: Model::all().map(listed).collect(),
            formats: WeightFormat::all().collect(),
        }
    }
}
