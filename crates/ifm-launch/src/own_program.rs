//! The embedded engine as a child process: started on a free port, ended with its parent.

use ifm_terminal::exit::{Code, Failure};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// The variable that names the project file. If it is empty, no file is read, as for inferometer's own
/// processes, whose flags are complete.
pub const PROJECT_VARIABLE: &str = "INFEROMETER_PROJECT";

/// A running server started by inferometer. It ends when this is dropped, and also when this
/// process is killed, because it watches its standard input, which then closes.
#[derive(Debug)]
pub struct OwnServer {
    child: Child,
    /// Base URL.
    pub url: String,
}

/// A command that starts this program, even if its file was replaced since it started.
///
/// # Errors
/// The program cannot find itself.
pub fn own_command() -> std::io::Result<Command> {
    let mut command = Command::new(ifm_sys::process::own_program()?);
    command.arg0("inferometer");
    Ok(command)
}

impl OwnServer {
    /// Starts `inferometer serve` with these flags and waits until it listens.
    ///
    /// # Errors
    /// The process cannot be started, or ends before it listens.
    pub fn start(flags: &[&str]) -> Result<OwnServer, Failure> {
        let cannot = |why: String| {
            Failure::new(Code::Internal, format!("the embedded server did not start: {why}"))
        };
        let mut child = own_command()
            .map_err(|error| cannot(error.to_string()))?
            .arg("serve")
            // The flags are complete, whatever folder this is.
            .env(PROJECT_VARIABLE, "")
            .args(["--port", "0", "--until-stdin-closes"])
            .args(flags)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Ctrl-C goes to the terminal's whole group: the server must outlive the client's
            // orderly shutdown.
            .process_group(0)
            .spawn()
            .map_err(|error| cannot(error.to_string()))?;
        let mut line = String::new();
        let stdout = child.stdout.take().ok_or_else(|| cannot("it has no output".to_owned()))?;
        let read = BufReader::new(stdout).read_line(&mut line);
        let url = line.trim().strip_prefix("listening on ").map(str::to_owned);
        match (read, url) {
            (Ok(_), Some(url)) => Ok(OwnServer { child, url }),
            (_, _) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(cannot(format!("it said \"{}\"", line.trim())))
            }
        }
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        // It may have exited already; then there is nothing to stop.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
