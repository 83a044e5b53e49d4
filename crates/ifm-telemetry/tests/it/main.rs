//! What servers and devices tell of themselves, read from outside; and what is set on devices.

mod nvml;
mod pages;
