//! What the charts of a comparison of variants have in common.

use ifm_analysis::insight::Versus;
use ifm_chart::{Cartesian, Chart, Plot, Series};

pub(super) fn color(index: usize) -> u8 {
    u8::try_from(index % 8).unwrap_or(0)
}

pub(super) fn lines(
    versus: &Versus,
    curve: impl Fn(&Versus, usize) -> Option<Series>,
) -> Vec<Series> {
    let all = (0..versus.others.len() + 1).filter_map(|index| curve(versus, index));
    all.filter(|series| series.points.len() > 1).collect()
}

pub(super) fn chart(id: &str, title: &str, description: String, plot: Cartesian) -> Option<Chart> {
    (!plot.series.is_empty()).then(|| Chart {
        id: id.to_owned(),
        title: title.to_owned(),
        description,
        plot: Plot::Cartesian(plot),
    })
}
