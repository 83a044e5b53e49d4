//! How long a server took to start, seconds since its process was started.

use serde::{Deserialize, Serialize};

/// The start of a server. What was not seen is absent.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StartUp {
    /// Until its port took connections, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listening_s: Option<f64>,
    /// Until it said that it was ready, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_s: Option<f64>,
    /// Until the first token of its first answer, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_token_s: Option<f64>,
}
