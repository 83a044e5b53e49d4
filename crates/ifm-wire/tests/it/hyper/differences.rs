//! Where our reader and hyper's differ for a reason, and how each is recognised: from the bytes
//! alone, by a walk over them that shares no code with either reader.

use super::compare::{End, Seen};

/// A reason for which the two may differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// A line of the chunked framing ends with a line feed alone. RFC 9112, 2.2 lets a recipient
    /// take that as a line end in the head; some servers write it everywhere. We do so, hyper
    /// gives up, or in trailers looks for the end further on and so misses that there are bytes
    /// behind it. A client has no proxy behind it that could understand the bytes differently.
    BareLineFeed,
    /// A trailer line is not a field. RFC 9112, 7.1.2 lets a recipient discard trailers; we do so
    /// unread, hyper parses them.
    WrongTrailer,
    /// A transfer coding in HTTP/1.0. RFC 9112, 6.1 calls the framing faulty and asks to close
    /// the connection after the message; we read the message and close. hyper refuses it, or,
    /// where the status allows no body, does not look at the coding and keeps the connection.
    CodingInOldVersion,
    /// The list of transfer codings ends with an empty element, which does not count by
    /// RFC 9110, 5.6.1.2. hyper takes it for a coding that is not `chunked`.
    EmptyElement,
    /// A `Connection` or `Transfer-Encoding` value holds bytes outside of ASCII, opaque by
    /// RFC 9110, 5.5. We still see the words between the commas, hyper sees no word at all.
    OpaqueBytes,
    /// A status below 100. RFC 9110, 15 asks to treat a status that is not a valid one as a server
    /// error, which any status but a 2xx is to us; hyper refuses the response.
    LowStatus,
    /// A chunk of a tebibyte or more. RFC 9112, 7.1 asks to be on guard against sizes that no
    /// number can hold; we refuse at once what no server means, hyper only what overflows.
    HugeChunk,
}

/// Bytes that show each difference.
pub const EXAMPLES: &[(Class, &[u8])] = &[
    (Class::BareLineFeed, b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\nok\n0\n\n"),
    (
        Class::WrongTrailer,
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\nno colon\r\n\r\n",
    ),
    (Class::CodingInOldVersion, b"HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"),
    (
        Class::CodingInOldVersion,
        b"HTTP/1.0 204 OK\r\nconnection: keep-alive\r\ntransfer-encoding: chunked\r\n\r\n",
    ),
    (
        Class::EmptyElement,
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked,\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    ),
    (
        Class::OpaqueBytes,
        b"HTTP/1.1 200 OK\r\nconnection: \xe4, close\r\ncontent-length: 0\r\n\r\n",
    ),
    (Class::HugeChunk, b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n10000000000\r\nok"),
    (Class::LowStatus, b"HTTP/1.1 099 What\r\ncontent-length: 0\r\n\r\n"),
];

impl Class {
    /// The reason for which these two answers to the bytes differ, if it is a known one.
    pub fn of(bytes: &[u8], ours: &Seen, theirs: &Seen) -> Option<Class> {
        let head = Head::walk(bytes)?;
        let refused = theirs.end == End::Error && theirs.status.is_none();
        if head.status < 100 && refused && ours.status == Some(head.status) {
            return Some(Class::LowStatus);
        }
        if ours.status != Some(head.status) {
            return None;
        }
        let codings = head.values("transfer-encoding");
        if head.is_old && !codings.is_empty() && !ours.reusable {
            let kept = Seen { reusable: true, ..ours.clone() };
            let without_body = matches!(head.status, 204 | 304) && *theirs == kept;
            return (refused || without_body).then_some(Class::CodingInOldVersion);
        }
        if theirs.status != ours.status {
            return None;
        }
        if let Some(coding) = codings.last()
            && theirs.end == End::CompleteAtClose
            && theirs.body == head.rest
        {
            let opaque = !coding.is_ascii();
            return Some(if opaque { Class::OpaqueBytes } else { Class::EmptyElement }).filter(
                |class| {
                    *class == Class::OpaqueBytes
                        || coding.trim_end_matches(BLANK).ends_with(',')
                        || coding.is_empty()
                },
            );
        }
        let connection = head.values("connection");
        if connection.iter().any(|value| !value.is_ascii())
            && (&ours.body, ours.end) == (&theirs.body, theirs.end)
        {
            return Some(Class::OpaqueBytes);
        }
        let chunked = codings.concat().to_ascii_lowercase().contains("chunked");
        if !chunked {
            return None;
        }
        let class = walk_chunks(head.rest)?;
        if class == Class::HugeChunk {
            let both_gave_up = (ours.end, theirs.end) == (End::Error, End::Error);
            return (both_gave_up && theirs.body.starts_with(&ours.body)).then_some(class);
        }
        if !ours.body.starts_with(&theirs.body) {
            return None;
        }
        let goes_on_in_trailers = class == Class::BareLineFeed
            && ours.body == theirs.body
            && (ours.end, theirs.end) == (End::Complete, End::Complete)
            && !ours.reusable;
        (theirs.end == End::Error || goes_on_in_trailers).then_some(class)
    }
}

const BLANK: [char; 4] = [' ', '\t', '\r', '\n'];

/// The last head of a response, told line by line.
struct Head<'bytes> {
    is_old: bool,
    status: u16,
    fields: Vec<(String, String)>,
    /// What follows it.
    rest: &'bytes [u8],
}

impl Head<'_> {
    fn walk(bytes: &[u8]) -> Option<Head<'_>> {
        let mut rest = bytes;
        loop {
            let mut line = take_line(&mut rest)?;
            while line.is_empty() {
                line = take_line(&mut rest)?;
            }
            let is_old = line.starts_with(b"HTTP/1.0 ");
            let status = std::str::from_utf8(line.get(9..12)?).ok()?.parse().ok()?;
            let mut fields: Vec<(String, String)> = Vec::new();
            loop {
                let line = take_line(&mut rest)?;
                let text = String::from_utf8_lossy(line);
                if line.is_empty() {
                    break;
                } else if let Some((_, value)) =
                    fields.last_mut().filter(|_| text.starts_with(BLANK))
                {
                    value.push_str(&text);
                } else {
                    let (name, value) = text.split_once(':')?;
                    let name = name.trim_end_matches(BLANK).to_ascii_lowercase();
                    fields.push((name, value.trim_matches(BLANK).to_owned()));
                }
            }
            if !(100..200).contains(&status) || status == 101 {
                return Some(Head { is_old, status, fields, rest });
            }
        }
    }

    fn values(&self, name: &str) -> Vec<&str> {
        let named = self.fields.iter().filter(|(field, _)| field == name);
        named.map(|(_, value)| value.as_str()).collect()
    }
}

/// The next line without its end, which is removed too.
fn take_line<'bytes>(rest: &mut &'bytes [u8]) -> Option<&'bytes [u8]> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let line = &rest[..end];
    *rest = &rest[end + 1..];
    Some(line.strip_suffix(b"\r").unwrap_or(line))
}

/// Walks a chunked body, leniently, up to what hyper takes offence at.
fn walk_chunks(body: &[u8]) -> Option<Class> {
    let mut rest = body;
    let line = |rest: &mut &[u8]| -> Option<(Vec<u8>, bool)> {
        let before = *rest;
        let line = take_line(rest)?;
        let bare = before.len() - rest.len() == line.len() + 1;
        Some((line.to_vec(), bare))
    };
    loop {
        let (size, bare) = line(&mut rest)?;
        if bare {
            return Some(Class::BareLineFeed);
        }
        let digits = size.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let size = u64::from_str_radix(std::str::from_utf8(&size[..digits]).ok()?, 16).ok()?;
        if size >= 1 << 40 {
            return Some(Class::HugeChunk);
        }
        let size = usize::try_from(size).ok()?;
        if size == 0 {
            break;
        }
        rest = rest.get(size..)?;
        match line(&mut rest)? {
            (end, true) if end.is_empty() => return Some(Class::BareLineFeed),
            (end, false) if end.is_empty() => {}
            _ => return None,
        }
    }
    let mut wrong = false;
    loop {
        let (trailer, bare) = line(&mut rest)?;
        if bare {
            return Some(Class::BareLineFeed);
        }
        if trailer.is_empty() {
            return wrong.then_some(Class::WrongTrailer);
        }
        let name = trailer.iter().take_while(|byte| is_token_byte(**byte)).count();
        let value_is_wrong = |value: &[u8]| {
            value.iter().any(|byte| (*byte < 0x20 && *byte != b'\t') || *byte == 0x7f)
        };
        wrong |= name == 0 || trailer.get(name) != Some(&b':') || value_is_wrong(&trailer[name..]);
    }
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
