//! What a configuration counts and is ranked by: names and units.

use ifm_compare::matrix::Matrix;
use ifm_core::Metric;
use ifm_rules::insight::Meant;

/// What the size of a configuration counts.
pub(super) fn unit(matrix: &Matrix) -> &'static str {
    match matrix.configurations.first().is_some_and(|of| of.is_users) {
        true => "users",
        false => "batch",
    }
}

/// Name, unit and writing of what a configuration is ranked by.
pub(super) fn measure_unit(measure: Metric) -> (&'static str, &'static str, Meant) {
    match measure {
        Metric::E2e => ("Latency", "ms", Meant::Ms),
        Metric::TotalRate => ("Overall Throughput", "tok/s", Meant::TokPerS),
        Metric::InputRate => ("Input Throughput", "tok/s", Meant::TokPerS),
        Metric::DecodeRate => ("Decode Throughput", "tok/s", Meant::TokPerS),
        Metric::ImageRate => ("Image Throughput", "images/s", Meant::Plain),
        Metric::LevelRtfx => ("RTFx of the Level", "audio s/s", Meant::Plain),
        _ => ("Output Throughput", "tok/s", Meant::TokPerS),
    }
}
