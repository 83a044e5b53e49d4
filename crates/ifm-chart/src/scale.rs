//! From values to places on an axis, and its ticks.
//!
//! A place is a share of the axis from 0 to 1. All drawings take their places from here, so that
//! terminal and page agree, and no drawing library sees a value that it cannot handle.
//! What is not here: pixels.

use crate::description::{Axis, Scale};
use crate::number;

/// Approximate number of steps on a value axis.
const STEPS: f64 = 5.0;
/// A lower end below this share of the upper one starts the axis at 0.
const ZERO_SHARE: f64 = 0.5;
/// Margin before the first and after the last load, as a share of the axis.
const LOAD_MARGIN: f64 = 0.025;
/// Decades up to which 2 and 5 are ticks too.
const FINE_DECADES: f64 = 2.0;
/// Approximate maximum number of ticks on a logarithmic axis.
const MOST_DECADES: f64 = 6.0;

/// A tick: its place and its words.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    /// Value, in the unit of the axis.
    pub value: f64,
    /// Place from 0 to 1.
    pub at: f64,
    /// Words.
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    Linear,
    /// Logarithm; the ends are logarithms to base 10.
    Log,
    Category(usize),
}

/// An axis whose ends are known.
#[derive(Debug, Clone)]
pub(crate) struct Placed {
    way: Way,
    low: f64,
    high: f64,
    margin: f64,
    /// The ticks on the axis.
    pub ticks: Vec<Tick>,
    /// Name with the unit that the ticks are in.
    pub title: String,
}

impl Placed {
    /// Place of a value from 0 to 1; `None` if it lies outside or has no logarithm.
    pub fn place(&self, value: f64) -> Option<f64> {
        let share = self.share(value)?;
        // Rounding may carry an end a little over the edge.
        (-1e-9..=1.0 + 1e-9).contains(&share).then(|| round(share.clamp(0.0, 1.0)))
    }

    /// Place of a value, moved to the nearer end if it lies outside.
    pub fn clamped(&self, value: f64) -> Option<f64> {
        Some(round(self.share(value)?.clamp(0.0, 1.0)))
    }

    fn share(&self, value: f64) -> Option<f64> {
        let coordinate = match self.way {
            Way::Linear => value,
            Way::Log if value > 0.0 => value.log10(),
            Way::Log => return None,
            Way::Category(names) => return category_place(value, names),
        };
        // Halves: the difference of two absurd ends may overflow.
        let whole = self.high / 2.0 - self.low / 2.0;
        let share = if whole > 0.0 { (coordinate / 2.0 - self.low / 2.0) / whole } else { 0.5 };
        let share = self.margin + share * (1.0 - 2.0 * self.margin);
        share.is_finite().then_some(share)
    }

    /// Whether two axes run alike, so that equal values lie on a straight line.
    pub fn is_like(&self, other: &Self) -> bool {
        self.way == other.way
    }

    /// Ends in the axis's unit; of categories, none.
    pub fn ends(&self) -> Option<(f64, f64)> {
        match self.way {
            Way::Linear => Some((self.low, self.high)),
            Way::Log => Some((10_f64.powf(self.low), 10_f64.powf(self.high))),
            Way::Category(_) => None,
        }
    }
}

/// Places need no more digits than a screen has pixels; fewer make smaller files.
fn round(share: f64) -> f64 {
    (share * 1e5).round() / 1e5
}

fn category_place(value: f64, names: usize) -> Option<f64> {
    let is_inside = value >= -0.5 && value < names as f64 - 0.5;
    is_inside.then(|| (value + 0.5) / names as f64)
}

/// What decides the ends of an axis.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Needs<'a> {
    /// All values that are drawn.
    pub values: &'a [f64],
    /// Values that are shown if they are near the others, such as limits.
    pub near: &'a [f64],
    /// Whether 0 has to be shown.
    pub is_from_zero: bool,
    /// Room at both ends as a share of the axis, for bars.
    pub margin: f64,
}

/// Finds ends and ticks.
pub(crate) fn fit(axis: &Axis, needs: Needs<'_>) -> Placed {
    match &axis.scale {
        Scale::Category(names) => categories(axis, names),
        Scale::Log2 => loads(axis, needs),
        Scale::Log10 => logarithmic(axis, needs),
        Scale::Linear { from_zero } => {
            linear(axis, Needs { is_from_zero: needs.is_from_zero || *from_zero, ..needs })
        }
    }
}

/// Name and unit, as in `ITL P99 (ms)`.
pub(crate) fn titled(name: &str, unit: &str) -> String {
    match (name.is_empty(), unit.is_empty()) {
        (_, true) => name.to_owned(),
        (true, false) => unit.to_owned(),
        (false, false) => format!("{name} ({unit})"),
    }
}

fn categories(axis: &Axis, names: &[String]) -> Placed {
    let tick = |(index, name): (usize, &String)| Tick {
        value: index as f64,
        at: round((index as f64 + 0.5) / names.len() as f64),
        text: name.clone(),
    };
    Placed {
        way: Way::Category(names.len()),
        low: 0.0,
        high: 1.0,
        margin: 0.0,
        ticks: names.iter().enumerate().map(tick).collect(),
        title: titled(&axis.name, &axis.unit),
    }
}

fn ends_of(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.filter(|value| value.is_finite()).fold(None, |ends, value| match ends {
        None => Some((value, value)),
        Some((low, high)) => Some((low.min(value), high.max(value))),
    })
}

/// Loads: doublings are even, and only what was measured is a tick.
fn loads(axis: &Axis, needs: Needs<'_>) -> Placed {
    let mut values: Vec<f64> = needs.values.iter().copied().filter(|value| *value > 0.0).collect();
    values.sort_unstable_by(f64::total_cmp);
    values.dedup();
    let (low, high) = axis
        .range
        .filter(|(low, high)| *low > 0.0 && low <= high)
        .or_else(|| ends_of(values.iter().copied()))
        .unwrap_or((1.0, 1.0));
    let mut placed = Placed {
        way: Way::Log,
        low: low.log10(),
        high: high.log10(),
        margin: needs.margin.max(LOAD_MARGIN),
        ticks: Vec::new(),
        title: titled(&axis.name, &axis.unit),
    };
    placed.ticks = values
        .iter()
        .filter_map(|&value| {
            Some(Tick { value, at: placed.place(value)?, text: number::short(value) })
        })
        .collect();
    placed
}

fn linear(axis: &Axis, needs: Needs<'_>) -> Placed {
    let nothing = Placed {
        way: Way::Linear,
        low: 0.0,
        high: 1.0,
        margin: needs.margin,
        ticks: Vec::new(),
        title: titled(&axis.name, &axis.unit),
    };
    let measured = ends_of(needs.values.iter().copied());
    let Some((mut low, mut high)) = axis.range.or(measured) else { return nothing };
    if axis.range.is_none() {
        // A limit far above all figures would flatten them.
        let top = 1.5 * high;
        for near in needs.near.iter().filter(|near| **near <= top && **near >= 0.0) {
            high = high.max(*near);
            low = low.min(*near);
        }
        if needs.is_from_zero || (low > 0.0 && low < ZERO_SHARE * high) {
            (low, high) = (low.min(0.0), high.max(0.0));
        }
        if low == high {
            (low, high) = if low == 0.0 { (0.0, 1.0) } else { around(low) };
        }
    }
    let step = nice((high / 2.0 - low / 2.0) / STEPS * 2.0);
    if axis.range.is_none() && step > 0.0 && step.is_finite() {
        let (floor, ceiling) = ((low / step).floor() * step, (high / step).ceil() * step);
        if floor.is_finite() && ceiling.is_finite() {
            (low, high) = (floor, ceiling);
        }
    }
    let mut placed = Placed { low, high, ..nothing };
    placed.put_linear_ticks(axis, step);
    placed
}

/// An interval around a single value.
fn around(value: f64) -> (f64, f64) {
    let half = value.abs() / 2.0;
    (value - half, (value + half).min(f64::MAX))
}

impl Placed {
    fn put_linear_ticks(&mut self, axis: &Axis, step: f64) {
        let (low, high) = (self.low, self.high);
        let first = (low / step).ceil();
        let count = ((high / step).floor() - first).clamp(0.0, 20.0) as usize;
        let is_sound = step > 0.0 && first.is_finite();
        let values: Vec<f64> = if is_sound {
            (0..=count).map(|index| (first + index as f64) * step).collect()
        } else {
            vec![low, high]
        };
        // Long times are read in seconds.
        let most = low.abs().max(high.abs());
        let is_long = axis.unit == "ms" && most >= 2_000.0;
        let (divisor, unit) = if is_long { (1e3, "s") } else { (1.0, axis.unit.as_str()) };
        let scaled: Vec<f64> = values.iter().map(|value| value / divisor).collect();
        let texts = number::even(&scaled, step / divisor);
        self.title = titled(&axis.name, unit);
        let ticks = values.into_iter().zip(texts);
        self.ticks = ticks
            .filter_map(|(value, text)| Some(Tick { value, at: self.place(value)?, text }))
            .collect();
    }
}

/// The next of 1, 2, 2.5 and 5 times a power of ten.
fn nice(step: f64) -> f64 {
    if !step.is_finite() || step <= 0.0 {
        return 0.0;
    }
    let power = 10_f64.powf(step.log10().floor());
    if power <= 0.0 {
        return 0.0;
    }
    let factor = step / power;
    let round = [1.0, 2.0, 2.5, 5.0].into_iter().find(|each| factor <= each * 1.0001);
    round.unwrap_or(10.0) * power
}

/// The unit of an axis whose steps are factors: `ms, log`. In a still picture nothing else says so.
fn logarithmic_unit(unit: &str) -> String {
    if unit.is_empty() { "log".to_owned() } else { format!("{unit}, log") }
}

fn logarithmic(axis: &Axis, needs: Needs<'_>) -> Placed {
    let positive = |value: &&f64| **value > 0.0;
    let measured = ends_of(needs.values.iter().filter(positive).copied());
    let given = axis.range.filter(|(low, high)| *low > 0.0 && low < high);
    let mut placed = Placed {
        way: Way::Log,
        low: 0.0,
        high: 1.0,
        margin: needs.margin,
        ticks: Vec::new(),
        title: titled(&axis.name, &logarithmic_unit(&axis.unit)),
    };
    let Some((mut low, mut high)) = given.or(measured) else { return placed };
    if given.is_none() {
        let (bottom, top) = (low / 3.0, 3.0 * high);
        for near in needs.near.iter().filter(|near| **near <= top && **near >= bottom) {
            (low, high) = (low.min(*near), high.max(*near));
        }
        (low, high) = (rounded(low, false), rounded(high, true));
        if low >= high {
            (low, high) = (low / 10.0, high * 10.0);
        }
    }
    let exponent = |value: f64| value.clamp(f64::MIN_POSITIVE, f64::MAX).log10();
    (placed.low, placed.high) = (exponent(low), exponent(high));
    placed.put_logarithmic_ticks(axis);
    placed
}

/// The next of 1, 2 and 5 times a power of ten, above or below.
fn rounded(value: f64, is_up: bool) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let factor = value / power;
    let steps = [1.0, 2.0, 5.0, 10.0];
    let found = if is_up {
        steps.into_iter().find(|step| factor <= step * 1.000_001)
    } else {
        steps.into_iter().rev().find(|step| factor * 1.000_001 >= *step)
    };
    let result = found.unwrap_or(1.0) * power;
    if result.is_finite() && result > 0.0 { result } else { value }
}

impl Placed {
    fn put_logarithmic_ticks(&mut self, axis: &Axis) {
        let decades = self.high - self.low;
        let every = (decades / MOST_DECADES).ceil().max(1.0) as i32;
        let factors: &[f64] = if decades <= FINE_DECADES { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let (first, last) = (self.low.floor() as i32, self.high.ceil() as i32);
        let is_time = axis.unit == "ms" && 10_f64.powf(self.high) >= 1_000.0;
        if is_time {
            self.title.clone_from(&axis.name);
        }
        let powers = (first..=last).filter(|power| power.rem_euclid(every) == 0);
        let values = powers.flat_map(|power| factors.iter().map(move |f| f * 10_f64.powi(power)));
        self.ticks = values
            .filter_map(|value| {
                let text = if is_time { timed(value) } else { number::short(value) };
                Some(Tick { value, at: self.place(value)?, text })
            })
            .collect();
    }
}

/// A time in ms with its unit: ms under one second, else s.
fn timed(value_ms: f64) -> String {
    if value_ms < 1_000.0 {
        format!("{} ms", number::short(value_ms))
    } else {
        format!("{} s", number::short(value_ms / 1_000.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(unit: &str, scale: Scale) -> Axis {
        Axis { name: "TTFT".to_owned(), unit: unit.to_owned(), scale, ..Axis::default() }
    }

    fn placed(unit: &str, scale: Scale, values: &[f64]) -> Placed {
        let needs = Needs { values, near: &[], is_from_zero: false, margin: 0.0 };
        fit(&axis(unit, scale), needs)
    }

    fn texts(placed: &Placed) -> Vec<&str> {
        placed.ticks.iter().map(|tick| tick.text.as_str()).collect()
    }

    #[test]
    fn ticks_are_round_and_in_a_readable_unit() {
        let even = Scale::Linear { from_zero: false };
        let low = placed("ms", even.clone(), &[5.8, 75.8]);
        assert_eq!(texts(&low), ["0", "20", "40", "60", "80"]);
        assert_eq!(low.title, "TTFT (ms)");
        let long = placed("ms", even.clone(), &[200.0, 6180.0]);
        assert_eq!(texts(&long), ["0", "2", "4", "6", "8"]);
        assert_eq!(long.title, "TTFT (s)");
        let close = placed("tok/s", even, &[95.0, 98.0]);
        assert_eq!(texts(&close), ["95", "96", "97", "98"]);
        let log = placed("ms", Scale::Log10, &[211.0, 6180.0]);
        assert_eq!(texts(&log), ["200 ms", "500 ms", "1 s", "2 s", "5 s", "10 s"]);
        let loads = placed("users", Scale::Log2, &[1.0, 2.0, 12.0, 32.0, 2.0]);
        assert_eq!(texts(&loads), ["1", "2", "12", "32"]);
    }

    #[test]
    fn every_value_has_a_place_however_absurd() {
        let values = [1e-300, 1e300, 1.0, 0.0, -1e300, f64::MAX, f64::MIN_POSITIVE];
        for a in values {
            for b in values {
                let even = Scale::Linear { from_zero: false };
                for scale in [even, Scale::Log10, Scale::Log2] {
                    let axis = placed("", scale.clone(), &[a, b]);
                    for value in [a, b] {
                        let place = axis.place(value);
                        let has_logarithm = matches!(scale, Scale::Linear { .. }) || value > 0.0;
                        assert_eq!(place.is_some(), has_logarithm, "{value} of {a} {b} {scale:?}");
                    }
                    assert!(axis.ticks.len() < 40 && axis.ticks.iter().all(|t| t.at.is_finite()));
                }
            }
        }
    }

    #[test]
    fn a_far_limit_does_not_flatten_the_figures() {
        let scale = Scale::Linear { from_zero: true };
        let fitted = |limit: f64| {
            let needs =
                Needs { values: &[10.0, 40.0], near: &[limit], is_from_zero: false, margin: 0.0 };
            fit(&axis("ms", scale.clone()), needs)
        };
        assert!(fitted(50.0).place(50.0).is_some());
        assert_eq!(fitted(500.0).place(500.0), None);
    }
}
