//! A quantity against the load, one curve for each thing compared.

use super::{Pool, Pooled, Stat};
use ifm_core::Metric;
use ifm_core::order::Order as _;
use ifm_core::sheet::{Factors, Statistic, key};
use ifm_metrics::level::Load;
use std::collections::BTreeSet;

/// One measured point of a curve.
#[derive(Debug, Clone)]
pub struct CurvePoint<'a> {
    /// Position on the axis.
    pub at: f64,
    /// The number.
    pub stat: Stat,
    /// The measurement that it is of.
    pub cell: Pooled<'a>,
}

/// The points of one curve, rising in their position on the axis. Nothing is interpolated.
#[derive(Debug, Clone)]
pub struct Curve<'a> {
    /// The values of the factors that distinguish it from the other curves.
    pub of: Factors,
    /// The points.
    pub points: Vec<CurvePoint<'a>>,
}

/// The name of the factor that distinguishes curves of closed and of open loops.
const LOOP: &str = "loop";

/// What a load is of.
pub fn loop_words(load: Load) -> &'static str {
    match load {
        Load::Users(_) => "closed loop",
        Load::ReqPerS(_) => "open loop",
    }
}

/// The values of the factors that tell curves apart, joined.
pub fn name_of(of: &Factors) -> String {
    of.iter().map(|(name, value)| factor_words(name, value)).collect::<Vec<_>>().join(" · ")
}

/// A factor as text: a value that means nothing alone, such as a number, comes with its name.
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
    /// Its name: see [`name_of`].
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

    /// The last measured point up to which no value is above `limit`, and the first one that is;
    /// absent where the first point is above, and where none is.
    pub fn crossing(&self, limit: f64) -> Option<[&CurvePoint<'_>; 2]> {
        let above = self.points.iter().position(|point| point.stat.value > limit)?;
        let inside = self.points.get(above.checked_sub(1)?)?;
        Some([inside, self.points.get(above)?])
    }
}

impl<'a> Pool<'a> {
    /// Curves of a statistic against the load; these factors distinguish them. Cells without load
    /// or number are left out; so are curves without a point.
    pub fn curves(&self, by: &[&str], metric: Metric, statistic: Statistic) -> Vec<Curve<'a>> {
        self.curves_against(by, |cell| Some((cell.load()?.value(), cell.stat(metric, statistic)?)))
    }

    /// Curves of anything against anything: `place` gives where a cell is, and its number. Closed
    /// and open loops are never one curve: where both were measured, each says which it is.
    pub fn curves_against(
        &self,
        by: &[&str],
        place: impl Fn(&Pooled<'a>) -> Option<(f64, Stat)>,
    ) -> Vec<Curve<'a>> {
        let loops: BTreeSet<&str> =
            self.cells.iter().filter_map(|cell| Some(loop_words(cell.load()?))).collect();
        let mut curves: Vec<Curve> = Vec::new();
        for cell in &self.cells {
            let Some((at, stat)) = place(cell) else { continue };
            let mut of = Factors::default();
            for name in by {
                if let Some(value) = cell.factor(name) {
                    of.set(*name, value);
                }
            }
            if let Some(load) = cell.load().filter(|_| loops.len() > 1) {
                of.set(LOOP, loop_words(load));
            }
            let point = CurvePoint { at, stat, cell: cell.clone() };
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
    use super::super::{Point, Results};
    use super::*;
    use crate::testing::repeat as point;
    use ifm_core::sheet::{PartKind, key};

    #[test]
    fn a_curve_rises_in_the_load_and_has_a_crossing_between_measured_points() {
        let points = vec![point(4, 1, 40.0), point(1, 1, 10.0), point(2, 1, 30.0)];
        let results = Results { sources: Vec::new(), points };
        let pool = results.pool(PartKind::StaticBatch);
        let curves = pool.curves(&[key::MODEL], Metric::OutputRate, Statistic::Value);
        let [curve] = curves.as_slice() else { panic!("{curves:?}") };
        assert_eq!(curve.name(), "m");
        let at: Vec<f64> = curve.points.iter().map(|point| point.at).collect();
        assert_eq!(at, [1.0, 2.0, 4.0]);
        let crossing = |limit| curve.crossing(limit).map(|points| points.map(|point| point.at));
        assert_eq!(crossing(35.0), Some([2.0, 4.0]));
        assert_eq!((crossing(40.0), crossing(5.0)), (None, None));
    }

    #[test]
    fn closed_and_open_loops_are_two_curves() {
        let rate = |rate: f64| Point { load: Some(Load::ReqPerS(rate)), ..point(1, 1, 20.0) };
        let points = vec![point(1, 1, 10.0), rate(8.0), rate(40.0)];
        let results = Results { sources: Vec::new(), points };
        let pool = results.pool(PartKind::StaticBatch);
        let curves = pool.curves(&[key::MODEL], Metric::OutputRate, Statistic::Value);
        let found: Vec<(String, usize)> =
            curves.iter().map(|curve| (curve.name(), curve.points.len())).collect();
        let expect = [("closed loop · m".to_owned(), 1), ("open loop · m".to_owned(), 2)];
        assert_eq!(found, expect);
    }
}
