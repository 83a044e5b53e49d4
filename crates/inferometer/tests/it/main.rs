//! The program as a user runs it: real processes, real sockets, exit codes and words.

mod bad_input;
mod demo;
mod load;
mod store;
mod support;
