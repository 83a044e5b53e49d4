//! Where to send results: a URL, a key and headers, and the response.

use crate::exit::Failure;
use crate::secrets::Secrets;
use http::Uri;
use ifm_probe::http_client::{agent, unreachable};
use serde_json::{Map, Value};
use std::time::Duration;
use ureq::{Agent, Proxy};

/// Time limit for one answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// Maximum number of bytes of an answer.
const ANSWER_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Maximum number of characters of a server's message to repeat.
const SAID_CHARS_MAX: usize = 300;

/// The value of the `Authorization` header from a variable: `user:password` for basic authentication,
/// anything else is a token.
///
/// # Errors
/// The variable contains no key, or one that a header cannot contain.
pub fn authorization(name: &str) -> Result<String, Failure> {
    use base64::Engine as _;
    let value = std::env::var(name).unwrap_or_default();
    let value = value.trim();
    if value.is_empty() {
        return Err(Failure::usage(format!("the environment variable {name} contains no key")));
    }
    // A token has no colon; a password may have anything.
    if value.contains(':') {
        let code = base64::engine::general_purpose::STANDARD.encode(value);
        return Ok(format!("Basic {code}"));
    }
    if value.bytes().any(|byte| !byte.is_ascii_graphic()) {
        return Err(Failure::usage(format!(
            "the key in {name} contains a space or another character that a header cannot contain"
        ))
        .hint("copy it again, without line breaks"));
    }
    Ok(format!("Bearer {value}"))
}

/// A server that receives results.
#[derive(Debug)]
pub struct Target {
    agent: Agent,
    uri: Uri,
    authorization: Option<String>,
    headers: Vec<(String, String)>,
    secrets: Secrets,
}

/// The content of one request.
#[derive(Debug, Clone, Copy)]
pub struct Parcel<'body> {
    /// `POST`, `PUT` or `GET`.
    pub method: &'static str,
    /// Media type of the body.
    pub media: &'static str,
    /// The body.
    pub body: &'body [u8],
    /// Headers of the protocol.
    pub headers: &'static [(&'static str, &'static str)],
}

/// The response.
#[derive(Debug)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    text: String,
}

impl Reply {
    /// The answer as JSON; null if it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }

    /// Whether it was accepted.
    pub fn is_ok(&self) -> bool {
        (200..=299).contains(&self.status)
    }
}

impl Target {
    /// A server at this URL. A proxy from the environment is used.
    pub fn new(
        uri: Uri,
        authorization: Option<String>,
        headers: Vec<(String, String)>,
        insecure: bool,
    ) -> Target {
        let secrets = Secrets::new(authorization.as_deref(), &headers, &Map::new());
        let agent = agent(&uri.to_string(), insecure, PATIENCE, Proxy::try_from_env());
        Target { agent, uri, authorization, headers, secrets }
    }

    /// The path as typed, without a slash at its end.
    pub fn path(&self) -> &str {
        self.uri.path().trim_end_matches('/')
    }

    /// The URL of another path of the same server; a typed query is kept.
    pub fn at(&self, path: &str) -> String {
        let query = self.uri.query().map(|query| format!("?{query}")).unwrap_or_default();
        format!("{}{path}{query}", self.root())
    }

    /// The URL of a path below the typed one.
    pub fn below(&self, path: &str) -> String {
        self.at(&format!("{}{path}", self.path()))
    }

    /// Scheme, host and port.
    fn root(&self) -> String {
        let scheme = self.uri.scheme_str().unwrap_or("http");
        format!("{scheme}://{}", self.uri.authority().map_or("", |authority| authority.as_str()))
    }

    /// A URL as messages show it: a query may contain a key.
    fn shown(url: &str) -> &str {
        url.split('?').next().unwrap_or(url)
    }

    /// Sends one request, and returns any response.
    ///
    /// # Errors
    /// There is no response.
    pub fn ask(&self, url: &str, parcel: Parcel<'_>, wanted: &str) -> Result<Reply, Failure> {
        let mut request = http::Request::builder().method(parcel.method).uri(url);
        if !parcel.media.is_empty() {
            request = request.header("Content-Type", parcel.media);
        }
        if let Some(value) = &self.authorization {
            request = request.header("Authorization", value);
        }
        for (name, value) in parcel.headers {
            request = request.header(*name, *value);
        }
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let failed = |error: &ureq::Error| unreachable(Self::shown(url), error, PATIENCE, wanted);
        let sent = match parcel.method {
            "GET" => {
                let request = request.body(()).map_err(|error| self.unfit(&error))?;
                self.agent.run(request)
            }
            _ => {
                let request = request.body(parcel.body).map_err(|error| self.unfit(&error))?;
                self.agent.run(request)
            }
        };
        let mut response = sent.map_err(|error| failed(&error))?;
        let status = response.status().as_u16();
        let read = response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_vec();
        let bytes = read.map_err(|error| failed(&error))?;
        Ok(Reply { status, text: String::from_utf8_lossy(&bytes).into_owned() })
    }

    /// Sends one request that must be accepted.
    ///
    /// # Errors
    /// There is no response, or it is not accepted.
    pub fn send(&self, url: &str, parcel: Parcel<'_>, wanted: &str) -> Result<Reply, Failure> {
        let reply = self.ask(url, parcel, wanted)?;
        if reply.is_ok() { Ok(reply) } else { Err(self.refused(url, &reply, wanted)) }
    }

    /// A server's message about something that it did not accept.
    pub fn refused(&self, url: &str, reply: &Reply, wanted: &str) -> Failure {
        let url = Self::shown(url);
        let status = reply.status;
        let sentence = ifm_wire::dialect::error_sentence(reply.text.as_bytes());
        let said: String = self.secrets.blot(&sentence).chars().take(SAID_CHARS_MAX).collect();
        let said = if said.is_empty() { said } else { format!(": {said}") };
        match (status, &self.authorization) {
            (401 | 403, None) => Failure::server(format!("{url} returned {status}: authentication required"))
                .hint("put the key into an environment variable, and name it with --push-key-env"),
            (401 | 403, Some(_)) => {
                Failure::server(format!("{url} returned {status}: it does not accept the key"))
                    .hint("check the variable that --push-key-env names")
            }
            (404 | 405, _) => {
                Failure::server(format!("{url} returned {status}{said}")).hint(wanted)
            }
            (413, _) => Failure::server(format!("{url} returned 413{said}"))
                .hint("the request size is limited: raise the limit of the server, or of the proxy before it"),
            (300..=399, _) => Failure::server(format!("{url} returned {status}: a redirect"))
                .hint("use the URL that it redirects to"),
            _ => Failure::server(format!("{url} returned {status}{said}"))
                .hint("there is no automatic retry: send it again when the server accepts it"),
        }
    }

    /// A request that cannot be written, for example because of a header with a line break.
    fn unfit(&self, error: &http::Error) -> Failure {
        let text = error.to_string();
        Failure::usage(format!("cannot send this: {}", self.secrets.blot(&text)))
            .hint("check the headers and the key")
    }
}
