//! The flags that say how much time several levels may take, and how far they are apart.

use clap::Args;
use ifm_core::duration::seconds;
use ifm_core::spec::RunSpec;

/// The time around levels.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Load")]
pub struct PacingArgs {
    /// Pause between two levels
    #[arg(long, value_parser = seconds, value_name = "SPAN")]
    cooldown: Option<f64>,

    /// Time for all levels together: none is begun that cannot end in it, one that is under way
    /// is cut there, and what was left out is listed
    #[arg(long, value_parser = seconds, value_name = "SPAN")]
    budget: Option<f64>,
}

impl PacingArgs {
    /// Writes them into what is asked for.
    pub fn set(&self, spec: &mut RunSpec) {
        spec.cooldown_s = self.cooldown;
        spec.budget_s = self.budget;
    }
}
