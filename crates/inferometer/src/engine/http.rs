//! A server as an engine: batches by requests that begin together.

use super::case::Case;
use super::protocol::About;
use super::{Engine, Repeat, Setup, Trouble};
use crate::caller::Endpoint;

/// Which server.
#[derive(Clone)]
pub struct Target {
    /// Where it is.
    pub endpoint: Endpoint,
}

impl std::fmt::Debug for Target {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}", self.endpoint.url)
    }
}

/// A server that was asked what it is.
pub struct Server {
    about: About,
}

/// Asks a server what it is.
///
/// # Errors
/// It does not answer, or serves no model.
pub fn start(target: &Target, _setup: &Setup) -> Result<Server, String> {
    Err(format!("{} is not asked yet", target.endpoint.url))
}

impl Engine for Server {
    fn about(&self) -> &About {
        &self.about
    }

    fn run(&mut self, _case: &Case, _times: u32) -> Result<Vec<Repeat>, Trouble> {
        Err(Trouble::Lost("no server".to_owned()))
    }
}
