//! The endpoint paths of an API.

use super::{DIALECTS, of};
use ifm_core::spec::Api;

/// What the path of an endpoint is appended to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// The base URL with the version of the API: `http://h/v1`.
    Versioned,
    /// The server's root: a version at the end of the base URL is left out.
    Root,
}

/// The place of an API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Endpoint {
    /// What the paths are appended to.
    pub base: Base,
    /// Path of a streamed answer; absent if the API does not stream. `{model}` is replaced with the
    /// model's name.
    pub stream: Option<&'static str>,
    /// Path of a whole answer.
    pub whole: &'static str,
}

impl Endpoint {
    /// One path below the version, for streams and whole answers.
    pub(super) const fn versioned(path: &'static str) -> Endpoint {
        Endpoint { base: Base::Versioned, stream: Some(path), whole: path }
    }

    /// A path below the version, for whole answers alone.
    pub(super) const fn whole(path: &'static str) -> Endpoint {
        Endpoint { base: Base::Versioned, stream: None, whole: path }
    }

    /// Paths at the root of the server.
    pub(super) const fn root(stream: &'static str, whole: &'static str) -> Endpoint {
        Endpoint { base: Base::Root, stream: Some(stream), whole }
    }
}

/// Path of a request: `base_path` is that of the base URL, without a slash at its end.
pub fn path(api: Api, base_path: &str, model: &str, stream: bool) -> String {
    let endpoint = of(api).endpoint;
    let base = match endpoint.base {
        Base::Versioned => base_path,
        Base::Root => without_version(base_path),
    };
    let path = endpoint.stream.filter(|_| stream).unwrap_or(endpoint.whole);
    format!("{base}{}", path.replace(MODEL, &percent_encoded(model)))
}

/// Placeholder for the model's name in a path.
const MODEL: &str = "{model}";

/// The API whose endpoint a path names, and the path of its base. If several match, the one that
/// matches more of the path wins, then the first one in the table.
pub fn api_of_path(path: &str) -> Option<(&str, Api)> {
    let mut best: Option<(&str, Api)> = None;
    for dialect in DIALECTS {
        let endpoint = dialect.endpoint;
        for pattern in [endpoint.stream.unwrap_or(endpoint.whole), endpoint.whole] {
            if let Some(base) = base_of(path, pattern)
                && best.is_none_or(|(other, _)| base.len() < other.len())
            {
                best = Some((base, dialect.api));
            }
        }
    }
    best
}

/// The part of a path before the pattern that it ends with.
fn base_of<'path>(path: &'path str, pattern: &str) -> Option<&'path str> {
    let Some((front, back)) = pattern.split_once(MODEL) else { return path.strip_suffix(pattern) };
    let (before, model) = path.strip_suffix(back)?.rsplit_once('/')?;
    let base = before.strip_suffix(front.trim_end_matches('/'))?;
    (!model.is_empty()).then_some(base)
}

/// The path without a last segment that names a version: `v1`, `v1beta`.
pub fn without_version(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some((base, last)) if is_version(last) => base,
        _ => path,
    }
}

fn is_version(segment: &str) -> bool {
    let rest = segment.strip_prefix('v').unwrap_or_default();
    rest.starts_with(|c: char| c.is_ascii_digit())
}

/// A name as one segment of a path (RFC 3986, 3.3): everything but unreserved characters becomes
/// its bytes in hex.
fn percent_encoded(name: &str) -> String {
    let mut encoded = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stand_below_the_base_or_at_the_root() {
        for (api, base, stream, expect) in [
            (Api::Chat, "/v1", true, "/v1/chat/completions"),
            (Api::Completions, "/openai/v1", false, "/openai/v1/completions"),
            (Api::Sglang, "/v1", true, "/generate"),
            (Api::Tgi, "/tgi/v1", true, "/tgi/generate_stream"),
            (Api::OllamaChat, "", false, "/api/chat"),
            (Api::Triton, "/v1", false, "/v2/models/m/generate"),
            (Api::Rerank, "/v1", true, "/v1/rerank"),
        ] {
            assert_eq!(path(api, base, "m", stream), expect);
        }
        assert_eq!(without_version("/v1"), "");
        assert_eq!(without_version("/a/v1beta"), "/a");
        assert_eq!(without_version("/vault"), "/vault");
        assert_eq!(without_version(""), "");
        assert_eq!(percent_encoded("meta/ll~ama:8b é"), "meta%2Fll~ama%3A8b%20%C3%A9");
    }

    #[test]
    fn a_path_of_an_endpoint_names_its_api() {
        for (path, expect) in [
            ("/v1/chat/completions", Some(("/v1", Api::Chat))),
            ("/v1/completions", Some(("/v1", Api::Completions))),
            ("/v1/messages", Some(("/v1", Api::Messages))),
            ("/generate", Some(("", Api::Sglang))),
            ("/generate_stream", Some(("", Api::Tgi))),
            ("/api/generate", Some(("", Api::OllamaGenerate))),
            ("/x/api/chat", Some(("/x", Api::OllamaChat))),
            ("/completion", Some(("", Api::LlamaCpp))),
            ("/v2/models/llama/generate_stream", Some(("", Api::Triton))),
            ("/v1/embeddings", Some(("/v1", Api::Embeddings))),
            ("/v1", None),
            ("/v1/regenerate", None),
        ] {
            assert_eq!(api_of_path(path), expect, "{path}");
        }
        assert_eq!(base_of("/a/v2/models/m/generate", "/v2/models/{model}/generate"), Some("/a"));
        assert_eq!(base_of("/v2/models//generate", "/v2/models/{model}/generate"), None);
    }
}
