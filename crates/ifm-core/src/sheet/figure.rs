//! One number of a sheet, with everything that is needed to believe or doubt it.

use super::{Place, Unit};
use crate::metric::Metric;
use serde::{Deserialize, Serialize};

/// Which of a population's numbers a figure is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Statistic {
    /// The one value there is: a count, a rate over a whole run.
    Value,
    /// Arithmetic mean.
    Mean,
    /// 50th percentile.
    Median,
    /// A percentile, 0 to 100; the 50th is [`Statistic::Median`].
    Percentile(f64),
    /// Smallest.
    Min,
    /// Largest.
    Max,
    /// Standard deviation.
    Std(StdKind),
    /// Half the width of an interval around the mean that the file gives with `±` and calls
    /// neither deviation nor error.
    HalfWidth,
    /// Sum.
    Sum,
    /// Number of values.
    Count,
}

impl Statistic {
    /// A percentile, the 50th as the median.
    pub fn percentile(percent: f64) -> Statistic {
        if percent == 50.0 { Statistic::Median } else { Statistic::Percentile(percent) }
    }

    /// The statistics that can represent all values of a quantity, in order of preference. For a
    /// rate over a whole run that is the mean: the work done, divided by the time. The speed in half
    /// of the time, the median that GuideLLM also has, is another number.
    pub fn central(quantity: Metric) -> [Statistic; 3] {
        match quantity {
            Metric::RequestRate
            | Metric::Goodput
            | Metric::InputRate
            | Metric::OutputRate
            | Metric::TotalRate
            | Metric::ImageRate
            | Metric::PixelRate
            | Metric::LevelRtfx
            | Metric::InFlight => [Statistic::Value, Statistic::Mean, Statistic::Median],
            _ => [Statistic::Value, Statistic::Median, Statistic::Mean],
        }
    }
}

/// By what a sum of squares was divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StdKind {
    /// One less than the number of values.
    Sample,
    /// The number of values.
    Population,
    /// The tool does not say.
    Unknown,
}

/// How the producing tool's definition of a figure relates to inferometer's of the same name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Definition {
    /// The same.
    Same,
    /// A different one, from which inferometer's follows; how.
    Derivable(String),
    /// A different one, from which inferometer's does not follow; what it is.
    Different(String),
    /// The file does not say, and its tool is not known.
    #[default]
    Unstated,
}

/// One number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Figure {
    /// What it measures.
    pub quantity: Metric,
    /// Which number of the population.
    pub statistic: Statistic,
    /// The number in `unit`; absent where nothing was measured.
    pub value: Option<f64>,
    /// The unit as written.
    pub unit: Unit,
    /// The characters that stood there, where the file is text or the number was rounded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub printed: Option<String>,
    /// What the tool means by it.
    #[serde(default)]
    pub definition: Definition,
    /// Its place, where the row's place does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
}

impl Figure {
    /// A number as a machine wrote it.
    pub fn new(quantity: Metric, statistic: Statistic, value: f64, unit: Unit) -> Figure {
        Figure {
            quantity,
            statistic,
            value: value.is_finite().then_some(value),
            unit,
            printed: None,
            definition: Definition::default(),
            place: None,
        }
    }

    /// With the tool's definition.
    #[must_use]
    pub fn defined(mut self, definition: Definition) -> Figure {
        self.definition = definition;
        self
    }

    /// With the characters that stood there.
    #[must_use]
    pub fn as_printed(mut self, printed: impl Into<String>) -> Figure {
        self.printed = Some(printed.into());
        self
    }

    /// The number in the canonical unit of its quantity; absent without a number or with a unit
    /// that is not known.
    pub fn canonical(&self) -> Option<f64> {
        Some(self.value? * self.unit.factor()?)
    }

    /// Half a unit of the last printed digit, in `unit`: how far the true number may lie from the
    /// printed one. Absent where nothing was rounded.
    pub fn rounding(&self) -> Option<f64> {
        let printed = self.printed.as_deref()?.trim();
        let number = printed.trim_start_matches(['+', '-']);
        let digits = number.len() - number.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let decimals = match number[digits..].strip_prefix('.') {
            Some(rest) => rest.chars().take_while(char::is_ascii_digit).count(),
            None => 0,
        };
        // `1.2k`
        let scale = match number.chars().next_back() {
            Some('k' | 'K') => 3,
            Some('M') => 6,
            _ => 0,
        };
        Some(0.5 * 10_f64.powi(scale - i32::try_from(decimals).ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_digits_tell_the_rounding() {
        let figure = |printed: &str| {
            Figure::new(Metric::Itl, Statistic::Mean, 1.0, Unit::Ms).as_printed(printed)
        };
        assert_eq!(figure("22.2").rounding(), Some(0.05));
        assert_eq!(figure("16634.04 ").rounding(), Some(0.005));
        assert_eq!(figure("-3").rounding(), Some(0.5));
        assert_eq!(figure("1.2k").rounding(), Some(50.0));
        let exact = Figure::new(Metric::Itl, Statistic::Mean, 1.0, Unit::Ms);
        assert_eq!(exact.rounding(), None);
    }

    #[test]
    fn what_is_no_number_has_no_value() {
        let figure = Figure::new(Metric::Ttft, Statistic::Mean, f64::NAN, Unit::Ms);
        assert_eq!((figure.value, figure.canonical()), (None, None));
        let seconds = Figure::new(Metric::Ttft, Statistic::Mean, 0.5, Unit::S);
        assert_eq!(seconds.canonical(), Some(500.0));
    }
}
