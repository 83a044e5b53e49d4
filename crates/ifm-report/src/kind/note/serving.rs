//! A sweep of a server: what fits, one table and charts of all levels, and each level's block.

use super::super::Subject;
use super::super::answers::Answers;
use super::super::common::about;
use super::super::sweep::several::{figures, points};
use super::blocks::vllm;
use crate::format::plain;
use crate::model::load_words;
use crate::page::{Block, Remark, Section, Tile};
use ifm_analysis::insight::{Topic, told_by};
use ifm_analysis::survey::Pool;
use ifm_core::sheet::PartKind;

/// Blocks that are printed, at most.
const BLOCKS_MAX: usize = 100;

/// The pool of all levels, and what tells their curves apart.
fn measured<'a>(subject: &Subject<'a>) -> (Pool<'a>, Vec<String>) {
    (subject.question.survey.pool(PartKind::Serving), told_by(&subject.question))
}

/// How many users fit.
pub(super) fn tile(subject: &Subject) -> Option<Tile> {
    let (pool, by) = measured(subject);
    if pool.cells.is_empty() {
        return None;
    }
    Answers::new(&subject.question, &pool, &by).tile()
}

/// The chapters; none without a level.
pub(super) fn sections(subject: &Subject) -> Vec<Section> {
    let (pool, by) = measured(subject);
    if pool.cells.is_empty() {
        return Vec::new();
    }
    let mut blocks = Vec::new();
    let standing: Vec<Remark> = about(subject.insights, &[Topic::Itl, Topic::Capacity])
        .filter(|insight| insight.rule == "cold_level")
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
    let printed = pool.cells.iter().flat_map(|cell| &cell.points).take(BLOCKS_MAX);
    let block = |point: &&ifm_analysis::survey::Point| {
        let name = match (point.load, point.headings.last()) {
            (Some(load), _) => load_words(Some(load)),
            (None, Some(heading)) => plain(heading),
            (None, None) => load_words(None),
        };
        Block::Details(name, vec![Block::Pre(vllm(point))])
    };
    let printed: Vec<Block> =
        printed.collect::<Vec<_>>().iter().map(|point| block(point)).collect();
    sections.push(Section::new("Every level as vLLM prints it", printed));
    sections
}
