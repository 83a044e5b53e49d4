//! A program without the engine that draws charts (`still`): the same functions, which say so.

use crate::{Chart, ChartError, Theme};

/// No drawing.
///
/// # Errors
/// Always [`ChartError::NotBuilt`].
pub fn svg(_: &Chart, _: Theme) -> Result<String, ChartError> {
    Err(ChartError::NotBuilt)
}

/// No drawing.
///
/// # Errors
/// Always [`ChartError::NotBuilt`].
pub fn svg_sized(_: &Chart, _: Theme, _: u32, _: Option<u32>) -> Result<String, ChartError> {
    Err(ChartError::NotBuilt)
}

/// No picture.
///
/// # Errors
/// Always [`ChartError::NotBuilt`].
pub fn png(_: &Chart, _: Theme, _: f32) -> Result<Vec<u8>, ChartError> {
    Err(ChartError::NotBuilt)
}
