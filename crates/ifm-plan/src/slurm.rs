//! The batch script that runs a plan as a Slurm array, one task for each start of a server.
//!
//! Slurm schedules, this writes text. Not here: submitting it, and collecting what the nodes stored.

use crate::spec::Plan;
use std::fmt::Write as _;

/// Seconds before the end of a task at which it is asked to stop, so that the cell in hand is kept.
const WARNING_S: u32 = 60;

/// What a script is written for.
#[derive(Debug, Clone, Copy)]
pub struct Submission<'a> {
    /// Path of this program on the nodes.
    pub program: &'a str,
    /// Path of the plan's file on the nodes.
    pub plan_file: &'a str,
    /// Folder of the stored runs on the nodes.
    pub store: &'a str,
    /// Folder of the tasks' logs.
    pub logs: &'a str,
    /// Numbers of the groups that are left.
    pub groups: &'a [usize],
}

/// The text of the script, to be given to `sbatch`.
pub fn script(plan: &Plan, with: Submission) -> String {
    let slurm = &plan.slurm;
    let mut text = String::from("#!/bin/bash\n");
    let mut option = |line: &str| {
        let _ = writeln!(text, "#SBATCH {line}");
    };
    option(&format!("--job-name=inferometer-{}", plan.head.name));
    let at_once = slurm.at_once.map_or_else(String::new, |n| format!("%{n}"));
    option(&format!("--array={}{at_once}", ranges(with.groups)));
    option(&format!("--output={}/slurm-%A_%a.log", with.logs));
    option(&format!("--signal=B:TERM@{WARNING_S}"));
    option("--open-mode=append");
    let named = [
        ("partition", slurm.partition.clone()),
        ("account", slurm.account.clone()),
        ("time", slurm.time.clone()),
        ("gpus-per-task", slurm.gpus.clone()),
        ("ntasks", slurm.gpus.as_ref().map(|_| "1".to_owned())),
        ("cpus-per-task", slurm.cpus.map(|n| n.to_string())),
        ("mem", slurm.memory.clone()),
    ];
    for (name, value) in named {
        value.iter().for_each(|value| option(&format!("--{name}={value}")));
    }
    slurm.options.iter().for_each(|line| option(line));
    text.push_str("set -u\n");
    slurm.setup.iter().for_each(|line| {
        let _ = writeln!(text, "{line}");
    });
    // The shell gives way to the program, so that Slurm's signal reaches it.
    let _ = writeln!(
        text,
        "exec {} plan run {} --task \"$SLURM_ARRAY_TASK_ID\" --store {}",
        quoted(with.program),
        quoted(with.plan_file),
        quoted(with.store)
    );
    text
}

/// Numbers as Slurm takes them: `0-3,7`.
fn ranges(numbers: &[usize]) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let word = |(first, last): &(usize, usize)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    runs.iter().map(word).collect::<Vec<_>>().join(",")
}

/// A word as a shell takes it.
pub(crate) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_asks_for_what_the_plan_says_and_for_the_groups_that_are_left() {
        let text = "[plan]\nname = \"p\"\n[[load]]\nexec = [\"x\"]\n[slurm]\ntime = \"01:00:00\"\n\
                    gpus = 2\nat-once = 4\nsetup = [\"module load cuda\"]\n";
        let plan = Plan::parse(text).unwrap();
        let with = Submission {
            program: "/opt/infero meter",
            plan_file: "p.toml",
            store: "it's",
            logs: "/l",
            groups: &[0, 1, 2, 5],
        };
        let script = script(&plan, with);
        for line in [
            "#SBATCH --array=0-2,5%4",
            "#SBATCH --gpus-per-task=2",
            "#SBATCH --time=01:00:00",
            "module load cuda",
            r#"exec '/opt/infero meter' plan run 'p.toml' --task "$SLURM_ARRAY_TASK_ID" --store 'it'\''s'"#,
        ] {
            assert!(script.lines().any(|other| other == line), "{line}\n{script}");
        }
    }
}
