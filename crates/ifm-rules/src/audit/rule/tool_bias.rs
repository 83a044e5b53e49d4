//! What a tool is known to count differently is named, with its corrected value.

use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use ifm_core::Metric;
use ifm_core::sheet::{PartKind, RowRole, Statistic, key};

pub(super) const RULE: Rule =
    Rule { id: "tool_bias", title: "figures have no known bias of their tool", look };

/// Share from which on a bias is worth telling.
const WORTH: f64 = 0.01;

fn look(subject: &Subject) -> Looked {
    let mut seen = 0;
    let (mut decode, mut peaks) = (Vec::new(), Vec::new());
    for cell in subject.cells(RowRole::Measured) {
        if let Some(bias) = decode_bias(cell) {
            seen += 1;
            decode.extend((bias > WORTH).then_some((cell, bias)));
        }
        if let Some((peak, asked)) = peak(cell) {
            seen += 1;
            peaks.extend((peak > asked).then_some((cell, peak, asked)));
        }
    }
    if seen == 0 {
        return Looked::Needs("figures that a tool is known to count differently");
    }
    let mut findings = Vec::new();
    if let Some((cell, bias)) = decode.iter().max_by(|a, b| a.1.total_cmp(&b.1)) {
        findings.push(tell_decode(cell, *bias, &decode));
    }
    if let Some((cell, peak, asked)) = peaks.first() {
        let text = format!(
            "{} more requests in flight at the peak than were asked for, such as {peak} of {asked} \
             ({}): some tools count every request that touches a second",
            if peaks.len() == 1 {
                "1 row has".to_owned()
            } else {
                format!("{} rows have", peaks.len())
            },
            cell.name()
        );
        findings.push(
            Finding::new(RULE.id, Level::Hint, text)
                .at_all(peaks.iter().map(|(cell, _, _)| cell.spot()))
                .with("peak", *peak, "requests")
                .with("asked for", *asked, "requests")
                .remedy("read the mean number in flight from rate times latency"),
        );
    }
    Looked::Found(findings)
}

fn tell_decode(worst: &Cell, bias: f64, all: &[(&Cell, f64)]) -> Finding {
    let rate = worst.central(Metric::OutputRate).and_then(|figure| figure.canonical());
    let mut text = format!(
        "{} output rates leave the prompt's time out; counted as all tokens over the time after the \
         first, as SGLang's one-batch tools do, they are up to {:.1} % too high, since the first \
         token needs none of that time",
        all.len(),
        bias * 100.0
    );
    if let Some(rate) = rate {
        text.push_str(&format!(" ({}: {rate:.2} is {:.2})", worst.name(), rate / (1.0 + bias)));
    }
    Finding::new(RULE.id, Level::Hint, text)
        .at(worst.spot())
        .at_all(all.iter().map(|(cell, _)| cell.spot()))
        .with("too high by", bias * 100.0, "%")
        .remedy("multiply by (output tokens - 1) / output tokens")
}

/// Share by which an output rate of a batch is too high, if it counts all tokens over the time
/// after the first: `out / (out - 1) - 1`. Absent for rates over the whole time.
fn decode_bias(cell: &Cell) -> Option<f64> {
    if cell.part.kind != PartKind::StaticBatch {
        return None;
    }
    let output = cell.factors.number(key::OUTPUT_TOKENS).filter(|output| *output > 1.0)?;
    let batch = cell.factors.number(key::BATCH_SIZE)?;
    let figure = cell.central(Metric::OutputRate)?;
    let e2e = cell.central(Metric::E2e)?;
    // The shortest whole time that is printed so: a rate above it leaves something out.
    let least_s = (e2e.canonical()? - super::super::subject::slack(e2e)) / 1e3;
    let is_after_first = least_s > 0.0 && figure.canonical()? > batch * output / least_s;
    is_after_first.then(|| output / (output - 1.0) - 1.0)
}

/// Peak in flight and the requested limit.
fn peak(cell: &Cell) -> Option<(f64, f64)> {
    let peak = cell.row.value(Metric::PeakInFlight, Statistic::Value)?;
    Some((peak, cell.factors.number(key::CONCURRENCY)?))
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::Unit;

    /// A batch of 4 that gives 21 tokens each in 2 s.
    fn batch(rate: &str) -> Sheet {
        let mut row = row(
            3,
            &[
                (Metric::E2e, Statistic::Value, "2.00", Unit::S),
                (Metric::OutputRate, Statistic::Value, rate, Unit::PerS),
            ],
        );
        row.factors = row.factors.with(key::BATCH_SIZE, 4).with(key::OUTPUT_TOKENS, 21);
        sheet(PartKind::StaticBatch, vec![row])
    }

    #[test]
    fn reports_tokens_over_one_step_too_few() {
        let corrupt = |sheet: &mut Sheet| *sheet = batch("60.0");
        check("tool_bias", &batch("42.0"), corrupt, Level::Hint, "up to 5.0 % too high");
    }

    #[test]
    fn reports_a_peak_above_the_limit() {
        let mut row = row(3, &[(Metric::PeakInFlight, Statistic::Value, "8", Unit::Count)]);
        row.factors = row.factors.with(key::CONCURRENCY, 8);
        let sound = sheet(PartKind::Serving, vec![row]);
        let corrupt = |sheet: &mut Sheet| sheet.parts[0].rows[0].factors.set(key::CONCURRENCY, 3);
        check("tool_bias", &sound, corrupt, Level::Hint, "such as 8 of 3");
    }
}
