//! Devices that stopped reporting: one that fell off the bus, or whose driver failed.
//!
//! Energy and power of a span are not known then, see `energy`: this says why.

use super::{Drawn, of, sampled};
use ifm_core::Series;
use ifm_core::series::Signal;
use std::collections::BTreeMap;

/// What a device reports about its power, and what else.
const POWER: [Signal; 3] = [Signal::GpuPower, Signal::GpuEnergy, Signal::CpuEnergy];
const OTHER: [Signal; 5] = [
    Signal::GpuClock,
    Signal::GpuMemoryClock,
    Signal::GpuTemperature,
    Signal::GpuMemory,
    Signal::GpuBusyShare,
];
const NS_PER_S: f64 = 1e9;

/// A device without readings in a part of a span.
#[derive(Debug, Clone, PartialEq)]
pub struct LostReadings {
    /// The device, as its series name it.
    pub source: String,
    /// Whether only its power is missing.
    pub is_power_only: bool,
    /// From its last reading to its next one, or to the end of the span, nanoseconds since the origin
    /// of the series.
    pub span: (u64, u64),
}

impl LostReadings {
    /// Devices that reported before a moment of a span and then, for more than three seconds of it, no
    /// more.
    pub fn within(series: &[Series], span: (u64, u64)) -> Vec<LostReadings> {
        let (mut power, mut other) = (BTreeMap::new(), BTreeMap::new());
        for (quantities, holes) in [(&POWER[..], &mut power), (&OTHER[..], &mut other)] {
            for series in quantities.iter().flat_map(|quantity| of(series, *quantity)) {
                let all: &mut Vec<_> = holes.entry(series.source.as_str()).or_default();
                all.push(sampled::hole(series, span));
            }
        }
        let mut found = Vec::new();
        let sources: std::collections::BTreeSet<&str> =
            power.keys().chain(other.keys()).copied().collect();
        for source in sources {
            // A device is lost only as far as none of its readings is there.
            let hole = |holes: &BTreeMap<&str, Vec<Option<(u64, u64)>>>| {
                let all: Option<Vec<_>> = holes.get(source)?.iter().copied().collect();
                let (starts, ends): (Vec<u64>, Vec<u64>) = all?.into_iter().unzip();
                let (start, end) = (starts.into_iter().max()?, ends.into_iter().min()?);
                (start < end).then_some((start, end))
            };
            let (of_power, of_other) = (hole(&power), hole(&other));
            let has_other = other.contains_key(source);
            let Some(span) = of_power.or(of_other.filter(|_| !power.contains_key(source))) else {
                continue;
            };
            let is_power_only = of_power.is_some() && has_other && of_other.is_none();
            found.push(LostReadings { source: source.to_owned(), is_power_only, span });
        }
        found
    }

    /// What is missing, and what follows: one sentence; absent if nothing is.
    pub fn words(series: &[Series], span: (u64, u64)) -> Option<String> {
        let lost = LostReadings::within(series, span);
        let one = |lost: &LostReadings| {
            let what = if lost.is_power_only { "power readings" } else { "readings" };
            let [from, to] = [lost.span.0, lost.span.1].map(|at_ns| at_ns as f64 / NS_PER_S);
            format!("{}: no {what} from {from:.1} to {to:.1} s", lost.source)
        };
        let devices: Vec<String> = lost.iter().map(one).collect();
        let rest = match Drawn::within(series, span) {
            Some(_) => {
                "energy is counted by the devices over the gap, and power peaks can be missing"
            }
            None => "energy and power are not reported",
        };
        (!devices.is_empty())
            .then(|| format!("{} after the start of the recording; {rest}", devices.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::telemetry;

    const SPAN: (u64, u64) = (1_000_000_000, 19_000_000_000);

    fn power(source: &str, until_s: f64) -> Series {
        telemetry(Signal::GpuPower, source, (0.0, until_s), &|_| 100.0)
    }

    #[test]
    fn reports_the_device_that_stopped_and_from_when() {
        let series = [power("NVML GPU 0", 20.0), power("NVML GPU 1", 4.0)];
        let words = LostReadings::words(&series, SPAN).expect("lost");
        assert!(words.starts_with("NVML GPU 1: no readings from 4.0 to 19.0 s after"), "{words}");
        assert!(words.ends_with("energy and power are not reported"), "{words}");
        assert_eq!(LostReadings::words(&series[..1], SPAN), None);
        // Before it was lost nothing is missing, and later nothing is known.
        assert_eq!(LostReadings::words(&series, (0, 3_000_000_000)), None);
        assert!(LostReadings::words(&series, (12_000_000_000, 14_000_000_000)).is_some());
    }

    #[test]
    fn a_sensor_that_fails_alone_is_not_a_lost_device() {
        let clock = telemetry(Signal::GpuClock, "a", (0.0, 20.0), &|_| 1980.0);
        let lost = LostReadings::within(&[power("a", 4.0), clock.clone()], SPAN);
        assert!(matches!(&lost[..], [one] if one.is_power_only), "{lost:?}");
        // The energy is still known by the counter.
        let counter = telemetry(Signal::GpuEnergy, "a", (0.0, 20.0), &|at_s| 100.0 * at_s);
        assert_eq!(LostReadings::within(&[power("a", 4.0), counter, clock], SPAN), []);
    }

    #[test]
    fn a_counter_bridges_a_gap() {
        let mut counter = telemetry(Signal::GpuEnergy, "a", (0.0, 20.0), &|at_s| 100.0 * at_s);
        let keep: Vec<bool> = counter
            .at_ns
            .iter()
            .map(|at_ns| !(5_000_000_000..11_000_000_000).contains(at_ns))
            .collect();
        let mut kept = keep.iter();
        counter.at_ns.retain(|_| *kept.next().expect("as many"));
        let mut kept = keep.iter();
        counter.value.retain(|_| *kept.next().expect("as many"));
        let words = LostReadings::words(&[counter], SPAN).expect("lost");
        assert!(words.contains("counted by the devices over the gap"), "{words}");
    }
}
