//! What a plan does with the rights of the user who runs it: commands, variables, files outside the store.
//!
//! A plan is a program. This lists what a reader of it should know before it runs. Not here: how it is shown.

use crate::spec::{Condition, Plan, Server, Setter};

/// Flags of a measuring command that name a file to write.
const WRITES: [&str; 5] = ["-o", "--out", "--export", "--export-append", "--store"];
/// Flags that let something out of the machine, or lift a safeguard.
const SENDS: [&str; 5] = ["--api-key-env", "--metrics-url", "--power-url", "--yes", "--insecure"];

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    /// A command is started.
    Runs,
    /// A variable of a process, or a setting of a device, is set.
    Sets,
    /// A file is written.
    Writes,
    /// Something is sent to a server, or a safeguard is lifted.
    Sends,
}

impl Deed {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Deed::Runs => "runs",
            Deed::Sets => "sets",
            Deed::Writes => "writes",
            Deed::Sends => "sends",
        }
    }
}

/// One thing that a plan does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    /// What is done.
    pub deed: Deed,
    /// The words of a command, or what is set, written or sent. Values of variables are left out.
    pub words: Vec<String>,
    /// The part of the plan that requires it, such as `server "a", env`.
    pub by: String,
}

/// All that a plan does, in the order of its text. Measuring commands of this program are left out.
pub fn effects(plan: &Plan) -> Vec<Effect> {
    let mut all = Vec::new();
    flags(&plan.head.flags, "plan, flags", &mut all);
    plan.servers.iter().for_each(|server| of_server(server, &mut all));
    for workload in &plan.workloads {
        flags(&workload.flags, &format!("workload \"{}\", flags", workload.name()), &mut all);
    }
    for (number, load) in (1..).zip(&plan.loads) {
        if let Some(words) = &load.exec {
            push(&mut all, Deed::Runs, words.clone(), format!("load {number}, exec"));
        }
        flags(&load.flags, &format!("load {number}, flags"), &mut all);
    }
    plan.conditions.iter().for_each(|condition| of_condition(condition, &mut all));
    all
}

fn push(all: &mut Vec<Effect>, deed: Deed, words: Vec<String>, by: String) {
    let effect = Effect { deed, words, by };
    if !effect.words.is_empty() && !all.contains(&effect) {
        all.push(effect);
    }
}

fn of_server(server: &Server, all: &mut Vec<Effect>) {
    let by = |what: &str| format!("server \"{}\", {what}", server.name);
    if let Some(kind) = &server.kind {
        let words = match server.command.is_empty() {
            true => {
                let first = [kind.clone()].into_iter().chain(server.model.clone());
                first.chain(server.args.iter().cloned()).collect()
            }
            false => server.command.iter().chain(&server.args).cloned().collect(),
        };
        push(all, Deed::Runs, words, by("start"));
    }
    if let Some(image) = &server.image {
        let runtime = server.runtime.clone().unwrap_or_else(|| "docker".to_owned());
        let words = [runtime, "run".to_owned()].into_iter();
        let words = words.chain(server.container_args.iter().cloned()).chain([image.clone()]);
        push(all, Deed::Runs, words.collect(), by("container"));
    }
    if let Some(folder) = &server.folder {
        push(all, Deed::Runs, vec![format!("in the folder {folder}")], by("folder"));
    }
    for name in server.env.keys() {
        push(all, Deed::Sets, vec![format!("variable {name}")], by("env"));
    }
    if let Some(name) = &server.api_key_env {
        let words = vec![format!("variable {name} as API key")];
        push(all, Deed::Sends, words, by("api-key-env"));
    }
    flags(&server.flags, &by("flags"), all);
}

fn of_condition(condition: &Condition, all: &mut Vec<Effect>) {
    let by = |what: &str| format!("condition \"{}\", {what}", condition.name);
    for (words, what) in
        [(&condition.before, "before"), (&condition.after, "after"), (&condition.read, "read")]
    {
        push(all, Deed::Runs, words.clone(), by(what));
    }
    let setting = match condition.setter() {
        Setter::PowerLimit => "the power limit of GPUs",
        Setter::Clocks => "the clock of GPUs",
        Setter::Hook | Setter::Observed => return,
    };
    push(all, Deed::Sets, vec![setting.to_owned()], by("set"));
}

/// What flags of a measuring command write or send.
fn flags(words: &[String], by: &str, all: &mut Vec<Effect>) {
    for (at, word) in words.iter().enumerate() {
        let (flag, value) = match word.split_once('=') {
            Some((flag, value)) => (flag, Some(value.to_owned())),
            None => {
                (word.as_str(), words.get(at + 1).filter(|next| !next.starts_with('-')).cloned())
            }
        };
        let deed = match flag {
            _ if WRITES.contains(&flag) => Deed::Writes,
            _ if SENDS.contains(&flag) => Deed::Sends,
            _ => continue,
        };
        let value = value.filter(|_| !matches!(flag, "--yes" | "--insecure"));
        let words = [Some(flag.to_owned()), value].into_iter().flatten().collect();
        push(all, deed, words, by.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_a_plan_does_is_listed() {
        let plan = Plan::parse(
            r#"
            [plan]
            name = "p"
            flags = ["-o", "/tmp/x.html", "--yes"]
            [[server]]
            name = "a"
            kind = "command"
            command = ["sh", "-c", "serve"]
            args = ["--port", "{port}"]
            env = { HF_TOKEN = "secret" }
            api-key-env = "MY_KEY"
            [[server]]
            name = "b"
            kind = "vllm"
            model = "m"
            image = "vllm:1"
            container-args = ["--gpus", "all"]
            [[workload]]
            workload = "64/16"
            [[load]]
            exec = ["rm", "-rf", "x"]
            name = "e"
            flags = ["--power-url=http://h"]
            [[condition]]
            name = "cc"
            values = ["on", "off"]
            before = ["set-cc", "{value}"]
            after = ["unset-cc"]
            read = ["read-cc"]
            "#,
        )
        .expect("a plan");
        let lines: Vec<String> = effects(&plan)
            .into_iter()
            .map(|effect| {
                format!("{} {} ({})", effect.deed.word(), effect.words.join(" "), effect.by)
            })
            .collect();
        assert_eq!(
            lines,
            [
                "writes -o /tmp/x.html (plan, flags)",
                "sends --yes (plan, flags)",
                "runs sh -c serve --port {port} (server \"a\", start)",
                "sets variable HF_TOKEN (server \"a\", env)",
                "sends variable MY_KEY as API key (server \"a\", api-key-env)",
                "runs vllm m (server \"b\", start)",
                "runs docker run --gpus all vllm:1 (server \"b\", container)",
                "runs rm -rf x (load 1, exec)",
                "sends --power-url http://h (load 1, flags)",
                "runs set-cc {value} (condition \"cc\", before)",
                "runs unset-cc (condition \"cc\", after)",
                "runs read-cc (condition \"cc\", read)",
            ]
        );
        assert!(!format!("{lines:?}").contains("secret"));
    }
}
