//! The page over a real socket: what it shows, and what it refuses.

// Helpers beside the tests may fail as the tests do.
#![allow(clippy::unwrap_used)]

mod attacks;
mod client;
mod importing;
mod pages;
mod runs;
