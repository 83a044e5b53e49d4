//! Nouns and units of inferometer: what the user asked, what one request did, what a run is.
//!
//! No input or output, no clock and no thread lives here: everything is a value, except the boundary
//! around panics ([`contained`]), which every crate above needs, and the list of names that files give
//! to their metrics ([`metric::Name`]). A time is a
//! number of nanoseconds since the run's origin on the monotonic clock; a count of tokens says
//! who counted it; what is not known is absent, never zero.
#![forbid(unsafe_code)]

pub mod contained;
pub mod delimited;
pub mod duration;
pub mod facts;
pub mod finish;
pub mod form;
pub mod health;
pub mod histogram;
pub mod manifest;
pub mod media;
pub mod metric;
pub mod order;
pub mod outcome;
pub mod parquet_bounds;
mod percentile;
pub mod prediction;
pub mod prompt;
pub mod record;
pub mod regular;
pub mod run;
#[cfg(feature = "schema")]
mod schema;
pub mod series;
pub mod session;
pub mod setting;
pub mod sheet;
pub mod slo;
pub mod spec;
pub mod start_up;
pub mod tag;
mod vocabulary;
pub mod words;

pub use facts::Facts;
pub use finish::Ending;
pub use form::{Form, FormKind, FormSpec, form_key};
pub use health::{ClientHealth, HealthVerdict};
pub use histogram::Histogram;
pub use manifest::{CapacityFound, LevelEnd, LevelInfo, Manifest, PlanCell, RunState, ToolInfo};
pub use media::{Carried, ImageDetail, MadeAudio, Medium, MediumKind, Placed, SentMedia, Validity};
pub use metric::Metric;
pub use outcome::{Outcome, TimeoutKind};
pub use prediction::{ClosedForm, PredictedLevel, Prediction};
pub use prompt::{Message, Prompt, Reply, Role, ToolCall};
pub use record::{CountSource, Counted, Phase, RequestRecord, TokenEvents};
pub use run::{RunData, RunView};
pub use series::Series;
pub use session::{EndedSession, SessionEnd};
pub use setting::{SetBy, Setting};
pub use sheet::Sheet;
pub use start_up::StartUp;
pub use tag::parse_tag;
