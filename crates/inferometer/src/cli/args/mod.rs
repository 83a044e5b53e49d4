//! Flags that several commands share, and from flags to the job of a session.
//!
//! Not here: flags of a single command, which are in the file of the command.

pub mod api_word;
pub mod arrival;
pub mod deployment;
pub mod ending;
pub mod first_requests;
pub mod level_list;
pub mod load;
pub mod pacing;
pub mod page;
pub mod price;
pub mod probe;
pub mod push;
pub mod quiet;
pub mod repeats;
pub mod resolve;
pub mod serving;
pub mod session_headers;
pub mod setup;
pub mod simulated_url;
pub mod telemetry;
pub mod workload;
