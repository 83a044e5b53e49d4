//! Headers with the session of a turn, as requested on the command line.
//!
//! Not here: their values (`ifm-wire`), and headers that every request has.

use crate::exit::Failure;
use ifm_wire::request::{SECRET_CHARS_MIN, SESSION_ID, SESSION_PLACE, is_framing_header};

/// The value that disables them.
const NONE: &str = "none";

/// Names and values, with [`SESSION_PLACE`] as the placeholder of the session: `names` contain only the
/// session, and `values` are `NAME=VALUE`. The default name is used if none is given, unless the user
/// sends a header of that name.
///
/// # Errors
/// A value without the session, "none" together with names, or a header that HTTP itself needs.
pub fn session_headers(
    names: &[String],
    values: &[String],
    own: &[(String, String)],
) -> Result<Vec<(String, String)>, Failure> {
    let names = match names {
        [] => vec![SESSION_ID],
        [only] if only == NONE => Vec::new(),
        names if names.iter().any(|name| name == NONE) => {
            return Err(Failure::usage(
                "--session-header none cannot be combined with other names",
            ));
        }
        names => names.iter().map(String::as_str).collect(),
    };
    let is_own = |name: &str| own.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
    let mut headers: Vec<(String, String)> = names
        .into_iter()
        .filter(|name| !is_own(name))
        .map(|name| (name.to_owned(), SESSION_PLACE.to_owned()))
        .collect();
    for typed in values {
        match typed.split_once('=') {
            Some((name, value)) if value.contains(SESSION_PLACE) => {
                headers.push((name.trim().to_owned(), value.trim().to_owned()));
            }
            // The text itself may be a secret: it is not repeated.
            _ => {
                let words = "a --header-per-session is not NAME=VALUE with {session} in the value";
                return Err(Failure::usage(words)
                    .hint("write --header-per-session 'X-Route=user-{session}'"));
            }
        }
    }
    match headers.iter().find(|(name, _)| is_framing_header(name)) {
        None => Ok(headers),
        Some((name, _)) => Err(Failure::usage(format!(
            "{name} cannot contain the session of a turn: HTTP itself needs that header"
        ))
        .hint("choose another name, such as X-Session-ID")),
    }
}

/// Parts of their values that may be secret, each with the header's name.
pub fn secret_parts(headers: &[(String, String)]) -> Vec<(String, String)> {
    let parts = headers.iter().flat_map(|(name, value)| {
        let parts =
            value.split(SESSION_PLACE).filter(|part| part.chars().count() >= SECRET_CHARS_MIN);
        parts.map(|part| (name.clone(), part.to_owned()))
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_become_headers() {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let made = |names: &[&str], values: &[&str], own: &[&str]| {
            let (names, values): (Vec<String>, Vec<String>) = (texts(names), texts(values));
            let own: Vec<String> = texts(own);
            let own: Vec<_> = own.into_iter().map(|name| (name, "x".to_owned())).collect();
            let headers = session_headers(&names, &values, &own).ok()?;
            Some(headers.into_iter().map(|(name, value)| format!("{name}: {value}")).collect())
        };
        for (names, values, own, expect) in [
            (&[][..], &[][..], &[][..], Some(texts(&["X-Session-ID: {session}"]))),
            (&[], &[], &["x-session-id"], Some(Vec::new())),
            (&["none"], &["R=a-{session}"], &[], Some(texts(&["R: a-{session}"]))),
            (&["A", "B"], &[], &["b"], Some(texts(&["A: {session}"]))),
            (&["none", "A"], &[], &[], None),
            (&[], &["R=a"], &[], None),
            (&[], &["{session}"], &[], None),
        ] {
            assert_eq!(made(names, values, own), expect, "{names:?} {values:?} {own:?}");
        }
    }

    #[test]
    fn parts_of_a_value_may_be_secrets_and_are_not_repeated() {
        let headers = [("R".to_owned(), "key=a-1;{session};abc;{session}-abcd".to_owned())];
        let parts = ["key=a-1;", ";abc;", "-abcd"].map(|part| ("R".to_owned(), part.to_owned()));
        assert_eq!(secret_parts(&headers), parts);
        let short = [("R".to_owned(), "ab-{session}".to_owned())];
        assert!(secret_parts(&short).is_empty());
        for typed in ["s3cret-without-a-name-{session}", "X-Key=s3cret"] {
            let error = session_headers(&[], &[typed.to_owned()], &[]).unwrap_err();
            let said = format!("{error:?} {error}");
            assert!(!said.contains("s3cret") && said.contains("{session}"), "{said}");
        }
    }

    #[test]
    fn a_header_that_http_needs_is_refused_by_its_name() {
        for name in ["Host", "content-length", "Transfer-Encoding", "connection"] {
            let by_name = session_headers(&[name.to_owned()], &[], &[]);
            let by_value = session_headers(&[], &[format!("{name}=a-{{session}}")], &[]);
            for made in [by_name, by_value] {
                let error = made.unwrap_err().to_string();
                assert!(error.contains(&format!("{name} cannot contain")), "{error}");
            }
        }
    }
}
