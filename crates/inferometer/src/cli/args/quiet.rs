//! The flag that disables progress output, for commands without results of their own run.
//!
//! It is read in one place for all commands (`cli::read`). Not here: what counts as progress: every command
//! prints it with `terminal::tell`.

use clap::Args;

/// No progress.
#[derive(Debug, Clone, Args)]
pub struct QuietArgs {
    /// Print no progress lines
    #[arg(help_heading = "Results", hide_short_help = true, short = 's', long)]
    pub quiet: bool,
}
