//! The flag that takes progress away, for commands without results of a run of their own.
//!
//! It is read in one place for all commands (`cli::read`). Not here: what is progress, which every command says by
//! `terminal::tell`.

use clap::Args;

/// No progress.
#[derive(Debug, Clone, Args)]
pub struct QuietArgs {
    /// Print no progress lines
    #[arg(help_heading = "Results", hide_short_help = true, short = 's', long)]
    pub quiet: bool,
}
