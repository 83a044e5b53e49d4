//! What a configuration counts and is ranked by: names and units.

use ifm_analysis::insight::Meant;
use ifm_analysis::matrix::Matrix;
use ifm_core::sheet::Quantity;

/// What the size of a configuration counts.
pub(super) fn unit(matrix: &Matrix) -> &'static str {
    match matrix.configurations.first().is_some_and(|of| of.is_users) {
        true => "users",
        false => "batch",
    }
}

/// Name, unit and writing of what a configuration is ranked by.
pub(super) fn measure_unit(measure: &Quantity) -> (&'static str, &'static str, Meant) {
    match measure {
        Quantity::E2e => ("Latency", "ms", Meant::Ms),
        Quantity::TotalRate => ("Overall Throughput", "tok/s", Meant::TokPerS),
        Quantity::InputRate => ("Input Throughput", "tok/s", Meant::TokPerS),
        Quantity::DecodeRate => ("Decode Throughput", "tok/s", Meant::TokPerS),
        Quantity::ImageRate => ("Image Throughput", "images/s", Meant::Plain),
        Quantity::AudioRate => ("RTFx of the Level", "audio s/s", Meant::Plain),
        _ => ("Output Throughput", "tok/s", Meant::TokPerS),
    }
}
