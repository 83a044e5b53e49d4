//! llama.cpp through its own tool, `llama-bench`.

use super::case::Case;
use super::protocol::About;
use super::worker::Limits;
use super::{Engine, Repeat, Setup, Trouble};
use std::path::Path;

/// The tool.
pub struct LlamaBench {
    about: About,
}

/// Asks the tool what it is.
///
/// # Errors
/// It is not there.
pub fn start(program: &Path, _setup: &Setup, _limits: &Limits) -> Result<LlamaBench, String> {
    Err(format!("{} is not asked yet", program.display()))
}

impl Engine for LlamaBench {
    fn about(&self) -> &About {
        &self.about
    }

    fn run(&mut self, _case: &Case, _times: u32) -> Result<Vec<Repeat>, Trouble> {
        Err(Trouble::Lost("no tool".to_owned()))
    }
}
