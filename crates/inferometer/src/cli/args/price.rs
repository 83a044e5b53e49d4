//! The price of a machine: from a flag, and from stored searches.

use crate::inputs::Subjects;
use ifm_report::ReportModel;

/// Reads an amount of money.
///
/// # Errors
/// A sentence on what is expected.
pub fn money(text: &str) -> Result<f64, String> {
    let amount = text.parse::<f64>().ok().filter(|amount| *amount >= 0.0 && amount.is_finite());
    amount.ok_or_else(|| "expected an amount of money such as 2.5".to_owned())
}

/// The price that stored searches for a capacity used, if they used the same: USD per hour.
pub fn stored(subjects: &Subjects) -> Option<f64> {
    let told = |run: &ReportModel| run.manifest.capacity.as_ref()?.usd_per_hour;
    let mut prices = subjects.runs.iter().map(told);
    let first = prices.next()??;
    prices.all(|price| price == Some(first)).then_some(first)
}
