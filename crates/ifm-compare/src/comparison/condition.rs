//! The conditions of a measurement: the requested load, and other settings.
//!
//! Levels of two sides are matched by it. A run of ours has a load; a row of a document may have a
//! batch, a test or lengths in addition or instead. Not here: what was measured.

use ifm_core::order::Order as _;
use ifm_core::sheet::{Factors, key};
use ifm_metrics::level::Load;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;

/// Loads of an open loop that differ by a smaller share than this are the same.
const SAME_RATE: f64 = 1e-9;

/// The requested condition.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Condition {
    /// Users or rate; absent where none was set.
    pub load: Option<Load>,
    /// Other settings that distinguish levels.
    pub setting: Factors,
}

impl From<Load> for Condition {
    fn from(load: Load) -> Condition {
        Condition { load: Some(load), setting: Factors::default() }
    }
}

impl Condition {
    /// Only the settings of these names.
    pub(crate) fn reduced(&self, names: &BTreeSet<String>) -> Condition {
        let mut setting = Factors::default();
        for (name, value) in self.setting.iter().filter(|(name, _)| names.contains(*name)) {
            setting.set(name, value);
        }
        Condition { load: self.load, setting }
    }

    /// Whether it is at a load, whatever else was set.
    pub fn is_load(&self, load: Load) -> bool {
        self.load.is_some_and(|known| is_same(known, load))
    }

    /// Whether two conditions are the same.
    pub fn is_same(&self, other: &Condition) -> bool {
        let same_load = match (self.load, other.load) {
            (None, None) => true,
            (Some(a), Some(b)) => is_same(a, b),
            _ => false,
        };
        same_load && self.setting == other.setting
    }

    /// Whether only the loads differ, and are of one kind, so that one can lie between two others.
    pub(crate) fn is_same_kind(&self, other: &Condition) -> bool {
        let loads = self.load.zip(other.load);
        self.setting == other.setting && loads.is_some_and(|(a, b)| is_same_kind(a, b))
    }

    /// Users before rates, each rising, before what has no load; then by what else was set.
    pub(crate) fn order(&self, other: &Condition) -> Ordering {
        let loads = match (self.load, other.load) {
            (Some(a), Some(b)) => order(a, b),
            (None, None) => Ordering::Equal,
            (a, _) if a.is_some() => Ordering::Less,
            _ => Ordering::Greater,
        };
        loads.then_with(|| by_numbers(&self.setting, &other.setting))
    }

    /// Whether a word of the user other than a load names it: one of the values that were set.
    pub fn has(&self, word: &str) -> bool {
        self.setting.iter().any(|(name, value)| value == word || words_of(name, value) == word)
    }
}

/// By their numbers where the values are numbers: a depth of 512 comes before one of 4096.
fn by_numbers(a: &Factors, b: &Factors) -> Ordering {
    let pairs = a.iter().zip(b.iter());
    let each = pairs.map(|((name, one), (other_name, other))| {
        let numbers = one.parse::<f64>().ok().zip(other.parse::<f64>().ok());
        let values = numbers.map_or_else(|| one.cmp(other), |(one, other)| one.total_cmp(&other));
        name.cmp(other_name).then(values)
    });
    each.fold(Ordering::Equal, Ordering::then).then_with(|| a.cmp(b))
}

/// A setting as text.
fn words_of(name: &str, value: &str) -> String {
    match name {
        key::TEST | key::MODEL | key::ENGINE | key::GPU | key::QUANTIZATION | key::STRATEGY => {
            value.to_owned()
        }
        // The value is a name already.
        "row" => value.to_owned(),
        key::INPUT_TOKENS => format!("{value} prompt tokens"),
        key::OUTPUT_TOKENS => format!("{value} output tokens"),
        key::BATCH_SIZE => format!("batch of {value}"),
        key::DEPTH_TOKENS => format!("depth {value}"),
        key::POWER_LIMIT_W => format!("{value} W"),
        key::TENSOR_PARALLEL => format!("TP {value}"),
        name => format!("{} {value}", name.replace('_', " ")),
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let load = self.load.map(load_words).into_iter();
        // A test names its own lengths.
        let is_test = self.setting.get(key::TEST).is_some();
        let is_told = |name: &str| {
            !is_test || ![key::INPUT_TOKENS, key::OUTPUT_TOKENS, key::BATCH_SIZE].contains(&name)
        };
        let settings = self.setting.iter().filter(|(name, _)| is_told(name));
        let mut words: Vec<String> = settings.map(|(name, value)| words_of(name, value)).collect();
        // The test comes before its settings.
        words.order_by_key(|words| self.setting.get(key::TEST) != Some(words.as_str()));
        let all: Vec<String> = load.chain(words).collect();
        match all.is_empty() {
            true => formatter.write_str("the only level"),
            false => formatter.write_str(&all.join(", ")),
        }
    }
}

/// Whether two loads are the same.
pub(crate) fn is_same(a: Load, b: Load) -> bool {
    match (a, b) {
        (Load::Users(a), Load::Users(b)) => a == b,
        (Load::ReqPerS(a), Load::ReqPerS(b)) => (a - b).abs() <= SAME_RATE * a.abs().max(b.abs()),
        _ => false,
    }
}

/// Whether two loads are of one kind, so that one can lie between two others.
pub(crate) fn is_same_kind(a: Load, b: Load) -> bool {
    matches!((a, b), (Load::Users(_), Load::Users(_)) | (Load::ReqPerS(_), Load::ReqPerS(_)))
}

/// Users before rates, each rising.
pub(crate) fn order(a: Load, b: Load) -> Ordering {
    let kind = |load: Load| matches!(load, Load::ReqPerS(_));
    kind(a).cmp(&kind(b)).then(a.value().total_cmp(&b.value()))
}

/// A load as text.
fn load_words(load: Load) -> String {
    match load {
        Load::Users(1) => "1 user".to_owned(),
        Load::Users(users) => format!("{users} users"),
        Load::ReqPerS(rate) => format!("{rate} req/s"),
    }
}

/// Conditions as text, with a comma between them; `none` for none.
pub(crate) fn list_words<'a>(all: impl Iterator<Item = &'a Condition>) -> String {
    let words: Vec<String> = all.map(ToString::to_string).collect();
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_have_words_and_an_order() {
        let test = |name: &str, depth: u32| Condition {
            load: None,
            setting: Factors::default()
                .with(key::TEST, name)
                .with(key::BATCH_SIZE, 1)
                .with(key::DEPTH_TOKENS, depth),
        };
        assert_eq!(test("pp512", 4096).to_string(), "pp512, depth 4096");
        assert_eq!(test("pp512", 512).order(&test("pp512", 4096)), Ordering::Less);
        assert!(test("pp512", 512).has("pp512") && test("pp512", 512).has("depth 512"));
        let users = Condition::from(Load::Users(1));
        assert_eq!(users.to_string(), "1 user");
        assert_eq!(users.order(&test("pp512", 512)), Ordering::Less);
        assert_eq!(Condition::default().to_string(), "the only level");
        let names = BTreeSet::from([key::TEST.to_owned()]);
        assert!(test("pp512", 1).reduced(&names).is_same(&test("pp512", 2).reduced(&names)));
    }
}
