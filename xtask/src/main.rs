//! Chores of the workspace: `cargo xtask COMMAND`.
//!
//! Everything that is automated and is not part of the product is here, in Rust, so that it
//! runs wherever the workspace builds. One file or folder per command, one line in [`COMMANDS`].
//!
//! Not here: anything that a user of inferometer runs.
#![forbid(unsafe_code)]

mod bench;
mod check;
mod cross;
mod dist;
mod examples;
mod pack_ranks;
mod reference;
mod same_output;
mod schema;
mod train_tokenizer;

use anyhow::Result;
use std::{
    error::Error,
    io::{self, Write},
    process::ExitCode,
};

/// Exit code of a command that ran and found something to object to, or failed.
const EXIT_FAILED: u8 = 1;
/// Exit code of a command line that cannot be understood.
const EXIT_USAGE: u8 = 2;

/// A command: its name and what runs it.
struct Command {
    name: &'static str,
    /// The arguments after the name.
    arguments: &'static str,
    summary: &'static str,
    /// Runs it with the arguments after its name; results go to the writer.
    run: fn(Vec<String>, &mut dyn Write) -> Result<ExitCode>,
}

/// Every command, in the order of the help. To add one, add its file and a line.
const COMMANDS: &[Command] = &[
    Command {
        name: "bench",
        arguments: "[NAME...] [FLAGS]",
        summary: "measure what the client costs and how far its times are from the truth",
        run: bench::run,
    },
    Command {
        name: "check",
        arguments: "",
        summary: "check the structure of the workspace: edges, unsafe, registries, licences, links",
        run: check::run,
    },
    Command {
        name: "cross",
        arguments: "[TARGET...]",
        summary: "build the program for other machines, and run its tests where an emulator can",
        run: |arguments, out| cross::run(&arguments, out),
    },
    Command {
        name: "dist",
        arguments: "[--target TARGET]... [--out DIR]",
        summary: "make what is published: wheel, archives, checksums, bill of materials",
        run: dist::run,
    },
    Command {
        name: "examples",
        arguments: "[--check]",
        summary: "make the example reports again from the results under examples/store",
        run: |arguments, out| examples::run(&arguments, out),
    },
    Command {
        name: "pack-ranks",
        arguments: "DIR",
        summary: "make the embedded encodings again from the rank files of tiktoken in DIR",
        run: |arguments, _| pack_ranks::run(arguments).map(|()| ExitCode::SUCCESS),
    },
    Command {
        name: "reference",
        arguments: "",
        summary: "write the reference of the command line in docs/reference/cli again",
        run: |arguments, _| reference::run(&arguments),
    },
    Command {
        name: "same-output",
        arguments: "OLD NEW [PATH...]",
        summary: "compare what two programs print of stored results, by every command that only reads",
        run: |arguments, out| same_output::run(&arguments, out),
    },
    Command {
        name: "schema",
        arguments: "",
        summary: "write the JSON Schemas that follow from the types of ifm-core again",
        run: |arguments, _| schema::run(&arguments),
    },
    Command {
        name: "train-tokenizer",
        arguments: "DIR [--accept]",
        summary: "make the embedded vocabulary again from the crate sources under DIR",
        run: |arguments, _| train_tokenizer::run(arguments).map(|()| ExitCode::SUCCESS),
    },
    Command {
        name: "truth",
        arguments: "COMMAND [FLAGS]",
        summary: "run a test server that knows the right answer, or the simplest client; see truth help",
        run: |arguments, out| {
            ifm_truth::main_from_args(arguments.into_iter(), out)?;
            Ok(ExitCode::SUCCESS)
        },
    },
];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next();
    let mut out = io::stdout().lock();
    let done = dispatch(name.as_deref(), arguments.collect(), &mut out);
    done.unwrap_or_else(|error| {
        if error.chain().any(is_broken_pipe) {
            // The reader, such as `head`, has seen enough.
            return ExitCode::SUCCESS;
        }
        // Nothing is left to be done when even the complaint cannot be written.
        let _ = writeln!(io::stderr(), "error: {error:#}");
        ExitCode::from(EXIT_FAILED)
    })
}

fn is_broken_pipe(error: &(dyn Error + 'static)) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Runs the named command, or writes the help.
fn dispatch(name: Option<&str>, arguments: Vec<String>, out: &mut dyn Write) -> Result<ExitCode> {
    let Some(name) = name else {
        write_help(out)?;
        return Ok(ExitCode::from(EXIT_USAGE));
    };
    if matches!(name, "help" | "--help" | "-h") {
        write_help(out)?;
        return Ok(ExitCode::SUCCESS);
    }
    match COMMANDS.iter().find(|command| command.name == name) {
        Some(command) => (command.run)(arguments, out),
        None => {
            writeln!(out, "unknown command '{name}'\n")?;
            write_help(out)?;
            Ok(ExitCode::from(EXIT_USAGE))
        }
    }
}

fn write_help(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "Chores of the workspace.\n\nUsage: cargo xtask COMMAND\n\nCommands:")?;
    let calls = COMMANDS.iter().map(|command| format!("{} {}", command.name, command.arguments));
    let width = calls.clone().map(|call| call.len()).max().unwrap_or(0);
    for (call, command) in calls.zip(COMMANDS) {
        writeln!(out, "  {call:width$}  {}", command.summary)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dispatched(name: Option<&str>) -> (ExitCode, String) {
        let mut out = Vec::new();
        let code = dispatch(name, Vec::new(), &mut out).expect("writing to memory");
        (code, String::from_utf8(out).expect("text"))
    }

    #[test]
    fn help_names_every_command_and_a_typo_gets_it_too() {
        let (code, help) = dispatched(Some("--help"));
        assert_eq!(code, ExitCode::SUCCESS);
        for command in COMMANDS {
            assert!(help.contains(&format!("\n  {} ", command.name)), "{help}");
        }
        for typo in [None, Some("chekc")] {
            let (code, text) = dispatched(typo);
            assert_eq!(code, ExitCode::from(EXIT_USAGE));
            assert!(text.ends_with(&help), "{text}");
        }
    }
}
