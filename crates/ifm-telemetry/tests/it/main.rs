//! What servers and devices report about themselves, read from outside; and what is set on devices.

// Test helpers may panic like the tests themselves.
#![allow(clippy::unwrap_used)]

mod nvml;
mod pages;
