//! `inferometer ui`: serves a local web page for the run store.

use crate::exit::{Code, Failure};
use crate::session::store_root;
use crate::terminal;
use clap::Args;
use ifm_store::Store;
use ifm_ui::{Shutdown, Ui, UiError, UiOptions};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

/// Flags of `ui`.
#[derive(Debug, Args)]
pub struct UiArgs {
    /// Port to listen on; 0 picks a free one
    #[arg(long, default_value_t = 0)]
    port: u16,

    /// Address to listen on; must not be reachable from other machines
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), value_name = "ADDRESS")]
    host: IpAddr,

    /// Folder of stored runs [default: .inferometer/runs]
    #[arg(long, value_name = "DIR", env = "INFEROMETER_STORE")]
    store: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &UiArgs) -> Result<Code, Failure> {
    let store = Store::at(store_root(args.store.as_ref()));
    let options = UiOptions {
        host: args.host,
        port: args.port,
        ..UiOptions::new(store, env!("CARGO_PKG_VERSION"))
    };
    let ui = Ui::bind(options).map_err(refused)?;
    let stop = Shutdown::new();
    watch_signals(&stop);
    terminal::print(&format!("{}\n", ui.url()));
    terminal::say("open this address in a browser of this machine; Ctrl-C stops the server");
    ui.serve(&stop).map_err(refused)?;
    Ok(Code::Done)
}

fn refused(error: UiError) -> Failure {
    let failure = Failure::usage(error.to_string());
    match error {
        UiError::NotLoopback { .. } => failure.hint(
            "to see it from another machine: ssh -L 8765:127.0.0.1:8765 HOST, with --port 8765 here",
        ),
        _ => failure,
    }
}

/// The first signal shuts down in order, the second at once.
fn watch_signals(stop: &Shutdown) {
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]) else { return };
    let stop = stop.clone();
    std::thread::spawn(move || {
        let mut caught = 0;
        for _ in signals.forever() {
            caught += 1;
            if caught > 1 {
                std::process::exit(Code::Interrupted as i32);
            }
            stop.request();
        }
    });
}
