//! A percentile needs samples beyond it.

use super::super::{Finding, Level, Looked, Rule, Subject};
use ifm_core::Metric;
use ifm_core::sheet::{RowRole, Statistic};
use ifm_metrics::stat::quantile::{is_enough, needed_for};

pub(super) const RULE: Rule =
    Rule { id: "percentile_samples", title: "percentiles rest on enough requests", look };

fn look(subject: &Subject) -> Looked {
    let mut seen = 0;
    let mut thin: Vec<(f64, u64, super::super::Spot)> = Vec::new();
    for cell in subject.cells(RowRole::Measured) {
        let Some(requests) = cell.requests() else { continue };
        for figure in &cell.row.figures {
            // One value per request; gaps are many more.
            let per_request = matches!(figure.quantity, Metric::Ttft | Metric::Tpot | Metric::E2e);
            let Statistic::Percentile(p) = figure.statistic else { continue };
            if !per_request || figure.value.is_none() || p <= 50.0 {
                continue;
            }
            seen += 1;
            if !is_enough(requests as u64, p) {
                thin.push((p, requests as u64, cell.spot_of_figure(figure)));
            }
        }
    }
    if seen == 0 {
        return Looked::Needs("percentiles of rows that say how many requests they hold");
    }
    let worst = thin.iter().max_by(|a, b| {
        let lack = |(p, n, _): &(f64, u64, _)| needed_for(*p) as f64 / *n as f64;
        lack(a).total_cmp(&lack(b))
    });
    let Some((p, n, _)) = worst.cloned() else { return Looked::Found(Vec::new()) };
    let slowest = match (n as f64 * (1.0 - p / 100.0)).ceil() {
        few if few <= 1.0 => "the slowest".to_owned(),
        several => format!("one of the slowest {several}"),
    };
    let text = format!(
        "{} of {seen} percentiles rest on too few requests: p{p} of {n} requests is {slowest} and \
         needs {}",
        thin.len(),
        needed_for(p)
    );
    let finding = Finding::new(RULE.id, Level::Hint, text)
        .with("requests", n as f64, "requests")
        .with("needed", needed_for(p) as f64, "requests")
        .at_all(thin.into_iter().map(|(_, _, spot)| spot))
        .remedy("measure longer, or state a lower percentile");
    Looked::Found(vec![finding])
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, row, sheet};
    use super::*;
    use ifm_core::sheet::{PartKind, Unit};

    #[test]
    fn reports_a_p99_of_few_requests() {
        let figures = [
            (Metric::RequestsOk, Statistic::Value, "1000", Unit::Count),
            (Metric::Ttft, Statistic::Percentile(99.0), "91.04", Unit::Ms),
        ];
        let sound = sheet(PartKind::Serving, vec![row(4, &figures)]);
        let corrupt =
            |sheet: &mut ifm_core::Sheet| sheet.parts[0].rows[0].figures[0].value = Some(180.0);
        check("percentile_samples", &sound, corrupt, Level::Hint, "p99 of 180 requests");
    }
}
