//! Values between samples.

use ifm_core::Series;

/// Samples further apart say nothing about what was between them.
const GAP_MAX_NS: u64 = 3_000_000_000;
const NS_PER_S: f64 = 1e9;

/// The value at a moment, on the line between the samples around it. Absent where they are too far
/// apart, or only on one side.
pub(super) fn at(series: &Series, at_ns: u64) -> Option<f64> {
    let after = series.at_ns.partition_point(|sample| *sample < at_ns);
    let (next_ns, next) = sample(series, after)?;
    if next_ns == at_ns {
        return Some(next);
    }
    let (last_ns, last) = sample(series, after.checked_sub(1)?)?;
    let gap_ns = next_ns - last_ns;
    let share = (at_ns - last_ns) as f64 / gap_ns as f64;
    (gap_ns <= GAP_MAX_NS).then_some(last + (next - last) * share)
}

fn sample(series: &Series, index: usize) -> Option<(u64, f64)> {
    Some((*series.at_ns.get(index)?, *series.value.get(index)?))
}

/// Samples within a span, its ends included.
pub(super) fn within(
    series: &Series,
    (start_ns, end_ns): (u64, u64),
) -> impl Iterator<Item = (u64, f64)> {
    let samples = series.at_ns.iter().copied().zip(series.value.iter().copied());
    samples.filter(move |(at_ns, _)| (start_ns..=end_ns).contains(at_ns))
}

/// The first stretch of a span, longer than samples may be apart, without a sample after one: from that
/// sample to the next one or to the end of the span.
pub(super) fn hole(series: &Series, (start_ns, end_ns): (u64, u64)) -> Option<(u64, u64)> {
    let next = series.at_ns.iter().skip(1).copied().chain([u64::MAX]);
    let mut between = series.at_ns.iter().copied().zip(next);
    let is_hole = |(from, to): &(u64, u64)| {
        let to = if *to == u64::MAX { end_ns } else { *to };
        to.saturating_sub(*from) > GAP_MAX_NS && *from < end_ns && to > start_ns
    };
    between.find(is_hole).map(|(from, to)| (from, to.min(end_ns)))
}

/// How far a counter moved in a span. Absent where an end is not known, or it went back.
pub(super) fn moved(series: &Series, (start_ns, end_ns): (u64, u64)) -> Option<f64> {
    let (first, last) = (at(series, start_ns)?, at(series, end_ns)?);
    let inside = within(series, (start_ns, end_ns)).map(|(_, value)| value);
    let mut former = first;
    for value in inside.chain([last]) {
        if value < former {
            return None;
        }
        former = value;
    }
    Some(last - first)
}

/// The integral over a span, by trapezoids: joules from watts. Absent where there is a hole.
pub(super) fn integral(series: &Series, (start_ns, end_ns): (u64, u64)) -> Option<f64> {
    let ends = [(start_ns, at(series, start_ns)?), (end_ns, at(series, end_ns)?)];
    let mut sum = 0.0;
    let mut former = ends[0];
    for (at_ns, value) in within(series, (start_ns, end_ns)).chain([ends[1]]) {
        let gap_ns = at_ns.checked_sub(former.0)?;
        if gap_ns > GAP_MAX_NS {
            return None;
        }
        sum += (former.1 + value) / 2.0 * gap_ns as f64 / NS_PER_S;
        former = (at_ns, value);
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn series(samples: &[(f64, f64)]) -> Series {
        Series {
            name: String::new(),
            unit: String::new(),
            source: String::new(),
            at_ns: samples.iter().map(|(at_s, _)| (at_s * 1e9) as u64).collect(),
            value: samples.iter().map(|(_, value)| *value).collect(),
        }
    }

    #[test]
    fn between_samples_lies_a_line() {
        let ramp = series(&[(1.0, 10.0), (2.0, 20.0), (6.0, 60.0)]);
        let found = [0, S, S * 3 / 2, 2 * S, 3 * S, 6 * S, 7 * S].map(|at_ns| at(&ramp, at_ns));
        assert_eq!(found, [None, Some(10.0), Some(15.0), Some(20.0), None, Some(60.0), None]);
    }

    #[test]
    fn watts_become_joules() {
        // 100 W, then up to 200 W within a second: over 0.5 s to 2.5 s it is
        // 0.5 s at 100 + 1 s at 150 on average + 0.5 s at 200.
        let watts = series(&[(0.0, 100.0), (1.0, 100.0), (2.0, 200.0), (3.0, 200.0)]);
        assert_eq!(integral(&watts, (S / 2, S * 5 / 2)), Some(300.0));
        assert_eq!(integral(&watts, (0, 4 * S)), None);
        let holed = series(&[(0.0, 100.0), (1.0, 100.0), (5.0, 100.0), (6.0, 100.0)]);
        assert_eq!(integral(&holed, (S / 2, S * 11 / 2)), None);
    }

    #[test]
    fn a_counter_moves_whatever_is_between_and_never_back() {
        let counter = series(&[(0.0, 10.0), (1.0, 20.0), (9.0, 100.0), (10.0, 110.0)]);
        assert_eq!(moved(&counter, (S / 2, S * 19 / 2)), Some(90.0));
        assert_eq!(moved(&counter, (2 * S, 10 * S)), None);
        let reset = series(&[(0.0, 10.0), (1.0, 2.0), (2.0, 30.0)]);
        assert_eq!(moved(&reset, (0, 2 * S)), None);
    }
}
