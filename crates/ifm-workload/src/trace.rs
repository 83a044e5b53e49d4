//! What traces have in common: a clock, and requests without text.
//!
//! Not here: reading a trace's rows (`dataset`).

use crate::{error::WorkloadError, facts::RowCounts, opening::Opening, request::AfterLast};

/// Turns a trace's time stamps into nanoseconds since its first request.
pub(crate) struct Clock {
    unit_ns: f64,
    /// How many times faster than recorded.
    speed: f64,
}

impl Clock {
    /// Reads the options `unit` and `speed`.
    ///
    /// # Errors
    /// [`WorkloadError::Shape`].
    pub(crate) fn take(opening: &mut Opening<'_>, unit_ns: f64) -> Result<Self, WorkloadError> {
        let unit_ns = match opening.options.word("unit", &["default", "s", "ms", "us", "ns"])? {
            "s" => 1e9,
            "ms" => 1e6,
            "us" => 1e3,
            "ns" => 1.0,
            _ => unit_ns,
        };
        let speed = opening.options.value::<f64>("speed", "a number above 0")?.unwrap_or(1.0);
        if !(speed.is_finite() && speed > 0.0) {
            return Err(WorkloadError::Shape {
                text: format!("speed={speed}"),
                reason: "the speed is a number above 0; 2 is twice as fast as recorded".to_owned(),
            });
        }
        if speed != 1.0 {
            opening.rule(format!("{speed} times as fast as recorded"));
        }
        Ok(Self { unit_ns, speed })
    }

    /// Nanoseconds after the earliest stamp.
    pub(crate) fn times_ns(&self, stamps: &[f64]) -> Vec<u64> {
        let earliest = stamps.iter().copied().fold(f64::INFINITY, f64::min);
        let time = |stamp: f64| ((stamp - earliest) * self.unit_ns / self.speed).round() as u64;
        stamps.iter().map(|&stamp| time(stamp)).collect()
    }
}

/// Which request of a trace an item is.
///
/// # Errors
/// [`WorkloadError::Exhausted`].
pub(crate) fn place_of(
    id: u32,
    requests: usize,
    after_last: AfterLast,
) -> Result<usize, WorkloadError> {
    let place = id as usize;
    match after_last {
        _ if place < requests => Ok(place),
        AfterLast::Repeat => place.checked_rem(requests).ok_or_else(|| exhausted(requests)),
        AfterLast::Stop | AfterLast::VllmOversample => Err(exhausted(requests)),
    }
}

/// There are no more.
pub(crate) fn exhausted(requests: usize) -> WorkloadError {
    WorkloadError::Exhausted { items: requests as u64 }
}

/// Writes down what a trace is.
///
/// # Errors
/// [`WorkloadError::NoRows`] when it holds no request.
pub(crate) fn describe(
    opening: &mut Opening<'_>,
    mut counts: RowCounts,
    lengths: impl Iterator<Item = (u32, u32)>,
) -> Result<(), WorkloadError> {
    let lengths = lengths.collect::<Vec<_>>();
    opening.tell_bound(lengths.len());
    let facts = &mut opening.facts;
    let mut requests = 0_u32;
    for (prompt, output) in lengths {
        requests = requests.saturating_add(1);
        facts.prompt_tokens_max = facts.prompt_tokens_max.max(Some(prompt));
        facts.output_tokens_max = facts.output_tokens_max.max(Some(output));
        let total = u64::from(prompt) + u64::from(output);
        facts.total_tokens_max = facts.total_tokens_max.max(Some(total));
    }
    if requests == 0 {
        return Err(WorkloadError::NoRows {
            file: facts.files.first().map(|file| file.name.clone()).unwrap_or_default(),
            read: counts.read,
            reasons: counts.reasons(),
        });
    }
    counts.kept = u64::from(requests);
    let told = counts.dropped.values().sum::<u64>() + counts.bad + counts.kept;
    counts.unused = counts.read.saturating_sub(told);
    let repeat = opening.request.after_last == AfterLast::Repeat;
    facts.items = (!repeat).then_some(requests);
    facts.after_last = opening.request.after_last;
    facts.rows = Some(counts);
    Ok(())
}
