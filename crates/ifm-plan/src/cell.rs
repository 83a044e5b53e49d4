//! A cell of a plan: one measurement, with a key that follows from what it measures.
//!
//! The key is a hash of the cell's whole setting. A plan that is edited keeps the cells that did not
//! change, and measures those that did.

use crate::spec::{Load, Plan};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

/// Digits of a key.
pub(crate) const KEY_DIGITS: usize = 12;

/// What is done in a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CellLoad {
    /// This many users.
    Users(String),
    /// This many requests per second.
    Rate(String),
    /// Several levels in one run.
    Sweep(String),
    /// A search for the largest load, by users or by rate.
    Capacity(String),
    /// A start of the server, with its files in memory or not.
    StartUp {
        /// Whether the files of the model are dropped from memory before.
        cold: bool,
    },
    /// A command.
    Exec,
}

/// One measurement of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Derived from everything below and from the plan's settings for it.
    pub key: String,
    /// Index of its server; absent for a command.
    pub server: Option<usize>,
    /// Value of each parameter of the server.
    pub parameters: Vec<(String, String)>,
    /// Value of each condition, in the order of the plan.
    pub conditions: Vec<String>,
    /// Index of its workload; absent for a start and for a command.
    pub workload: Option<usize>,
    /// Index of its load.
    pub load: usize,
    /// What that load is here.
    pub what: CellLoad,
    /// Number of the repeat, from 1.
    pub repeat: u32,
}

impl Cell {
    /// Names and values of what makes this cell, as filters and tables name them.
    pub fn factors(&self, plan: &Plan) -> Vec<(String, String)> {
        let mut factors = Vec::new();
        let mut add = |name: &str, value: &str| factors.push((name.to_owned(), value.to_owned()));
        if let Some(server) = self.server.and_then(|index| plan.servers.get(index)) {
            add("server", &server.name);
        }
        self.parameters.iter().for_each(|(name, value)| add(name, value));
        let named = plan.conditions.iter().zip(&self.conditions);
        named.for_each(|(condition, value)| add(&condition.name, value));
        if let Some(workload) = self.workload.and_then(|index| plan.workloads.get(index)) {
            add("workload", workload.name());
        }
        let name = plan.loads.get(self.load).and_then(|load| load.name.as_deref());
        match &self.what {
            CellLoad::Users(users) => add("users", users),
            CellLoad::Rate(rate) => add("rate", rate),
            CellLoad::Sweep(levels) => add("load", name.unwrap_or(&format!("sweep {levels}"))),
            CellLoad::Capacity(by) => add("load", name.unwrap_or(&format!("capacity by {by}"))),
            CellLoad::StartUp { cold } => add("start", if *cold { "cold" } else { "warm" }),
            CellLoad::Exec => add("load", name.unwrap_or("command")),
        }
        factors
    }

    /// The cell as text, without settings that all cells share: `base, chat, 8 users, repeat 2`.
    pub fn label(&self, plan: &Plan) -> String {
        let name = self.name(plan);
        match plan.head.repeats {
            1 => name,
            _ if name.is_empty() => format!("repeat {}", self.repeat),
            _ => format!("{name}, repeat {}", self.repeat),
        }
    }

    /// The label without the number of the repeat.
    pub fn name(&self, plan: &Plan) -> String {
        let server = self.server.and_then(|index| plan.servers.get(index));
        let lists = server.into_iter().flat_map(|server| &server.parameters);
        let of_parameters = lists.map(|(name, list)| (name.as_str(), list.len()));
        let of_conditions = plan.conditions.iter().map(|c| (c.name.as_str(), c.values.len()));
        let whole = [("server", plan.servers.len()), ("workload", plan.workloads.len())];
        let constant: Vec<&str> = of_parameters
            .chain(of_conditions)
            .chain(whole)
            .filter_map(|(name, count)| (count == 1).then_some(name))
            .collect();
        let word = |(name, value): (String, String)| match name.as_str() {
            "server" | "workload" | "load" => value,
            "users" if value == "1" => "1 user".to_owned(),
            "users" => format!("{value} users"),
            "rate" => format!("{value} req/s"),
            "start" => format!("{value} start"),
            _ => format!("{name} {value}"),
        };
        let varying = |(name, _): &(String, String)| !constant.contains(&name.as_str());
        let words: Vec<String> = self.factors(plan).into_iter().filter(varying).map(word).collect();
        words.join(", ")
    }

    /// What the server is here: two cells with the same text can share one start of it.
    pub fn instance(&self, plan: &Plan) -> String {
        let mut text = format!("{:?} {:?}", self.server, self.parameters);
        for (condition, value) in plan.conditions.iter().zip(&self.conditions) {
            if condition.restart {
                let _ = write!(text, " {}={value}", condition.name);
            }
        }
        if let CellLoad::StartUp { .. } = self.what {
            let _ = write!(text, " start {}", self.key);
        }
        text
    }

    /// Everything that the result depends on.
    pub(crate) fn setting(&self, plan: &Plan) -> String {
        let server = self.server.and_then(|index| plan.servers.get(index)).map(|server| {
            let mut server = server.clone();
            // The cell contains its values; another value in the list changes no cell.
            server.parameters.clear();
            server
        });
        let workload = self.workload.and_then(|index| plan.workloads.get(index));
        let load = plan.loads.get(self.load).map(|load| Load {
            users: None,
            rates: None,
            start_up: None,
            ..load.clone()
        });
        let conditions: Vec<_> = plan.conditions.iter().map(|c| &c.name).collect();
        format!(
            "{server:?}\n{:?}\n{conditions:?}{:?}\n{workload:?}\n{load:?}\n{:?}\n{:?}\n{:?}\n{}",
            self.parameters,
            self.conditions,
            self.what,
            plan.head.flags,
            plan.head.slo,
            self.repeat
        )
    }
}

/// The first digits of the SHA-256 of a text.
pub(crate) fn digest(text: &str, digits: usize) -> String {
    let mut hex = String::new();
    for byte in Sha256::digest(text.as_bytes()) {
        let _ = write!(hex, "{byte:02x}");
    }
    hex.truncate(digits);
    hex
}
