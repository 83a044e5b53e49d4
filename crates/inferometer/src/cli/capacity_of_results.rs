//! `inferometer capacity RESULT…`: finds between which loads of stored runs and files the capacity
//! lies.
//!
//! Sends nothing. Not here: the search on a server (`capacity`), and the judging
//! ([`ifm_results::results`]).

use super::report::ReportArgs;
use crate::cli::args::load::LoadArgs;
use crate::cli::args::page::PageArgs;
use crate::cli::args::price;
use crate::exit::{Code, Failure};
use crate::inputs::{self, Subjects};
use crate::output::{Format, OwnFormats};
use crate::session::store_root;
use crate::terminal;
use ifm_core::sheet::{PartKind, key};
use ifm_core::spec::SloSpec;
use ifm_metrics::capacity::Worth;
use ifm_metrics::slo;
use ifm_report::FittingText;
use ifm_report::page::{Block, Page, Section};
use ifm_results::{Fitting, Point};
use ifm_rules::insight::{Question, told_by};
use ifm_session::level_planner::Tier;
use ifm_store::Store;
use std::path::{Path, PathBuf};

/// File extensions of results: a word with one of them is not an address.
const ENDINGS: [&str; 8] = ["json", "jsonl", "csv", "md", "txt", "yaml", "log", "parquet"];

/// The results named instead of a URL; absent if a URL, or nothing, was named.
///
/// # Errors
/// A URL among results.
pub fn named(load: &LoadArgs, more: &[String]) -> Result<Option<Vec<PathBuf>>, Failure> {
    let Some(first) = &load.url else { return Ok(None) };
    let store = Store::at(store_root(load.results.store.as_ref()));
    if more.is_empty() && !is_result(&store, first) {
        return Ok(None);
    }
    let words = std::iter::once(first).chain(more);
    if let Some(url) = words.clone().find(|word| word.contains("://")) {
        return Err(Failure::usage(format!("{url} is an address among results"))
            .hint("name one URL to measure, or existing results"));
    }
    Ok(Some(words.map(PathBuf::from).collect()))
}

/// Whether a word names a result: a file or folder, a run or import. A word that looks like an
/// address is not a result.
fn is_result(store: &Store, word: &str) -> bool {
    let path = Path::new(word);
    if word.contains("://") {
        return false;
    }
    let has_ending = path
        .extension()
        .and_then(|ending| ending.to_str())
        .is_some_and(|ending| ENDINGS.contains(&ending));
    let is_host = word.contains(':') || word.starts_with("localhost");
    // A missing folder is reported as a folder, not as a host: `results/`, `./results/`.
    let is_folder =
        word.ends_with('/') && !is_host && (!word.contains('.') || word.starts_with('.'));
    word == "-"
        || path.exists()
        || has_ending
        || is_folder
        || (!is_host && inputs::find_argument(store, path).is_ok())
}

/// Runs the command.
///
/// # Errors
/// A name of nothing, no target, or no level with a load.
pub fn run(
    load: &LoadArgs,
    tiers: &[Tier],
    worth: &Worth,
    results: &[PathBuf],
) -> Result<Code, Failure> {
    load.results.refuse_run_flags("the capacity of results")?;
    let files = PageArgs { out: load.results.out.clone(), ..PageArgs::default() };
    files.check()?;
    let store = Store::at(store_root(load.results.store.as_ref()));
    let subjects = inputs::open(&store, results)?;
    let worth = Worth { usd_per_hour: price::stored(&subjects), ..*worth };
    let of_run = subjects.runs.first().map(|run| &run.manifest.spec.slo);
    // Tiers replace the run's target, and are added to a requested one.
    let target = target(load, tiers.first().map(|tier| &tier.slo).or(of_run))?;
    let results = subjects.results();
    let mut by = told_by(&Question::new(&results));
    by.retain(|name| name != key::STRATEGY);
    // Predicted results are marked, even without measured ones.
    let is_predicted = results.points.iter().any(Point::is_predicted);
    if is_predicted && !by.iter().any(|name| name == key::NUMBERS) {
        by.push(key::NUMBERS.to_owned());
    }
    let by: Vec<&str> = by.iter().map(String::as_str).collect();
    let pool = results.pool(PartKind::Serving);
    let fittings = pool.fittings(&by, &target);
    if fittings.is_empty() {
        return Err(Failure::usage("no result holds a level with a number of users or a rate")
            .hint("inferometer import shows what is read from a file"));
    }
    let of_tier =
        |tier: &Tier| (tier.name.clone(), tier.slo.clone(), pool.fittings(&by, &tier.slo));
    let tiers: Vec<(String, SloSpec, Vec<Fitting>)> = tiers.iter().map(of_tier).collect();
    let others = || tiers.iter().filter(|(_, slo, _)| slo.terms != target.terms);
    let all = |write: &dyn Fn(&SloSpec, &[Fitting]) -> String| {
        let mut text = write(&target, &fittings);
        others().for_each(|(_, slo, fittings)| text.push_str(&write(slo, fittings)));
        text
    };
    let style = terminal::style(load.results.no_color, load.results.ascii);
    let own = || ifm_report::fitting_json((&target, &fittings), &tiers, &worth);
    let page = || {
        let answers = std::iter::once((&target, fittings.as_slice()))
            .chain(others().map(|(_, slo, found)| (slo, found.as_slice())));
        let answers = answers.map(|(slo, found)| ifm_report::fitting_text(slo, found, &worth));
        page(&subjects, &target, answers.collect())
    };
    files.write(page, &OwnFormats::json(&own))?;
    terminal::print(&match load.results.output() {
        Format::Json => ifm_report::fitting_json((&target, &fittings), &tiers, &worth),
        Format::Md => all(&|slo, found| ifm_report::fitting_markdown(slo, found, &worth)),
        Format::Text => all(&|slo, found| ifm_report::fitting_terminal(slo, found, &worth, &style)),
        // Rejected above.
        Format::Requests | Format::Sessions | Format::Vllm | Format::Sglang => String::new(),
    });
    Ok(Code::Done)
}

/// The report of the results for the target, with the answers to all targets first.
fn page(subjects: &Subjects, target: &SloSpec, answers: Vec<FittingText>) -> Result<Page, Failure> {
    let words = ["report".to_owned(), "--slo".to_owned(), slo::words(target)];
    let mut page = ReportArgs::of_words(&words)?.page(subjects)?;
    page.title = format!("Capacity: {}", page.title);
    page.lead = answers.first().map(|first| format!("{}: {}", first.head, first.short.join("; ")));
    let blocks = answers
        .into_iter()
        .flat_map(|answer| [Block::Prose(answer.head), Block::List(answer.lines)]);
    page.sections.insert(0, Section::new("Capacity", blocks.collect()));
    Ok(page)
}

/// The requested target, else that of the first run.
fn target(load: &LoadArgs, of_run: Option<&SloSpec>) -> Result<SloSpec, Failure> {
    let hint = "for example --slo \"ttft:p99<500ms,itl:p99<50ms\"";
    let asked = match (&load.results.slo, load.results.goodput.is_empty()) {
        (Some(text), _) => Some(slo::parse(text)),
        (None, false) => Some(slo::parse_goodput(&load.results.goodput)),
        (None, true) => None,
    };
    let asked = asked.transpose();
    let asked = asked.map_err(|error| Failure::usage(format!("--slo: {error}")).hint(hint))?;
    asked
        .or_else(|| of_run.cloned())
        .filter(|target| !target.terms.is_empty())
        .ok_or_else(|| Failure::usage("a capacity needs a latency target").hint(hint))
}
