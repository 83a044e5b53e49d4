//! What documents state in sentences, in the form of measurements.
//!
//! A page that shows such figures says that they are stated. The points are derived from the
//! figures alone: equal settings are one point, and a figure without a name gets the one that the
//! stated efficiencies leave for it. Not here: whether the figures agree (`audit`).

use super::{Point, Results, Stat};
use ifm_core::Metric;
use ifm_core::sheet::{PartKind, RowRole, Statistic, key};
use ifm_metrics::slo::VerdictState;

/// What a sentence may state of a server.
const QUANTITIES: [Metric; 10] = [
    Metric::Ttft,
    Metric::Itl,
    Metric::Tpot,
    Metric::E2e,
    Metric::UserSpeed,
    Metric::Efficiency,
    Metric::OutputRate,
    Metric::TotalRate,
    Metric::RequestRate,
    Metric::ErrorRate,
];

impl Results {
    /// The serving figures that documents state, as measured points; empty where they state none.
    #[must_use]
    pub fn stated(&self) -> Results {
        let mut points: Vec<Point> = Vec::new();
        for point in self.of_role(RowRole::Stated) {
            let is_served = |stat: &&Stat| QUANTITIES.contains(&stat.metric);
            let stats: Vec<Stat> = point.stats.iter().filter(is_served).cloned().collect();
            if stats.is_empty() {
                continue;
            }
            let same = points.iter_mut().find(|other| {
                other.source == point.source
                    && other.setting == point.setting
                    && other.load == point.load
                    && stats.iter().all(|stat| agrees(other, stat))
            });
            match same {
                Some(other) => add(other, stats),
                None => points.push(Point {
                    kind: PartKind::Serving,
                    role: RowRole::Measured,
                    headings: Vec::new(),
                    repeat: None,
                    verdict: VerdictState::Unknown,
                    searched: None,
                    stats,
                    ..point.clone()
                }),
            }
        }
        name_the_nameless(&mut points);
        Results { sources: self.sources.clone(), points }
    }
}

/// Whether a point has no other value for this number.
fn agrees(point: &Point, stat: &Stat) -> bool {
    let other = point.stat(stat.metric, stat.statistic);
    other.is_none_or(|other| other.value == stat.value)
}

fn add(point: &mut Point, stats: Vec<Stat>) {
    for stat in stats {
        if point.stat(stat.metric, stat.statistic).is_none() {
            point.stats.push(stat);
        }
    }
}

/// Speeds without a workload: those that a named point of the same load holds are repetitions;
/// one that is speed alone times efficiency of just one workload is of that workload.
fn name_the_nameless(points: &mut Vec<Point>) {
    let (nameless, mut named): (Vec<Point>, Vec<Point>) =
        points.drain(..).partition(|point| point.setting.get(key::WORKLOAD).is_none());
    for mut point in nameless {
        let speed = point.stat(Metric::UserSpeed, Statistic::Value).cloned();
        let Some(speed) = speed.filter(|_| point.stats.len() == 1) else {
            named.push(point);
            continue;
        };
        let here = |other: &&Point| other.source == point.source && other.load == point.load;
        let is_repeated = named
            .iter()
            .filter(here)
            .any(|other| other.value(Metric::UserSpeed, Statistic::Value) == Some(speed.value));
        if is_repeated {
            continue;
        }
        let candidates: Vec<usize> = (0..named.len())
            .filter(|index| named.get(*index).is_some_and(|other| here(&other)))
            .filter(|index| follows(&named, *index, &speed))
            .collect();
        match candidates.as_slice() {
            [only] => {
                if let Some(other) = named.get_mut(*only) {
                    add(other, vec![speed]);
                }
            }
            _ => {
                point.setting.set(key::WORKLOAD, "not named");
                named.push(point);
            }
        }
    }
    *points = named;
}

/// Whether the speed is that of the workload by itself times its efficiency here, as precisely as
/// both were printed.
fn follows(points: &[Point], index: usize, speed: &Stat) -> bool {
    let holds = || {
        let point = points.get(index)?;
        let efficiency = point.stat(Metric::Efficiency, Statistic::Value)?;
        let alone = points.iter().find(|other| {
            other.setting == point.setting && other.load.is_some_and(|load| load.value() == 1.0)
        })?;
        let alone = alone.stat(Metric::UserSpeed, Statistic::Value)?;
        let expected = alone.value * efficiency.value;
        let slack = [alone, efficiency, speed].into_iter().map(roundness).sum::<f64>();
        Some((expected - speed.value).abs() <= slack * speed.value)
    };
    holds().unwrap_or(false)
}

/// Half a unit of the last printed digit, as a share of the number.
fn roundness(stat: &Stat) -> f64 {
    let share = || {
        let printed = stat.printed.as_deref()?.trim();
        let number: f64 = printed.parse().ok().filter(|number| *number > 0.0)?;
        let decimals = printed.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        Some(0.5 * 10_f64.powi(-i32::try_from(decimals).ok()?) / number)
    };
    share().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::repeat as point;
    use ifm_core::sheet::Factors;
    use ifm_metrics::level::Load;

    /// The sentences of a published scenario report: at 32 users 41 % and 8 % of the speed of one,
    /// and "13.2 to 70.6 tok/s across context lengths".
    #[test]
    fn a_nameless_speed_gets_the_name_that_the_efficiencies_leave() {
        let stated = |name: Option<&str>, users: u32, stats: &[(Metric, f64, &str)]| Point {
            role: RowRole::Stated,
            setting: name
                .map_or(Factors::default(), |name| Factors::default().with(key::WORKLOAD, name)),
            load: Some(Load::Users(users)),
            stats: stats
                .iter()
                .map(|(metric, value, printed)| Stat {
                    printed: Some((*printed).to_owned()),
                    ..Stat::new(*metric, Statistic::Value, *value)
                })
                .collect(),
            ..point(users, 1, 0.0)
        };
        let (speed, share) = (Metric::UserSpeed, Metric::Efficiency);
        let points = vec![
            stated(Some("chat"), 1, &[(speed, 172.5, "172.5")]),
            stated(Some("tools"), 32, &[(speed, 13.2, "13.2")]),
            stated(Some("chat"), 32, &[(share, 0.41, "41")]),
            stated(Some("tools"), 32, &[(share, 0.08, "8")]),
            stated(None, 32, &[(speed, 13.2, "13.2")]),
            stated(None, 32, &[(speed, 70.6, "70.6")]),
            stated(None, 32, &[(speed, 50.0, "50")]),
        ];
        let results = Results { sources: Vec::new(), points }.stated();
        let found: Vec<(String, Option<f64>)> = results
            .points
            .iter()
            .map(|point| {
                let name = point.factor(key::WORKLOAD).unwrap_or_default();
                (name, point.value(speed, Statistic::Value))
            })
            .collect();
        let expect = [("chat", 172.5), ("tools", 13.2), ("chat", 70.6), ("not named", 50.0)];
        assert_eq!(found, expect.map(|(name, speed)| (name.to_owned(), Some(speed))));
        assert_eq!(results.points[2].stats.len(), 2);
    }
}
