//! Fields of queries and forms, some of which come several times.

use crate::failure::Failure;
use crate::guard::{CSRF_FIELD, CSRF_HEADER, Guard};
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, StatusCode};

/// Largest form, bytes: far more than any name or tag, and than the ids of all runs of a page.
const FORM_BYTES_MAX: usize = 64 << 10;

/// Names and values in their order.
#[derive(Debug, Default)]
pub(crate) struct Fields(Vec<(String, String)>);

impl Fields {
    /// From the query of an address.
    pub(crate) fn of_query(query: Option<&str>) -> Fields {
        Fields::parse(query.unwrap_or_default().as_bytes())
    }

    fn parse(bytes: &[u8]) -> Fields {
        let pairs = form_urlencoded::parse(bytes);
        Fields(pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect())
    }

    /// From a form that changes something: it has to be one of ours.
    ///
    /// # Errors
    /// It is too large, or not ours.
    pub(crate) async fn of_change(
        guard: &Guard,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<Fields, Failure> {
        let bytes = to_bytes(body, FORM_BYTES_MAX).await.map_err(|_| {
            let sentence = format!("a form has at most {} KiB", FORM_BYTES_MAX >> 10);
            Failure::new(StatusCode::PAYLOAD_TOO_LARGE, sentence)
        })?;
        let fields = Fields::parse(&bytes);
        let header = headers.get(CSRF_HEADER).and_then(|value| value.to_str().ok());
        guard.check_csrf(header.or_else(|| fields.get(CSRF_FIELD)))?;
        Ok(fields)
    }

    /// The first value of a name; absent where it is empty or not there.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// Whether the form has a field of this name, empty or not.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| known == name)
    }

    /// Every value of a name that is not empty.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let of_name = self.0.iter().filter(move |(known, _)| known == name);
        of_name.map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
    }
}
