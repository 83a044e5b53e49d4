//! Pages that are read repeatedly during a run: metrics of servers and devices.

use super::{ANSWER_BYTES_MAX, Client};
use crate::http_client::agent;
use ifm_terminal::secrets::mask_url;
use std::time::Duration;
use ureq::Agent;

/// Time limit for a page: it is read between samples a second apart.
const PATIENCE: Duration = Duration::from_millis(1500);

/// A page, and what to send with each request for it.
pub struct PageReader {
    agent: Agent,
    url: String,
    authorization: Option<String>,
    headers: Vec<(String, String)>,
}

impl PageReader {
    /// A page at this URL. Key and headers are only for the server under test: pages elsewhere are
    /// requested without them.
    pub fn new(
        url: String,
        insecure: bool,
        authorization: Option<String>,
        headers: Vec<(String, String)>,
    ) -> PageReader {
        PageReader { agent: agent(&url, insecure, PATIENCE, None), url, authorization, headers }
    }

    /// Where it is.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The current page.
    ///
    /// # Errors
    /// The error, as text.
    pub fn read(&self) -> Result<String, String> {
        let client = Client {
            agent: self.agent.clone(),
            authorization: self.authorization.as_deref(),
            headers: &self.headers,
        };
        match client.get_text(&self.url, ANSWER_BYTES_MAX) {
            Ok((200..=299, text)) => Ok(text),
            Ok((status, _)) => Err(format!("{} answered {status}", mask_url(&self.url))),
            Err(error) => Err(format!("{}: {error}", mask_url(&self.url))),
        }
    }
}
