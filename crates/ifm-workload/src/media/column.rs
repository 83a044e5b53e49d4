//! Media of files: those of a folder, and those that the rows of a data set hold or name.
//!
//! A row names a file (relative to its own), an address or a data URL, or holds the bytes as data sets
//! of the hub do: `{"bytes": …, "path": …}`. Everything is read and looked into before the load
//! begins; a file that several rows name is read once.
//!
//! Not here: formats of files (`look`), rows (`source`).

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ifm_core::{Medium, MediumKind, Message, Prompt, Role};
use serde_json::Value;

use super::{KEPT_BYTES_MAX, MEDIA_MAX, dress::place, file};
use crate::{
    error::{WorkloadError, file_name},
    request::{Carry, OnBadRow, WorkloadRequest},
    source::{Columns, Row, kind},
};

/// Files of one folder at most.
const FILES_MAX: usize = 1 << 17;

/// The columns that hold media.
const COLUMNS: [(&str, MediumKind); 3] =
    [("image", MediumKind::Image), ("audio", MediumKind::Audio), ("video", MediumKind::Video)];

/// Reads media, within a bound of memory.
pub(crate) struct Reader {
    carry: Carry,
    read: HashMap<PathBuf, Arc<Medium>>,
    bytes: u64,
}

impl Reader {
    /// A reader that has read nothing.
    pub(crate) fn new(carry: Carry) -> Self {
        Self { carry, read: HashMap::new(), bytes: 0 }
    }

    /// All media of a kind in a folder, by the names of their files; files of other names are passed
    /// over.
    ///
    /// # Errors
    /// [`WorkloadError::Read`], [`WorkloadError::File`] for a folder without one, and
    /// [`WorkloadError::BadRow`] for a file that cannot be sent, unless such are skipped.
    pub(crate) fn folder(
        folder: &Path,
        kind: MediumKind,
        request: &WorkloadRequest,
    ) -> Result<Vec<Arc<Medium>>, WorkloadError> {
        let read_error = |source| WorkloadError::Read { path: folder.to_owned(), source };
        let mut paths = Vec::new();
        for entry in fs::read_dir(folder).map_err(read_error)? {
            let path = entry.map_err(read_error)?.path();
            let ending = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
            if endings(kind).contains(&ending.as_str()) {
                paths.push(path);
            }
            if paths.len() > FILES_MAX {
                let reason = format!("holds more than {FILES_MAX} files; take a smaller folder");
                return Err(WorkloadError::File { file: file_name(folder), reason });
            }
        }
        paths.sort();
        let mut reader = Self::new(request.carry);
        let mut media = Vec::new();
        let mut skipped = 0;
        for path in paths {
            match reader.file(&path, kind) {
                Ok(medium) => media.push(medium),
                Err(_) if request.on_bad_row == OnBadRow::Skip => skipped += 1,
                Err(reason) => {
                    let reason = format!("{reason}; remove the file, or have it skipped");
                    return Err(WorkloadError::File { file: file_name(&path), reason });
                }
            }
        }
        if media.is_empty() {
            let reason = format!(
                "is a folder without a file of this kind that can be sent ({}); {skipped} were \
                 skipped",
                endings(kind).join(", ")
            );
            return Err(WorkloadError::File { file: file_name(folder), reason });
        }
        Ok(media)
    }

    /// A prompt with the media of its row's columns, before the text of the user's last message.
    ///
    /// # Errors
    /// What is wrong with a medium, and media in a prompt without a message of the user.
    pub(crate) fn put(
        &mut self,
        prompt: Prompt,
        columns: &Columns,
        row: &Row,
    ) -> Result<Prompt, String> {
        let mut media = Vec::new();
        for (name, kind) in COLUMNS {
            if let Some(value) = columns.get(&row.fields, name) {
                media.extend(self.field(value, kind, &row.folder)?);
            }
        }
        with_media(prompt, media)
    }

    /// The media that a field holds: one, or a list of them; none where it is null.
    ///
    /// # Errors
    /// What is wrong with one.
    pub(crate) fn field(
        &mut self,
        value: &Value,
        medium: MediumKind,
        folder: &Path,
    ) -> Result<Vec<Arc<Medium>>, String> {
        match value {
            Value::Null => Ok(Vec::new()),
            Value::Array(list) if list.len() > MEDIA_MAX as usize => {
                Err(format!("more than {MEDIA_MAX} media in one row"))
            }
            Value::Array(list) => {
                list.iter().map(|value| self.one(value, medium, folder)).collect()
            }
            one => Ok(vec![self.one(one, medium, folder)?]),
        }
    }

    fn one(
        &mut self,
        value: &Value,
        medium: MediumKind,
        folder: &Path,
    ) -> Result<Arc<Medium>, String> {
        let word = medium.word();
        match value {
            Value::String(text) => self.text(text, medium, folder),
            Value::Object(fields) => {
                let text = |name: &str| fields.get(name).and_then(Value::as_str);
                let bytes = text("bytes").or(text("data")).filter(|bytes| !bytes.is_empty());
                if let Some(bytes) = bytes {
                    let bytes = match file::data_url(bytes) {
                        Some(bytes) => bytes?,
                        // Base64 from a file of JSON, or bytes that happen to be a text.
                        None => STANDARD.decode(bytes).unwrap_or_else(|_| bytes.into()),
                    };
                    return self.keep(bytes, medium).map_err(|reason| format!("{word}: {reason}"));
                }
                let named = ["path", "url", "file", "src"].iter().find_map(|name| text(name));
                let named = named.ok_or_else(|| {
                    format!("the {word} has neither 'bytes' nor 'path' nor 'url'")
                })?;
                self.text(named, medium, folder)
            }
            other => Err(format!("the {word} is {}", kind(other))),
        }
    }

    /// A path, an address or a data URL.
    fn text(
        &mut self,
        text: &str,
        medium: MediumKind,
        folder: &Path,
    ) -> Result<Arc<Medium>, String> {
        if file::is_address(text) {
            return Ok(Arc::new(file::of_address(text, medium)));
        }
        if let Some(bytes) = file::data_url(text) {
            let made = bytes.and_then(|bytes| self.keep(bytes, medium));
            return made.map_err(|reason| format!("{}: {reason}", medium.word()));
        }
        let path = text.strip_prefix("file://").unwrap_or(text);
        if path.is_empty() {
            return Err(format!("the {} is an empty text", medium.word()));
        }
        let path = folder.join(path);
        self.file(&path, medium).map_err(|reason| format!("{}: {reason}", file_name(&path)))
    }

    fn file(&mut self, path: &Path, kind: MediumKind) -> Result<Arc<Medium>, String> {
        if let Some(known) = self.read.get(path).filter(|known| known.kind == kind) {
            return Ok(known.clone());
        }
        let medium = self.keep(file::read(path)?, kind)?;
        self.read.insert(path.to_owned(), medium.clone());
        Ok(medium)
    }

    fn keep(&mut self, bytes: Vec<u8>, kind: MediumKind) -> Result<Arc<Medium>, String> {
        let medium = file::of_bytes(bytes, kind, self.carry)?;
        self.bytes += medium.carried.bytes().map_or(0, |bytes| bytes.len() as u64);
        if self.bytes > KEPT_BYTES_MAX {
            return Err(format!(
                "all media together fill more than {} GiB of memory; take fewer items",
                KEPT_BYTES_MAX >> 30
            ));
        }
        Ok(Arc::new(medium))
    }
}

/// A prompt with media before the text of the user's last message.
///
/// # Errors
/// A prompt without such a message.
pub(crate) fn with_media(prompt: Prompt, media: Vec<Arc<Medium>>) -> Result<Prompt, String> {
    if media.is_empty() {
        return Ok(prompt);
    }
    let mut messages = match prompt {
        Prompt::Text(text) => vec![Message::text(Role::User, text)],
        Prompt::Messages(messages) => messages,
        Prompt::Tokens(_) => return Err("media beside token ids".to_owned()),
    };
    let user = messages.iter_mut().rev().find(|message| message.role == Role::User);
    place(user.ok_or("media without a message of the user")?, media, false);
    Ok(Prompt::Messages(messages))
}

/// Endings of files of a kind.
fn endings(kind: MediumKind) -> &'static [&'static str] {
    match kind {
        MediumKind::Image => &["jpg", "jpeg", "png", "webp", "gif"],
        MediumKind::Audio => &["wav", "mp3", "flac", "ogg", "opus", "m4a"],
        MediumKind::Video => &["mp4", "webm", "mov", "m4v"],
    }
}
