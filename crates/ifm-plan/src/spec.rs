//! What a plan file says: TOML, read strictly, with the place of what cannot be meant.
//!
//! Not here: the cells that follow from it (`cell`).

use ifm_core::duration::seconds;
use serde::Deserialize;
use serde::de::{self, Deserializer};
use std::collections::BTreeMap;
use toml::{Table, Value};

/// Why a plan cannot be run.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PlanError {
    /// The file is not TOML of this form; the message has line and column.
    #[error("{0}")]
    Text(String),
    /// What it says cannot be meant.
    #[error("{place}: {sentence}")]
    Meaning {
        /// The table and its name, such as `[[load]] 2`.
        place: String,
        /// What is wrong, and what would be right.
        sentence: String,
    },
}

/// A plan.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// What holds for the whole plan.
    #[serde(rename = "plan")]
    pub head: Head,
    /// What is measured. Empty where every load is a command of its own.
    #[serde(default, rename = "server")]
    pub servers: Vec<Server>,
    /// What is sent.
    #[serde(default, rename = "workload")]
    pub workloads: Vec<Workload>,
    /// How much of it.
    #[serde(rename = "load")]
    pub loads: Vec<Load>,
    /// What is set besides.
    #[serde(default, rename = "condition")]
    pub conditions: Vec<Condition>,
    /// Where present: only cells that match one of them.
    #[serde(default)]
    pub include: Vec<Table>,
    /// No cell that matches one of them.
    #[serde(default)]
    pub exclude: Vec<Table>,
    /// How a Slurm cluster runs it.
    #[serde(default)]
    pub slurm: Slurm,
    /// How a Kubernetes cluster runs it.
    #[serde(default)]
    pub kubernetes: Kubernetes,
}

/// In which order cells run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// All repeats of a cell before the next cell: fewest starts of servers.
    #[default]
    Blocked,
    /// The whole matrix once, then once more for each repeat: drift falls on all cells alike.
    Interleaved,
    /// As interleaved, with servers and their cells in an order drawn from the seed for each repeat.
    Shuffled,
}

/// What holds for the whole plan.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Head {
    /// Name: of its folder, and of the runs that belong to it.
    pub name: String,
    /// Title of its report.
    pub title: Option<String>,
    /// How often each cell is measured.
    #[serde(default = "one")]
    pub repeats: u32,
    /// In which order.
    #[serde(default)]
    pub order: Order,
    /// Seed of the order and of the prompts.
    #[serde(default)]
    pub seed: u64,
    /// How often a failed cell is tried again.
    #[serde(default = "one")]
    pub retries: u32,
    /// Seconds after which no cell begins.
    #[serde(default, deserialize_with = "optional_span", rename = "budget")]
    pub budget_s: Option<f64>,
    /// US dollars after which no cell begins; needs a price.
    pub money: Option<f64>,
    /// Price of the server, US dollars per hour.
    pub price: Option<f64>,
    /// Seconds of rest before each cell.
    #[serde(default, deserialize_with = "optional_span", rename = "pause")]
    pub pause_s: Option<f64>,
    /// Latency target of every cell.
    pub slo: Option<String>,
    /// Kind of its report, where the results do not say it by themselves.
    pub report: Option<String>,
    /// Flags of `inferometer run` for every cell.
    #[serde(default)]
    pub flags: Vec<String>,
}

/// A server: one that runs already, or one that the plan starts.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Server {
    /// Its name in the plan.
    pub name: String,
    /// Base URL of a server that runs already.
    pub url: Option<String>,
    /// Kind of a server that the plan starts: `vllm`, `llama.cpp`, `embedded`, `command`.
    pub kind: Option<String>,
    /// Model that is loaded.
    pub model: Option<String>,
    /// The command, for kind `command`; `{port}` and `{model}` are replaced.
    #[serde(default)]
    pub command: Vec<String>,
    /// Further arguments of the server.
    #[serde(default)]
    pub args: Vec<String>,
    /// Variables of its environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Its parameters; each is one value or a list, and a list is a factor.
    #[serde(default, deserialize_with = "parameters")]
    pub parameters: Vec<(String, Vec<String>)>,
    /// Image of a container that the command runs in.
    pub image: Option<String>,
    /// What runs the container: `docker` or `podman`.
    pub runtime: Option<String>,
    /// Words for what runs the container, such as `--gpus all`.
    #[serde(default)]
    pub container_args: Vec<String>,
    /// Where the server listens inside the container.
    pub container_port: Option<u16>,
    /// Folder that the command runs in.
    pub folder: Option<String>,
    /// Device that it occupies. Servers of one plan run one at a time, whatever this field says; it
    /// is recorded, and identifies the machine in a cluster.
    pub device: Option<String>,
    /// Longest wait until it is ready, seconds.
    #[serde(default, deserialize_with = "optional_span", rename = "ready-within")]
    pub ready_s: Option<f64>,
    /// Variable that holds its API key.
    pub api_key_env: Option<String>,
    /// What is known of it and cannot be seen, such as `quant = "w8a8"`.
    #[serde(default)]
    pub tags: BTreeMap<String, String>,
    /// Flags of `inferometer run` for its cells.
    #[serde(default)]
    pub flags: Vec<String>,
}

/// What is sent.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Workload {
    /// Its name in the plan [default: the workload itself].
    pub name: Option<String>,
    /// As `--workload` takes it: `1024/256`, `chat`, `sharegpt:FILE`.
    pub workload: String,
    /// Flags of `inferometer run` for its cells.
    #[serde(default)]
    pub flags: Vec<String>,
}

impl Workload {
    /// What the plan calls it.
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.workload)
    }
}

/// How much is sent, or what is done in its place. Exactly one of its first six fields is there.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Load {
    /// Users, a cell each.
    #[serde(default, deserialize_with = "optional_list")]
    pub users: Option<Vec<String>>,
    /// Requests per second, a cell each.
    #[serde(default, deserialize_with = "optional_list")]
    pub rates: Option<Vec<String>>,
    /// Levels of users in one run: `1,2,4` or `1..64`; `sweep` alone lets rates follow from what the
    /// server reaches.
    pub sweep: Option<String>,
    /// The largest load inside the latency target: by `users` or by `rate`.
    pub capacity: Option<String>,
    /// How long the server takes to start: `cold`, `warm`.
    #[serde(default, deserialize_with = "optional_list")]
    pub start_up: Option<Vec<String>>,
    /// A command that is measured instead of a load.
    pub exec: Option<Vec<String>>,
    /// Its name in the plan, for the last four.
    pub name: Option<String>,
    /// How requests of an open loop are spaced.
    pub arrivals: Option<String>,
    /// Requests of a level.
    pub requests: Option<u32>,
    /// Seconds of a level.
    #[serde(default, deserialize_with = "optional_span", rename = "duration")]
    pub duration_s: Option<f64>,
    /// Requests before each measurement.
    pub warmup: Option<u32>,
    /// Flags of the command that measures it.
    #[serde(default)]
    pub flags: Vec<String>,
}

/// Who sets a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Setter {
    /// This program, through the driver: watts.
    PowerLimit,
    /// This program, through the driver: MHz of the streaming multiprocessors.
    Clocks,
    /// The plan's own commands.
    Hook,
    /// Set by no one: cells run where the machine already is in that state.
    Observed,
}

/// Something that is set while cells are measured.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Condition {
    /// Its name, and that of the tag that the runs get.
    pub name: String,
    /// Its values.
    #[serde(deserialize_with = "list")]
    pub values: Vec<String>,
    /// Who sets it [default: hook where there is a command].
    pub set: Option<Setter>,
    /// GPUs that it is set on [default: all].
    #[serde(default)]
    pub gpus: Vec<u32>,
    /// Command that sets it; `{value}` is replaced by the value.
    #[serde(default)]
    pub before: Vec<String>,
    /// Command that undoes it; it runs however the plan ends.
    #[serde(default)]
    pub after: Vec<String>,
    /// Command whose first line of output is the state, for an observed condition.
    #[serde(default)]
    pub read: Vec<String>,
    /// Whether servers are started anew when it changes.
    #[serde(default)]
    pub restart: bool,
    /// Longest wait for a steady temperature after a change, seconds.
    #[serde(default, deserialize_with = "optional_span", rename = "settle")]
    pub settle_s: Option<f64>,
}

impl Condition {
    /// Who sets it.
    pub fn setter(&self) -> Setter {
        self.set.unwrap_or(match self.before.is_empty() {
            true => Setter::Observed,
            false => Setter::Hook,
        })
    }
}

/// What a Slurm cluster is asked for, for each task of the array.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Slurm {
    /// Partition.
    pub partition: Option<String>,
    /// Account.
    pub account: Option<String>,
    /// Longest time of a task, as Slurm writes it: `02:00:00`.
    pub time: Option<String>,
    /// GPUs of a task: `1`, `h100:2`.
    #[serde(deserialize_with = "optional_text")]
    pub gpus: Option<String>,
    /// Processors of a task.
    pub cpus: Option<u32>,
    /// Memory of a task: `64G`.
    pub memory: Option<String>,
    /// Tasks that run at once.
    pub at_once: Option<u32>,
    /// Further lines for `#SBATCH`.
    pub options: Vec<String>,
    /// Commands that run before, such as `module load cuda`.
    pub setup: Vec<String>,
}

/// What a Kubernetes cluster runs.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Kubernetes {
    /// Image that holds inferometer, and the server where the plan starts one.
    pub image: Option<String>,
    /// Namespace.
    pub namespace: Option<String>,
    /// Claim of the volume that the runs are stored on.
    pub volume: Option<String>,
    /// GPUs of a pod.
    pub gpus: Option<u32>,
    /// Processors of a pod: `4`, `500m`.
    #[serde(deserialize_with = "optional_text")]
    pub cpus: Option<String>,
    /// Memory of a pod: `64Gi`.
    pub memory: Option<String>,
    /// Pods that run at once.
    pub at_once: Option<u32>,
    /// Labels that a node must have.
    pub node_selector: BTreeMap<String, String>,
}

impl Plan {
    /// Reads a plan.
    ///
    /// # Errors
    /// It is no TOML of this form, or says what cannot be meant.
    pub fn parse(text: &str) -> Result<Plan, PlanError> {
        let plan: Plan = toml::from_str(text)
            .map_err(|error| PlanError::Text(error.to_string().trim_end().to_owned()))?;
        plan.check()?;
        Ok(plan)
    }

    fn check(&self) -> Result<(), PlanError> {
        self.check_head()?;
        let mut names = BTreeMap::new();
        for (index, server) in self.servers.iter().enumerate() {
            let place = || format!("[[server]] {}", server.name);
            if names.insert(server.name.as_str(), index).is_some() {
                return wrong(place(), "two servers have this name");
            }
            match (&server.url, &server.kind) {
                (None, None) => return wrong(place(), "give a url, or a kind to start it"),
                (Some(_), Some(_)) => {
                    return wrong(place(), "url and kind: a server runs already or is started");
                }
                (Some(_), None) if !server.parameters.is_empty() => {
                    return wrong(place(), "parameters are for servers that the plan starts");
                }
                (None, Some(kind)) if kind == "command" && server.command.is_empty() => {
                    return wrong(place(), "kind = \"command\" needs a command");
                }
                _ => {}
            }
        }
        if self.loads.is_empty() {
            return wrong("[[load]]".to_owned(), "a plan needs at least one load");
        }
        self.loads.iter().enumerate().try_for_each(|(index, load)| self.check_load(index, load))?;
        self.conditions.iter().try_for_each(Condition::check)
    }

    fn check_head(&self) -> Result<(), PlanError> {
        let place = || "[plan]".to_owned();
        let head = &self.head;
        let is_name = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        if head.name.is_empty() || !head.name.chars().all(is_name) || head.name.starts_with('.') {
            return wrong(place(), "a name is made of letters, digits, and _ - .");
        }
        if head.repeats == 0 {
            return wrong(place(), "repeats must be at least 1");
        }
        if head.money.is_some() && head.price.is_none() {
            return wrong(place(), "money needs a price per hour");
        }
        match [head.money, head.price].into_iter().flatten().all(|usd| usd >= 0.0) {
            true => Ok(()),
            false => wrong(place(), "an amount of money is not below 0"),
        }
    }

    fn check_load(&self, index: usize, load: &Load) -> Result<(), PlanError> {
        let place = || format!("[[load]] {}", load.name.clone().unwrap_or((index + 1).to_string()));
        let kinds = [
            load.users.is_some(),
            load.rates.is_some(),
            load.sweep.is_some(),
            load.capacity.is_some(),
            load.start_up.is_some(),
            load.exec.is_some(),
        ];
        if kinds.iter().filter(|is_there| **is_there).count() != 1 {
            let which = "needs exactly one of users, rates, sweep, capacity, start-up, exec";
            return wrong(place(), which);
        }
        let whole = |text: &String| text.parse::<u32>().is_ok_and(|users| users > 0);
        if load.users.iter().flatten().any(|text| !whole(text)) {
            return wrong(place(), "users are whole numbers above 0");
        }
        let positive = |text: &String| text.parse::<f64>().is_ok_and(|rate| rate > 0.0);
        if load.rates.iter().flatten().any(|text| !positive(text)) {
            return wrong(place(), "rates are numbers above 0");
        }
        if load.capacity.as_deref().is_some_and(|by| by != "users" && by != "rate") {
            return wrong(place(), "capacity is searched by \"users\" or by \"rate\"");
        }
        if load.start_up.iter().flatten().any(|state| state != "cold" && state != "warm") {
            return wrong(place(), "a start is \"cold\" or \"warm\"");
        }
        if load.exec.as_ref().is_some_and(Vec::is_empty) {
            return wrong(place(), "exec needs a command");
        }
        let sends = load.exec.is_none();
        if sends && self.servers.is_empty() {
            return wrong(place(), "a load needs a [[server]]");
        }
        if sends && load.start_up.is_none() && self.workloads.is_empty() {
            return wrong(place(), "a load needs a [[workload]]");
        }
        if load.start_up.is_some() && self.servers.iter().all(|server| server.url.is_some()) {
            return wrong(place(), "start-up is measured on a server that the plan starts");
        }
        Ok(())
    }
}

impl Condition {
    fn check(&self) -> Result<(), PlanError> {
        let place = || format!("[[condition]] {}", self.name);
        if self.values.is_empty() {
            return wrong(place(), "needs at least one value");
        }
        let is_number = |text: &String| text.parse::<f64>().is_ok_and(|value| value > 0.0);
        match self.setter() {
            Setter::PowerLimit | Setter::Clocks if !self.values.iter().all(is_number) => {
                wrong(place(), "values are watts for power-limit and MHz for clocks")
            }
            Setter::Hook if self.before.is_empty() => {
                wrong(place(), "set = \"hook\" needs a command in before")
            }
            Setter::Observed if self.read.is_empty() && self.name != "cc" => {
                wrong(place(), "give before (a command that sets it) or read (one that prints it)")
            }
            _ => Ok(()),
        }
    }
}

fn wrong<T>(place: String, sentence: &str) -> Result<T, PlanError> {
    Err(PlanError::Meaning { place, sentence: sentence.to_owned() })
}

fn one() -> u32 {
    1
}

fn optional_span<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    match Value::deserialize(from)? {
        Value::String(text) => seconds(&text).map(Some).map_err(de::Error::custom),
        Value::Integer(value) if value > 0 => Ok(Some(value as f64)),
        Value::Float(value) if value > 0.0 => Ok(Some(value)),
        _ => Err(de::Error::custom("expected a positive span such as \"30s\" or \"2h\"")),
    }
}

fn optional_text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    scalar(&Value::deserialize(from)?).map(Some).map_err(de::Error::custom)
}

fn list<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    one_or_many(&Value::deserialize(from)?).map_err(de::Error::custom)
}

fn optional_list<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<String>>, D::Error> {
    list(from).map(Some)
}

fn parameters<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<(String, Vec<String>)>, D::Error> {
    let named = |(name, value): (String, Value)| Ok((name, one_or_many(&value)?));
    let all = Table::deserialize(from)?.into_iter().map(named);
    all.collect::<Result<_, String>>().map_err(de::Error::custom)
}

/// A value or a list of them, as words.
pub(crate) fn one_or_many(value: &Value) -> Result<Vec<String>, String> {
    match value {
        Value::Array(values) if values.is_empty() => Err("an empty list has no value".to_owned()),
        Value::Array(values) => values.iter().map(scalar).collect(),
        value => Ok(vec![scalar(value)?]),
    }
}

fn scalar(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) if text.chars().any(char::is_control) => {
            Err("a value holds a control character".to_owned())
        }
        Value::String(text) => Ok(text.clone()),
        Value::Integer(value) => Ok(value.to_string()),
        Value::Float(value) => Ok(value.to_string()),
        Value::Boolean(value) => Ok(value.to_string()),
        _ => Err("expected a text, a number, true or false, or a list of them".to_owned()),
    }
}
