//! From readings to the series of a run.

use crate::Reading;
use ifm_core::Series;
use ifm_core::series::Signal;
use std::collections::BTreeMap;

/// Most series of a run, and most samples of each: at two a second, more than a day.
const SERIES_MAX: usize = 1024;
const SAMPLES_MAX: usize = 200_000;

/// Collects readings.
#[derive(Debug, Default)]
pub struct Recorder {
    series: Vec<Series>,
    places: BTreeMap<(Signal, String), usize>,
    is_full: bool,
}

impl Recorder {
    /// Adds what was read at a moment, nanoseconds since the run's origin. Values that are no
    /// number are left out, and so is what finds no room: see [`Recorder::is_full`].
    pub fn add(&mut self, at_ns: u64, readings: Vec<Reading>) {
        for Reading { source, quantity, unit, value } in readings {
            if !value.is_finite() {
                continue;
            }
            let place = match self.places.get(&(quantity, source.clone())) {
                Some(place) => *place,
                None if self.series.len() >= SERIES_MAX => {
                    self.is_full = true;
                    continue;
                }
                None => {
                    self.series.push(Series {
                        name: quantity.word().to_owned(),
                        unit: unit.to_owned(),
                        source: source.clone(),
                        at_ns: Vec::new(),
                        value: Vec::new(),
                    });
                    self.places.insert((quantity, source), self.series.len() - 1);
                    self.series.len() - 1
                }
            };
            match self.series.get_mut(place) {
                Some(series) if series.at_ns.len() < SAMPLES_MAX => {
                    series.at_ns.push(at_ns);
                    series.value.push(value);
                }
                _ => self.is_full = true,
            }
        }
    }

    /// Whether something found no room any more.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// What was collected so far.
    pub fn series(&self) -> &[Series] {
        &self.series
    }

    /// What was collected.
    pub fn into_series(self) -> Vec<Series> {
        self.series
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_and_a_quantity_make_a_series() {
        let mut recorder = Recorder::default();
        let power = |source: &str, watts| Reading::new(source, Signal::GpuPower, watts);
        recorder.add(5, vec![power("a", 10.0), power("b", 20.0), power("a", f64::NAN)]);
        recorder.add(9, vec![power("b", 21.0)]);
        let series = recorder.series();
        assert_eq!((series.len(), recorder.is_full()), (2, false));
        assert_eq!((&series[0].at_ns, &series[0].value), (&vec![5], &vec![10.0]));
        assert_eq!((&series[1].at_ns, &series[1].value), (&vec![5, 9], &vec![20.0, 21.0]));
        assert_eq!((series[1].name.as_str(), series[1].unit.as_str()), ("gpu_power_w", "watts"));
    }

    #[test]
    fn there_is_an_end_to_it() {
        let mut recorder = Recorder::default();
        let many = (0..=SERIES_MAX).map(|n| Reading::new(n.to_string(), Signal::GpuClock, 1.0));
        recorder.add(1, many.collect());
        assert!(recorder.is_full());
        assert_eq!(recorder.into_series().len(), SERIES_MAX);
        let mut recorder = Recorder::default();
        for at_ns in 0..=SAMPLES_MAX as u64 {
            recorder.add(at_ns, vec![Reading::new("a", Signal::GpuClock, 1.0)]);
        }
        assert!(recorder.is_full());
        assert_eq!(recorder.series()[0].value.len(), SAMPLES_MAX);
    }
}
