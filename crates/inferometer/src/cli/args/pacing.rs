//! The flags for the total time of several levels, and the pause between them.

use clap::Args;
use ifm_core::duration::seconds;
use ifm_core::spec::RunSpec;

/// The time around levels.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Load")]
pub struct PacingArgs {
    /// Pause between levels
    #[arg(long, value_parser = seconds, value_name = "SPAN")]
    cooldown: Option<f64>,

    /// Time budget for all levels together
    ///
    /// A level that cannot end within the budget is not started. A level in progress is cut off
    /// when the budget ends. Skipped levels are listed
    #[arg(long, value_parser = seconds, value_name = "SPAN")]
    budget: Option<f64>,
}

impl PacingArgs {
    /// Writes them into the request.
    pub fn set(&self, spec: &mut RunSpec) {
        spec.cooldown_s = self.cooldown;
        spec.budget_s = self.budget;
    }
}
