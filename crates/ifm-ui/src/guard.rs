//! Who may ask, and what every answer says to the browser.
//!
//! Other programs of this machine, and pages of other sites in the user's browser, reach a
//! loopback port as well as the user does. So: the printed address carries a token of 256 random
//! bits; the first request with it gets a session cookie, the token is worth nothing afterwards, and
//! everything without that cookie is refused. The `Host` has to be ours, which stops names that are bound to 127.0.0.1 later (DNS
//! rebinding). What changes something has to be a POST from our own origin, and has to bring a
//! third secret that only our pages hold.
//!
//! A cookie does not know ports, so another server of this machine that the browser visits under
//! the same name is sent it: no page of it can use it here, but the server itself could. The
//! cookie dies with the program, and the documentation says so.

use crate::failure::Failure;
use axum::extract::Request;
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of each secret.
const SECRET_BYTES: usize = 32;
/// Longest path and query, bytes.
const TARGET_BYTES_MAX: usize = 8 << 10;
/// All header lines of a request together, bytes.
const HEADER_BYTES_MAX: usize = 32 << 10;
/// Query field of the printed address.
const TOKEN_FIELD: &str = "token";
/// Header by which scripts of ours bring the secret that allows a change.
pub(crate) const CSRF_HEADER: &str = "x-csrf-token";
/// Field by which forms of ours bring it.
pub(crate) const CSRF_FIELD: &str = "csrf";

/// What a page of ours may do: load its own files, talk to its own server, show a report in a frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      connect-src 'self'; form-action 'self'; frame-src 'self'; \
                      frame-ancestors 'none'; base-uri 'none'";

/// The secrets of this session, and the addresses by which it is reached.
#[derive(Debug)]
pub(crate) struct Guard {
    hosts: Vec<String>,
    token: String,
    /// Whether the token has begun its session.
    is_used: AtomicBool,
    session: String,
    csrf: String,
    cookie_name: String,
}

impl Guard {
    /// New secrets for a page at `address`.
    pub(crate) fn new(address: SocketAddr) -> Result<Guard, getrandom::Error> {
        let port = address.port();
        let hosts = vec![address.to_string(), format!("localhost:{port}")];
        let (token, session, csrf) = (secret()?, secret()?, secret()?);
        let cookie_name = format!("inferometer_ui_{port}");
        Ok(Guard { hosts, token, is_used: AtomicBool::new(false), session, csrf, cookie_name })
    }

    /// The address that begins a session.
    pub(crate) fn url(&self) -> String {
        let host = self.hosts.first().map_or("", String::as_str);
        format!("http://{host}/?{TOKEN_FIELD}={}", self.token)
    }

    /// What forms and scripts of our pages bring to be allowed to change something.
    pub(crate) fn csrf(&self) -> &str {
        &self.csrf
    }

    /// Refuses a change that does not bring what only our pages hold.
    pub(crate) fn check_csrf(&self, given: Option<&str>) -> Result<(), Failure> {
        match given {
            Some(given) if is_equal(given.as_bytes(), self.csrf.as_bytes()) => Ok(()),
            _ => Err(Failure::new(
                StatusCode::FORBIDDEN,
                "this form is not of the page as it runs now: load the page again and repeat",
            )),
        }
    }

    fn has_our_host(&self, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok());
        hosts.next().is_none()
            && host.is_some_and(|host| self.hosts.iter().any(|ours| ours == host))
    }

    /// Whether a request that changes something comes from a page of ours. Under our referrer
    /// policy a browser hides the origin of a form, and says in a header of its own, which no
    /// script can set, whether the form is of the same origin.
    fn has_our_origin(&self, headers: &HeaderMap) -> bool {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let site = text(HeaderName::from_static("sec-fetch-site"));
        match text(header::ORIGIN) {
            Some("null") => site == Some("same-origin"),
            Some(origin) => {
                let ours = self.hosts.iter().any(|host| origin == format!("http://{host}"));
                ours && site.is_none_or(|site| site == "same-origin")
            }
            None => false,
        }
    }

    fn has_session(&self, headers: &HeaderMap) -> bool {
        let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
        lines.flat_map(|line| line.split(';')).any(|pair| {
            pair.trim().split_once('=').is_some_and(|(name, value)| {
                name == self.cookie_name && is_equal(value.as_bytes(), self.session.as_bytes())
            })
        })
    }

    /// Where the printed address leads: the same page without the token, with the session. Only the first request
    /// begins the session: the address stays in the history of the browser and in the scrollback of the terminal. The
    /// browser that has the session may follow it again.
    fn begin_session(&self, request: &Request) -> Option<Response> {
        if request.method() != Method::GET || is_prefetch(request.headers()) {
            return None;
        }
        let query = request.uri().query()?;
        let fields: Vec<(String, String)> = form_urlencoded::parse(query.as_bytes())
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect();
        let (_, given) = fields.iter().find(|(name, _)| name == TOKEN_FIELD)?;
        if !is_equal(given.as_bytes(), self.token.as_bytes()) {
            return None;
        }
        let to_page = (header::LOCATION, "/".to_owned());
        if self.has_session(request.headers()) {
            return Some((StatusCode::SEE_OTHER, [to_page]).into_response());
        }
        if self.is_used.swap(true, Ordering::Relaxed) {
            return None;
        }
        let cookie =
            format!("{}={}; Path=/; HttpOnly; SameSite=Strict", self.cookie_name, self.session);
        let headers = [(header::SET_COOKIE, cookie), to_page];
        Some((StatusCode::SEE_OTHER, headers).into_response())
    }
}

/// Whether a browser loads an address that the user may never open.
fn is_prefetch(headers: &HeaderMap) -> bool {
    let names = [HeaderName::from_static("sec-purpose"), HeaderName::from_static("purpose")];
    let values = names.iter().flat_map(|name| headers.get_all(name));
    values.filter_map(|value| value.to_str().ok()).any(|value| {
        let value = value.to_ascii_lowercase();
        value.contains("prefetch") || value.contains("prerender") || value.contains("preview")
    })
}

/// Lets a request in, answers it with a session, or refuses it.
pub(crate) fn admit(guard: &Guard, request: &Request) -> Result<Option<Response>, Failure> {
    let refuse = |status, sentence: &str| Err(Failure::new(status, sentence));
    let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    if target > TARGET_BYTES_MAX {
        return refuse(StatusCode::URI_TOO_LONG, "the address is longer than 8 KiB");
    }
    let lines = request.headers().iter();
    if lines.map(|(name, value)| name.as_str().len() + value.len()).sum::<usize>()
        > HEADER_BYTES_MAX
    {
        let status = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
        return refuse(status, "the header lines are longer than 32 KiB");
    }
    if !guard.has_our_host(request.headers()) {
        return refuse(StatusCode::FORBIDDEN, "this server goes by another name");
    }
    if let Some(answer) = guard.begin_session(request) {
        return Ok(Some(answer));
    }
    if !guard.has_session(request.headers()) {
        return refuse(
            StatusCode::FORBIDDEN,
            "open the address that inferometer ui printed; it opens one browser, so start \
             inferometer ui again for another one",
        );
    }
    match *request.method() {
        Method::GET | Method::HEAD => Ok(None),
        Method::POST if guard.has_our_origin(request.headers()) => Ok(None),
        Method::POST => refuse(StatusCode::FORBIDDEN, "this request comes from another site"),
        _ => refuse(StatusCode::METHOD_NOT_ALLOWED, "only GET and POST are answered"),
    }
}

/// What every answer tells the browser. A report in its frame has a policy of its own.
pub(crate) fn seal(headers: &mut HeaderMap) {
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (
            HeaderName::from_static("permissions-policy"),
            "camera=(), microphone=(), geolocation=(), payment=()",
        ),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
}

/// 256 random bits as hexadecimal digits.
fn secret() -> Result<String, getrandom::Error> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Compares in a time that does not tell how much of a guess is right.
fn is_equal(first: &[u8], second: &[u8]) -> bool {
    let differences = first.iter().zip(second).fold(0, |all, (a, b)| all | (a ^ b));
    first.len() == second.len() && differences == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            headers.append(name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    #[test]
    fn only_our_own_pages_change_something() {
        let guard = Guard::new("127.0.0.1:4000".parse().unwrap()).unwrap();
        for (origin, site, expect) in [
            (Some("http://127.0.0.1:4000"), Some("same-origin"), true),
            (Some("http://localhost:4000"), None, true),
            (Some("null"), Some("same-origin"), true),
            (Some("null"), Some("cross-site"), false),
            (Some("null"), None, false),
            (Some("http://127.0.0.1:4001"), Some("same-site"), false),
            (Some("http://127.0.0.1:4000"), Some("cross-site"), false),
            (Some("https://127.0.0.1:4000"), None, false),
            (Some("http://evil.example"), None, false),
            (None, Some("same-origin"), false),
        ] {
            let lines = [("origin", origin), ("sec-fetch-site", site)];
            let lines: Vec<_> =
                lines.iter().filter_map(|(name, value)| Some((*name, (*value)?))).collect();
            assert_eq!(guard.has_our_origin(&headers(&lines)), expect, "{lines:?}");
        }
    }

    #[test]
    fn the_session_is_found_among_cookies_and_nothing_near_it_is() {
        let guard = Guard::new("127.0.0.1:4000".parse().unwrap()).unwrap();
        let (name, value) = (&guard.cookie_name, &guard.session);
        let has = |cookie: &str| guard.has_session(&headers(&[("cookie", cookie)]));
        assert!(has(&format!("a=b; {name}={value}; c=d")));
        for wrong in [
            format!("{name}="),
            format!("{name}={}", &value[1..]),
            format!("{name}={value}0"),
            format!("other={value}"),
            format!("{name}={}", guard.token),
            String::new(),
        ] {
            assert!(!has(&wrong), "{wrong}");
        }
        assert_eq!(value.len(), 64);
        assert!(guard.token != guard.session && guard.session != guard.csrf);
    }

    #[test]
    fn another_name_of_this_machine_is_no_host_of_ours() {
        let guard = Guard::new("127.0.0.1:4000".parse().unwrap()).unwrap();
        for (host, expect) in [
            ("127.0.0.1:4000", true),
            ("localhost:4000", true),
            ("127.0.0.1", false),
            ("127.0.0.1:80", false),
            ("evil.example:4000", false),
            ("localhost:4000.evil.example", false),
        ] {
            assert_eq!(guard.has_our_host(&headers(&[("host", host)])), expect, "{host}");
        }
        let twice = [("host", "127.0.0.1:4000"), ("host", "evil.example")];
        assert!(!guard.has_our_host(&headers(&twice)) && !guard.has_our_host(&headers(&[])));
    }
}
