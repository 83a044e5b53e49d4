//! Which kernel is the fastest under each mask, what an empty mask is worth, and whether time goes with
//! the blocks that are left.

use crate::insight::{Insight, InsightRule, Question, Sentence, Tone, Topic};
use ifm_core::order::Order as _;
use ifm_metrics::stat::percentile_of_sorted;
use ifm_metrics::stat::trend::theil_sen;
use ifm_results::KernelMask;
use ifm_results::say;
use std::collections::BTreeSet;

pub(super) const RULE: InsightRule = InsightRule {
    id: "kernel",
    title: "the fastest kernel of each mask, how far it leads as more blocks of the mask are empty, and the line of its time over the blocks that are left",
    look,
};

const FORWARD: &str = "forward";
const BACKWARD: &str = "backward";
/// A backward pass is listed after any forward one.
const BACKWARD_WEIGHT: f64 = 0.1;
/// Two kernels whose lead differs by less over all masks have nothing to tell.
const LEAD_MIN: f64 = 1.2;
/// Masks through which a line says something; masks of other scores may lie off it.
const LINE_MASKS: usize = 4;
/// A kernel whose time falls by less, were all blocks empty, does not leave them out.
const FALL_MIN: f64 = 0.5;

fn look(question: &Question) -> Vec<Insight> {
    let masks = question.results.kernels();
    let mut found = Vec::new();
    for direction in [FORWARD, BACKWARD] {
        found.extend(masks.iter().filter_map(|mask| fastest(mask, direction)));
    }
    found.extend(lead(&masks));
    found.extend([FORWARD, BACKWARD].into_iter().filter_map(|pass| proportion(&masks, pass)));
    found
}

fn fastest(mask: &KernelMask, direction: &str) -> Option<Insight> {
    let times = mask.ranked(direction);
    let [(first, ms), others @ ..] = times.as_slice() else { return None };
    let (_, slowest) = others.last()?;
    let empty = mask.sparsity.map(|share| say!(" ({} of the blocks empty)"; share => Share));
    let behind = others.iter().map(
        |(name, other)| say!("{} as fast as {} ({})"; other / ms => Times, name, *other => Ms),
    );
    let sentence = say!(
        "{}{}: {} is the fastest that computes this mask ({}): {}, {}.";
        mask.name, empty.unwrap_or_default(), first, *ms => Ms,
        Sentence::list(behind, " and ", " and "), direction
    );
    let insight = Insight::new(RULE.id, Topic::Kernel, Tone::Note, sentence);
    let weight = if direction == FORWARD { 1.0 } else { BACKWARD_WEIGHT };
    Some(insight.weighing(weight * (slowest / ms).ln()).of(mask.name.clone()))
}

/// The lead of one kernel over another at the least and the most empty mask that both compute,
/// for the pair whose lead changes most. Masks are compared with others of the same shape alone:
/// over more tokens every kernel gains and loses otherwise.
fn lead(masks: &[KernelMask]) -> Option<Insight> {
    let mut shapes: Vec<Option<&str>> = masks.iter().map(|mask| mask.shape.as_deref()).collect();
    shapes.sort_unstable();
    shapes.dedup();
    let of = |shape: Option<&str>| {
        lead_at(masks.iter().filter(|mask| mask.shape.as_deref() == shape).collect())
    };
    shapes.into_iter().filter_map(of).max_by(|a, b| a.weight.total_cmp(&b.weight))
}

fn lead_at(masks: Vec<&KernelMask>) -> Option<Insight> {
    let mut masks: Vec<(&KernelMask, f64)> =
        masks.into_iter().filter_map(|mask| Some((mask, mask.sparsity?))).collect();
    masks.order_by(|a, b| a.1.total_cmp(&b.1));
    let ((least, from), (most, to)) = (*masks.first()?, *masks.last()?);
    if to <= from {
        return None;
    }
    let (few, many) = (least.ranked(FORWARD), most.ranked(FORWARD));
    let (first, best_ms) = many.first()?;
    let time = |times: &[(&str, f64)], name: &str| {
        times.iter().find(|(known, _)| *known == name).map(|(_, ms)| *ms)
    };
    let before_ms = time(&few, first)?;
    let leads = many
        .iter()
        .skip(1)
        .filter_map(|(name, ms)| Some((*name, time(&few, name)? / before_ms, ms / best_ms)));
    let (name, before, after) = leads.max_by(|a, b| (a.2 / a.1).total_cmp(&(b.2 / b.1)))?;
    if after < LEAD_MIN * before {
        return None;
    }
    let over = most.tokens().map(|tokens| say!(", both over {} tokens"; tokens as f64 => Count));
    let sentence = say!(
        "{} gains from empty blocks: {} as fast as {} with {} of them empty ({}), {} with {} ({}){}.";
        first, before => Times, name, from => Share, least.name, after => Times, to => Share,
        most.name, over.unwrap_or_default()
    );
    Some(Insight::new(RULE.id, Topic::Kernel, Tone::Good, sentence).weighing(after.ln()))
}

/// The line of time over the share of blocks that are left, of the kernel whose time falls most with them.
fn proportion(masks: &[KernelMask], pass: &str) -> Option<Insight> {
    let shapes: BTreeSet<_> = masks.iter().map(|mask| (&mask.shape, &mask.size)).collect();
    let kernels: BTreeSet<&str> =
        masks.iter().flat_map(|mask| mask.ranked(pass)).map(|(name, _)| name).collect();
    let lines = shapes.into_iter().flat_map(|(shape, size)| {
        let of: Vec<&KernelMask> =
            masks.iter().filter(|mask| (&mask.shape, &mask.size) == (shape, size)).collect();
        kernels.iter().filter_map(move |kernel| line(&of, kernel, pass)).collect::<Vec<_>>()
    });
    lines.max_by(|a, b| a.weight.total_cmp(&b.weight))
}

fn line(masks: &[&KernelMask], kernel: &str, pass: &str) -> Option<Insight> {
    let time = |mask: &KernelMask| {
        mask.ranked(pass).into_iter().find(|(name, _)| *name == kernel).map(|(_, ms)| ms)
    };
    let points: Vec<(f64, f64)> =
        masks.iter().filter_map(|mask| Some((1.0 - mask.sparsity?, time(mask)?))).collect();
    let places: BTreeSet<u64> = points.iter().map(|(left, _)| left.to_bits()).collect();
    let line = theil_sen(&points)?;
    let (all_ms, none_ms) = (line.at(1.0), line.start);
    let fall = line.slope / all_ms;
    if points.len() < LINE_MASKS || places.len() < LINE_MASKS || all_ms <= 0.0 || fall < FALL_MIN {
        return None;
    }
    let mut off: Vec<f64> =
        points.iter().map(|(left, ms)| (line.at(*left) - ms).abs() / ms).collect();
    off.sort_unstable_by(f64::total_cmp);
    let (half, worst) = (percentile_of_sorted(&off, 50.0)?, *off.last()?);
    let sentence = say!(
        "Time of {} by the blocks that are left: {} with none, {} with all, {}; half of {} masks lie within \
         {} of this line, the farthest {} off it.";
        kernel, none_ms => Ms, all_ms => Ms, pass, points.len() as f64 => Count, half => Share,
        worst => Share
    );
    let weight = if pass == FORWARD { 1.0 } else { BACKWARD_WEIGHT };
    Some(Insight::new(RULE.id, Topic::Kernel, Tone::Note, sentence).weighing(weight * fall))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insight::{Piece, insights};
    use ifm_results::Results;
    use ifm_results::testing::mask;

    #[test]
    fn a_sparse_mask_pays_and_a_causal_one_does_not() {
        let mut points = mask(0, "Causal Mask", 0.4922, [6.6376, 34.8769, 10.0974]);
        points.extend(mask(1, "Sliding Window 1024", 0.8682, [6.899, 34.3567, 3.3248]));
        let results = Results { sources: Vec::new(), points };
        let all = insights(&Question::new(&results));
        let numbers = |of: Option<&str>| -> Vec<f64> {
            let found = all.iter().find(|one| one.rule == RULE.id && one.of.as_deref() == of);
            found.expect("told").sentence.numbers().map(|(number, _)| number).collect()
        };
        let sliding = numbers(Some("Sliding Window 1024"));
        assert!((sliding[2] - 10.333).abs() < 0.01, "{sliding:?}");
        let causal = numbers(Some("Causal Mask"));
        // FA2 leads FlexAttention 1.52 times here.
        assert!((causal[2] - 1.5212).abs() < 1e-3, "{causal:?}");
        let gain = numbers(None);
        assert!((gain[0] - 3.454).abs() < 1e-3 && (gain[2] - 10.333).abs() < 0.01, "{gain:?}");
    }

    #[test]
    fn lists_a_backward_pass_after_the_forward_one() {
        let mut points = mask(0, "Causal Mask", 0.4922, [6.6376, 34.8769, 10.0974]);
        let mut backward = mask(0, "Causal Mask", 0.4922, [20.0, 99.5174, 9.8839]);
        backward.retain(|point| point.setting.get("pass").is_some());
        backward.iter_mut().for_each(|point| point.setting.set("pass", BACKWARD));
        points.extend(backward);
        let results = Results { sources: Vec::new(), points };
        let all = insights(&Question::new(&results));
        let word = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Number(value, _) => format!("{value:.1}"),
        };
        let text = |one: &Insight| one.sentence.pieces().iter().map(word).collect();
        let told: Vec<String> = all.iter().filter(|one| one.rule == RULE.id).map(text).collect();
        assert!(told[0].starts_with("Causal Mask") && told[0].ends_with(", forward."), "{told:?}");
        assert!(told[1].contains(": flexattention is the fastest"), "{told:?}");
        assert!(told[1].contains("(99.5") && told[1].ends_with(", backward."), "{told:?}");
    }

    #[test]
    fn does_not_compare_masks_of_different_lengths() {
        let with_shape = |part, name, sparsity, times, shape: &str| {
            let mut points = mask(part, name, sparsity, times);
            points.iter_mut().for_each(|point| point.setting.set("shape", shape));
            points
        };
        let (short, long) = ("1, 1, 8192, 8192", "1, 1, 32768, 32768");
        let mut points = with_shape(0, "Causal Mask", 0.4922, [6.6376, 34.8769, 10.0974], short);
        points.extend(with_shape(1, "Doc Mask Mod", 0.9528, [108.282, 585.221, 30.5244], long));
        let mut results = Results { sources: Vec::new(), points };
        let lead = |results: &Results| {
            let all = insights(&Question::new(results));
            let found = all.iter().find(|one| one.rule == RULE.id && one.of.is_none())?;
            Some(found.sentence.numbers().map(|(number, _)| number).collect::<Vec<_>>())
        };
        assert_eq!(lead(&results), None);
        let sliding = [6.899, 34.3567, 3.3248];
        results.points.extend(with_shape(2, "Sliding Window 1024", 0.8682, sliding, short));
        let found = lead(&results).expect("two of one length");
        assert!((found[2] - 10.333).abs() < 0.01 && found.last() == Some(&8192.0), "{found:?}");
    }

    #[test]
    fn time_by_the_blocks_that_are_left_is_a_line_with_its_error() {
        // The last kernel takes 0.5 ms and 10 ms for all blocks, but under one mask half as much again; the
        // others take the same under all masks.
        let told = |shares: &[f64]| {
            let times = |index: usize, empty: f64| {
                let own = 0.5 + 10.0 * (1.0 - empty);
                [30.0, 31.0, if index == 1 { 1.5 * own } else { own }]
            };
            let of = |(index, empty): (usize, &f64)| {
                mask(index, &format!("Mask {index}"), *empty, times(index, *empty))
            };
            let points = shares.iter().enumerate().flat_map(of).collect();
            let all = insights(&Question::new(&Results { sources: Vec::new(), points }));
            let is_line = |one: &&Insight| {
                let first = one.sentence.pieces().first();
                matches!(first, Some(Piece::Text(text)) if text.starts_with("Time of "))
            };
            let found = all.iter().find(is_line)?;
            Some(found.sentence.numbers().map(|(number, _)| number).collect::<Vec<_>>())
        };
        let numbers = told(&[0.0, 0.25, 0.5, 0.75, 0.9]).expect("a line");
        let [none, whole, masks, half, worst] = numbers[..] else { panic!("{numbers:?}") };
        assert!((none - 0.5).abs() < 1e-6 && (whole - 10.5).abs() < 1e-6, "{numbers:?}");
        assert!(masks == 5.0 && half < 1e-6 && (worst - 1.0 / 3.0).abs() < 1e-6, "{numbers:?}");
        assert_eq!(told(&[0.0, 0.5, 0.9]), None);
        // Four masks at three places.
        assert_eq!(told(&[0.0, 0.5, 0.5, 0.9]), None);
    }

    #[test]
    fn one_kernel_alone_is_not_compared() {
        let mut points = mask(0, "Causal Mask", 0.4922, [6.6376, 34.8769, 10.0974]);
        points.retain(|point| point.setting.get("kernel") == Some("flexattention"));
        let results = Results { sources: Vec::new(), points };
        let all = insights(&Question::new(&results));
        assert!(all.iter().all(|insight| insight.rule != RULE.id));
    }
}
