//! Laws that a simulated server has to keep, and published results that it has to meet.

mod laws;
mod support;
