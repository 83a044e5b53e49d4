//! Which pages in a browser may use the server.
//!
//! Any page that the user opens can send requests to a loopback port. It must not make the engine compute, so a
//! request that a page sends is refused unless its origin is allowed: by default pages of this machine, as chat
//! interfaces on another port are. A page can also reach the server as its own origin, by a name that is bound to the
//! address later (DNS rebinding), so the host of a request has to be an address or a name of this machine. A page does
//! not know the key, so a server with a key accepts every host.
//!
//! Programs send no `Origin`, and nothing changes for them. Paths that need no key, such as `/metrics`, answer
//! everyone, but pages of other origins cannot read the answer.
//!
//! Not here: the key (`router`).

use std::net::IpAddr;

use axum::http::{
    HeaderMap, HeaderName, HeaderValue, Method, StatusCode,
    header::{
        ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
        ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
        ACCESS_CONTROL_REQUEST_METHOD, CONTENT_TYPE, HOST, ORIGIN, RETRY_AFTER, VARY,
    },
};
use axum::response::{IntoResponse as _, Response};

use crate::error::ApiError;

/// Matches every origin, or every host.
const ANY: &str = "*";
/// Seconds for which a browser remembers that a request is allowed.
const PREFLIGHT_AGE_S: &str = "600";
/// What a browser asks before a public page may reach a private address, and the answer.
const ASKS_PRIVATE: HeaderName = HeaderName::from_static("access-control-request-private-network");
const ALLOWS_PRIVATE: HeaderName = HeaderName::from_static("access-control-allow-private-network");
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Which hosts and origins requests may name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BrowserAccess {
    /// Origins of pages, in addition to those of this machine: `https://chat.example`, or `*` for all.
    pub origins: Vec<String>,
    /// Hosts by which the server is reached, in addition to addresses and `localhost`: `gpu-box`, or `*` for all.
    pub hosts: Vec<String>,
}

impl BrowserAccess {
    /// Checks an origin as a person types it, and returns it as browsers send it.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse_origin(text: &str) -> Result<String, String> {
        let origin = text.trim_end_matches('/').to_ascii_lowercase();
        let rest = origin.split_once("://").map(|(_, rest)| rest);
        match rest {
            _ if origin == ANY => Ok(origin),
            Some(rest) if !rest.is_empty() && !rest.contains(['/', '?', '#', '@', '*', ' ']) => {
                Ok(origin)
            }
            _ => Err(format!(
                "\"{text}\" is not an origin; use scheme, host and port, such as http://chat.example:3000, or *"
            )),
        }
    }
}

/// The check of one server.
#[derive(Debug)]
pub(crate) struct Guard {
    access: BrowserAccess,
    /// Whether hosts are checked: the server listens on a loopback address only, so all names that reach it are known,
    /// and it requires no key.
    checks_hosts: bool,
}

impl Guard {
    pub(crate) fn new(access: BrowserAccess, listen: IpAddr, has_key: bool) -> Guard {
        Guard { access, checks_hosts: listen.is_loopback() && !has_key }
    }

    /// Answers a preflight, refuses what a foreign page sends, or returns the origin that may read the answer.
    pub(crate) fn admit(
        &self,
        method: &Method,
        headers: &HeaderMap,
    ) -> Result<Option<HeaderValue>, Box<Response>> {
        let refuse = |error: ApiError| Err(Box::new(error.into_response()));
        if self.checks_hosts && !headers.get_all(HOST).iter().all(|host| self.is_our_host(host)) {
            let host = headers.get(HOST).map(HeaderValue::as_bytes).unwrap_or_default();
            return refuse(ApiError::forbidden(format!(
                "The host \"{}\" is not a name of this machine; allow it with --allow-host.",
                host.escape_ascii()
            )));
        }
        let Some(origin) = headers.get(ORIGIN) else {
            let is_read = matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
            let is_foreign = headers.get(FETCH_SITE).is_some_and(|site| site == "cross-site");
            return match is_foreign && !is_read {
                true => refuse(ApiError::forbidden("A page of another site sent this request.")),
                false => Ok(None),
            };
        };
        if !self.is_allowed(origin) {
            return refuse(ApiError::forbidden(format!(
                "Pages of {} may not use this server; allow them with --allow-origin.",
                origin.as_bytes().escape_ascii()
            )));
        }
        if *method == Method::OPTIONS && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD) {
            return Err(Box::new(preflight(origin, headers)));
        }
        if *method == Method::POST && !is_json_or_form(headers) {
            let sentence =
                "The body of a request from a page has to be application/json.".to_owned();
            let mut answer =
                ApiError::body(StatusCode::UNSUPPORTED_MEDIA_TYPE, sentence).into_response();
            share(&mut answer, origin.clone());
            return Err(Box::new(answer));
        }
        Ok(Some(origin.clone()))
    }

    fn is_our_host(&self, host: &HeaderValue) -> bool {
        let Ok(host) = host.to_str() else { return false };
        let name = name_of(host);
        let is_listed = |listed: &String| {
            listed == ANY || listed.eq_ignore_ascii_case(name) || listed.eq_ignore_ascii_case(host)
        };
        is_address(name) || is_name_of_this_machine(name) || self.access.hosts.iter().any(is_listed)
    }

    fn is_allowed(&self, origin: &HeaderValue) -> bool {
        let Ok(origin) = origin.to_str() else { return false };
        let is_listed = |listed: &String| listed == ANY || listed.eq_ignore_ascii_case(origin);
        is_of_this_machine(origin) || self.access.origins.iter().any(is_listed)
    }
}

/// Lets pages of an origin read an answer.
pub(crate) fn share(answer: &mut Response, origin: HeaderValue) {
    let headers = answer.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from(RETRY_AFTER));
    headers.append(VARY, HeaderValue::from(ORIGIN));
}

fn preflight(origin: &HeaderValue, asked: &HeaderMap) -> Response {
    let mut answer = StatusCode::NO_CONTENT.into_response();
    share(&mut answer, origin.clone());
    let headers = answer.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST"));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(PREFLIGHT_AGE_S));
    if let Some(names) = asked.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, names.clone());
    }
    if asked.contains_key(ASKS_PRIVATE) {
        headers.insert(ALLOWS_PRIVATE, HeaderValue::from_static("true"));
    }
    answer
}

/// Whether a body is one that a page cannot send without asking first, or a file for a transcription.
fn is_json_or_form(headers: &HeaderMap) -> bool {
    let Some(kind) = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()) else {
        return false;
    };
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || kind.ends_with("+json") || kind == "multipart/form-data"
}

/// A host without its port and without the brackets of an IPv6 address.
fn name_of(host: &str) -> &str {
    match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    }
}

/// An address cannot be bound to another one later.
fn is_address(name: &str) -> bool {
    name.parse::<IpAddr>().is_ok()
}

/// Names that every resolver binds to a loopback address (RFC 6761).
fn is_localhost(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

/// Names that only this machine or its own resolver binds: `localhost`, and those by which containers and virtual
/// machines reach it, such as `host.docker.internal`. No one can register a name below `internal`.
fn is_name_of_this_machine(name: &str) -> bool {
    is_localhost(name) || name.trim_end_matches('.').to_ascii_lowercase().ends_with(".internal")
}

/// Whether an origin is a page that a program of this machine serves.
fn is_of_this_machine(origin: &str) -> bool {
    let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    let Some(host) = rest.filter(|host| !host.contains(['/', '@'])) else { return false };
    let name = name_of(host);
    is_localhost(name) || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&str, &str)]) -> HeaderMap {
        lines
            .iter()
            .map(|(name, value)| {
                let name = HeaderName::from_bytes(name.as_bytes()).expect("a name");
                (name, HeaderValue::from_str(value).expect("a value"))
            })
            .collect()
    }

    fn status(guard: &Guard, method: &Method, lines: &[(&str, &str)]) -> u16 {
        guard.admit(method, &headers(lines)).map_or_else(|answer| answer.status().as_u16(), |_| 200)
    }

    fn guard(listen: &str, has_key: bool) -> Guard {
        let access = BrowserAccess {
            origins: vec!["https://chat.example".to_owned()],
            hosts: vec!["gpu-box".to_owned()],
        };
        Guard::new(access, listen.parse().expect("an address"), has_key)
    }

    #[test]
    fn refuses_names_that_can_be_bound_to_this_address_later() {
        let local = guard("127.0.0.1", false);
        for (host, expect) in [
            ("127.0.0.1:8000", 200),
            ("localhost:8000", 200),
            ("LOCALHOST", 200),
            ("localhost.:8000", 200),
            ("a.localhost", 200),
            ("[::1]:8000", 200),
            ("192.168.1.5:8000", 200),
            ("gpu-box:8000", 200),
            ("host.docker.internal:8000", 200),
            ("internal.evil.example", 403),
            ("evil.example:8000", 403),
            ("localhost.evil.example", 403),
            ("127.0.0.1.evil.example", 403),
            ("evillocalhost", 403),
            ("", 403),
        ] {
            assert_eq!(status(&local, &Method::POST, &[("host", host)]), expect, "{host}");
        }
        // HTTP/1.0 has no host, and browsers do not speak it.
        assert_eq!(status(&local, &Method::POST, &[]), 200);
        // Neither a page by a new name nor any other page has the key.
        let lines = [("host", "evil.example")];
        assert_eq!(status(&guard("127.0.0.1", true), &Method::POST, &lines), 200);
        // Which names reach a server of a network is not known here.
        assert_eq!(status(&guard("0.0.0.0", false), &Method::POST, &[("host", "node-7")]), 200);
    }

    #[test]
    fn refuses_pages_of_other_sites() {
        let json = ("content-type", "application/json");
        for (origin, expect) in [
            ("http://localhost:3000", 200),
            ("https://localhost", 200),
            ("http://127.0.0.1:8080", 200),
            ("http://[::1]:8080", 200),
            ("https://chat.example", 200),
            ("https://CHAT.example", 200),
            ("http://chat.example", 403),
            ("https://chat.example:444", 403),
            ("http://evil.example", 403),
            ("http://192.168.1.9", 403),
            ("http://localhost.evil.example", 403),
            ("http://evil.example/localhost", 403),
            ("http://localhost@evil.example", 403),
            ("null", 403),
            ("file://", 403),
            ("", 403),
        ] {
            for (listen, has_key) in
                [("127.0.0.1", false), ("127.0.0.1", true), ("0.0.0.0", false), ("::", true)]
            {
                let (guard, lines) = (guard(listen, has_key), [("origin", origin), json]);
                assert_eq!(status(&guard, &Method::POST, &lines), expect, "{origin}");
            }
        }
        let any = BrowserAccess { origins: vec!["*".to_owned()], hosts: vec!["*".to_owned()] };
        let any = Guard::new(any, "::1".parse().expect("an address"), false);
        let lines = [("origin", "null"), ("host", "evil.example"), json];
        assert_eq!(status(&any, &Method::POST, &lines), 200);
    }

    #[test]
    fn refuses_what_a_page_can_send_without_asking_first() {
        let local = guard("127.0.0.1", false);
        let ours = ("origin", "http://localhost:3000");
        for (kind, expect) in [
            ("application/json", 200),
            ("Application/JSON; charset=utf-8", 200),
            ("multipart/form-data; boundary=x", 200),
            ("text/plain", 415),
            ("text/plain; application/json", 415),
            ("application/x-www-form-urlencoded", 415),
        ] {
            assert_eq!(
                status(&local, &Method::POST, &[ours, ("content-type", kind)]),
                expect,
                "{kind}"
            );
            // Without an origin it is a program, such as `curl -d`.
            assert_eq!(status(&local, &Method::POST, &[("content-type", kind)]), 200, "{kind}");
        }
        assert_eq!(status(&local, &Method::POST, &[ours]), 415);
        assert_eq!(status(&local, &Method::GET, &[ours]), 200);
        let foreign = ("sec-fetch-site", "cross-site");
        assert_eq!(status(&local, &Method::POST, &[foreign]), 403);
        assert_eq!(status(&local, &Method::GET, &[foreign]), 200, "a link to the metrics");
        assert_eq!(status(&local, &Method::POST, &[("sec-fetch-site", "none")]), 200);
    }

    #[test]
    fn answers_a_preflight_with_what_it_asks_for() {
        let asks = [
            ("origin", "http://localhost:3000"),
            ("access-control-request-method", "POST"),
            ("access-control-request-headers", "authorization,content-type"),
            ("access-control-request-private-network", "true"),
        ];
        let answer = guard("127.0.0.1", false).admit(&Method::OPTIONS, &headers(&asks));
        let answer = answer.expect_err("an answer");
        assert_eq!(answer.status(), StatusCode::NO_CONTENT);
        for (name, value) in [
            ("access-control-allow-origin", "http://localhost:3000"),
            ("access-control-allow-headers", "authorization,content-type"),
            ("access-control-allow-private-network", "true"),
            ("vary", "origin"),
        ] {
            assert_eq!(answer.headers()[name], value, "{name}");
        }
        let mut foreign = asks;
        foreign[0].1 = "http://evil.example";
        assert_eq!(status(&guard("127.0.0.1", false), &Method::OPTIONS, &foreign), 403);
    }

    #[test]
    fn an_origin_is_checked_as_it_is_typed() {
        for (text, expect) in [
            ("*", Some("*")),
            ("HTTP://Chat.example:3000/", Some("http://chat.example:3000")),
            ("chrome-extension://abc", Some("chrome-extension://abc")),
            ("chat.example", None),
            ("http://", None),
            ("http://a/b", None),
            ("http://*.example", None),
        ] {
            assert_eq!(BrowserAccess::parse_origin(text).ok().as_deref(), expect, "{text}");
        }
    }
}
