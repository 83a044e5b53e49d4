//! Engines overlap little: a time below the sum of its parts at their peaks is unlikely.

use super::super::{Looked, Rule, Subject};
use super::faster_than_light::told;
use ifm_roofline::Verdict;

pub(super) const RULE: Rule =
    Rule { id: "near_light", title: "times leave room for one part after another", look };

fn look(subject: &Subject) -> Looked {
    let is_meant = |verdict| matches!(verdict, Verdict::BelowSerial | Verdict::BelowBalanced);
    told(&RULE, subject, is_meant, "serial")
}

#[cfg(test)]
mod tests {
    use super::super::super::Level;
    use super::super::super::testing::{check, row, sheet};
    use ifm_core::Metric;
    use ifm_core::Sheet;
    use ifm_core::sheet::{PartKind, Statistic, Unit, key};

    /// A batch whose prompts compute and whose answers wait for memory: the strict limit overlaps
    /// the two, the serial one does not.
    fn document(e2e: &str) -> Sheet {
        let mut row = row(3, &[(Metric::E2e, Statistic::Value, e2e, Unit::S)]);
        row.factors = row
            .factors
            .with(key::GPU, "L40S")
            .with(key::MODEL, "Llama-3.1-8B-Instruct")
            .with(key::QUANTIZATION, "bf16")
            .with(key::TENSOR_PARALLEL, 1)
            .with(key::BATCH_SIZE, 1)
            .with(key::INPUT_TOKENS, 16384)
            .with(key::OUTPUT_TOKENS, 50);
        sheet(PartKind::StaticBatch, vec![row])
    }

    #[test]
    fn a_time_without_room_is_a_hint() {
        let corrupt = |sheet: &mut Sheet| *sheet = document("1.3");
        check("near_light", &document("4.0"), corrupt, Level::Hint, "faster than the serial limit");
    }
}
