//! One medium of a file, of a data URL or of an address.
//!
//! Not here: which files (`column`), what they hold (`look`).

use std::{io::Read as _, path::Path};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ifm_core::{Carried, Medium, MediumKind, regular::open_regular};
use sha2::{Digest as _, Sha256};

use super::{
    FILE_BYTES_MAX,
    look::{Look, look},
    made::medium,
};
use crate::request::Carry;

/// The medium that a file's bytes are.
///
/// # Errors
/// What is wrong with them, and another kind than `kind`.
pub(super) fn of_bytes(bytes: Vec<u8>, kind: MediumKind, carry: Carry) -> Result<Medium, String> {
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(too_large(bytes.len() as u64));
    }
    let found = look(&bytes)?;
    if found.kind != kind {
        return Err(format!(
            "it is {} ({}), where {} belongs",
            article(found.kind),
            found.mime,
            article(kind)
        ));
    }
    let medium = medium(kind, found.mime, bytes, carry);
    let Look { size, frames, duration_ns, .. } = found;
    Ok(Medium { size, frames, duration_ns, ..medium })
}

/// A kind with its article.
fn article(kind: MediumKind) -> &'static str {
    match kind {
        MediumKind::Image => "an image",
        MediumKind::Audio => "a recording",
        MediumKind::Video => "a video",
    }
}

fn too_large(bytes: u64) -> String {
    let (has, most) = (bytes as f64 / f64::from(1 << 20), FILE_BYTES_MAX >> 20);
    format!("it has {has:.0} MiB; a file has {most} MiB at most")
}

/// The bytes of a file.
///
/// # Errors
/// Why it cannot be read.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, String> {
    let file = open_regular(path).map_err(|error| match path.is_dir() {
        true => "it is a folder".to_owned(),
        false => format!("cannot read it: {error}"),
    })?;
    let told = file.metadata().map_err(|error| format!("cannot read it: {error}"))?;
    if told.len() > FILE_BYTES_MAX {
        return Err(too_large(told.len()));
    }
    let mut bytes = Vec::new();
    // A file that grows never ends.
    file.take(FILE_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("cannot read it: {error}"))?;
    Ok(bytes)
}

/// The bytes of a data URL; nothing where the text is none.
///
/// # Errors
/// One that is not in base64.
pub(super) fn data_url(text: &str) -> Option<Result<Vec<u8>, String>> {
    let (head, body) = text.strip_prefix("data:")?.split_once(',')?;
    if !head.ends_with(";base64") {
        return Some(Err("its data URL is not in base64".to_owned()));
    }
    let bytes = STANDARD.decode(body.trim());
    Some(bytes.map_err(|error| format!("its data URL is damaged: {error}")))
}

/// The bytes of `wav,BASE64` or `mp3,BASE64`, as AIPerf has audio in texts; nothing where the text is
/// none.
///
/// # Errors
/// One that is not in base64.
pub(super) fn prefixed(text: &str) -> Option<Result<Vec<u8>, String>> {
    let (format, body) = text.split_once(',')?;
    let is_known = ["wav", "mp3"].contains(&format.to_ascii_lowercase().as_str());
    let bytes = is_known.then(|| STANDARD.decode(body.trim()))?;
    Some(bytes.map_err(|error| format!("its base64 is damaged: {error}")))
}

/// Whether a text is an address that a server fetches.
pub(super) fn is_address(text: &str) -> bool {
    ["http://", "https://", "s3://", "gs://"].iter().any(|start| text.starts_with(start))
}

/// What a name stands for that a server knows: nothing is sent but the name.
pub(super) fn of_name(name: &str, kind: MediumKind) -> Medium {
    Medium {
        kind,
        mime: "application/octet-stream".to_owned(),
        sha256: Sha256::digest(name.as_bytes()).into(),
        size: None,
        frames: None,
        duration_ns: None,
        file_bytes: None,
        uuid: Some(name.to_owned()),
        detail: None,
        carried: Carried::Name,
    }
}

/// What an address stands for: nobody here looks into it.
pub(super) fn of_address(url: &str, kind: MediumKind) -> Medium {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase();
    let mime = match (ending.as_str(), kind) {
        ("jpg" | "jpeg", _) => "image/jpeg",
        ("png", _) => "image/png",
        ("webp", _) => "image/webp",
        ("gif", _) => "image/gif",
        ("wav", _) => "audio/wav",
        ("mp3", _) => "audio/mpeg",
        ("flac", _) => "audio/flac",
        ("mp4", _) => "video/mp4",
        ("webm", _) => "video/webm",
        _ => "application/octet-stream",
    };
    Medium {
        kind,
        mime: mime.to_owned(),
        sha256: Sha256::digest(url.as_bytes()).into(),
        size: None,
        frames: None,
        duration_ns: None,
        file_bytes: None,
        uuid: None,
        detail: None,
        carried: Carried::Url(url.to_owned()),
    }
}
