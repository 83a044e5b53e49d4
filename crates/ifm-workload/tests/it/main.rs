//! Workloads from outside: by name, from files and from the hub, at random, and as other tools draw
//! and choose them.

mod compat;
mod files;
mod foreign;
mod hub;
mod open;
mod preview;
mod random;
mod selections;
