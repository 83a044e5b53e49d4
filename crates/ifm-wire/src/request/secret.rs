//! What of a request must never be shown or stored.
//!
//! Not here: blotting it out (the program).

/// Names of headers whose values are not secrets: those of HTTP itself that describe what is sent and
/// wanted, and what a tracer reads.
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

/// Whether a text under this name in a body must never be shown or stored. Narrower than for
/// headers: bodies speak of tokens that are not secrets.
pub fn is_secret_field(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["apikey", "secret", "password", "authorization", "credential", "bearer"]
        .iter()
        .any(|word| name.contains(word))
        || ["key", "access_token", "auth_token"].iter().any(|end| name.ends_with(end))
}
