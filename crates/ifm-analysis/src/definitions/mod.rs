//! The same events by the definitions of other tools, one file each.
//!
//! Numbers of two tools can be compared only if they are computed alike. Each file says how its
//! tool counts, and where this program differs on purpose.

pub mod vllm;
