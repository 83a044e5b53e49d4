//! Names of headers: which only we may send, and whose values must never be shown or stored.
//!
//! Not here: writing them (`request`), blotting values out (the program).

/// Headers that say where a request goes and where it ends: ours alone, since a second one of another
/// meaning would break the request.
const FRAMING_HEADERS: [&str; 4] = ["host", "content-length", "transfer-encoding", "connection"];

/// Whether a header is one that a user cannot set.
pub fn is_framing_header(name: &str) -> bool {
    FRAMING_HEADERS.contains(&name.to_ascii_lowercase().as_str())
}

/// Names of headers whose values are not secrets: HTTP's own headers for content and negotiation,
/// and headers for tracing.
const OPEN_HEADERS: [&str; 14] = [
    "accept",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "connection",
    "content-type",
    "host",
    "priority",
    "traceparent",
    "user-agent",
    "x-correlation-id",
    "x-request-id",
    "x-session-affinity",
    "x-session-id",
];

/// Whether a header's value must never be shown or stored: any but the few that are known to be no
/// secrets. What a gateway lets people in by may have any name.
pub fn is_secret_header(name: &str) -> bool {
    !OPEN_HEADERS.contains(&name.to_ascii_lowercase().as_str())
}

/// Whole names of secrets.
const SECRET_FIELDS: [&str; 11] = [
    "auth",
    "hf_token",
    "id_token",
    "jwt",
    "pass",
    "passwd",
    "pwd",
    "refresh_token",
    "sig",
    "signature",
    "token",
];

/// Whether a text under this name in a body must never be shown or stored. Narrower than for
/// headers: bodies speak of tokens that are not secrets.
pub fn is_secret_field(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["apikey", "secret", "password", "authorization", "credential", "bearer"]
        .iter()
        .any(|word| name.contains(word))
        || ["key", "access_token", "auth_token", "api_token", "passphrase", "_pass"]
            .iter()
            .any(|end| name.ends_with(end))
        || SECRET_FIELDS.contains(&name.as_str())
}
