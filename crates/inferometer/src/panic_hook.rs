//! What happens when the program panics.
//!
//! A panic outside every boundary (`ifm_core::contained`) is a bug that nothing handles. The program ends
//! at once, in whatever thread, because a load with one thread less would measure something else. Finished
//! requests are in the run store, as after `kill -9`. A panic inside a boundary becomes an error of one
//! file or one request.

use crate::exit::Code;
use crate::terminal;
use ifm_core::contained::{Boundary, boundary};
use std::io::Write as _;

const SENTENCE: &str = "error: this is a bug of inferometer\n\
    hint: please report it with the lines above; what was finished is in the run store";

/// Installs the panic hook of the program.
pub fn install_panic_hook() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| match boundary() {
        Boundary::Closure => {}
        Boundary::Task => print(panic),
        Boundary::None => {
            terminal::give_back();
            print(panic);
            std::process::exit(report() as i32);
        }
    }));
}

/// Asks for a bug report; returns the exit code.
pub fn report() -> Code {
    // Nothing is left to report a closed standard error to.
    let _ = writeln!(std::io::stderr(), "{SENTENCE}");
    Code::Internal
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_core::contained::contained;
    use std::process::Command;

    const IS_CHILD: &str = "INFEROMETER_TEST_OF_A_BUG";

    #[test]
    fn ends_the_program_unless_the_panic_is_contained() {
        if std::env::var_os(IS_CHILD).is_some() {
            install_panic_hook();
            let caught = contained(|| -> u8 { panic!("a damaged file") });
            assert!(caught.is_err_and(|error| error.message == "a damaged file"));
            let _ = std::thread::spawn(|| panic!("seven is not eight")).join();
            return;
        }
        let this = std::env::current_exe().unwrap();
        let name = "panic_hook::tests::ends_the_program_unless_the_panic_is_contained";
        let output = Command::new(this)
            .args(["--exact", name, "--nocapture"])
            .env(IS_CHILD, "1")
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(70), "{told}");
        assert!(
            told.contains("seven is not eight")
                && !told.contains("a damaged file")
                && told.trim_end().ends_with("run store"),
            "{told}"
        );
    }
}
