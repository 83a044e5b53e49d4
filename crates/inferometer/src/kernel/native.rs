//! Our own kernels' end of the protocol: what `inferometer worker kernels` does.

use super::masks::Masks;
use super::protocol::{
    About, Answer, Case, Load, Operation, Order, Pass, Prepared, Timed, VERSION,
};
use crate::terminal;
use ifm_kernels::{Isa, Pool};
use std::io::BufRead;
use std::path::Path;

/// Answers orders on standard input until it ends.
pub fn serve() {
    for line in std::io::stdin().lock().lines() {
        let Ok(_line) = line else { break };
    }
}
