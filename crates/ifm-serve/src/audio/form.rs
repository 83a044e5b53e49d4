//! A form with a file (`multipart/form-data`, RFC 7578), taken apart.
//!
//! Not here: what the fields mean.

use axum::http::{HeaderMap, header::CONTENT_TYPE};

use crate::error::ApiError;

/// The parts of a form.
#[derive(Debug)]
pub(super) struct Form<'body> {
    parts: Vec<(String, &'body [u8])>,
}

impl<'body> Form<'body> {
    pub(super) fn parse(headers: &HeaderMap, body: &'body [u8]) -> Result<Self, ApiError> {
        let wrong = || ApiError::invalid("The body is not a form (multipart/form-data).");
        let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let (kind, boundary) =
            kind.and_then(|kind| kind.split_once("boundary=")).ok_or_else(wrong)?;
        if !kind.to_ascii_lowercase().starts_with("multipart/form-data") {
            return Err(wrong());
        }
        let boundary = boundary.split(';').next().unwrap_or_default().trim_matches('"');
        let divider = format!("\r\n--{boundary}");
        let first = divider.as_bytes().get(2..).unwrap_or_default();
        let mut rest = body.strip_prefix(first).ok_or_else(wrong)?;
        let mut parts = Vec::new();
        while !rest.starts_with(b"--") {
            let end = find(rest, divider.as_bytes()).ok_or_else(wrong)?;
            let (part, behind) = rest.split_at(end);
            let head = find(part, b"\r\n\r\n").ok_or_else(wrong)?;
            let (head, value) = part.split_at(head);
            let name = name_of(&String::from_utf8_lossy(head)).ok_or_else(wrong)?;
            parts.push((name, value.get(4..).unwrap_or_default()));
            rest = behind.get(divider.len()..).unwrap_or_default();
        }
        Ok(Self { parts })
    }

    /// The bytes of a part.
    pub(super) fn bytes(&self, name: &str) -> Option<&'body [u8]> {
        self.parts.iter().find(|(own, _)| own == name).map(|(_, bytes)| *bytes)
    }

    /// A part as a text.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.bytes(name).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    /// Whether a part says yes.
    pub(super) fn flag(&self, name: &str) -> bool {
        self.text(name).is_some_and(|text| matches!(text.as_str(), "true" | "True" | "1"))
    }
}

/// The name of a part, by its head.
fn name_of(head: &str) -> Option<String> {
    let line = head
        .split("\r\n")
        .find(|line| line.to_ascii_lowercase().starts_with("content-disposition:"))?;
    let (name, _) = line.split_once("; name=\"")?.1.split_once('"')?;
    Some(name.to_owned())
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    let first = *wanted.first()?;
    let mut from = 0;
    loop {
        let at = from + bytes.get(from..)?.iter().position(|byte| *byte == first)?;
        if bytes.get(at..)?.starts_with(wanted) {
            return Some(at);
        }
        from = at + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(kind: &str) -> HeaderMap {
        HeaderMap::from_iter([(CONTENT_TYPE, kind.parse().expect("a value"))])
    }

    #[test]
    fn parts_are_found_whatever_bytes_they_hold() {
        let body = b"--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\
            Content-Type: audio/wav\r\n\r\n\r\n--\xff\r\n--y\r\n--x\r\n\
            content-disposition: form-data; name=\"stream\"\r\n\r\ntrue\r\n--x--\r\n";
        let form = Form::parse(&headers("multipart/form-data; boundary=x"), body).expect("a form");
        assert_eq!(form.bytes("file"), Some(b"\r\n--\xff\r\n--y".as_slice()));
        assert!(form.flag("stream") && !form.flag("file") && form.text("model").is_none());
    }

    #[test]
    fn what_is_no_form_is_refused() {
        for (kind, body) in [
            ("application/json", b"{}".as_slice()),
            ("multipart/form-data", b"--x--"),
            ("multipart/form-data; boundary=x", b"--y--"),
            ("multipart/form-data; boundary=x", b"--x\r\n\r\n\r\n"),
            ("multipart/form-data; boundary=x", b""),
        ] {
            assert!(Form::parse(&headers(kind), body).is_err(), "{kind}");
        }
    }
}
