//! Which machine, model and precision a measurement ran on, from its factors or from the user.
//!
//! Not here: the arithmetic of limits (`ifm-roofline`), and what is compared with them.

use ifm_core::sheet::{Factors, key};
use ifm_roofline::{Machine, Model, Precision, RooflineError, Setup, WeightFormat};

/// GPUs of a whole node: more seldom share a model, and what they cannot do none can.
pub const NODE: u32 = 8;
/// Settings other than tensor parallelism that spread a model over more GPUs.
const SPREAD: [&str; 2] = ["pipeline_parallel", "data_parallel"];
/// How far a size in a model's name may be from its number of parameters: a 7B has 6.74 or 7.6.
const SIZE_APART: f64 = 0.10;

/// What runs.
pub struct Known {
    /// Machine, model and precision, on the GPUs that are given, or on the fewest that hold it.
    pub setup: Setup,
    /// Whether the number format and the number of GPUs that share the model are given and not
    /// assumed.
    pub is_certain: bool,
    /// Whether the number format is given.
    pub has_format: bool,
    /// Whether the document or the user says how many GPUs there are.
    pub is_counted: bool,
    /// The same on the GPUs that are given to share the model, and on the most that may have run
    /// it: what all of these forbid is forbidden.
    pub open: Vec<Setup>,
    /// The same on all GPUs that there are, or on a node where their number is not said: copies of
    /// the model answer together what none of them can.
    pub all: Option<Setup>,
    /// Whether it is said how many GPUs there are, and not only how many share a copy.
    pub has_all: bool,
    /// Whether the measurement has a name for the model that says nothing, such as that of a server,
    /// and the user says which it is.
    pub is_renamed: bool,
}

impl Known {
    /// As text: model, format, machine.
    pub fn words(&self) -> String {
        words(&self.setup)
    }

    /// The setup for the GPUs as reported: one if their number is unknown, whether it holds the
    /// model or not.
    pub fn as_told(&self) -> Option<Setup> {
        let of = &self.setup;
        let gpus = if self.is_counted { of.gpus() as u32 } else { 1 };
        Setup::new(of.machine().clone(), of.model().clone(), of.precision().clone(), gpus).ok()
    }
}

/// A setup as text: model, format, machine.
pub fn words(setup: &Setup) -> String {
    format!(
        "{} in {} on {} x {}",
        setup.model().name,
        setup.precision().weights.id,
        setup.gpus(),
        setup.machine().name
    )
}

/// From the factors, else from the machine and model that the user names. The user's values apply
/// only to measurements that do not state theirs, never to another machine or model. `parameters`
/// and `weight_bytes` if a document prints them. Absent if machine or model is not known.
pub fn setup(
    (gpu, model_name): (Option<&str>, Option<&str>),
    factors: &Factors,
    parameters: Option<f64>,
    weight_bytes: Option<f64>,
) -> Option<Known> {
    let (machine, gpu) = machine(gpu, factors.get(key::GPU).unwrap_or_default().trim())?;
    let named = factors.get(key::MODEL).unwrap_or_default().trim();
    let (model, model_name, is_renamed) = model(model_name, named, parameters)?;
    let stated = factors.get(key::QUANTIZATION);
    let format = stated
        .and_then(|name| WeightFormat::find(name).ok())
        .or_else(|| WeightFormat::named_in(stated?))
        .or_else(|| WeightFormat::named_in(named))
        .or_else(|| WeightFormat::named_in(model_name?));
    let mut precision = match &format {
        Some(format) => Precision::new(format.clone()),
        None => Precision::find("bf16").ok()?,
    };
    precision.weight_bytes = weight_bytes;
    let on = |gpus: u32| Setup::new(machine.clone(), model.clone(), precision.clone(), gpus).ok();
    let fewest = fewest(&on(1)?);
    let gpus = gpus(gpu, factors, fewest);
    // What does not fit is in another format than the assumed one.
    let counted = gpus.there.max(gpus.shared);
    if format.is_none() && counted.is_some_and(|counted| counted < fewest) {
        return None;
    }
    let first = gpus.shared.or(gpus.there).unwrap_or(fewest);
    // Pipelines of GPUs exchange next to nothing: their links forbid nothing.
    let apart = |gpus: u32| {
        let mut machine = machine.clone();
        machine.link_gb_s = None;
        Setup::new(machine, model.clone(), precision.clone(), gpus).ok()
    };
    let most = match (gpus.shared, gpus.there) {
        (None, None) => Some(fewest.max(NODE)),
        (shared, there) => there.filter(|there| shared.is_none_or(|shared| *there > shared)),
    };
    let open = gpus.shared.and_then(on).into_iter().chain(most.and_then(apart)).collect();
    let is_one = gpus.shared.is_some() || gpus.there == Some(1);
    Some(Known {
        setup: on(first)?,
        is_certain: format.is_some() && is_one,
        has_format: format.is_some(),
        is_counted: gpus.shared.is_some() || gpus.there.is_some(),
        open,
        all: apart(gpus.there.unwrap_or(fewest.max(first).max(NODE))),
        has_all: gpus.there.is_some(),
        is_renamed,
    })
}

/// The machine of a measurement that names `own`, and what the user gives where it counts.
fn machine<'g>(given: Option<&'g str>, own: &str) -> Option<(Machine, Option<&'g str>)> {
    let Some(text) = given else { return Some((Machine::find(own).ok()?, None)) };
    let by_hand = Machine::parse(text).ok()?;
    let is_meant = own.is_empty()
        || match Machine::find(own) {
            Ok(own) if own.id != by_hand.id => return Some((own, None)),
            Ok(_) => true,
            Err(RooflineError::Ambiguous { candidates, .. }) => candidates.contains(&by_hand.id),
            // Figures describe what the table does not hold.
            Err(_) => text.contains('='),
        };
    is_meant.then_some((by_hand, given))
}

/// The model of a measurement that names `own`, the user's value where it counts, and whether it
/// replaces a name that says nothing.
fn model<'g>(
    given: Option<&'g str>,
    own: &str,
    parameters: Option<f64>,
) -> Option<(Model, Option<&'g str>, bool)> {
    let find = |name: &str| match parameters {
        Some(count) => Model::find_with_parameters(name, count),
        None => Model::find(name),
    };
    let Some(text) = given else { return Some((find(own).ok()?, None, false)) };
    let by_hand = Model::find(text).ok()?;
    let is_of = |size: f64| (by_hand.parameters() / size - 1.0).abs() <= SIZE_APART;
    let (is_meant, is_renamed) = match find(own) {
        _ if own.is_empty() && parameters.is_none() => (true, false),
        Ok(own) if own.id != by_hand.id => return Some((own, None, false)),
        Ok(_) => (true, false),
        Err(RooflineError::Ambiguous { candidates, .. }) => {
            (candidates.contains(&by_hand.id), false)
        }
        Err(_) if parameters.is_some() => (parameters.is_some_and(is_of), true),
        Err(_) => (sizes(own).first().is_none_or(|size| is_of(size * 1e9)), true),
    };
    is_meant.then_some((by_hand, given, is_renamed))
}

/// Sizes that a model's name states, in billions of parameters: 7 of "llama 7B", 30 and 3 of
/// "Qwen3-30B-A3B".
pub fn sizes(name: &str) -> Vec<f64> {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric() && c != '.');
    let words = words.flat_map(|word| match word.matches('.').count() {
        // "30B.A3B" is two words, "3.5B" is one.
        1 if !word.split('.').all(|part| part.starts_with(|c: char| c.is_ascii_digit())) => {
            word.split('.').collect::<Vec<_>>()
        }
        _ => vec![word],
    });
    let size = |word: &str| -> Option<f64> {
        let word = word.trim_start_matches(['a', 'A', 'e', 'E']);
        let number = word.strip_suffix(['b', 'B'])?;
        number.parse().ok().filter(|size: &f64| *size > 0.0)
    };
    words.filter_map(size).collect()
}

/// How many GPUs there are, as far as it is said.
struct Gpus {
    /// Those that share each layer.
    shared: Option<u32>,
    /// All of them.
    there: Option<u32>,
}

/// From what the user names, else from the factors. A machine that the user names without a number
/// is one, where one holds the model.
fn gpus(named: Option<&str>, factors: &Factors, fewest: u32) -> Gpus {
    let whole = |name: &str| factors.number(name).filter(|n| *n >= 1.0).map(|n| n as u32);
    let shared = whole(key::TENSOR_PARALLEL);
    let spread = SPREAD.iter().filter_map(|name| whole(name)).fold(1, u32::saturating_mul);
    let counted = |name: &str| Machine::count_in(factors.get(name)?);
    let said = counted(key::HARDWARE).or_else(|| counted(key::GPU));
    let there = match named {
        Some(name) => Machine::count_in(name).or(said).or((fewest == 1).then_some(1)),
        None => said,
    };
    let used = shared.map(|shared| shared.saturating_mul(spread));
    Gpus { shared, there: there.max(used.filter(|_| there.is_some() || spread > 1)) }
}

/// The fewest GPUs that hold the weights.
fn fewest(alone: &Setup) -> u32 {
    let capacity = alone.capacity(1.0);
    capacity
        .memory_bytes
        .map_or(1, |memory| (capacity.weight_bytes / memory).ceil().max(1.0) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(gpu: Option<&str>, factors: Factors) -> Known {
        let factors = Factors::default()
            .with(key::MODEL, "Llama-3.1-70B-Instruct")
            .with(key::QUANTIZATION, "bf16")
            .with(key::GPU, "H100 SXM")
            .within(&factors);
        setup((gpu, None), &factors, None, None).expect("a known machine and model")
    }

    #[test]
    fn gpus_are_counted() {
        let of = |known: Known| {
            let open: Vec<f64> = known.open.iter().map(Setup::gpus).collect();
            (known.setup.gpus(), open, known.is_counted)
        };
        // 141 GB do not fit into 80 GB.
        let none = Factors::default();
        assert_eq!(of(known(None, none.clone())), (2.0, vec![8.0], false));
        assert_eq!(of(known(Some("h100-sxm"), none.clone())).0, 2.0);
        let eight = none.clone().with(key::HARDWARE, "8x H100 SXM");
        assert_eq!(of(known(None, eight.clone())).0, 8.0);
        assert_eq!(of(known(Some("4xh100-sxm"), eight.clone())).0, 4.0);
        let four = eight.with(key::TENSOR_PARALLEL, 4);
        assert_eq!(of(known(None, four.clone())), (4.0, vec![4.0, 8.0], true));
        let alone = none.with(key::TENSOR_PARALLEL, 4).with("pipeline_parallel", 2);
        assert_eq!(of(known(None, alone)), (4.0, vec![4.0, 8.0], true));
        assert!(known(None, four).is_certain);
    }

    #[test]
    fn user_values_apply_only_to_rows_without_their_own() {
        let of = |gpu: &str, model: &str, own_gpu: &str, own_model: &str, count: Option<f64>| {
            let factors = Factors::default().with(key::GPU, own_gpu).with(key::MODEL, own_model);
            let known = setup((Some(gpu), Some(model)), &factors, count, None)?;
            let setup = &known.setup;
            Some(format!("{} {} {}", setup.machine().id, setup.model().id, known.is_renamed))
        };
        let eight = Some("l40s llama-3.1-8b false".to_owned());
        let with = |model: &str| of("l40s", "llama-3.1-8b", "", model, None);
        assert_eq!(with(""), eight);
        assert_eq!(with("Llama-3.1-8B-Instruct"), eight);
        // A known other model stays itself, whatever is given; an unknown model is not replaced
        // either.
        assert_eq!(with("Qwen3-4B"), Some("l40s qwen3-4b false".to_owned()));
        assert_eq!(with("acme-70b"), None);
        assert_eq!(with("my-server"), Some("l40s llama-3.1-8b true".to_owned()));
        assert_eq!(
            of("l40s", "llama-3.1-8b", "", "llama ?B", Some(405.85e9)).as_deref(),
            Some("l40s llama-3.1-405b false")
        );
        assert_eq!(of("l40s", "llama-3.1-8b", "", "acme ?B", Some(33.0e9)), None);
        // So it is with machines.
        let on = |gpu: &str, own: &str| of(gpu, "llama-3.1-8b", own, "", None);
        assert_eq!(on("l40s", "NVIDIA L4"), Some("l4 llama-3.1-8b false".to_owned()));
        assert_eq!(on("h100-sxm", "H100"), Some("h100-sxm llama-3.1-8b false".to_owned()));
        assert_eq!(on("l40s", "H100"), None);
        assert_eq!(on("l40s", "Acme Z9"), None);
        assert_eq!(on("bw=900,bf16=300", "Acme Z9"), Some("custom llama-3.1-8b false".to_owned()));
    }

    #[test]
    fn sizes_are_read_from_names() {
        for (name, expect) in [
            ("llama 7B Q4_0", vec![7.0]),
            ("qwen3moe 30B.A3B Q4_K - Medium", vec![30.0, 3.0]),
            ("Qwen3-30B-A3B", vec![30.0, 3.0]),
            ("qwen2 1.5B", vec![1.5]),
            ("llama ?B IQ2_XXS - 2.0625 bpw", vec![]),
            ("int8-w8a8", vec![]),
        ] {
            assert_eq!(sizes(name), expect, "{name}");
        }
    }

    #[test]
    fn a_format_that_does_not_fit_is_not_assumed() {
        let on = |hardware: &str| {
            let factors = Factors::default()
                .with(key::MODEL, "Llama-3.1-70B-Instruct")
                .with(key::GPU, "H100 SXM")
                .with(key::HARDWARE, hardware);
            setup((None, None), &factors, None, None).is_some()
        };
        assert!(on("2x H100 SXM") && on("") && !on("single H100 SXM"));
    }
}
