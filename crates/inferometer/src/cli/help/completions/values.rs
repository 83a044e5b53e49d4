//! The names that an argument accepts: those its parser knows, and a row of `ROWS` for each registry. A
//! mistyped name is compared with the same registries.
//!
//! Not here: which argument it is (`place`).

use super::Candidate;
use crate::cli::{engine, kernel, project, schema};
use crate::session::store_root;
use clap::{Arg, ValueHint};
use ifm_bench::kernel as kernels;
use ifm_compare::comparison::Measure;
use ifm_core::order::Order as _;
use ifm_core::{FormKind, Metric};
use ifm_engine::{Preset, Quantization};
use ifm_metrics::slo;
use ifm_predict::Calibration;
use ifm_roofline::{KvFormat, Machine, Model, WeightFormat};
use ifm_store::{RunEntry, Store};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Maximum number of runs whose names are offered, newest first.
const RUNS_MAX: usize = 200;
/// Maximum size of an import opened for its name, bytes.
const IMPORT_BYTES_MAX: u64 = 4 << 20;
/// Maximum number of a folder's files to offer.
const FILES_MAX: usize = 1_000;
/// Percentiles to offer for metrics that have them.
const PERCENTILES: [&str; 5] = ["p50", "p90", "p95", "p99", "mean"];

/// The request.
pub struct Asked<'a> {
    /// Words of the command, without the program name.
    pub command: &'a str,
    /// The argument.
    pub arg: &'a Arg,
    /// The typed part of the value.
    pub typed: &'a str,
    /// Folder of stored runs, if the line names one.
    pub store: Option<&'a str>,
    /// Folder of workload presets, likewise.
    pub presets: Option<&'a str>,
}

impl Asked<'_> {
    fn store(&self) -> Store {
        let named = self.store.map(PathBuf::from);
        let known = || known("INFEROMETER_STORE", "store");
        Store::at(store_root(named.or_else(known).as_ref()))
    }

    fn runs(&self) -> Vec<RunEntry> {
        let mut runs = self.store().list().unwrap_or_default();
        runs.truncate(RUNS_MAX);
        runs
    }
}

/// A folder from a variable or the project file.
fn known(variable: &str, key: &str) -> Option<PathBuf> {
    let named = std::env::var_os(variable).map(PathBuf::from);
    named.or_else(|| project::path_of(key).map(PathBuf::from))
}

type Values = fn(&Asked<'_>) -> Vec<Candidate>;

/// Arguments by their ids, for these commands (all if none is named), and the names that they accept. The
/// first matching row applies.
const ROWS: &[(&[&str], &[&str], Values)] = &[
    // Stored results. A file of another tool is a result too.
    (&["run"], &["runs show", "runs seal", "rerun"], run_names),
    (&["run"], &["runs rename", "runs tag", "runs rm"], stored_names),
    (&["id"], &["runs restore"], removed_ids),
    (
        &["run", "runs", "subject", "subjects", "baseline", "against", "from"],
        &[
            "gate",
            "compare",
            "rank",
            "history",
            "export",
            "report",
            "audit",
            "predict",
            "calibrate",
            "capacity",
        ],
        results,
    ),
    (&["more"], &["capacity"], results),
    (&["files"], &["import"], files),
    (&["tokenizer"], &[], files),
    (&["command"], &["exec"], files),
    (&["plan"], &[], plans),
    (&["calibration"], &[], calibrations),
    // Previously measured servers, and their models.
    (&["url", "base_url", "interleave"], &[], servers),
    (&["model"], &["run", "sweep", "capacity", "probe"], served_models),
    // What is sent.
    (&["workload", "probe"], &[], workloads),
    (&["forms"], &[], forms),
    (&["api"], &["run", "sweep", "capacity", "probe"], apis),
    (&["api"], &["conform"], |_| plain(["chat", "completions"])),
    (&["arrivals"], &[], |_| plain(["poisson", "constant", "gamma:", "burst:"])),
    // Parameters of results.
    (&["slo", "tiers"], &[], targets),
    (&["metric"], &[], metrics),
    (&["max", "min"], &["gate"], |asked| behind(metrics(asked), "=")),
    (&["per"], &[], |_| plain(["run", "day"])),
    (&["exports", "appended"], &[], |_| {
        let all = ifm_interop::EXPORTS.iter();
        all.map(|export| Candidate::new(format!("{}:", export.id), export.title)).collect()
    }),
    // Machines, models, formats, constants.
    (&["gpu"], &[], machines),
    (&["model"], &["limit", "predict", "calibrate", "audit", "report", "serve-simulated"], models),
    (&["quant"], &["limit", "predict", "calibrate", "serve-simulated"], |_| {
        plain(WeightFormat::all().map(|format| format.id))
    }),
    (&["kv"], &[], |_| plain(KvFormat::all().iter().map(|format| format.id))),
    (&["server"], &[], |_| plain(ifm_sim::Kind::ALL.map(ifm_sim::Kind::word))),
    (&["constants"], &[], |_| {
        let all = ifm_sim::CONSTANTS.iter();
        all.map(|known| Candidate::new(format!("{}=", known.name), known.meaning)).collect()
    }),
    // The embedded engine, other engines, kernels.
    (&["preset"], &["serve", "demo"], |_| plain(Preset::ALL.map(|preset| preset.to_string()))),
    (&["quant", "weights"], &["serve", "demo", "engine"], |_| {
        plain(Quantization::all().map(|variant| variant.to_string()))
    }),
    (&["models"], &["engine"], |asked| {
        let mut all = plain(Preset::ALL.map(|preset| preset.to_string()));
        all.extend(paths(asked.typed, false));
        all
    }),
    (&["preset"], &["engine"], |_| plain(ifm_bench::engine::presets().map(|(name, _)| name))),
    (&["adapter"], &["engine"], |_| plain(ifm_bench::engine::ADAPTERS.map(|(name, _)| name))),
    (&["output"], &["engine"], |asked| {
        let mut all = plain(engine::formats().iter().map(|format| format.get_name()));
        all.extend(paths(asked.typed, false));
        all
    }),
    (&["preset"], &["kernel attention"], |_| {
        kernels::PRESETS.iter().map(|preset| Candidate::new(preset.name, preset.title)).collect()
    }),
    (&["kernels", "reference"], &["kernel attention"], |_| titled(kernel::KERNELS)),
    (&["masks"], &["kernel attention"], |_| titled(kernel::MASKS)),
    (&["provider"], &[], |_| plain(["native", "torch", "command"])),
    (&["types"], &[], |_| plain(["f32", "f16", "bf16", "int8"])),
    (&["device"], &[], |_| plain(["cpu", "cuda"])),
    (&["power"], &[], |_| plain(["auto", "local", "off"])),
    // Lists of this program.
    (&["fault"], &[], |_| {
        let open = |form: &str| form.find(':').map_or(form.len(), |at| at + 1);
        let all = ifm_serve::KNOWN_FAULTS.into_iter();
        all.map(|(form, about)| Candidate::new(&form[..open(form)], about)).collect()
    }),
    (&["name"], &["schema"], |_| {
        schema::names().map(|(name, about)| Candidate::new(name, about)).collect()
    }),
    (&["kind"], &["plan init"], |_| {
        let all = ifm_plan::TEMPLATES.iter();
        all.map(|kind| Candidate::new(kind.word, kind.about)).collect()
    }),
    (&["command"], &["man"], subcommands),
    (&["cases"], &["conform"], |_| {
        let all = ifm_truth::cases::suite().into_iter();
        all.map(|case| Candidate::new(case.name, case.what)).collect()
    }),
    (&["api_key_env", "push_key_env"], &[], key_variables),
];

/// The values that an argument accepts, given the typed part.
pub fn of(asked: &Asked<'_>) -> Vec<Candidate> {
    // In a list, the last name is being typed.
    let is_list = asked.arg.get_value_delimiter().is_some() || LISTS.contains(&id_of(asked));
    let (done, typed) = match asked.typed.rfind(',').filter(|_| is_list) {
        Some(comma) => asked.typed.split_at(comma + 1),
        None => ("", asked.typed),
    };
    let asked = Asked { typed, ..*asked };
    let mut found = all(&asked).unwrap_or_default();
    found.retain(|candidate| candidate.text.starts_with(typed));
    let mut seen = BTreeSet::new();
    found.retain(|candidate| seen.insert(candidate.text.clone()));
    found.iter_mut().for_each(|candidate| {
        candidate.text.insert_str(0, done);
        candidate.about = first_line(Some(&candidate.about.clone().into()));
    });
    found
}

/// Lists that the parser treats as one text.
const LISTS: [&str; 5] = ["fault", "slo", "runs", "run", "baseline"];

fn id_of<'a>(asked: &Asked<'a>) -> &'a str {
    asked.arg.get_id().as_str()
}

/// Every name that an argument accepts; absent if it accepts no names.
fn all(asked: &Asked<'_>) -> Option<Vec<Candidate>> {
    let is_of = |(ids, commands, _): &&(&[&str], &[&str], Values)| {
        let is_command = commands.is_empty() || commands.contains(&asked.command);
        ids.contains(&id_of(asked)) && is_command
    };
    if let Some((_, _, values)) = ROWS.iter().find(is_of) {
        return Some(values(asked));
    }
    let words = possible(asked.arg);
    if !words.is_empty() {
        return Some(words);
    }
    let is_folder = asked.arg.get_value_names().is_some_and(|names| names[0] == "DIR");
    match asked.arg.get_value_hint() {
        ValueHint::Unknown => None,
        _ => Some(paths(asked.typed, is_folder)),
    }
}

/// The possible values of an argument, from its parser.
fn possible(arg: &Arg) -> Vec<Candidate> {
    let words = arg.get_possible_values().into_iter().filter(|word| !word.is_hide_set());
    words.map(|word| Candidate::new(word.get_name(), first_line(word.get_help()))).collect()
}

fn plain(words: impl IntoIterator<Item = impl Into<String>>) -> Vec<Candidate> {
    words.into_iter().map(|word| Candidate::new(word, "")).collect()
}

fn titled(rows: &[(&str, &str)]) -> Vec<Candidate> {
    rows.iter().map(|(name, title)| Candidate::new(*name, *title)).collect()
}

fn behind(mut candidates: Vec<Candidate>, sign: &str) -> Vec<Candidate> {
    candidates.iter_mut().for_each(|candidate| candidate.text.push_str(sign));
    candidates
}

/// The runs of the store: by name if they have one, and by ID once one is being typed.
/// Runs and imports in the bin.
fn removed_ids(asked: &Asked<'_>) -> Vec<Candidate> {
    let ids = asked.store().set_aside_ids().unwrap_or_default();
    ids.into_iter().map(|id| Candidate::new(id, "in the bin")).collect()
}

fn run_names(asked: &Asked<'_>) -> Vec<Candidate> {
    let mut found = vec![Candidate::new("last", "the newest run")];
    for run in asked.runs() {
        let manifest = run.manifest.as_ref().ok();
        let about = manifest
            .map(|manifest| format!("{}, {}", manifest.spec.target.model, manifest.created_utc));
        let about = about.unwrap_or_default();
        let name = manifest.and_then(|manifest| manifest.name.clone());
        let is_named = name.is_some();
        found.extend(name.map(|name| Candidate::new(name, &*about)));
        if !is_named || asked.typed.starts_with(|sign: char| sign.is_ascii_digit()) {
            found.push(Candidate::new(run.id, about));
        }
    }
    found
}

/// The same, and imports.
fn stored_names(asked: &Asked<'_>) -> Vec<Candidate> {
    let mut found = run_names(asked);
    let store = asked.store();
    for id in store.import_ids().unwrap_or_default().into_iter().take(RUNS_MAX) {
        let is_small = store.import_bytes(&id).is_some_and(|bytes| bytes <= IMPORT_BYTES_MAX);
        let import = is_small.then(|| store.import(&id).ok()).flatten();
        let name = import.and_then(|import| import.name).unwrap_or(id);
        found.push(Candidate::new(name, "an import"));
    }
    found
}

/// The same, tags for a history, and files.
fn results(asked: &Asked<'_>) -> Vec<Candidate> {
    let mut found = stored_names(asked);
    if asked.command == "history" {
        let tags: BTreeSet<String> =
            asked.runs().iter().flat_map(|run| run.tags().unwrap_or_default()).collect();
        found.extend(tags.into_iter().map(|tag| Candidate::new(tag, "a tag")));
    }
    if id_of(asked) == "baseline" {
        found.push(Candidate::new("history:", "the runs before it"));
    }
    found.extend(paths(asked.typed, false));
    found
}

fn files(asked: &Asked<'_>) -> Vec<Candidate> {
    paths(asked.typed, false)
}

fn plans(asked: &Asked<'_>) -> Vec<Candidate> {
    let plans = asked.store().plans().unwrap_or_default().into_iter();
    let mut found: Vec<Candidate> =
        plans.map(|name| Candidate::new(name, "a plan that was run before")).collect();
    found.extend(paths(asked.typed, false));
    found
}

fn calibrations(asked: &Asked<'_>) -> Vec<Candidate> {
    plain(Calibration::names(&asked.store()))
}

/// Servers that stored runs measured, and the default one.
fn servers(asked: &Asked<'_>) -> Vec<Candidate> {
    let of = |run: &RunEntry| Some(run.manifest.as_ref().ok()?.spec.target.base_url.clone());
    let mut found: Vec<String> = asked.runs().iter().filter_map(of).collect();
    found.retain(|url| url.starts_with("http"));
    found.push("http://127.0.0.1:8000".to_owned());
    plain(found)
}

fn served_models(asked: &Asked<'_>) -> Vec<Candidate> {
    let of = |run: &RunEntry| Some(run.manifest.as_ref().ok()?.spec.target.model.clone());
    plain(asked.runs().iter().filter_map(of).collect::<Vec<_>>())
}

/// Presets and kinds of datasets, with a file after the colon for kinds that read one.
fn workloads(asked: &Asked<'_>) -> Vec<Candidate> {
    if let Some((kind, path)) = asked.typed.split_once(':') {
        let known = ifm_workload::DATASETS.iter().find(|known| known.is_called(kind));
        let is_file = known
            .is_some_and(|known| known.usage.ends_with(":FILE") || known.usage.ends_with(":DIR"));
        let mut found = if is_file { paths(path, false) } else { Vec::new() };
        found.iter_mut().for_each(|file| file.text.insert_str(0, &format!("{kind}:")));
        return found;
    }
    let folder = asked.presets.map(PathBuf::from);
    let folder = folder.or_else(|| known("INFEROMETER_PRESETS", "presets"));
    let presets = ifm_workload::presets(folder.as_deref()).unwrap_or_default();
    let presets = presets.into_iter().map(|preset| Candidate::new(preset.name, preset.summary));
    let kinds = ifm_workload::DATASETS.iter();
    let kinds = kinds.map(|kind| Candidate::new(format!("{}:", kind.name), kind.summary));
    presets.chain(kinds).collect()
}

fn forms(_: &Asked<'_>) -> Vec<Candidate> {
    let kinds = FormKind::ALL.map(|kind| kind.word().replace('_', "-"));
    let kinds = kinds.into_iter().filter(|kind| kind != "json-object");
    let mut found = behind(plain(kinds), ":");
    found.extend(plain(["json", "preset:"]));
    found
}

/// The built-in APIs, and files that describe one.
fn apis(asked: &Asked<'_>) -> Vec<Candidate> {
    let mut found = possible(asked.arg);
    found.retain(|api| !api.text.ends_with(":FILE"));
    if let Some(path) = asked.typed.strip_prefix("custom:") {
        let files = paths(path, false).into_iter();
        found.extend(files.map(|file| Candidate::new(format!("custom:{}", file.text), "")));
    }
    found
}

/// Named targets, and the metrics that a target can bound.
fn targets(_: &Asked<'_>) -> Vec<Candidate> {
    let names = slo::PRESETS.iter().flat_map(|preset| {
        preset
            .names()
            .map(|name| Candidate::new(name, format!("{}: {}", preset.about, preset.terms)))
    });
    let bounded = Metric::all().filter(|metric| metric.is_bounded_by_targets());
    let terms = bounded.map(|metric| {
        let over = if metric.has_many_values() { ":p99<" } else { "<" };
        Candidate::new(format!("{}{over}", metric.word()), metric.name())
    });
    names.chain(terms).collect()
}

fn metrics(_: &Asked<'_>) -> Vec<Candidate> {
    let words = |metric: Metric| match metric.has_many_values() {
        true => PERCENTILES.map(|over| format!("{}.{over}", metric.word())).to_vec(),
        false => vec![metric.word().to_owned()],
    };
    let all = Metric::all().flat_map(|metric| {
        words(metric).into_iter().map(move |word| Candidate::new(word, metric.name()))
    });
    all.filter(|word| Measure::parse(&word.text).is_ok()).collect()
}

fn machines(_: &Asked<'_>) -> Vec<Candidate> {
    let all = Machine::all().iter().map(|machine| Candidate::new(&*machine.id, &*machine.name));
    all.chain([Candidate::new("measured", "what kernel measured here")]).collect()
}

fn models(_: &Asked<'_>) -> Vec<Candidate> {
    Model::all().map(|model| Candidate::new(&*model.id, &*model.name)).collect()
}

/// Names of variables that may contain a key.
fn key_variables(_: &Asked<'_>) -> Vec<Candidate> {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let may = |name: &String| ["KEY", "TOKEN"].iter().any(|end| name.ends_with(end));
    plain(names.filter(may).collect::<BTreeSet<_>>())
}

fn subcommands(_: &Asked<'_>) -> Vec<Candidate> {
    let program = crate::cli::command();
    let shown = program.get_subcommands().filter(|sub| !sub.is_hide_set());
    shown.map(|sub| Candidate::new(sub.get_name(), first_line(sub.get_about()))).collect()
}

/// A line of another tool: the known beginnings, then the flags of the tool's table, and inferometer's
/// own.
pub fn foreign(line: &[String], typed: &str) -> Vec<Candidate> {
    let Ok(tools) = ifm_compat::tools() else { return Vec::new() };
    let so_far = line.join(" ");
    let known = ifm_compat::table_of(line).ok().flatten();
    let Some(table) = known else {
        // The next word of each program whose line begins like this one.
        let next = |program: &String| {
            let rest = program.strip_prefix(&so_far)?;
            let rest = if so_far.is_empty() { rest } else { rest.strip_prefix(' ')? };
            Some(rest.split(' ').next()?.to_owned())
        };
        let words: BTreeSet<String> =
            tools.iter().flat_map(|table| &table.programs).filter_map(next).collect();
        let mut found = plain(words.into_iter().filter(|word| word.starts_with(typed)));
        if found.is_empty() {
            found = paths(typed, false);
        }
        return found;
    };
    if !typed.starts_with('-') {
        return paths(typed, false);
    }
    let of_tool = table.flags.keys().filter(|flag| flag.starts_with(typed));
    of_tool.map(|flag| Candidate::new(flag, "")).collect()
}

/// Files and folders that begin with the typed text.
fn paths(typed: &str, only_folders: bool) -> Vec<Candidate> {
    let (folder, start) = typed.split_at(typed.rfind('/').map_or(0, |slash| slash + 1));
    let home = || std::env::var_os("HOME").map(PathBuf::from);
    let looked = match folder.strip_prefix("~/") {
        Some(rest) => home().unwrap_or_default().join(rest),
        None if folder.is_empty() => PathBuf::from("."),
        None => PathBuf::from(folder),
    };
    let Ok(entries) = std::fs::read_dir(looked) else { return Vec::new() };
    let mut found: Vec<Candidate> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let is_hidden = name.starts_with('.') && !start.starts_with('.');
            let is_folder = is_folder(&entry.path());
            let is_meant = name.starts_with(start) && !is_hidden && (is_folder || !only_folders);
            let slash = if is_folder { "/" } else { "" };
            is_meant.then(|| Candidate::new(format!("{folder}{name}{slash}"), ""))
        })
        .take(FILES_MAX)
        .collect();
    found.order_by(|one, other| one.text.cmp(&other.text));
    found
}

fn is_folder(path: &Path) -> bool {
    path.metadata().is_ok_and(|facts| facts.is_dir())
}

/// The first line of a help text, shortened to the width of a description.
pub fn first_line(help: Option<&clap::builder::StyledStr>) -> String {
    const WIDTH: usize = 70;
    let text = help.map(ToString::to_string).unwrap_or_default();
    let text = text.replace('\n', " ");
    match text.char_indices().nth(WIDTH) {
        None => text,
        Some((end, _)) => {
            let end = text[..end].rfind(' ').unwrap_or(end);
            format!("{} …", &text[..end])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Command;

    /// Names of values that are a number, a time, a pattern, an address or several of these: no list of
    /// names could contain them.
    const FREE: &[&str] = &[
        "ORIGIN",
        "ADDRESS",
        "BYTES,…",
        "BxIN/OUT",
        "COMMAND",
        "FACTOR",
        "FLAG=VALUES",
        "FLAGS",
        "FROM-TO/SPAN",
        "GB/S",
        "HEADER",
        "HOST",
        "JSON",
        "LENGTHS",
        "LIST",
        "LOAD",
        "MONEY",
        "MS",
        "N",
        "N,…",
        "N/SPAN",
        "NAME=COLUMN,…",
        "NAME=VALUE",
        "NAME=VALUE[@USERS]",
        "P,N",
        "PID",
        "PORT",
        "PROMPT/OUTPUT",
        "RATE",
        "RATES/SPAN",
        "REGEX",
        "RULE",
        "S",
        "SECONDS",
        "SEED",
        "SHARE",
        "SIZE",
        "SIZE,…",
        "SPAN",
        "SPEED",
        "SWEEP_FLAGS",
        "TAGS",
        "TEMPERATURE",
        "TIME",
        "TITLE",
        "TOKENS",
        "URL",
        "USD",
        "VALUE",
        "W",
        "step=.step,loss=.loss",
    ];

    /// Arguments whose values are free text, or names that only another program knows.
    const OWN: &[&str] = &[
        "name",
        "served_model_name",
        "session_headers",
        "by",
        "allow_difference",
        "instructions",
        "cache_type_k",
        "cache_type_v",
        "words",
        "line",
        "chart",
    ];

    #[test]
    fn every_value_is_known_here_or_free() {
        fn walk(path: &str, command: &Command, open: &mut Vec<String>) {
            for arg in command.get_arguments().filter(|arg| arg.get_action().takes_values()) {
                let asked =
                    Asked { command: path, arg, typed: "", store: Some("/none"), presets: None };
                let name =
                    arg.get_value_names().map(|names| names[0].to_string()).unwrap_or_default();
                let is_free = arg.is_hide_set()
                    || FREE.contains(&name.as_str())
                    || OWN.contains(&arg.get_id().as_str());
                if all(&asked).is_none() && !is_free {
                    open.push(format!("{path} {} {name}", arg.get_id()));
                }
            }
            for sub in command.get_subcommands() {
                walk(format!("{path} {}", sub.get_name()).trim(), sub, open);
            }
        }
        let mut program = crate::cli::command();
        program.build();
        let mut open = Vec::new();
        walk("", &program, &mut open);
        assert!(
            open.is_empty(),
            "give them a row, or say that their values are free:\n{}",
            open.join("\n")
        );
        // And each row names an existing argument.
        fn ids(command: &Command, all: &mut BTreeSet<String>) {
            all.extend(command.get_arguments().map(|arg| arg.get_id().to_string()));
            command.get_subcommands().for_each(|sub| ids(sub, all));
        }
        let mut known = BTreeSet::new();
        ids(&program, &mut known);
        for id in ROWS.iter().flat_map(|(ids, ..)| ids.iter()).chain(OWN) {
            assert!(known.contains(*id), "no argument is named {id}");
        }
    }
}
