//! Claims against known truth: how often each command says something false, and how often it finds
//! what is there.
//!
//! Results are written as another tool writes them, of a server whose law is known ([`Law`]). The
//! built program reads them as it reads any file, and its documents are counted: a difference between
//! equal servers, no difference between unequal ones, a limit that passes at the true value, an interval
//! that misses the truth. Everything follows from seeds, so the same program gives the same counts on
//! every machine. Not here: what is printed of the counts, and which counts are good enough.

mod count;
mod file;
mod gate;
mod law;
mod pair;
mod program;
mod series;

pub use count::{Coverage, Share};
pub use gate::{Gates, Limited, Limits, gates};
pub use law::Law;
pub use pair::{Pairs, Sides, pairs};
pub use program::ClaimError;
pub use series::{Capacities, Histories, capacities, histories};
