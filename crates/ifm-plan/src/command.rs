//! The command line of a cell: the arguments of `inferometer` that measure it.
//!
//! A cell is nothing but a command that a person could type, so a single one can be repeated
//! manually. Not here: where it is stored and how its process is run, which the binary adds.
use crate::cell::{Cell, CellLoad, digest};
use crate::spec::{Plan, Server};

/// What a cell's command line needs in addition to the plan.
#[derive(Debug, Clone, Copy)]
pub struct Words<'a> {
    /// Base URL of the server.
    pub url: &'a str,
    /// Which try this is, from 1.
    pub attempt: u32,
    /// Whether the server's caches are empty: prompts that other cells sent may come again then, so
    /// that both sides of a comparison get the same ones.
    pub is_fresh: bool,
}

/// The workload of a start: enough for a first answer.
const START_WORKLOAD: &str = "32/8";

/// The words of a cell, without the program's name.
pub fn words(plan: &Plan, cell: &Cell, with: Words) -> Vec<String> {
    let Some(load) = plan.loads.get(cell.load) else { return Vec::new() };
    let mut words = Vec::new();
    let verb = match &cell.what {
        CellLoad::Users(_) | CellLoad::Rate(_) | CellLoad::StartUp { .. } => "run",
        CellLoad::Sweep(_) => "sweep",
        CellLoad::Capacity(_) => "capacity",
        CellLoad::Exec => "exec",
    };
    words.push(verb.to_owned());
    let mut flag = |name: &str, value: String| words.extend([name.to_owned(), value]);
    if cell.what != CellLoad::Exec {
        flag("--base-url", with.url.to_owned());
    }
    match &cell.what {
        CellLoad::Users(users) => flag("--concurrency", users.clone()),
        CellLoad::Rate(rate) => flag("--rate", rate.clone()),
        CellLoad::Sweep(levels) if levels == "sweep" => flag("--profile", levels.clone()),
        CellLoad::Sweep(levels) => flag("--concurrency", levels.clone()),
        CellLoad::Capacity(by) => flag("--by", by.clone()),
        CellLoad::StartUp { .. } => {
            for (name, value) in
                [("--workload", START_WORKLOAD), ("--requests", "1"), ("--warmup", "0")]
            {
                flag(name, value.to_owned());
            }
        }
        CellLoad::Exec => {}
    }
    if let Some(workload) = cell.workload.and_then(|index| plan.workloads.get(index)) {
        flag("--workload", workload.workload.clone());
        flag("--seed", seed(plan, cell, with).to_string());
    }
    load.arrivals.iter().for_each(|law| flag("--arrivals", law.clone()));
    if cell.workload.is_some() {
        load.requests.iter().for_each(|n| flag("--requests", n.to_string()));
        load.duration_s.iter().for_each(|seconds| flag("--duration", format!("{seconds}s")));
        load.warmup.iter().for_each(|n| flag("--warmup", n.to_string()));
    }
    let server = cell.server.and_then(|index| plan.servers.get(index));
    if let (Some(slo), Some(_)) = (&plan.head.slo, cell.workload) {
        flag("--slo", slo.clone());
    }
    if let Some(variable) = server.and_then(|server| server.api_key_env.clone()) {
        flag("--api-key-env", variable);
    }
    flag("--name", format!("{}: {}", plan.head.name, cell.label(plan)));
    for (name, value) in tags(plan, cell) {
        flag("--tag", format!("{name}={value}"));
    }
    let workload = cell.workload.and_then(|index| plan.workloads.get(index));
    let lists = [
        Some(&plan.head.flags).filter(|_| cell.what != CellLoad::Exec),
        server.map(|server| &server.flags),
        workload.map(|workload| &workload.flags),
        Some(&load.flags),
    ];
    words.extend(lists.into_iter().flatten().flatten().cloned());
    if let Some(command) = &load.exec {
        words.push("--".to_owned());
        words.extend(command.iter().cloned());
    }
    words
}

/// The words with which a person starts the server of a cell, as far as the plan says them. They may hold
/// secrets.
pub fn start_words(plan: &Plan, cell: &Cell) -> Option<Vec<String>> {
    let server = plan.servers.get(cell.server?)?;
    let kind = server.kind.as_deref()?;
    let mut words = vec![kind.to_owned()];
    words.extend(server.model.clone());
    words.extend(server.command.iter().chain(&server.args).cloned());
    words.extend(cell.parameters.iter().map(|(name, value)| format!("{name}={value}")));
    Some(words)
}

/// What the run is tagged with: what differs and cannot be seen from the client.
fn tags(plan: &Plan, cell: &Cell) -> Vec<(String, String)> {
    let mut tags: Vec<(String, String)> = cell.parameters.clone();
    let conditions = plan.conditions.iter().map(|condition| condition.name.clone());
    tags.extend(conditions.zip(cell.conditions.iter().cloned()));
    if let Some(server) = cell.server.and_then(|index| plan.servers.get(index)) {
        // The plan's own name of a server is needed only where nothing else distinguishes it.
        let is_alike = |other: &&Server| other.name != server.name && other.tags == server.tags;
        if plan.servers.iter().any(|other| is_alike(&other)) && !server.tags.contains_key("server")
        {
            tags.push(("server".to_owned(), server.name.clone()));
        }
        tags.extend(server.tags.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
    let workload = cell.workload.and_then(|index| plan.workloads.get(index));
    if let Some(name) = workload.and_then(|workload| workload.name.clone()) {
        tags.push(("workload".to_owned(), name));
    }
    if let CellLoad::StartUp { cold } = cell.what {
        tags.push(("start".to_owned(), if cold { "cold" } else { "warm" }.to_owned()));
    }
    tags
}

/// The seed of a cell's prompts. The same for all servers, so that they answer the same prompts;
/// another one for each condition and try where the server may remember what it was sent.
fn seed(plan: &Plan, cell: &Cell, with: Words) -> u64 {
    let mut text = format!(
        "{} {:?} {} {:?} {}",
        plan.head.seed, cell.workload, cell.load, cell.what, cell.repeat
    );
    if !with.is_fresh {
        text = format!("{text} {:?} {}", cell.conditions, with.attempt);
    }
    const SEED_DIGITS: usize = 8;
    u64::from_str_radix(&digest(&text, SEED_DIGITS), 16).unwrap_or(plan.head.seed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells;

    #[test]
    fn a_cell_is_a_command_line() {
        let text = "[plan]\nname = \"p\"\nslo = \"chat\"\nflags = [\"--api\", \"completions\"]\n\
                    [[server]]\nname = \"a\"\nkind = \"vllm\"\nmodel = \"m\"\n\
                    tags = { quant = \"w8a8\" }\nparameters = { max-num-seqs = 64 }\n\
                    [[workload]]\nname = \"chat\"\nworkload = \"128/32\"\n\
                    [[load]]\nusers = 8\nrequests = 100\n[[load]]\nexec = [\"train\", \"-x\"]\n\
                    [[condition]]\nname = \"cc\"\nvalues = [\"on\", \"off\"]\nset = \"observed\"\n";
        let plan = Plan::parse(text).unwrap();
        let cells = cells(&plan).unwrap();
        let with = Words { url: "http://h", attempt: 1, is_fresh: true };
        let of = |want: &CellLoad, cc: &str| {
            let is = |cell: &&Cell| cell.what == *want && cell.conditions == [cc];
            words(&plan, cells.iter().find(is).unwrap(), with).join(" ")
        };
        let (on, off) =
            (of(&CellLoad::Users("8".into()), "on"), of(&CellLoad::Users("8".into()), "off"));
        assert!(
            on.starts_with("run --base-url http://h --concurrency 8 --workload 128/32 --seed ")
        );
        assert!(on.contains("--requests 100 --slo chat --name p: cc on, 8 users --tag"));
        assert!(
            on.contains("--tag max-num-seqs=64 --tag cc=on --tag quant=w8a8 --tag workload=chat --api completions")
        );
        assert_eq!(on.replace("cc=on", "cc=off").replace("cc on", "cc off"), off, "same prompts");
        let command = of(&CellLoad::Exec, "on");
        assert_eq!(command, "exec --name p: cc on, command --tag cc=on -- train -x");
        assert_eq!(start_words(&plan, &cells[0]), None, "a command has no server");
    }

    #[test]
    fn a_server_that_may_remember_gets_other_prompts() {
        let text = "[plan]\nname = \"p\"\n[[server]]\nname = \"a\"\nurl = \"u\"\n[[workload]]\n\
                    workload = \"8/8\"\n[[load]]\nusers = 1\n[[condition]]\nname = \"w\"\n\
                    set = \"power-limit\"\nvalues = [1, 2]\n";
        let plan = Plan::parse(text).unwrap();
        let cells = cells(&plan).unwrap();
        let seeds = |is_fresh: bool| {
            let of = |cell| seed(&plan, cell, Words { url: "u", attempt: 1, is_fresh });
            cells.iter().map(of).collect::<std::collections::BTreeSet<_>>().len()
        };
        assert_eq!((seeds(true), seeds(false)), (1, 2));
    }
}
