//! Sides: which runs and documents are repeats of one measurement, and the names of the others.
//!
//! Repeats have the same name, server and setup, or were joined by the user. All others are sides.
//! Where the settings of two sides do not tell their points apart, the points get a factor with the
//! name of their side, so that no pool, curve, matrix or grid takes them together. Not here: how
//! repeats become one value (`pool`).

use super::{Point, Results};
use crate::fact::{ACCOUNT, ADDRESS, NamedFact, account_items, most_telling, setup_of};
use ifm_core::Manifest;
use ifm_core::sheet::{Factors, PartKind, RowRole, key};
use ifm_metrics::level::Load;
use std::collections::{BTreeMap, BTreeSet};

/// Settings that neither tell curves apart nor make two measurements different ones.
const NOT_TELLING: [&str; 2] = [key::REQUESTS, key::HARDWARE];

/// How the user named a run or a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Given {
    /// Name of a list or an import; absent where the name of the run or the file is used.
    pub name: Option<String>,
    /// Number of the argument that named it: a folder and an import hold several documents.
    pub argument: usize,
    /// Whether the argument is a list with commas, whose results are repeats.
    pub is_list: bool,
}

impl Results {
    /// Names the sides, and adds the factor [`key::RUN`] to points that differ only in their side.
    /// `given` holds the user's names for the sources, by their places; later sources have none.
    #[must_use]
    pub fn with_sides(mut self, given: &[Given]) -> Results {
        let given: Vec<Given> =
            (0..self.sources.len()).map(|at| given.get(at).cloned().unwrap_or_default()).collect();
        let sides = self.sides(&given);
        let names = self.side_names(&given, &sides);
        for (source, name) in self.sources.iter_mut().zip(names) {
            source.side = name;
        }
        self.drop_partial_tags(&sides);
        let kinds = self.mixed_kinds(&sides);
        for point in self.points.iter_mut().filter(|point| kinds.contains(&point.kind)) {
            if let Some(source) = self.sources.get(point.source) {
                set_side(point, &source.side);
            }
        }
        self
    }

    /// The same with the factor [`key::RUN`] on all points, whatever else distinguishes them.
    #[must_use]
    pub fn by_side(mut self) -> Results {
        for point in &mut self.points {
            if let Some(source) = self.sources.get(point.source) {
                set_side(point, &source.side);
            }
        }
        self
    }

    /// The side that a word of the user names: by its name, or by the id of a run or the name of a file
    /// of it.
    pub fn side_of(&self, word: &str) -> Option<&str> {
        let named = self.sources.iter().find(|source| source.side.eq_ignore_ascii_case(word));
        let found = named.or_else(|| self.sources.iter().find(|source| source.name == word));
        found.map(|source| source.side.as_str())
    }

    /// Names of all factors that points have, in alphabetical order, and [`key::RUN`].
    pub fn factor_names(&self) -> Vec<String> {
        let of_load = self.points.iter().filter_map(|point| match point.load? {
            Load::Users(_) => Some(key::CONCURRENCY),
            Load::ReqPerS(_) => Some(key::RATE),
        });
        let set = self.points.iter().flat_map(|point| point.setting.iter()).map(|(name, _)| name);
        let all: BTreeSet<&str> = set.chain(of_load).chain([key::RUN]).collect();
        all.into_iter().map(str::to_owned).collect()
    }

    /// Values of a factor in the order of their first appearance; of [`key::RUN`] the sides.
    pub fn side_values(&self, name: &str) -> Vec<String> {
        if name != key::RUN {
            return self.values(name);
        }
        let mut seen = BTreeSet::new();
        let sides = self.sources.iter().map(|source| source.side.clone());
        sides.filter(|side| seen.insert(side.clone())).collect()
    }

    /// The side of each source: the place of its first source.
    fn sides(&self, given: &[Given]) -> Vec<usize> {
        let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut sides: Vec<usize> = Vec::with_capacity(self.sources.len());
        for at in 0..self.sources.len() {
            let belongs =
                |all: &Vec<usize>| all.iter().all(|other| self.are_repeats(*other, at, given));
            let side = members.iter().find(|(_, all)| belongs(all)).map_or(at, |(side, _)| *side);
            members.entry(side).or_default().push(at);
            sides.push(side);
        }
        sides
    }

    fn are_repeats(&self, a: usize, b: usize, given: &[Given]) -> bool {
        let (Some(one), Some(other)) = (given.get(a), given.get(b)) else { return false };
        if one.argument == other.argument && one.is_list && other.is_list {
            return true;
        }
        let identity = |at: usize| self.sources.get(at)?.identity.as_ref();
        match (identity(a), identity(b)) {
            (Some(one), Some(other)) => one.is_repeat(other),
            (None, None) => one.argument == other.argument && self.are_numbered(a, b),
            _ => false,
        }
    }

    /// Whether two documents number their repeats, and each number at each load is in one of them.
    fn are_numbered(&self, a: usize, b: usize) -> bool {
        let of = |source: usize| {
            let points = self.of_role(RowRole::Measured).filter(move |p| p.source == source);
            points.map(|point| (place(point), point.repeat)).collect::<BTreeSet<_>>()
        };
        let (one, other) = (of(a), of(b));
        let all = || one.iter().chain(&other);
        let have_common = one.iter().any(|(at, _)| other.iter().any(|(known, _)| known == at));
        have_common && all().all(|(_, repeat)| repeat.is_some()) && one.is_disjoint(&other)
    }

    /// Removes tags that only some repeats of a run have, such as a commit that was tagged once: a missing tag is unknown,
    /// so that it does not take repeats apart. The cells of a plan keep theirs.
    fn drop_partial_tags(&mut self, sides: &[usize]) {
        let mut members: BTreeMap<usize, Vec<&BTreeMap<String, String>>> = BTreeMap::new();
        for (source, side) in self.sources.iter().zip(sides) {
            let run = source.identity.as_ref().filter(|identity| identity.plan.is_none());
            members.entry(*side).or_default().extend(run.map(|identity| &identity.tags));
        }
        let is_partial = |runs: &[&BTreeMap<String, String>], name: &String| {
            let values: BTreeSet<Option<&String>> =
                runs.iter().map(|tags| tags.get(name)).collect();
            values.len() == 2 && values.contains(&None)
        };
        let partial: BTreeMap<usize, Vec<String>> = members
            .into_iter()
            .map(|(side, runs)| {
                let names: BTreeSet<&String> = runs.iter().flat_map(|tags| tags.keys()).collect();
                let names = names.into_iter().filter(|name| is_partial(&runs, name)).cloned();
                (side, names.collect())
            })
            .collect();
        for point in &mut self.points {
            let names = sides.get(point.source).and_then(|side| partial.get(side));
            if let Some(names) = names.filter(|names| !names.is_empty()) {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                point.setting = point.setting.without(&names);
            }
        }
    }

    /// The kinds for which two sides have points that differ in nothing else.
    fn mixed_kinds(&self, sides: &[usize]) -> BTreeSet<PartKind> {
        let mut curves: BTreeMap<(PartKind, Factors), Vec<OnCurve>> = BTreeMap::new();
        for point in self.of_role(RowRole::Measured).filter(|p| p.kind != PartKind::Kernel) {
            let Some(side) = sides.get(point.source).copied() else { continue };
            let of = (point.kind, point.setting.without(&NOT_TELLING));
            let on = curves.entry(of).or_default();
            match on.iter_mut().find(|one| one.side == side) {
                Some(one) => _ = one.loads.insert(load_words(point.load)),
                None => on.push(OnCurve {
                    side,
                    source: point.source,
                    loads: BTreeSet::from([load_words(point.load)]),
                }),
            }
        }
        let is_mixed = |on: &Vec<OnCurve>| {
            on.iter()
                .enumerate()
                .any(|(at, one)| on.iter().skip(at + 1).any(|other| !self.is_one_curve(one, other)))
        };
        curves.iter().filter(|(_, on)| is_mixed(on)).map(|((kind, _), _)| *kind).collect()
    }

    /// Whether points of two sides can be one curve: levels of one server under different names, or
    /// documents of one level each.
    fn is_one_curve(&self, one: &OnCurve, other: &OnCurve) -> bool {
        if !one.loads.is_disjoint(&other.loads) {
            return false;
        }
        let setup = |of: &OnCurve| Some(&self.sources.get(of.source)?.identity.as_ref()?.setup);
        match (setup(one), setup(other)) {
            (Some(one), Some(other)) => one == other,
            (None, None) => one.loads.len() == 1 && other.loads.len() == 1,
            _ => false,
        }
    }

    /// The name of each source's side: the user's name, and if several sides have the same name,
    /// also what distinguishes them.
    fn side_names(&self, given: &[Given], sides: &[usize]) -> Vec<String> {
        let files = self.file_names();
        let own = |at: usize| -> Option<String> {
            let (source, given) = (self.sources.get(at)?, given.get(at)?);
            given.name.clone().or_else(|| match &source.identity {
                Some(identity) => identity.side_name(),
                None => files.get(at).cloned(),
            })
        };
        let heads: BTreeSet<usize> = sides.iter().copied().collect();
        let mut names: BTreeMap<usize, String> = BTreeMap::new();
        for head in &heads {
            let name = own(*head);
            let alike: Vec<usize> =
                heads.iter().copied().filter(|other| own(*other) == name).collect();
            let distinct = || match alike.len() {
                1 => None,
                _ => self.distinct_words(*head, &alike),
            };
            let id = self.sources.get(*head).map(|source| source.name.clone()).unwrap_or_default();
            let name = match (name, alike.len()) {
                (Some(name), 1) => name,
                (Some(name), _) => format!("{name} ({})", distinct().unwrap_or(id)),
                (None, _) => distinct().unwrap_or(id),
            };
            names.insert(*head, name);
        }
        sides.iter().map(|side| names.get(side).cloned().unwrap_or_default()).collect()
    }

    /// The names of the files without folders, if they are distinct.
    fn file_names(&self) -> Vec<String> {
        let short = |name: &str, parts: usize| {
            let all: Vec<&str> = name.split(['/', '\\']).collect();
            all.get(all.len().saturating_sub(parts)..).unwrap_or_default().join("/")
        };
        let names = |parts: usize| -> Vec<String> {
            self.sources.iter().map(|source| short(&source.name, parts)).collect()
        };
        let full = self.sources.iter().map(|source| source.name.clone()).collect();
        let is_clear =
            |names: &Vec<String>| names.iter().collect::<BTreeSet<_>>().len() == names.len();
        [1, 2].map(names).into_iter().find(is_clear).unwrap_or(full)
    }

    /// What only this one of several runs has.
    fn distinct_words(&self, run: usize, alike: &[usize]) -> Option<String> {
        let setup = |at: usize| Some(self.sources.get(at)?.identity.as_ref()?.setup.clone());
        let all: Vec<Vec<NamedFact>> = alike.iter().map(|at| setup(*at)).collect::<Option<_>>()?;
        distinct(&all, alike.iter().position(|at| *at == run)?)
    }
}

/// What each of several runs has that no other one has, in a few words; absent where nothing
/// distinguishes it.
pub fn distinct_words(heads: &[&Manifest]) -> Vec<Option<String>> {
    let all: Vec<Vec<NamedFact>> = heads.iter().map(|head| setup_of(head)).collect();
    (0..all.len()).map(|own| distinct(&all, own)).collect()
}

/// What only this one of several setups has: a precision, else its address, else what its server says
/// of itself, else what was asked of it.
fn distinct(all: &[Vec<NamedFact>], own: usize) -> Option<String> {
    let value = |of: &[NamedFact], what: &str| {
        of.iter().find(|(known, _)| *known == what).and_then(|(_, value)| value.clone())
    };
    let column =
        |what: &str| -> Vec<Option<String>> { all.iter().map(|of| value(of, what)).collect() };
    let accounts: Vec<BTreeMap<String, String>> = column(ACCOUNT)
        .iter()
        .map(|words| words.as_deref().map(account_items).unwrap_or_default())
        .collect();
    let of_account = accounts.get(own)?.iter().filter_map(|(name, value)| {
        let values: Vec<_> = accounts.iter().map(|items| items.get(name).cloned()).collect();
        unique(&values, own).is_some().then(|| (name.clone(), value.clone()))
    });
    let of_account = most_telling(of_account);
    let words = |(name, value): &(String, String)| super::factor_words(name, value);
    if let Some(dtype) = of_account.as_ref().filter(|(name, _)| name.contains("dtype")) {
        return Some(words(dtype));
    }
    if let Some(address) = unique(&column(ADDRESS), own) {
        let host = address.split_once("://").map_or(address.as_str(), |(_, rest)| rest);
        return Some(host.trim_end_matches('/').trim_end_matches("/v1").to_owned());
    }
    if let Some(found) = &of_account {
        return Some(words(found));
    }
    let others = all.get(own)?.iter().map(|(what, _)| *what);
    let mut others = others.filter(|what| ![ACCOUNT, ADDRESS].contains(what));
    others.find_map(|what| {
        let values = column(what);
        let value = unique(&values, own)?;
        let has_items = values.iter().flatten().any(|value| value.contains(", "));
        if has_items { own_item(&values, own) } else { Some(format!("{what} {value}")) }
    })
}

/// Of values that list several items, the first item that only this one lists, without the words that
/// such items of all begin with: `fp8` of `L40S, llama in fp8` and `L40S, llama in bf16`.
fn own_item(values: &[Option<String>], own: usize) -> Option<String> {
    let lists: Vec<Vec<&str>> = values
        .iter()
        .map(|value| Some(value.as_deref()?.split(", ").collect()))
        .collect::<Option<_>>()?;
    let first_own = |at: usize| -> Option<Vec<&str>> {
        let list = lists.get(at)?;
        let others = || lists.iter().enumerate().filter(|(other, _)| *other != at);
        let item = list.iter().find(|item| others().all(|(_, other)| !other.contains(item)))?;
        Some(item.split(' ').collect())
    };
    let all: Vec<Vec<&str>> = (0..lists.len()).filter_map(first_own).collect();
    let item = first_own(own)?;
    let is_shared = |at: usize| all.iter().all(|other| other.get(at) == item.get(at));
    let shared = (0..item.len().saturating_sub(1)).take_while(|at| is_shared(*at)).count();
    Some(item.get(shared..)?.join(" "))
}

/// A side's points that share all settings but the load.
struct OnCurve {
    side: usize,
    source: usize,
    loads: BTreeSet<String>,
}

/// The value at a place, if all values are known and no other is the same.
fn unique(values: &[Option<String>], at: usize) -> Option<String> {
    let own = values.get(at)?.clone()?;
    let others = values.iter().enumerate().filter(|(other, _)| *other != at);
    let mut others = others.map(|(_, value)| value);
    others.all(|other| other.as_ref().is_some_and(|other| *other != own)).then_some(own)
}

/// Gives a point its side. A document may have a factor of this name.
fn set_side(point: &mut Point, side: &str) {
    match point.setting.get(key::RUN).map(str::to_owned) {
        None => point.setting.set(key::RUN, side),
        Some(own) if own == side || own.starts_with(&format!("{side} · ")) => {}
        Some(own) => point.setting.set(key::RUN, format!("{side} · {own}")),
    }
}

/// Where a point is among the measurements of its document.
fn place(point: &Point) -> (Factors, String) {
    (point.setting.without(&NOT_TELLING), load_words(point.load))
}

fn load_words(load: Option<Load>) -> String {
    format!("{load:?}")
}

#[cfg(test)]
mod tests {
    use super::super::{Pooled, Stat};
    use super::*;
    use ifm_core::Metric;
    use ifm_core::sheet::{Figure, Part, Place, Row, RowRole, Source, Statistic, Unit};
    use ifm_core::{PlanCell, RunData, Sheet};
    use ifm_metrics::testing::{closed_loop, run};

    /// A run of one level, whose answers take 10 ms a token for one user.
    fn run_of(id: &str, name: Option<&str>, change: impl Fn(&mut Manifest)) -> RunData {
        let requests = closed_loop((0, 0), (2, 30), 0.0, (100.0, 10.0, 16));
        let mut run = run(&[2], requests);
        run.manifest.run_id = id.to_owned();
        run.manifest.name = name.map(str::to_owned);
        run.manifest.spec.target.base_url = "http://127.0.0.1:8411/v1".to_owned();
        change(&mut run.manifest);
        run
    }

    fn results_of(runs: &[RunData], given: &[Given]) -> Results {
        let mut results = Results::default();
        for run in runs {
            results.extend(Results::of_run(&run.manifest, &ifm_metrics::summarize(run)));
        }
        results.with_sides(given)
    }

    /// The value of the factor `run` of each measurement, and how many repeats it has.
    fn cells(results: &Results) -> Vec<(Option<String>, usize)> {
        let pool = results.pool(PartKind::Serving);
        let of = |cell: &Pooled| (cell.factor(key::RUN), cell.points.len());
        pool.cells.iter().map(of).collect()
    }

    fn some(name: &str, repeats: usize) -> (Option<String>, usize) {
        (Some(name.to_owned()), repeats)
    }

    fn at_port(port: u16) -> impl Fn(&mut Manifest) {
        move |head| head.spec.target.base_url = format!("http://127.0.0.1:{port}/v1")
    }

    fn with_dtype(dtype: &str) -> impl Fn(&mut Manifest) {
        let notes = [("gpus", "1"), ("stored_dtype", dtype)];
        let notes = notes.map(|(name, value)| (name.to_owned(), value.to_owned()));
        move |head| head.server.notes = notes.clone().into()
    }

    #[test]
    fn names_what_only_one_of_several_values_lists() {
        let values = |all: &[&str]| -> Vec<Option<String>> {
            all.iter().map(|value| Some((*value).to_owned())).collect()
        };
        let check = |all: &[&str], expect: &[Option<&str>]| {
            let found: Vec<_> = (0..all.len()).map(|own| own_item(&values(all), own)).collect();
            let found: Vec<_> = found.iter().map(Option::as_deref).collect();
            assert_eq!(found, expect, "{all:?}");
        };
        check(
            &["L40S, llama in bf16, defaults", "L40S, llama in fp8, keys in bf16, defaults"],
            &[Some("bf16"), Some("fp8")],
        );
        check(&["H100, llama", "L40S, llama"], &[Some("H100"), Some("L40S")]);
        check(&["H100, llama", "H100, llama, fp8"], &[None, Some("fp8")]);
    }

    /// What two servers store says more than the ports that they listen at.
    #[test]
    fn a_precision_names_a_side_before_its_address() {
        let of = |port: u16, dtype: &'static str| {
            move |head: &mut Manifest| {
                at_port(port)(head);
                with_dtype(dtype)(head);
            }
        };
        let runs = [run_of("a", None, of(8411, "bf16")), run_of("b", None, of(8413, "fp8"))];
        let heads: Vec<&Manifest> = runs.iter().map(|run| &run.manifest).collect();
        let some = |word: &str| Some(word.to_owned());
        assert_eq!(distinct_words(&heads), [some("bf16"), some("fp8")]);
    }

    #[test]
    fn runs_of_one_name_and_server_are_repeats() {
        let other_seed = |head: &mut Manifest| {
            head.spec.workload.seed = 9;
            head.host.cpus = 64;
        };
        for name in [Some("base"), None] {
            let runs = [run_of("a", name, |_| {}), run_of("b", name, other_seed)];
            assert_eq!(cells(&results_of(&runs, &[])), [(None, 2)], "{name:?}");
        }
    }

    #[test]
    fn a_tag_that_one_repeat_has_does_not_take_repeats_apart() {
        let tagged = |commit: &'static str| {
            move |head: &mut Manifest| {
                head.tags.insert("commit".to_owned(), commit.to_owned());
            }
        };
        let base = |id: &str| run_of(id, Some("base"), |_| {});
        let one = run_of("1", Some("base"), tagged("1a2b"));
        let results = results_of(&[one.clone(), base("2"), base("3")], &[]);
        assert_eq!(cells(&results), [(None, 3)]);
        // What a run is by itself is no tag: predictions are never taken for measurements.
        let computed = ifm_metrics::testing::predicted(base("2"));
        assert_eq!(cells(&results_of(&[base("1"), computed], &[])).len(), 2);
        // Two commits are two settings.
        let other = run_of("2", Some("base"), tagged("3c4d"));
        let results = results_of(&[one, other], &[]);
        assert_eq!(cells(&results).len(), 2);
    }

    #[test]
    fn other_runs_are_sides_with_the_names_of_the_user() {
        let (base, fp8) = (Some("base"), Some("fp8"));
        let check = |runs: [RunData; 2], names: [&str; 2]| {
            let found = cells(&results_of(&runs, &[]));
            assert_eq!(found, names.map(|name| some(name, 1)), "{names:?}");
        };
        // The same server under two names, and two servers.
        check([run_of("a", base, |_| {}), run_of("b", fp8, |_| {})], ["base", "fp8"]);
        check([run_of("a", base, |_| {}), run_of("b", fp8, at_port(8413))], ["base", "fp8"]);
        // Two servers under one name, or without one.
        let of = |name, change: &dyn Fn(&mut Manifest)| run_of("x", name, change);
        check(
            [of(base, &at_port(8411)), of(base, &at_port(8413))],
            ["base (127.0.0.1:8411)", "base (127.0.0.1:8413)"],
        );
        check(
            [of(None, &at_port(8411)), of(None, &at_port(8413))],
            ["127.0.0.1:8411", "127.0.0.1:8413"],
        );
        // One address, one server after the other.
        check([of(None, &with_dtype("bf16")), of(None, &with_dtype("fp8"))], ["bf16", "fp8"]);
        check(
            [of(base, &with_dtype("bf16")), of(base, &with_dtype("fp8"))],
            ["base (bf16)", "base (fp8)"],
        );
        let unstreamed = |head: &mut Manifest| head.spec.target.stream = false;
        check([of(None, &|_| {}), of(None, &unstreamed)], ["streaming yes", "streaming no"]);
    }

    #[test]
    fn distinct_settings_need_no_side_names() {
        let tagged = |value: &'static str| {
            move |head: &mut Manifest| _ = head.tags.insert("cc".to_owned(), value.to_owned())
        };
        let runs = [run_of("a", Some("a"), tagged("off")), run_of("b", Some("b"), tagged("on"))];
        let results = results_of(&runs, &[]);
        assert_eq!(cells(&results), [(None, 1), (None, 1)]);
        assert_eq!(results.side_values(key::RUN), ["a", "b"]);
        assert_eq!(cells(&results.by_side()), [some("a", 1), some("b", 1)]);
    }

    #[test]
    fn the_user_joins_runs_with_commas_and_by_a_plan() {
        let list = |argument: usize, name: &str| Given {
            name: Some(name.to_owned()),
            argument,
            is_list: true,
        };
        let runs = [
            run_of("a", Some("a"), at_port(1)),
            run_of("b", Some("b"), at_port(2)),
            run_of("c", Some("c"), at_port(3)),
            run_of("d", Some("d"), at_port(4)),
        ];
        let given = [list(0, "a,b"), list(0, "a,b"), list(1, "c,d"), list(1, "c,d")];
        assert_eq!(cells(&results_of(&runs, &given)), [some("a,b", 2), some("c,d", 2)]);
        let planned = |port: u16, label: &'static str, (cell, repeat): (&'static str, u32)| {
            run_of(cell, Some(&format!("p: {label}, repeat {repeat}")), move |head| {
                at_port(port)(head);
                head.tags.insert("server".to_owned(), label.to_owned());
                let (plan, cell) = ("p".to_owned(), cell.to_owned());
                head.plan = Some(PlanCell { plan, cell, repeat, attempt: 1 });
            })
        };
        let runs = [
            planned(1, "base", ("k1", 1)),
            planned(2, "fp8", ("k2", 1)),
            planned(3, "base", ("k3", 2)),
            planned(4, "fp8", ("k4", 2)),
        ];
        let results = results_of(&runs, &[]);
        let found = cells(&results);
        assert_eq!(found, [(None, 2), (None, 2)]);
        assert_eq!(results.side_values(key::RUN), ["p"]);
        // The plan was changed, and the repeat measured again.
        let runs = [
            planned(1, "base", ("k1", 1)),
            planned(3, "base", ("k3", 2)),
            planned(5, "base", ("k5", 1)),
        ];
        let found = cells(&results_of(&runs, &[]));
        let repeats: Vec<usize> = found.iter().map(|(_, repeats)| *repeats).collect();
        assert_eq!(repeats, [2, 1], "{found:?}");
    }

    /// A document with a level for each number of users.
    fn document(name: &str, levels: &[(u32, f64)]) -> Sheet {
        let row = |(users, rate): &(u32, f64)| {
            let mut row = Row::new(RowRole::Measured, Place::default());
            row.factors = Factors::default().with(key::CONCURRENCY, users).with(key::MODEL, "m");
            let value = Statistic::Value;
            row.figures.push(Figure::new(Metric::OutputRate, value, *rate, Unit::PerS));
            row
        };
        let rows = levels.iter().map(row).collect();
        let part = Part { rows, ..Part::new(PartKind::Serving, Place::default()) };
        let source = Source { name: name.to_owned(), ..Source::default() };
        Sheet { source, parts: vec![part], remarks: Vec::new() }
    }

    #[test]
    fn documents_are_sides_with_the_names_of_their_files() {
        let of = |sheets: &[Sheet]| Results::of_sheets(sheets).with_sides(&[]);
        let both = of(&[
            document("results/base.json", &[(1, 50.0)]),
            document("results/fp8.json", &[(1, 80.0)]),
        ]);
        assert_eq!(cells(&both), [some("base.json", 1), some("fp8.json", 1)]);
        let rates: Vec<Option<f64>> = both
            .pool(PartKind::Serving)
            .cells
            .iter()
            .map(|cell| Some(cell.central(Metric::OutputRate)?.value))
            .collect();
        assert_eq!(rates, [Some(50.0), Some(80.0)]);
        // One file for each load is one curve, and two sweeps are two.
        let loads = of(&[document("c1.json", &[(1, 50.0)]), document("c8.json", &[(8, 200.0)])]);
        assert_eq!(cells(&loads), [(None, 1), (None, 1)]);
        let sweeps = of(&[
            document("base.json", &[(1, 50.0), (8, 200.0)]),
            document("fp8.json", &[(2, 60.0), (16, 300.0)]),
        ]);
        assert_eq!(sweeps.values(key::RUN), ["base.json", "fp8.json"]);
        // Files with the same name differ by their folders.
        let folders =
            of(&[document("a/result.json", &[(1, 50.0)]), document("b/result.json", &[(1, 80.0)])]);
        assert_eq!(folders.values(key::RUN), ["a/result.json", "b/result.json"]);
    }

    #[test]
    fn repeats_that_do_not_vary_have_no_interval() {
        let mean = |rates: [f64; 3]| -> Stat {
            let names = ["a", "b", "c"];
            let sheets: Vec<Sheet> = names
                .into_iter()
                .zip(rates)
                .map(|(name, rate)| document(name, &[(1, rate)]))
                .collect();
            let list = Given { name: Some("a,b,c".to_owned()), argument: 0, is_list: true };
            let results =
                Results::of_sheets(&sheets).with_sides(&[list.clone(), list.clone(), list]);
            let pool = results.pool(PartKind::Serving);
            pool.cells[0].central(Metric::OutputRate).expect("a rate")
        };
        let same = mean([0.1, 0.1, 0.1]);
        assert_eq!((same.low, same.high, same.n), (None, None, Some(3)));
        assert!(mean([0.1, 0.1, 0.1001]).low.is_some());
    }
}
