//! How long a server took to start. Seconds, each since its process was started.

use serde::{Deserialize, Serialize};

/// One start of a server, as far as it came.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StartUp {
    /// Until its port took a connection.
    pub listening_s: Option<f64>,
    /// Until it called itself ready and listed its models.
    pub ready_s: Option<f64>,
    /// Until the first token of the first answer, which may have waited for compilers.
    pub first_token_s: Option<f64>,
}
