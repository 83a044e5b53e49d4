//! How the program ends over a bug of its own: at once, in whatever thread the bug shows.
//!
//! Published programs cannot unwind (`panic = "abort"` in `Cargo.toml`), and no other build is meant to do
//! better: going on with a thread less would measure something else than what was asked. What was finished is
//! in the run store, as it is after `kill -9`.

use crate::exit::Code;
use crate::terminal;
use std::io::Write as _;

const SENTENCE: &str = "error: this is a bug of inferometer\n\
    hint: please report it with the lines above; what was finished is in the run store";

/// From here on a panic gives the terminal back, is told, and ends the program.
pub fn end_the_program_over_bugs() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |bug| {
        terminal::give_back();
        tell(bug);
        // With standard error closed there is nobody to tell.
        let _ = writeln!(std::io::stderr(), "{SENTENCE}");
        std::process::exit(Code::Internal as i32);
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    const IS_CHILD: &str = "INFEROMETER_TEST_OF_A_BUG";

    #[test]
    fn a_bug_in_any_thread_ends_the_program_with_its_own_code() {
        if std::env::var_os(IS_CHILD).is_some() {
            end_the_program_over_bugs();
            let _ = std::thread::spawn(|| panic!("seven is not eight")).join();
            return;
        }
        let this = std::env::current_exe().unwrap();
        let name = "bug::tests::a_bug_in_any_thread_ends_the_program_with_its_own_code";
        let output = Command::new(this)
            .args(["--exact", name, "--nocapture"])
            .env(IS_CHILD, "1")
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(70), "{told}");
        assert!(
            told.contains("seven is not eight") && told.trim_end().ends_with("run store"),
            "{told}"
        );
    }
}
