//! A quantity against the load, one curve for each thing compared.

use super::{Pool, Pooled, Reading};
use ifm_core::order::Order as _;
use ifm_core::sheet::{Factors, Quantity, Statistic, key};

/// One measured point of a curve.
#[derive(Debug, Clone)]
pub struct CurvePoint<'a> {
    /// Where it stands on the axis.
    pub at: f64,
    /// The number.
    pub reading: Reading,
    /// The measurement that it is of.
    pub cell: Pooled<'a>,
}

/// The points of one thing, rising in what they stand against. Nothing is interpolated.
#[derive(Debug, Clone)]
pub struct Curve<'a> {
    /// What sets it apart from the other curves: the factors it was asked to be told by.
    pub of: Factors,
    /// The points.
    pub points: Vec<CurvePoint<'a>>,
}

/// The values of the factors that tell curves apart, joined.
pub fn name_of(of: &Factors) -> String {
    of.iter().map(|(name, value)| factor_words(name, value)).collect::<Vec<_>>().join(" · ")
}

/// A factor in words: a value that means nothing alone, such as a number, comes with its name.
pub fn factor_words(name: &str, value: &str) -> String {
    let is_bare = value.parse::<f64>().is_ok() || ["true", "false", "on", "off"].contains(&value);
    match name {
        key::INPUT_TOKENS => format!("{value} tokens in"),
        key::OUTPUT_TOKENS => format!("{value} tokens out"),
        key::POWER_LIMIT_W => format!("{value} W"),
        _ if is_bare => format!("{} {value}", name.replace('_', " ")),
        _ => value.to_owned(),
    }
}

impl Curve<'_> {
    /// What it is called: see [`name_of`].
    pub fn name(&self) -> String {
        name_of(&self.of)
    }

    /// Prompt tokens that were asked for, where they are the same at all points.
    pub fn input_tokens(&self) -> Option<f64> {
        let mut lengths =
            self.points.iter().map(|point| point.cell.setting()?.number(key::INPUT_TOKENS));
        let first = lengths.next()??;
        lengths.all(|length| length == Some(first)).then_some(first)
    }

    /// The point at exactly this place of the axis.
    pub fn at(&self, at: f64) -> Option<&CurvePoint<'_>> {
        self.points.iter().find(|point| point.at == at)
    }

    /// Whether a measured point has exactly this value.
    pub fn has_value(&self, value: f64) -> bool {
        self.points.iter().any(|point| point.reading.value == value)
    }

    /// The value between two measured points, on the straight line between them; absent outside
    /// them. Only for comparing two curves at equal load: nothing of it is drawn.
    pub fn between(&self, at: f64) -> Option<f64> {
        let above = self.points.iter().position(|point| point.at >= at)?;
        let high = self.points.get(above)?;
        if high.at == at {
            return Some(high.reading.value);
        }
        let low = self.points.get(above.checked_sub(1)?)?;
        let share = (at - low.at) / (high.at - low.at);
        Some(low.reading.value + (high.reading.value - low.reading.value) * share)
    }

    /// Where the value reaches `limit` for the first time, on the straight line between two
    /// measured points; absent where it never does, or does at the first point already.
    pub fn reaches(&self, limit: f64) -> Option<f64> {
        let pair = self.points.windows(2).find_map(|pair| match pair {
            [low, high] if low.reading.value < limit && high.reading.value >= limit => {
                Some((low, high))
            }
            _ => None,
        })?;
        let (low, high) = pair;
        let share = (limit - low.reading.value) / (high.reading.value - low.reading.value);
        Some(low.at + (high.at - low.at) * share)
    }
}

impl<'a> Pool<'a> {
    /// Curves of a statistic against the load, told apart by these factors. Cells without load or
    /// number are left out; so are curves without a point.
    pub fn curves(&self, by: &[&str], quantity: &Quantity, statistic: Statistic) -> Vec<Curve<'a>> {
        self.curves_against(by, |cell| {
            Some((cell.load()?.value(), cell.reading(quantity, statistic)?))
        })
    }

    /// Curves of anything against anything: `place` gives where a cell stands, and its number.
    pub fn curves_against(
        &self,
        by: &[&str],
        place: impl Fn(&Pooled<'a>) -> Option<(f64, Reading)>,
    ) -> Vec<Curve<'a>> {
        let mut curves: Vec<Curve> = Vec::new();
        for cell in &self.cells {
            let Some((at, reading)) = place(cell) else { continue };
            let mut of = Factors::default();
            for name in by {
                if let Some(value) = cell.factor(name) {
                    of.set(*name, value);
                }
            }
            let point = CurvePoint { at, reading, cell: cell.clone() };
            match curves.iter_mut().find(|curve| curve.of == of) {
                Some(curve) => curve.points.push(point),
                None => curves.push(Curve { of, points: vec![point] }),
            }
        }
        for curve in &mut curves {
            curve.points.order_by(|a, b| a.at.total_cmp(&b.at));
        }
        curves
    }
}

#[cfg(test)]
mod tests {
    use super::super::Survey;
    use super::super::pool::tests::point;
    use super::*;
    use ifm_core::sheet::{PartKind, key};

    #[test]
    fn a_curve_rises_in_the_load_and_is_read_between_its_points() {
        let points = vec![point(4, 1, 40.0), point(1, 1, 10.0), point(2, 1, 30.0)];
        let survey = Survey { origins: Vec::new(), points };
        let pool = survey.pool(PartKind::StaticBatch);
        let curves = pool.curves(&[key::MODEL], &Quantity::OutputRate, Statistic::Value);
        let [curve] = curves.as_slice() else { panic!("{curves:?}") };
        assert_eq!(curve.name(), "m");
        let at: Vec<f64> = curve.points.iter().map(|point| point.at).collect();
        assert_eq!(at, [1.0, 2.0, 4.0]);
        assert_eq!((curve.between(3.0), curve.between(1.0)), (Some(35.0), Some(10.0)));
        assert_eq!((curve.between(0.5), curve.between(8.0)), (None, None));
        assert_eq!((curve.has_value(30.0), curve.has_value(35.0)), (true, false));
        assert_eq!(
            (curve.reaches(35.0), curve.reaches(41.0), curve.reaches(5.0)),
            (Some(3.0), None, None)
        );
    }
}
