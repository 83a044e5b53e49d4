//! Results as a matrix.

use super::{Cell, Configuration, Matrix, Why, names};
use crate::comparison::pairs_of_results::NO_EVIDENCE;
use ifm_core::Metric;
use ifm_core::sheet::{PartKind, RowRole, key};
use ifm_metrics::level::Load;
use ifm_results::{Point, Results};
use std::collections::{BTreeMap, BTreeSet};

/// Factors that say what was asked of every thing, and never what the things are.
const ASKED: [&str; 5] =
    [key::BATCH_SIZE, key::INPUT_TOKENS, key::OUTPUT_TOKENS, key::DEPTH_TOKENS, key::WORKLOAD];
/// Factors that name things, in the order of preference.
const NAMING: [&str; 4] = [key::MODEL, key::QUANTIZATION, key::ENGINE, key::GPU];
/// What was asked of a point: load or batch, and the factors.
type Asked = (Option<String>, Vec<(String, String)>);

impl<'a> Matrix<'a> {
    /// The batches of results, or if they have none the levels of fixed concurrency; absent if they have
    /// neither. `compare_by` is the factor whose values are compared; the default is the model or,
    /// if that is the same, the first factor that names things or was tagged. `baseline` is one of
    /// its values; the default is the value named original or base, else the first.
    pub fn of(
        results: &'a Results,
        compare_by: Option<&str>,
        baseline: Option<&str>,
    ) -> Option<Matrix<'a>> {
        let (kind, points) = points(results);
        let summaries = summaries(results);
        let compare_by = match compare_by {
            Some(name) => name.to_owned(),
            None => naming(&points),
        };
        let others = others(&points, &compare_by);
        let mut groups: Vec<(Asked, String, Vec<&Point>)> = Vec::new();
        for point in points {
            let (asked, name) = (asked(point, &others), thing(point, &compare_by)?);
            let is =
                |group: &&mut (Asked, String, Vec<&Point>)| group.0 == asked && group.1 == name;
            match groups.iter_mut().find(is) {
                Some(group) => group.2.push(point),
                None => groups.push((asked, name, vec![point])),
            }
        }
        let mut all_asked: Vec<&Asked> = Vec::new();
        for (asked, ..) in &groups {
            if !all_asked.contains(&asked) {
                all_asked.push(asked);
            }
        }
        let lists: Vec<Vec<String>> = all_asked
            .iter()
            .map(|asked| {
                let of = groups.iter().filter(|group| group.0 == **asked);
                of.map(|(_, name, _)| name.clone()).collect()
            })
            .collect();
        let endings = names::endings(&lists);
        let mut things: Vec<String> = Vec::new();
        let mut cells = Vec::new();
        for (asked, name, points) in &groups {
            let configuration = all_asked.iter().position(|other| *other == asked)?;
            let ending = endings.get(configuration).and_then(Option::as_deref).unwrap_or_default();
            let short = name.strip_suffix(ending).unwrap_or(name);
            let thing = things.iter().position(|thing| thing == short).unwrap_or_else(|| {
                things.push(short.to_owned());
                things.len() - 1
            });
            let is_of_it = |point: &&&Point| {
                self::asked(point, &others) == *asked
                    && self::thing(point, &compare_by).as_ref() == Some(name)
            };
            let stated = summaries.iter().find(is_of_it).copied();
            let (name, points) = (name.clone(), points.clone());
            cells.push(Cell { thing, configuration, name, points, stated });
        }
        let configurations = all_asked
            .iter()
            .zip(endings)
            .map(|(asked, ending)| configuration(asked, ending, kind))
            .collect();
        let baseline = baseline_of(&things, baseline, &cells);
        let shared = names::shorten(&mut things);
        if cells.is_empty() {
            return None;
        }
        let matrix = Matrix {
            compare_by,
            things,
            configurations,
            baseline,
            cells,
            kind,
            rank_by: None,
            shared,
            evidence: &NO_EVIDENCE,
            known: Default::default(),
        };
        Some(matrix.ranked_by_time())
    }
}

/// The points that a matrix is made of.
fn points(results: &Results) -> (PartKind, Vec<&Point>) {
    let batches: Vec<&Point> = results.measured(PartKind::StaticBatch).collect();
    if !batches.is_empty() {
        return (PartKind::StaticBatch, batches);
    }
    let summaries = summaries(results);
    if !summaries.is_empty() {
        return (PartKind::StaticBatch, summaries);
    }
    let is_closed = |point: &&Point| matches!(point.load, Some(Load::Users(_)));
    (PartKind::Serving, results.measured(PartKind::Serving).filter(is_closed).collect())
}

/// What a document says of the repeats of its batches together. Rankings repeat that.
fn summaries(results: &Results) -> Vec<&Point> {
    let is_summary = |point: &&Point| {
        point.kind == PartKind::StaticBatch
            && !point.stats.iter().any(|reading| reading.metric == Metric::Rank)
    };
    results.of_role(RowRole::Summary).filter(is_summary).collect()
}

/// The factor that names the things: the first that differs.
fn naming(points: &[&Point]) -> String {
    let differs = |name: &str| values(points, name).len() > 1;
    if let Some(name) = NAMING.into_iter().find(|name| differs(name)) {
        return name.to_owned();
    }
    let names: BTreeSet<&str> =
        points.iter().flat_map(|point| point.setting.iter()).map(|(name, _)| name).collect();
    let is_tag = |name: &&str| !ASKED.contains(name) && *name != key::REQUESTS && differs(name);
    names.into_iter().find(is_tag).unwrap_or(key::MODEL).to_owned()
}

fn values<'p>(points: &[&'p Point], name: &str) -> BTreeSet<Option<&'p str>> {
    points.iter().map(|point| point.setting.get(name)).collect()
}

/// Factors that differ, do not name the things, and do not follow from the thing.
fn others(points: &[&Point], compare_by: &str) -> Vec<String> {
    let names: BTreeSet<&str> =
        points.iter().flat_map(|point| point.setting.iter()).map(|(name, _)| name).collect();
    let is_other = |name: &&str| {
        let is_known = ASKED[..4].contains(name) || [compare_by, key::REQUESTS].contains(name);
        if is_known || values(points, name).len() < 2 {
            return false;
        }
        let mut of_thing: BTreeMap<Option<String>, BTreeSet<Option<&str>>> = BTreeMap::new();
        for point in points {
            let thing = of_thing.entry(thing(point, compare_by)).or_default();
            thing.insert(point.setting.get(name));
        }
        of_thing.values().any(|values| values.len() > 1)
    };
    names.into_iter().filter(is_other).map(str::to_owned).collect()
}

fn thing(point: &Point, compare_by: &str) -> Option<String> {
    point.factor(compare_by).or_else(|| point.label.clone()).or_else(|| Some("unnamed".to_owned()))
}

fn asked(point: &Point, others: &[String]) -> Asked {
    let load = match point.load {
        Some(Load::Users(users)) => Some(users.to_string()),
        _ => point.setting.get(key::BATCH_SIZE).map(str::to_owned),
    };
    let mut factors = Vec::new();
    for name in ASKED[1..4].iter().copied().chain(others.iter().map(String::as_str)) {
        factors.extend(point.setting.get(name).map(|value| (name.to_owned(), value.to_owned())));
    }
    (load, factors)
}

fn configuration((load, factors): &Asked, ending: Option<String>, kind: PartKind) -> Configuration {
    let factor = |name: &str| factors.iter().find(|(known, _)| known == name);
    let number = |name: &str| factor(name).and_then(|(_, value)| value.parse::<f64>().ok());
    let lengths = [key::INPUT_TOKENS, key::OUTPUT_TOKENS];
    let others = factors.iter().filter(|(name, _)| !lengths.contains(&name.as_str()));
    Configuration {
        batch: load.as_ref().and_then(|load| load.parse().ok()),
        input_tokens: number(key::INPUT_TOKENS),
        output_tokens: number(key::OUTPUT_TOKENS),
        others: others.cloned().collect(),
        ending,
        measure: Metric::OutputRate,
        why: Why::Output,
        is_users: kind == PartKind::Serving,
    }
}

fn baseline_of(things: &[String], asked: Option<&str>, cells: &[Cell]) -> Option<usize> {
    if things.len() < 2 {
        return None;
    }
    let by_name = |wanted: &str| {
        let short = things.iter().position(|thing| thing == wanted);
        short.or_else(|| Some(cells.iter().find(|cell| cell.name == wanted)?.thing))
    };
    let is_base = |thing: &String| {
        let name = thing.to_lowercase();
        name.starts_with("original") || name.starts_with("base")
    };
    let found = asked.and_then(by_name);
    found.or_else(|| things.iter().position(is_base)).or(Some(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_results::testing::{batch, results};

    #[test]
    fn a_row_keeps_its_name_in_every_configuration() {
        let results = results(&[
            batch("w8_base", (1, 128, 64), 1, 200.0),
            batch("original_base", (1, 128, 64), 1, 100.0),
            batch("w8_base", (1, 128, 64), 2, 202.0),
            batch("w8_big", (64, 2048, 32), 1, 900.0),
            batch("original_big", (64, 2048, 32), 1, 1000.0),
        ]);
        let matrix = Matrix::of(&results, None, None).expect("batches");
        assert_eq!(matrix.things, ["w8", "original"]);
        assert_eq!((matrix.baseline, matrix.is_proper()), (Some(1), true));
        let names: Vec<String> = matrix.configurations.iter().map(Configuration::name).collect();
        assert_eq!(
            names,
            [
                "batch_size=1, input_len=128, output_len=64",
                "batch_size=64, input_len=2048, output_len=32"
            ]
        );
        assert_eq!(matrix.sample(0, 0).expect("measured").values, [200.0, 202.0]);
        assert_eq!(Matrix::of(&results, None, Some("w8_big")).expect("batches").baseline, Some(0));
        assert!(Matrix::of(&Results::default(), None, None).is_none());
    }

    #[test]
    fn distinguishes_a_label_that_occurs_twice() {
        let points: Vec<Point> = [1, 3, 3].map(|repeat| batch("m", (1, 8, 8), repeat, 1.0)).into();
        let results = results(&points);
        let matrix = Matrix::of(&results, None, None).expect("batches");
        assert_eq!(matrix.repeat_ids(&results), [["m_run1", "m_run3", "m_run3#2"]]);
    }

    #[test]
    fn a_tag_names_rows_of_one_model() {
        let mut points = Vec::new();
        for (quant, rate) in [("int8", 50.0), ("none", 40.0)] {
            let mut point = batch("m", (4, 100, 10), 1, rate);
            point.kind = PartKind::Serving;
            point.load = Some(Load::Users(4));
            point.setting.set("quant", quant);
            points.push(point);
        }
        let results = results(&points);
        let matrix = Matrix::of(&results, None, None).expect("levels");
        assert_eq!((matrix.compare_by.as_str(), matrix.things.len()), ("quant", 2));
        assert_eq!(matrix.configurations[0].name(), "users=4, input_len=100, output_len=10");
        assert!(!matrix.is_proper(), "one repeat each");
    }
}
