//! A sweep of a server: what fits, one table and charts of all levels, and each level's block.

use super::super::Subject;
use super::super::answers::Answers;
use super::super::common::about;
use super::super::sweep::several::{figures, load_of, points};
use super::blocks::vllm;
use crate::format::{number, plain};
use crate::model::load_words;
use crate::page::{Block, Remark, Section, Tile};
use ifm_core::Metric;
use ifm_core::order::Order as _;
use ifm_core::sheet::{PartKind, Statistic, key};
use ifm_results::{Point, Pool, Pooled};
use ifm_rules::insight::{Topic, told_by};

/// Rules whose sentences hold for all charts and tables of the chapter.
const STANDING: [&str; 3] = ["cold_level", "held_load", "same_prompts"];
/// Blocks that are printed, at most.
const BLOCKS_MAX: usize = 100;

/// All values of a factor; absent where no level names one.
fn all(pool: &Pool, name: &str) -> Option<String> {
    let mut values: Vec<String> = Vec::new();
    for value in pool.cells.iter().filter_map(|cell| cell.factor(name)) {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    (!values.is_empty()).then(|| plain(&values.join(", ")))
}

/// What was served to whom: model, engine, workload and the mean lengths.
fn served(pool: &Pool) -> String {
    let factors = [key::MODEL, key::ENGINE, key::WORKLOAD];
    let names = factors.into_iter().filter_map(|name| all(pool, name));
    let mean = |quantity: Metric| {
        let mut means = pool.cells.iter().filter_map(|cell| {
            let tokens = cell.stat(quantity, Statistic::Value)?.value;
            Some(tokens / cell.requests_ok()?)
        });
        let first = means.next()?;
        let (low, high) =
            means.fold((first, first), |(low, high), mean| (low.min(mean), high.max(mean)));
        let [low, high] = [low, high].map(number);
        Some(if low == high { low } else { format!("{low} to {high}") })
    };
    let length = |(quantity, words): (Metric, &str)| Some(format!("{} {words}", mean(quantity)?));
    let lengths = [
        (Metric::InputTokens, "prompt tokens on average"),
        (Metric::OutputTokens, "output tokens"),
    ];
    let parts: Vec<String> = names.chain(lengths.into_iter().filter_map(length)).collect();
    format!("Served: {}.", parts.join(" · "))
}

/// The pool of all levels, and the factors that distinguish their curves.
fn measured<'a>(subject: &Subject<'a>) -> (Pool<'a>, Vec<String>) {
    (subject.question.results.pool(PartKind::Serving), told_by(&subject.question))
}

/// How many users fit.
pub(super) fn tile(subject: &Subject) -> Option<Tile> {
    let (pool, by) = measured(subject);
    if pool.cells.is_empty() {
        return None;
    }
    let mut tile = Answers::new(&subject.question, &pool, &by).tile()?;
    // Other parts of a note are about other models.
    let names: Vec<String> =
        [key::MODEL, key::ENGINE].into_iter().filter_map(|name| all(&pool, name)).collect();
    if !names.is_empty() {
        tile.detail = format!("{}: {}", names.join(" on "), tile.detail);
    }
    Some(tile)
}

/// The chapters; none without a level.
pub(super) fn sections(subject: &Subject) -> Vec<Section> {
    let (pool, by) = measured(subject);
    if pool.cells.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![Block::Prose(served(&pool))];
    let standing: Vec<Remark> = about(subject.insights, &[Topic::Itl, Topic::Capacity])
        .filter(|insight| STANDING.contains(&insight.rule))
        .map(Remark::of)
        .collect();
    if !standing.is_empty() {
        blocks.push(Block::Remarks(standing));
    }
    let figures = figures(subject, &pool, &by);
    if !figures.is_empty() {
        blocks.push(Block::Figures(figures));
    }
    blocks.push(Block::Table(points(&pool, &by)));
    let mut sections = vec![Section::new("Serving", blocks)];
    let answers = Answers::new(&subject.question, &pool, &by);
    sections.extend(answers.capacity(subject.insights));
    sections.extend(answers.cost(subject.insights));
    let mut cells: Vec<&Pooled> = pool.cells.iter().collect();
    cells.order_by_key(|cell| cell.load().is_none());
    let name = |cell: &Pooled| match cell.load() {
        Some(load) => load_words(Some(load)),
        None => load_of(cell),
    };
    let printed = cells.into_iter().flat_map(|cell| {
        let block = move |point: &&Point| Block::Details(name(cell), vec![Block::Pre(vllm(point))]);
        cell.points.iter().map(block)
    });
    let printed: Vec<Block> = printed.take(BLOCKS_MAX).collect();
    sections.push(Section::new("Every level as vLLM prints it", printed));
    sections
}
