//! Capacity: the largest load inside a latency target, and what follows from it.
//!
//! The search says which load to measure next; the caller measures it and passes the result back.
//! Not here: driving load, and judging a level (`slo`).

mod answer;
mod change;
pub mod climb;
mod looks;
mod search;
mod share;

pub use answer::{Economics, People, Price, busy_s, people, replicas};
pub use change::{Change, Pace};
pub use climb::UsersState;
pub use looks::{Pooled, pooled};
pub use search::{Bracket, Finding, Next, Search, SearchError};
pub use share::{Carriers, SHARES, Share, ShareUnit, Worth, gpus_told};
