//! Base URLs of servers: from what people type to what is requested and stored.

use http::Uri;
use ifm_core::order::Order as _;
use ifm_core::spec::Api;
use ifm_terminal::exit::Failure;
use ifm_wire::dialect;
use std::fmt;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

/// A base URL including the API prefix, without a slash at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl {
    is_tls: bool,
    host: String,
    port: u16,
    has_port: bool,
    path: String,
}

impl BaseUrl {
    /// Parses a typed URL: the scheme may be missing, `/v1` is added unless the path names a
    /// version, and the path of an endpoint selects that API.
    ///
    /// # Errors
    /// The error in it.
    pub fn parse(typed: &str) -> Result<(BaseUrl, Option<Api>), Failure> {
        let uri = checked(typed, "http://localhost:8000")?;
        let bad = |why: &str| refused(typed, why, "http://localhost:8000");
        let is_tls = uri.scheme_str() == Some("https");
        let authority = uri.authority().ok_or_else(|| bad("the host is missing"))?;
        if uri.query().is_some() {
            return Err(bad("a base URL has no query"));
        }
        let (path, api) = api_prefix(uri.path());
        let default_port = if is_tls { 443 } else { 80 };
        let url = BaseUrl {
            is_tls,
            host: authority.host().to_owned(),
            port: authority.port_u16().unwrap_or(default_port),
            has_port: authority.port_u16().is_some(),
            path,
        };
        Ok((url, api))
    }

    /// Whether TLS is required.
    pub fn is_tls(&self) -> bool {
        self.is_tls
    }

    /// Host name or address, as in the URL.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Value of the `Host` header.
    pub fn authority(&self) -> String {
        match self.has_port {
            true => format!("{}:{}", self.host, self.port),
            false => self.host.clone(),
        }
    }

    /// Path with the API prefix: `/v1`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The URL of the server's root, where `/version` and `/health` are.
    pub fn root(&self) -> String {
        let scheme = if self.is_tls { "https" } else { "http" };
        format!("{scheme}://{}", self.authority())
    }

    /// Resolves the host.
    ///
    /// # Errors
    /// The name is unknown.
    pub fn resolve(&self) -> Result<Vec<SocketAddr>, Failure> {
        let bare = self.host.trim_start_matches('[').trim_end_matches(']');
        let mut addresses: Vec<SocketAddr> = (bare, self.port)
            .to_socket_addrs()
            .map_err(|error| {
                let hint = match bare.contains('.') {
                    true => "check the spelling of the URL",
                    false => {
                        "check the spelling of the URL; if a stored run is meant: inferometer runs \
                         list shows their names"
                    }
                };
                Failure::server(format!("cannot resolve the host \"{bare}\": {error}")).hint(hint)
            })?
            .collect();
        // Loopback names resolve to both families, while servers often listen on one only.
        addresses.order_by_key(|address| address.is_ipv6());
        addresses.truncate(1);
        match addresses.is_empty() {
            false => Ok(addresses),
            true => Err(Failure::server(format!("the host \"{bare}\" has no address"))),
        }
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}", self.root(), self.path)
    }
}

/// Parses a typed URL; the scheme may be missing. The error shows `example`.
///
/// # Errors
/// It cannot be parsed, is neither http nor https, has no host, or contains a user name or a
/// password.
pub fn checked(typed: &str, example: &str) -> Result<Uri, Failure> {
    let typed = typed.trim();
    let with_scheme = match typed.contains("://") {
        true => typed.to_owned(),
        false => format!("http://{typed}"),
    };
    // The part before the @ is a secret: it is not repeated.
    let host = with_scheme.split_once("://").map_or("", |(_, rest)| rest);
    let host = host.split(['/', '?', '#']).next().unwrap_or_default();
    if host.contains('@') {
        return Err(Failure::usage("the URL contains a user name or a password")
            .hint("pass keys in an environment variable (--api-key-env, --push-key-env)"));
    }
    let bad = |why: &str| refused(typed, why, example);
    let uri: Uri = with_scheme.parse().map_err(|_| bad("it cannot be parsed"))?;
    if uri.scheme_str() == Some("simulated") {
        return Err(Failure::usage(format!("{typed} is not a server that can be called")).hint(
            "run, sweep and capacity accept simulated://GPU/MODEL; for anything else, start a server: \
             inferometer serve --sim --gpu NAME --model NAME",
        ));
    }
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(bad("only http and https are supported"));
    }
    match uri.authority() {
        Some(_) => Ok(uri),
        None => Err(bad("the host is missing")),
    }
}

fn refused(typed: &str, why: &str, example: &str) -> Failure {
    // A query may contain a key.
    let shown = typed.trim().split('?').next().unwrap_or_default();
    Failure::usage(format!("\"{shown}\" is not a URL of a server: {why}"))
        .hint(format!("for example {example}"))
}

/// The API prefix of a path, and the API if the path names an endpoint.
fn api_prefix(path: &str) -> (String, Option<Api>) {
    let path = path.trim_end_matches('/');
    let (path, api) = match dialect::api_of_path(path) {
        Some((base, api)) => (base, Some(api)),
        None => (path, None),
    };
    let names_version = path.split('/').any(|segment| {
        segment.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    });
    // The base of a typed endpoint is used unchanged, unless that endpoint is at the server's root:
    // other endpoints still have their version.
    let is_whole =
        api.is_some_and(|api| dialect::of(api).endpoint.base == dialect::Base::Versioned);
    match names_version || is_whole {
        true => (path.to_owned(), api),
        false => (format!("{path}/v1"), api),
    }
}

/// Whether an address is outside private networks and this host.
pub fn is_public(address: &SocketAddr) -> bool {
    match address.ip() {
        IpAddr::V4(ip) => {
            let shared = ip.octets()[0] == 100 && (64..128).contains(&ip.octets()[1]);
            !(ip.is_private()
                || ip.is_loopback()
                || ip.is_link_local()
                || ip.is_unspecified()
                || shared)
        }
        IpAddr::V6(ip) => {
            !(ip.is_loopback()
                || ip.is_unspecified()
                || ip.is_unique_local()
                || ip.is_unicast_link_local())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_type_becomes_a_base_url() {
        for (typed, expect, api) in [
            ("localhost:8000", "http://localhost:8000/v1", None),
            ("http://h", "http://h/v1", None),
            ("https://h:8443/", "https://h:8443/v1", None),
            ("http://h/v1", "http://h/v1", None),
            ("http://h/v1/", "http://h/v1", None),
            ("http://h/openai/v1beta", "http://h/openai/v1beta", None),
            ("http://h/case/x", "http://h/case/x/v1", None),
            ("http://h/v1/chat/completions", "http://h/v1", Some(Api::Chat)),
            ("http://h/v1/completions", "http://h/v1", Some(Api::Completions)),
            ("http://h/v1/messages", "http://h/v1", Some(Api::Messages)),
            ("http://h/generate", "http://h/v1", Some(Api::Sglang)),
            ("http://h:11434/api/chat", "http://h:11434/v1", Some(Api::OllamaChat)),
            ("http://h/v2/models/m/generate", "http://h/v1", Some(Api::Triton)),
            ("http://[::1]:9/v1", "http://[::1]:9/v1", None),
        ] {
            let (url, found) = BaseUrl::parse(typed).unwrap();
            assert_eq!((url.to_string().as_str(), found), (expect, api), "{typed}");
        }
    }

    #[test]
    fn what_is_no_url_is_refused_without_repeating_secrets() {
        for typed in ["", "ftp://h", "http://", "http://h?x=1", "a b"] {
            assert!(BaseUrl::parse(typed).is_err(), "{typed}");
        }
        let error = BaseUrl::parse("http://me:sk-1@h/v1").unwrap_err().to_string();
        assert!(!error.contains("sk-1"), "{error}");
    }

    #[test]
    fn private_addresses_need_no_permission() {
        let public = |text: &str| is_public(&SocketAddr::new(text.parse().unwrap(), 1));
        for ip in
            ["127.0.0.1", "10.1.2.3", "192.168.0.1", "172.16.0.1", "100.64.0.1", "::1", "fd00::1"]
        {
            assert!(!public(ip), "{ip}");
        }
        for ip in ["8.8.8.8", "172.32.0.1", "2606:4700::1111"] {
            assert!(public(ip), "{ip}");
        }
    }
}
