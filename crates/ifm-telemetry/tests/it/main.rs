//! What servers and devices tell of themselves, read from outside; and what is set on devices.

// Helpers beside the tests may fail as the tests do.
#![allow(clippy::unwrap_used)]

mod nvml;
mod pages;
