//! One response, read by both, and the verdict.

use super::client;
use super::differences::Class;
use ifm_wire::{ResponseReader, Step};

/// How a response ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By its own framing, with the connection still open.
    Complete,
    /// With the connection.
    CompleteAtClose,
    /// Never: it breaks the rules, or the connection ended too early.
    Error,
}

/// What a client made of the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub status: Option<u16>,
    pub body: Vec<u8>,
    pub end: End,
    /// Whether the connection may carry another request.
    pub reusable: bool,
}

/// What our reader makes of them.
pub fn read(parts: &[Vec<u8>]) -> Seen {
    let mut reader = ResponseReader::new();
    let mut seen = Seen { status: None, body: vec![], end: End::Error, reusable: false };
    let mut left = 0;
    for part in parts {
        let mut input = part.as_slice();
        loop {
            match reader.step(&mut input) {
                Ok(Step::NeedMore) => break,
                Ok(Step::Head) => seen.status = reader.head().map(|head| head.status),
                Ok(Step::Body(bytes)) => seen.body.extend_from_slice(bytes),
                Ok(Step::End) => {
                    left += input.len();
                    break;
                }
                Err(_) => return seen,
            }
        }
    }
    if reader.is_complete() {
        seen.end = End::Complete;
        seen.reusable = reader.may_reuse() && left == 0;
    } else if reader.end_of_connection().is_ok() {
        seen.end = End::CompleteAtClose;
    }
    seen
}

/// What is wrong with our answer to these pieces of a response, in words.
pub fn complaint(bytes: &[u8], parts: &[Vec<u8>]) -> Option<String> {
    let ours = read(parts);
    let theirs = client::read(parts);
    let whole = read(&[bytes.to_vec()]);
    let text = String::from_utf8_lossy(bytes);
    if ours != theirs && Class::of(bytes, &ours, &theirs).is_none() {
        return Some(format!("{text:?}\n  ours    {ours:?}\n  hyper's {theirs:?}"));
    }
    (ours != whole).then(|| format!("{text:?}\n  in pieces {ours:?}\n  whole     {whole:?}"))
}
