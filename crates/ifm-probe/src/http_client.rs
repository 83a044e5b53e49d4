//! The HTTP client for everything but the load: to identify a server, or to send results to a collector.
//! Its errors say what to do.
//!
//! Not here: what is requested and sent (`server`, and callers), and connections that are measured
//! (`ifm-drive`).

use ifm_terminal::exit::Failure;
use std::time::Duration;
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Proxy, ProxyProtocol};

/// Builds a client for one URL. It trusts the certificate authorities of this machine (with `insecure`: any
/// certificate) and waits up to `patience` for a whole answer.
///
/// Reading the authorities takes about 20 ms, so plain HTTP does not load them. No redirect is followed, so
/// a URL without TLS never leads to one with TLS. Requests to the server under test never use a proxy.
pub fn agent(url: &str, insecure: bool, patience: Duration, proxy: Option<Proxy>) -> Agent {
    let uses_tls =
        |url: &str| url.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https:"));
    let needs_roots = uses_tls(url)
        || proxy.as_ref().is_some_and(|proxy| matches!(proxy.protocol(), ProxyProtocol::Https));
    let mut tls = TlsConfig::builder().disable_verification(insecure);
    if needs_roots && !insecure {
        let roots = rustls_native_certs::load_native_certs().certs;
        let roots: Vec<_> =
            roots.iter().map(|root| ureq::tls::Certificate::from_der(root).to_owned()).collect();
        tls = tls.root_certs(RootCerts::new_with_certs(&roots));
    }
    Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(patience))
        .proxy(proxy)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .user_agent("inferometer")
        .tls_config(tls.build())
        .build()
        .into()
}

/// Whether no request can reach the server. A server that was reached and failed may answer other
/// requests.
pub fn is_unreachable(error: &ureq::Error) -> bool {
    let text = error.to_string().to_ascii_lowercase();
    match error {
        ureq::Error::HostNotFound | ureq::Error::ConnectionFailed | ureq::Error::BadUri(_) => true,
        ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => true,
        _ => ["refused", "certificate", "tls", "unreachable", "no route"]
            .iter()
            .any(|words| text.contains(words)),
    }
}

/// Why a URL returned nothing; `wanted` says what should be there.
pub fn unreachable(url: &str, error: &ureq::Error, patience: Duration, wanted: &str) -> Failure {
    let text = error.to_string();
    let is_tls = url.starts_with("https://");
    if is_tls && text.contains("InvalidContentType") {
        return Failure::server(format!("{url}: the server does not use TLS"))
            .hint("write http:// instead of https://");
    }
    if let Some((_, reason)) = text.split_once("invalid peer certificate: ") {
        return untrusted(url, reason);
    }
    if is_tls && (text.contains("certificate") || text.contains("tls") || text.contains("Tls")) {
        return Failure::server(format!("{url}: {text}")).hint(
            "check the name in the URL and the server's certificate (SSL_CERT_FILE adds an \
             authority), use --insecure for a server that you trust, or http:// for one without TLS",
        );
    }
    if text.contains("refused") {
        return Failure::server(format!("nothing listens at {url} (connection refused)"))
            .hint("start the server, or check host and port");
    }
    if matches!(error, ureq::Error::Timeout(_)) {
        let limit = patience.as_secs_f64().ceil();
        return Failure::server(format!("{url} did not answer within {limit} s")).hint(
            match is_tls {
                true => "check host and port; a server without TLS needs http:// instead",
                false => "check host and port, and whether a firewall drops packets",
            },
        );
    }
    Failure::server(format!("request to {url} failed: {text}")).hint(wanted)
}

/// Why a certificate is not accepted, from rustls' message.
fn untrusted(url: &str, reason: &str) -> Failure {
    let (sentence, hint) = match reason {
        _ if reason.contains("CaUsedAsEndEntity") => (
            "that of an authority (CA:TRUE), which cannot be a server's certificate".to_owned(),
            "give the server a certificate of its own, or use --insecure if you trust it",
        ),
        "UnknownIssuer" | "BadSignature" => (
            format!("not trusted by this machine ({reason})"),
            "name the authority's file in SSL_CERT_FILE (the certificate itself if it is \
             self-signed), or use --insecure if you trust the server",
        ),
        _ if reason.contains("not valid for name") => (
            format!("for another name: {reason}"),
            "write the certificate's name into the URL, or use --insecure if you trust the server",
        ),
        _ => (
            format!("not valid: {reason}"),
            "renew it (and check this machine's clock), or use --insecure if you trust the server",
        ),
    };
    Failure::server(format!("{url}: the server's certificate is {sentence}")).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_that_are_not_accepted_are_told_with_a_way_out() {
        let patience = Duration::from_secs(1);
        for (reason, sentence, hint) in [
            ("UnknownIssuer", "not trusted by this machine", "SSL_CERT_FILE"),
            ("Other(OtherError(CaUsedAsEndEntity))", "CA:TRUE", "of its own"),
            ("certificate not valid for name \"h\"", "another name", "into the URL"),
            ("certificate expired: verification time 1", "not valid: certificate exp", "renew"),
        ] {
            let io = std::io::Error::other(format!("invalid peer certificate: {reason}"));
            let told = unreachable("https://h", &ureq::Error::Io(io), patience, "").to_string();
            assert!(told.contains(sentence) && told.contains(hint), "{told}");
            assert!(told.contains("--insecure") && !told.contains("io:"), "{told}");
        }
    }
}
