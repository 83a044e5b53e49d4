//! Arithmetic rates that count operations by different rules are not compared.

use super::super::{Cell, Finding, Level, Looked, Rule, Spot, Subject};
use ifm_core::Metric;
use ifm_core::sheet::kernel::{COMPUTES, GEMM, KERNEL, PASS};
use ifm_core::sheet::{RowRole, Statistic};

pub(super) const RULE: Rule = Rule {
    id: "flop_counts",
    title: "arithmetic rates of one table count the same operations",
    look,
};

/// Ratio of operations from which on rows count differently, and not only round.
const APART: f64 = 1.2;
/// What a row is of, pass and mask, and the operations that each row counts.
type Pass<'c> = ([Option<&'c str>; 2], Vec<(&'c Cell<'c>, f64)>);

fn look(subject: &Subject) -> Looked {
    let mut compared = 0;
    let mut apart: Vec<(f64, String, Vec<Spot>)> = Vec::new();
    for table in subject.tables(RowRole::Measured) {
        let mut passes: Vec<Pass> = Vec::new();
        for cell in table {
            let Some(operations) = operations(cell) else { continue };
            // Products of a table of ceilings have sizes of their own.
            if cell.factors.get(KERNEL) == Some(GEMM) {
                continue;
            }
            // A row that says that it computes another mask is compared with others that do.
            let pass = [PASS, COMPUTES].map(|name| cell.factors.get(name));
            match passes.iter_mut().find(|(known, _)| *known == pass) {
                Some((_, rows)) => rows.push((cell, operations)),
                None => passes.push((pass, vec![(cell, operations)])),
            }
        }
        for (_, rows) in passes.iter().filter(|(_, rows)| rows.len() > 1) {
            compared += 1;
            let order = |a: &&(&Cell, f64), b: &&(&Cell, f64)| a.1.total_cmp(&b.1);
            let (Some(least), Some(most)) = (rows.iter().min_by(order), rows.iter().max_by(order))
            else {
                continue;
            };
            if most.1 > APART * least.1 {
                let words = format!(
                    "{} counts {:.2} Tflop and {} {:.2} of one size",
                    most.0.name(),
                    most.1 / 1e12,
                    least.0.name(),
                    least.1 / 1e12
                );
                apart.push((most.1 / least.1, words, vec![most.0.spot(), least.0.spot()]));
            }
        }
    }
    if compared == 0 {
        return Looked::Needs("tables with times and arithmetic rates");
    }
    let worst = apart.iter().max_by(|a, b| a.0.total_cmp(&b.0));
    let Some((ratio, words, _)) = worst else { return Looked::Found(Vec::new()) };
    let text = format!(
        "{} of {compared} comparisons of arithmetic rates do not compare like with like (another \
         mask, or another rule to count operations), up to {ratio:.1} times: {words}",
        apart.len()
    );
    let finding = Finding::new(RULE.id, Level::Hint, text)
        .with("ratio of operations", *ratio, "")
        .at_all(apart.iter().flat_map(|(_, _, spots)| spots.clone()))
        .remedy("compare times, or count all rows by one rule");
    Looked::Found(vec![finding])
}

/// Operations that a row counts: rate times time.
fn operations(cell: &Cell) -> Option<f64> {
    let of = |quantity: Metric| {
        let all = [Statistic::Value, Statistic::Median];
        all.into_iter().find_map(|statistic| cell.row.value(quantity, statistic))
    };
    let (rate, ms) = (of(Metric::FlopRate)?, of(Metric::Kernel)?);
    Some(rate * ms / 1e3).filter(|operations| *operations > 0.0)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::{PartKind, Unit};

    #[test]
    fn reports_a_kernel_that_counts_masked_operations() {
        let kernel = |line, ms: &str, rate: &str| {
            row(
                line,
                &[
                    (Metric::Kernel, Statistic::Value, ms, Unit::Ms),
                    (Metric::FlopRate, Statistic::Value, rate, Unit::TflopPerS),
                ],
            )
        };
        let sound =
            sheet(PartKind::Kernel, vec![kernel(3, "10.0", "200.0"), kernel(4, "20.0", "101.0")]);
        let corrupt = |sheet: &mut Sheet| sheet.parts[0].rows[1] = kernel(4, "20.0", "203.0");
        check("flop_counts", &sound, corrupt, Level::Hint, "counts 4.06 Tflop");
    }
}
