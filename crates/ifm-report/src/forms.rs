//! Answers that are to have a form, in words that every format shows alike: how they kept to it, and
//! what it costs.
//!
//! Not here: their latencies as rows (`parts`), JSON (`json/forms`).

use crate::format::{change, count, percent, plain, span};
use ifm_metrics::LevelSummary;
use ifm_metrics::level::{FormSummary, Judgements};
use ifm_metrics::stat::Estimate;

/// A line for each form: `json:a.json  98 valid, 2 invalid (98.0 % valid, 93.0 to 99.4 %)`, and what
/// it costs.
pub(crate) fn lines(level: &LevelSummary) -> Vec<String> {
    let forms = level.forms.iter().flat_map(|forms| &forms.forms);
    forms.map(|form| format!("{}: {}", plain(&form.word), line(form))).collect()
}

fn line(form: &FormSummary) -> String {
    let mut out = judged(&form.judged);
    let against = [("TTFT", form.ttft_ratio), ("gap", form.gap_ratio)];
    for (what, ratio) in against {
        if let Some(ratio) = ratio {
            out.push_str(&format!("; median {what} {} against free answers", ratio_words(ratio)));
        }
    }
    if let Some(first) = form.first {
        let ns = |ns: Option<f64>| ns.map_or_else(|| "not known".to_owned(), span);
        let phase = if first.is_warmup { ", in the warm-up" } else { "" };
        out.push_str(&format!(
            "; first of its form{phase}: TTFT {}, later ones {} (median)",
            ns(first.ttft_ns.map(|ns| ns as f64)),
            ns(first.later_ttft_ns)
        ));
    }
    out
}

/// `+12 % (+5 % to +20 %)`.
fn ratio_words(ratio: Estimate) -> String {
    let [value, low, high] = [ratio.value, ratio.low, ratio.high].map(|it| change(it - 1.0));
    format!("{value} ({low} to {high})")
}

fn judged(judged: &Judgements) -> String {
    let all = [
        (judged.valid, "valid"),
        (judged.invalid, "invalid"),
        (judged.cut, "cut off before it could be"),
        (judged.unchecked, "not checked"),
    ];
    let parts = all.into_iter().filter(|(number, _)| *number > 0);
    let parts: Vec<String> =
        parts.map(|(number, word)| format!("{} {word}", count(number))).collect();
    let share = judged.valid_share().map(|share| {
        format!(
            " ({} valid, {} to {})",
            percent(share.value),
            percent(share.low),
            percent(share.high)
        )
    });
    format!("{}{}", parts.join(", "), share.unwrap_or_default())
}
