//! A model's label agrees with its size, its parameters and the layers that ran.

use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use ifm_core::Metric;
use ifm_core::sheet::{RowRole, Statistic, key};
use ifm_metrics::roof::sizes;
use ifm_roofline::{Model, WeightFormat};

pub(super) const RULE: Rule = Rule {
    id: "label_facts",
    title: "labels agree with bits per weight, parameters and layers",
    look,
};

/// Share by which bits per weight may be below the bits of the format: apart from some tensors,
/// nothing in a file is stored narrower than the format in its name. Above, wider tensors are
/// common.
const NARROWER: f64 = 0.07;
const WIDER: f64 = 1.6;
/// Share by which a size may be off the number of parameters, and how much nearer another has to be.
const SIZE_APART: f64 = 0.05;

fn look(subject: &Subject) -> Looked {
    let mut seen = 0;
    let mut findings: Vec<Finding> = Vec::new();
    for cell in subject.cells(RowRole::Measured) {
        for claim in [bits(cell), size(cell), layers(cell)] {
            let Some(told) = claim else { continue };
            seen += 1;
            let Some(finding) = told else { continue };
            // Rows of one model say the same.
            match findings.iter_mut().find(|known| known.text == finding.text) {
                Some(known) => *known = known.clone().at_all(finding.spots),
                None => findings.push(finding),
            }
        }
    }
    match seen {
        0 => Looked::Needs("rows with a model's size and parameters, or the layers that ran"),
        _ => Looked::Found(findings),
    }
}

/// Bytes of the weights over the number of them, against the format in the label. `None` if the
/// data are missing; the same holds for the other functions.
fn bits(cell: &Cell) -> Option<Option<Finding>> {
    let value = |quantity: Metric| cell.row.value(quantity, Statistic::Value);
    let bytes = value(Metric::other("model_size")).filter(|bytes| *bytes > 0.0)?;
    let parameters = value(Metric::Parameters).filter(|count| *count > 0.0)?;
    let label = cell.factors.get(key::MODEL)?;
    let format = WeightFormat::named_in(label)
        .or_else(|| WeightFormat::named_in(cell.factors.get(key::QUANTIZATION)?))?;
    let bits = bytes * 8.0 / parameters;
    let is_narrower = bits < format.bits * (1.0 - NARROWER);
    let is_wider = bits > format.bits.max(format.head_bits) * WIDER;
    if !(is_narrower || is_wider) {
        return Some(None);
    }
    let level = if is_narrower { Level::Strong } else { Level::Hint };
    let text = format!(
        "\"{label}\" names {}, {:.4} bits per weight, and {:.2} GiB over {:.2} B parameters are \
         {bits:.2}: most weights are stored in another format, which limits and comparisons \
         depend on",
        format.id,
        format.bits,
        bytes / BYTES_PER_GIB,
        parameters / 1e9
    );
    let finding = Finding::new(RULE.id, level, text)
        .at(cell.spot())
        .with("bits per weight", bits, "bits")
        .with("by the label", format.bits, "bits")
        .remedy("name the format of most weights in the file");
    Some(Some(finding))
}

const BYTES_PER_GIB: f64 = 1_073_741_824.0;

/// The size in a label against the number of parameters, if a heading has one that fits.
fn size(cell: &Cell) -> Option<Option<Finding>> {
    let parameters = cell.row.value(Metric::Parameters, Statistic::Value)?;
    let label = cell.factors.get(key::MODEL)?;
    let largest = |name: &str| sizes(name).into_iter().reduce(f64::max);
    let apart = |size: f64| (size * 1e9 / parameters - 1.0).abs();
    let named = largest(label)?;
    let (heading, titled) =
        cell.part.headings.iter().rev().find_map(|heading| Some((heading, largest(heading)?)))?;
    let is_off = titled != named && apart(named) > SIZE_APART && apart(titled) <= SIZE_APART;
    let finding = is_off.then(|| {
        let text = format!(
            "\"{label}\" is listed under \"{heading}\", and the model has {:.2} B parameters: the label \
             is that of another model of the same shape",
            parameters / 1e9
        );
        Finding::new(RULE.id, Level::Hint, text)
            .at(cell.spot())
            .with("parameters", parameters / 1e9, "B")
            .with("by the label", named, "B")
            .remedy("name the model by its file, not by the engine's guess")
    });
    Some(finding)
}

/// Layers on the accelerator against the layers of the model.
fn layers(cell: &Cell) -> Option<Option<Finding>> {
    let on_gpu = cell.factors.number("n_gpu_layers").filter(|layers| *layers > 0.0)?;
    let named = cell.factors.get(key::MODEL).unwrap_or_default();
    let model = match cell.row.value(Metric::Parameters, Statistic::Value) {
        Some(count) => Model::find_with_parameters(named, count).ok()?,
        None => Model::find(named).ok()?,
    };
    let layers = model.layers() as f64;
    let finding = (on_gpu < layers).then(|| {
        let text = format!(
            "\"{named}\" is {} with {layers:.0} layers, of which {on_gpu:.0} were on the GPU: \
             the others ran on the CPU, so the figures are not for the GPU alone",
            model.name
        );
        Finding::new(RULE.id, Level::Hint, text)
            .at(cell.spot())
            .with("layers on the GPU", on_gpu, "layers")
            .with("layers", layers, "layers")
            .remedy("state that part of the model ran on the CPU")
    });
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, found, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::{PartKind, Unit};

    /// 60 GiB over 117 B parameters are 4.4 bits each.
    fn document(label: &str, gib: &str, billions: &str, layers: i32, heading: &str) -> Sheet {
        let size = Metric::other("model_size");
        let mut row = row(
            3,
            &[
                (size, Statistic::Value, gib, Unit::GiB),
                (Metric::Parameters, Statistic::Value, billions, Unit::Billion),
            ],
        );
        row.factors = row.factors.with(key::MODEL, label).with("n_gpu_layers", layers);
        let mut sheet = sheet(PartKind::Engine, vec![row]);
        sheet.parts[0].headings = vec![heading.to_owned()];
        sheet
    }

    #[test]
    fn reports_a_format_that_the_file_is_too_small_for() {
        let of = |label: &str, gib: &str| document(label, gib, "116.83", 99, "");
        let sound = of("gpt-oss 120B MXFP4 MoE", "60.03");
        let corrupt = |sheet: &mut Sheet| *sheet = of("gpt-oss 120B Q8_0", "60.03");
        check("label_facts", &sound, corrupt, Level::Strong, "are 4.41");
        let wide = document("llama 7B Q4_0", "12.55", "6.74", 99, "");
        let wide = |sheet: &mut Sheet| *sheet = wide;
        check("label_facts", &sound, wide, Level::Hint, "are 15.99");
        // Formats of two bits have wider tensors.
        let two = document("llama ?B IQ2_XXS - 2.0625 bpw", "99.90", "405.85", 999, "405B");
        assert_eq!(found("label_facts", &[two]), []);
        let four = document("llama 7B Q4_0", "3.56", "6.74", 99, "llama2-7b");
        assert_eq!(found("label_facts", &[four]), []);
    }

    #[test]
    fn reports_the_size_of_another_model() {
        let of = |label: &str| document(label, "6.96", "12.25", 99, "Mistral Nemo 12B");
        let corrupt = |sheet: &mut Sheet| *sheet = of("llama 13B Q4_K - Medium");
        let sound = of("llama 12B Q4_K - Medium");
        check("label_facts", &sound, corrupt, Level::Hint, "12.25 B parameters");
        // Sizes are rounded as their makers like.
        let gemma = document("gemma 2B Q4_K - Medium", "1.50", "2.51", 99, "gemma-2b");
        assert_eq!(found("label_facts", &[gemma]), []);
    }

    #[test]
    fn reports_layers_that_ran_on_the_cpu() {
        let of = |layers| document("llama ?B IQ2_XXS", "99.90", "405.85", layers, "Single card");
        let corrupt = |sheet: &mut Sheet| *sheet = of(116);
        check("label_facts", &of(126), corrupt, Level::Hint, "with 126 layers, of which 116 were");
        assert_eq!(found("label_facts", &[of(-1)]), []);
    }
}
