//! Connections that did not stay open: time that is part of TTFT, and a server that keeps none.

use super::{AtLevel, Check, Context, Made, Severity, ms, percent};
use crate::level::LevelSummary;
use ifm_core::RequestRecord;

/// From this share of the median or of P99 on, the time on closed connections makes another number of
/// it.
const TTFT_SHARE_MIN: f64 = 0.05;
/// From this share of requests on a server keeps no connection.
const OPENED_SHARE_MIN: f64 = 0.9;
/// Fewest requests that show it.
const REQUESTS_MIN: usize = 4;

pub(super) const CHECK: Check = Check {
    id: "connections",
    title: "connections stayed open between requests",
    run: Made::ByLevel(make),
};

fn make(context: &Context, level: &LevelSummary) -> AtLevel {
    let answered: Vec<&RequestRecord> =
        context.measured(level).iter().copied().filter(|record| record.outcome.is_ok()).collect();
    if answered.is_empty() || context.run.manifest.spec.target.fresh_connections {
        return AtLevel::NotApplicable;
    }
    let dead = answered.iter().filter(|record| record.dead_connection_ns.is_some()).count();
    if dead > 0 {
        return lost(&answered, dead);
    }
    let opened: Vec<u64> = answered.iter().filter_map(|record| opening_ns(record)).collect();
    let share = opened.len() as f64 / answered.len() as f64;
    if opened.len() < REQUESTS_MIN || share < OPENED_SHARE_MIN {
        return AtLevel::Silent;
    }
    let how = match answered.iter().any(|record| record.tls_ns.is_some()) {
        true => "connecting and TLS",
        false => "connecting",
    };
    let text = format!(
        "{} of {} requests needed a new connection: the server keeps none open. {how} took {} ms in \
         the median, which is part of every user's TTFT",
        opened.len(),
        answered.len(),
        ms(median(opened))
    );
    AtLevel::Fires(Severity::Note, text)
}

/// The time that was lost on connections which the server had closed.
fn lost(answered: &[&RequestRecord], dead: usize) -> AtLevel {
    let spans: Vec<u64> = answered.iter().filter_map(|record| record.dead_connection_ns).collect();
    let front = format!(
        "{dead} of {} requests ({}) found their connection closed and were sent again on a new one, \
         {} ms after their start in the median",
        answered.len(),
        percent(dead as f64 / answered.len() as f64),
        ms(median(spans))
    );
    let waits = |without: bool| {
        let wait = |record: &&RequestRecord| {
            let first_ns = record.first_token_ns().or(record.first_event_ns)?;
            let lost_ns = record.dead_connection_ns.filter(|_| without).unwrap_or(0);
            Some(first_ns.saturating_sub(record.start_ns).saturating_sub(lost_ns))
        };
        let mut waits: Vec<u64> = answered.iter().filter_map(wait).collect();
        waits.sort_unstable();
        waits
    };
    let (with, without) = (waits(false), waits(true));
    let of = |share: f64| Some((quantile(&with, share)?, quantile(&without, share)?));
    let moved = [("median", 0.5), ("P99", 0.99)].into_iter().find_map(|(name, share)| {
        let (with, without) = of(share)?;
        (with - without > TTFT_SHARE_MIN * with).then_some((name, with, without))
    });
    match moved {
        Some((name, with, without)) => AtLevel::Fires(
            Severity::Caution,
            format!(
                "{front}: the {name} TTFT of {} ms is {} ms without that; --fresh-connections opens \
                 a connection for each request",
                ms(with),
                ms(without)
            ),
        ),
        None => AtLevel::Fires(Severity::Note, front),
    }
}

/// The time in which a request opened its connection, nanoseconds.
fn opening_ns(record: &RequestRecord) -> Option<u64> {
    Some(record.connect_ns? + record.tls_ns.unwrap_or(0))
}

fn median(mut spans: Vec<u64>) -> f64 {
    spans.sort_unstable();
    quantile(&spans, 0.5).unwrap_or(0.0)
}

/// A quantile of sorted values, by linear interpolation.
fn quantile(sorted: &[u64], share: f64) -> Option<f64> {
    let place = share * sorted.len().checked_sub(1)? as f64;
    let low = *sorted.get(place.floor() as usize)? as f64;
    let high = *sorted.get(place.ceil() as usize)? as f64;
    Some(low + (high - low) * place.fract())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::MS;
    use crate::warning::CheckState;
    use crate::warning::testing::{check, sound_run, state, text};
    use ifm_core::RunData;

    #[test]
    fn reports_time_on_closed_connections_with_both_numbers() {
        // First tokens come after 100 ms, half of them of a wait for a closed connection.
        let all = |run: &mut RunData| {
            for record in &mut run.requests {
                record.dead_connection_ns = Some(50 * MS);
                record.connect_ns = Some(MS);
            }
        };
        check("connections", all, Severity::Caution, "120 of 120 requests (100.0 %)");
        let mut run = sound_run();
        all(&mut run);
        let said = text(&run, "connections");
        assert!(said.contains("50.0 ms after their start in the median"), "{said}");
        assert!(said.contains("median TTFT of 100.0 ms is 50.0 ms without"), "{said}");
        assert!(said.contains("--fresh-connections"), "{said}");
    }

    #[test]
    fn a_few_closed_connections_move_the_tail_alone() {
        let few = |run: &mut RunData| {
            for record in run.requests.iter_mut().take(4) {
                record.dead_connection_ns = Some(50 * MS);
                for at_ns in &mut record.events.at_ns {
                    *at_ns += 50 * MS;
                }
            }
        };
        check("connections", few, Severity::Caution, "the P99 TTFT of 150.0 ms is 100.0 ms");
        let one = |run: &mut RunData| run.requests[0].dead_connection_ns = Some(MS);
        check("connections", one, Severity::Note, "1 of 120 requests (0.8 %)");
    }

    #[test]
    fn reports_a_server_that_closes_every_connection() {
        let opened = |run: &mut RunData| {
            for record in run.requests.iter_mut().skip(2) {
                (record.connect_ns, record.tls_ns) = (Some(MS), Some(2 * MS));
            }
        };
        let words = "118 of 120 requests needed a new connection: the server keeps none open. \
                     connecting and TLS took 3.00 ms";
        check("connections", opened, Severity::Note, words);
        let mut run = sound_run();
        opened(&mut run);
        run.manifest.spec.target.fresh_connections = true;
        assert_eq!(state(&run, "connections"), CheckState::NotApplicable);
    }
}
