//! The program: reads the command line, calls the libraries, prints, and says how to exit.
//!
//! Only this crate reads the environment and decides how the program ends. It is a library,
//! which `main.rs` starts, because a library compiles while its dependencies are still being optimized.
#![forbid(unsafe_code)]

mod cli;
mod inputs;
mod interrupt;
mod job;
mod output;
mod panic_hook;
mod plan;
mod push;
mod session;

use clap::error::ErrorKind;
use ifm_terminal::exit::Code;
use ifm_terminal::{exit, secrets, streams as terminal};
use std::io::IsTerminal;
use std::process::ExitCode;

/// Runs the command line of this process to its end.
pub fn run() -> ExitCode {
    panic_hook::install_panic_hook();
    // If the reader exits (`| head`), printing ends, without a panic.
    let words: Vec<String> =
        std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    if let Some(facts) = cli::help::version::verbose(&words) {
        terminal::print(&facts);
        return Code::Done.into();
    }
    let read = match cli::read(&words) {
        Ok(read) => read,
        Err(cli::Refused::File(failure)) => {
            terminal::say(&failure.to_string());
            return failure.code.into();
        }
        Err(cli::Refused::Typed(error)) => {
            let is_question =
                matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            if is_question {
                if terminal::is_ascii(std::io::stdout().is_terminal()) {
                    terminal::print(&error.render().to_string());
                } else {
                    // A printing error cannot be handled by printing more.
                    let _ = error.print();
                }
                return Code::Done.into();
            }
            terminal::say(cli::explained(error, &words).trim_end());
            return Code::Usage.into();
        }
    };
    let dispatched = std::panic::catch_unwind(|| cli::dispatch(read.cli, &read.words));
    let Ok(ended) = dispatched else {
        // A server's own loop panicked: the hook has printed it.
        terminal::give_back();
        return panic_hook::report().into();
    };
    // In any case, the terminal is restored.
    terminal::end_screen();
    terminal::clear_line();
    let failure = match (ended, terminal::output_failure()) {
        // A measured command ends with its own exit code.
        (Ok(code), None) => return code.into(),
        (Ok(_), Some(error)) => {
            exit::Failure::files(format!("standard output cannot be written: {error}"))
        }
        (Err(failure), _) => failure,
    };
    terminal::say(&failure.to_string());
    failure.code.into()
}
