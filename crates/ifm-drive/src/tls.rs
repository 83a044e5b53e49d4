//! TLS of the target: which certificates are believed, and sessions ready to shake hands.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme,
};
use std::sync::Arc;

/// Why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// The name in the URL is neither a DNS name nor an address.
    #[error("invalid TLS server name: \"{0}\"")]
    BadName(String),
    /// The host has no certificate authorities to believe.
    #[error(
        "no certificate authorities found on this host: install its CA certificates, set \
         SSL_CERT_FILE, or use --insecure for a server that you trust"
    )]
    NoRoots,
    /// The library refused its configuration.
    #[error("TLS cannot be set up: {0}")]
    Setup(#[from] rustls::Error),
}

/// TLS towards one server name.
#[derive(Debug, Clone)]
pub struct TlsTarget {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl TlsTarget {
    /// TLS that believes the host's certificate authorities (`SSL_CERT_FILE` and `SSL_CERT_DIR`
    /// are honoured), or, if `insecure`, any certificate at all.
    ///
    /// # Errors
    /// [`TlsError`].
    pub fn new(host: &str, insecure: bool) -> Result<TlsTarget, TlsError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let name = ServerName::try_from(bare.to_owned())
            .map_err(|_| TlsError::BadName(bare.to_owned()))?;
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()?;
        let mut config = if insecure {
            let trusting = Arc::new(Trusting(provider));
            builder.dangerous().with_custom_certificate_verifier(trusting).with_no_client_auth()
        } else {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if roots.is_empty() {
                return Err(TlsError::NoRoots);
            }
            builder.with_root_certificates(roots).with_no_client_auth()
        };
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsTarget { config: Arc::new(config), name })
    }

    /// A session before its handshake.
    ///
    /// # Errors
    /// What the library says about its configuration.
    pub fn session(&self) -> Result<ClientConnection, rustls::Error> {
        ClientConnection::new(self.config.clone(), self.name.clone())
    }
}

/// Believes every certificate, but still checks that the server holds its key.
#[derive(Debug)]
struct Trusting(Arc<CryptoProvider>);

impl ServerCertVerifier for Trusting {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
