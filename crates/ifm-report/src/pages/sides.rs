//! What the pages of compared sides share: their subject, what differs, and where the numbers come
//! from.

use super::{provenance, written_by};
use crate::comparison::words;
use crate::format::{ABSENT, command_line, plain};
use crate::page::{Block, Check, Columns, Section, Trust};
use ifm_compare::comparison::{Condition, Difference, DifferenceKind, SideHead};
use ifm_core::words::counted;
use ifm_rules::insight::Tone;

/// Names of the model, by fact of a run and by setting of a document.
const MODEL: &[&str] = &["model"];
/// Names of the machine, the most telling first.
const MACHINE: &[&str] = &["GPUs", "gpu", "hardware", "processor of the host"];
/// Names of the workload.
const WORKLOAD: &[&str] = &["workload", "dataset"];
/// Names of the lengths of prompts and answers.
const LENGTHS: [&[&str]; 2] = [
    &["prompt tokens asked for", "input tokens", "prompt tokens"],
    &["output tokens asked for", "output tokens"],
];
/// Values of one name that a title has room for.
const VALUES_MAX: usize = 2;

/// Everything that two sides were compared in, for each side that is compared with a baseline.
pub(super) type Compared<'c> = [(&'c SideHead, &'c [Difference])];

/// The model, the machine and the workload, as far as they are known.
pub(super) fn subject(baseline: Option<&SideHead>, compared: &Compared) -> String {
    let sides = baseline.into_iter().chain(compared.iter().map(|(side, _)| *side));
    let models = distinct(sides.flat_map(|side| side.models.iter().map(String::as_str)));
    let models = if models.is_empty() { stated(compared, MODEL) } else { models };
    let machine = few(stated(compared, MACHINE), "machine");
    let lengths = LENGTHS.map(|names| few(stated(compared, names), "length"));
    let lengths = match lengths {
        [Some(input), Some(output)] => Some(format!("{input}→{output} tokens")),
        _ => None,
    };
    let workload = few(stated(compared, WORKLOAD), "workload");
    let workload: Vec<String> = [workload, lengths].into_iter().flatten().collect();
    let workload = (!workload.is_empty()).then(|| workload.join(" "));
    let parts = [few(models, "model"), machine, workload];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The title: the sides, and what they are about.
pub(super) fn titled(sides: &str, subject: &str) -> String {
    if subject.is_empty() { sides.to_owned() } else { format!("{sides}: {subject}") }
}

fn distinct<'t>(texts: impl Iterator<Item = &'t str>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for text in texts.map(plain).filter(|text| !text.is_empty()) {
        if !found.contains(&text) {
            found.push(text);
        }
    }
    found
}

/// The values of the first of these names that any side states, the baseline's first.
fn stated(compared: &Compared, names: &[&str]) -> Vec<String> {
    let all = || compared.iter().flat_map(|(_, differences)| differences.iter());
    let of = |name: &&str| {
        let named = || all().filter(|found| found.what == **name);
        let first = named().filter_map(|found| found.a.as_deref());
        distinct(first.chain(named().filter_map(|found| found.b.as_deref())))
    };
    names.iter().map(of).find(|values| !values.is_empty()).unwrap_or_default()
}

fn few(values: Vec<String>, what: &str) -> Option<String> {
    match values.len() {
        0 => None,
        1..=VALUES_MAX => Some(values.join(" and ")),
        more => Some(counted(more as u64, what)),
    }
}

/// What was compared in addition to the numbers, as checks.
pub(super) fn trust(compared: &Compared) -> Option<Trust> {
    let count = |kind: DifferenceKind| {
        let all = compared.iter().flat_map(|(_, differences)| differences.iter());
        all.filter(|found| found.kind == kind && (found.a.is_some() || found.b.is_some())).count()
    };
    let name = |side: &SideHead| match compared.len() {
        1 => String::new(),
        _ => format!("{}: ", plain(&side.label)),
    };
    let tone = |kind: DifferenceKind| match kind {
        DifferenceKind::Unlike => Tone::Bad,
        DifferenceKind::Warning => Tone::Warn,
        _ => Tone::Note,
    };
    let mut loud = Vec::new();
    let mut all = Vec::new();
    for (side, differences) in compared {
        for (kind, line) in words::differences(differences) {
            if kind >= DifferenceKind::Expected {
                loud.push((tone(kind), format!("{}{}", name(side), loud_words(kind, &line))));
            }
        }
        for found in differences.iter().filter(|found| found.a.is_some() || found.b.is_some()) {
            let state = match found.kind {
                DifferenceKind::Same => "✓ same",
                DifferenceKind::Expected => "· differs",
                DifferenceKind::Warning => "⚠ caution",
                DifferenceKind::Unlike => "✗ unlike",
            };
            all.push(Check {
                state: state.to_owned(),
                title: format!("{}{}", name(side), plain(&found.what)),
                lines: vec![words::sides(found)],
            });
        }
    }
    if all.is_empty() {
        return None;
    }
    let told = |kind: DifferenceKind, noun: &str| {
        let found = count(kind);
        (found > 0).then(|| counted(found as u64, noun))
    };
    let parts = [
        (count(DifferenceKind::Same) > 0)
            .then(|| format!("{} the same", count(DifferenceKind::Same))),
        told(DifferenceKind::Expected, "compared difference"),
        told(DifferenceKind::Warning, "caution"),
        told(DifferenceKind::Unlike, "unlike setting"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    Some(Trust { line: parts.join(", "), loud, all })
}

/// A difference that is meant to be compared says so; for the others the sign says it.
fn loud_words(kind: DifferenceKind, line: &str) -> String {
    match kind {
        DifferenceKind::Expected => format!("differs: {line}"),
        DifferenceKind::Unlike => format!("unlike: {line}"),
        _ => line.to_owned(),
    }
}

/// Runs and files of the sides, the commands that measured them, and the one that made the page.
pub(super) fn sources(
    sides: &[&SideHead],
    caption: &str,
    method: &[String],
    command: &[String],
) -> Section {
    let list = |texts: &[String]| match texts {
        [] => ABSENT.to_owned(),
        some => some.iter().map(|text| plain(text)).collect::<Vec<_>>().join(", "),
    };
    let loads = |side: &SideHead| {
        let all: Vec<&Condition> = side.conditions.iter().collect();
        words::loads(&all)
    };
    let mut table = Columns::<&SideHead>::default()
        .name("side", |side| plain(&side.label))
        .text("runs and files", |side| list(&side.runs))
        .text("model", |side| list(&side.models))
        .text("tool", |side| list(&side.tools))
        .text("loads", |side| loads(side))
        .table(caption, sides.iter());
    table.drop_empty_columns();
    let mut blocks = vec![Block::Table(table)];
    if !method.is_empty() {
        blocks.push(Block::List(method.to_vec()));
    }
    let mut commands: Vec<String> = Vec::new();
    for side in sides.iter().filter(|side| !side.command.is_empty()) {
        let line = command_line(&side.command);
        if !commands.contains(&line) {
            commands.push(line);
        }
    }
    if !commands.is_empty() {
        blocks.push(Block::Prose("Commands of the sides".to_owned()));
        blocks.push(Block::Pre(commands.join("\n")));
    }
    blocks.extend(written_by(command));
    provenance(blocks)
}
