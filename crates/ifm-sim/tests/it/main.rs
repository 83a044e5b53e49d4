//! Laws that a simulated server has to keep, and published results that it has to meet.

mod calibration;
mod laws;
mod published;
mod published_cache;
mod rows;
mod support;
