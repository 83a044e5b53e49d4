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
use ifm_core::{ImageDetail, Medium, MediumKind, Message, Prompt, Role};
use serde_json::Value;

use super::{KEPT_BYTES_MAX, MEDIA_MAX, dress::place, file};
use crate::{
    count::map_parallel,
    error::{WorkloadError, file_name},
    request::{Carry, OnBadRow, WorkloadRequest},
    source::{Columns, Row, Rows, kind},
};

/// Files of one folder at most.
const FILES_MAX: usize = 1 << 17;

/// Files of a folder that are read and looked into at once, on all processors.
const READ_AT_ONCE: usize = 16;

/// The columns that hold media.
const COLUMNS: [(&str, MediumKind); 3] =
    [("image", MediumKind::Image), ("audio", MediumKind::Audio), ("video", MediumKind::Video)];

/// Reads media, within a bound of memory.
pub(crate) struct Reader {
    carry: Carry,
    detail: Option<ImageDetail>,
    on_bad_row: OnBadRow,
    read: HashMap<PathBuf, Arc<Medium>>,
    bytes: u64,
}

impl Reader {
    /// A reader that has read nothing.
    pub(crate) fn new(request: &WorkloadRequest) -> Self {
        let WorkloadRequest { carry, image_detail: detail, on_bad_row, .. } = *request;
        Self { carry, detail, on_bad_row, read: HashMap::new(), bytes: 0 }
    }

    /// The media of a kind in a folder, by the names of their files; files of other names are passed
    /// over. Or the one that a file is.
    ///
    /// # Errors
    /// [`WorkloadError::Read`], and [`WorkloadError::File`] for a folder without one and for a file that
    /// cannot be sent, unless such are skipped.
    pub(crate) fn folder(
        &mut self,
        folder: &Path,
        kind: MediumKind,
        most: usize,
    ) -> Result<Vec<Arc<Medium>>, WorkloadError> {
        let is_folder = folder.is_dir();
        let mut paths = match is_folder {
            true => files_of(folder, kind)?,
            false => vec![folder.to_owned()],
        };
        paths.sort();
        let mut media = Vec::new();
        let mut skipped = 0;
        let mut rest = paths.as_slice();
        while !rest.is_empty() && media.len() < most {
            let (batch, later) =
                rest.split_at(rest.len().min(most - media.len()).min(READ_AT_ONCE));
            rest = later;
            let carry = self.carry;
            let read = map_parallel(batch, |path| file::of_bytes(file::read(path)?, kind, carry));
            for (path, medium) in batch.iter().zip(read) {
                match medium.and_then(|medium| self.hold(path, medium)) {
                    Ok(medium) => media.push(medium),
                    Err(_) if self.on_bad_row == OnBadRow::Skip => skipped += 1,
                    Err(reason) => {
                        let way_out =
                            "; remove the file, or leave such files out with bad_rows=skip";
                        let reason = format!("{reason}{}", if is_folder { way_out } else { "" });
                        return Err(WorkloadError::File { file: file_name(path), reason });
                    }
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

    /// The media of a kind that the rows of files hold or name, in their order, so many at most.
    ///
    /// # Errors
    /// What reading says, and [`WorkloadError::NoRows`] where no row has one.
    pub(crate) fn rows(
        &mut self,
        files: Vec<PathBuf>,
        kind: MediumKind,
        most: usize,
        columns: Columns,
    ) -> Result<Vec<Arc<Medium>>, WorkloadError> {
        let mut rows = Rows::new(files, columns.need(&[kind.word()]), self.on_bad_row);
        let mut media = Vec::new();
        while media.len() < most {
            let Some(row) = rows.next()? else { break };
            let field = rows.columns().get(&row.fields, kind.word()).unwrap_or(&Value::Null);
            match self.field(field, kind, &row.folder) {
                Ok(found) => media.extend(found),
                Err(reason) => rows.bad(row.line, &reason)?,
            }
        }
        media.truncate(most);
        if media.is_empty() {
            let file = rows.file().to_owned();
            let counts = rows.into_counts();
            let reasons = counts.reasons();
            return Err(WorkloadError::NoRows { file, read: counts.read, reasons });
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
            let mut found = match columns.get(&row.fields, name) {
                Some(value) => self.field(value, kind, &row.folder)?,
                None => Vec::new(),
            };
            if let Some(names) = columns.get(&row.fields, "image_uuids")
                && kind == MediumKind::Image
            {
                found = named(found, names)?;
            }
            media.append(&mut found);
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
        let list = match value {
            Value::Null => return Ok(Vec::new()),
            Value::Array(list) => list.as_slice(),
            one => std::slice::from_ref(one),
        };
        let mut media = Vec::new();
        for value in list {
            match value.get("contents").and_then(Value::as_array) {
                // Several under one name, as AIPerf has it.
                Some(contents) => {
                    let found = contents.iter().map(|value| self.one(value, medium, folder));
                    let found = found.collect::<Result<Vec<_>, _>>()?;
                    media.extend(match value.get("uuids").filter(|names| names.is_array()) {
                        Some(names) => named(found, names)?,
                        None => found,
                    });
                }
                None => media.push(self.one(value, medium, folder)?),
            }
            if media.len() > MEDIA_MAX as usize {
                return Err(format!("more than {MEDIA_MAX} media in one row"));
            }
        }
        Ok(media)
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
            return Ok(Arc::new(self.detailed(file::of_address(text, medium))));
        }
        if let Some(bytes) = file::data_url(text) {
            let made = bytes.and_then(|bytes| self.keep(bytes, medium));
            return made.map_err(|reason| format!("{}: {reason}", medium.word()));
        }
        if let Some(bytes) = file::prefixed(text) {
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
        let medium = file::of_bytes(file::read(path)?, kind, self.carry)?;
        self.hold(path, medium)
    }

    /// Keeps what a file is, under its path.
    fn hold(&mut self, path: &Path, medium: Medium) -> Result<Arc<Medium>, String> {
        let medium = self.keep_medium(medium)?;
        self.read.insert(path.to_owned(), medium.clone());
        Ok(medium)
    }

    fn keep(&mut self, bytes: Vec<u8>, kind: MediumKind) -> Result<Arc<Medium>, String> {
        self.keep_medium(file::of_bytes(bytes, kind, self.carry)?)
    }

    fn keep_medium(&mut self, medium: Medium) -> Result<Arc<Medium>, String> {
        self.bytes += medium.carried.bytes().map_or(0, |bytes| bytes.len() as u64);
        if self.bytes > KEPT_BYTES_MAX {
            return Err(format!(
                "all media together fill more than {} GiB of memory; take fewer items, or \
                 media_pool=N of them",
                KEPT_BYTES_MAX >> 30
            ));
        }
        Ok(Arc::new(self.detailed(medium)))
    }

    /// A medium of which is said how closely to look at it, if it is an image.
    fn detailed(&self, medium: Medium) -> Medium {
        let detail = self.detail.filter(|_| medium.kind == MediumKind::Image);
        Medium { detail, ..medium }
    }

    /// A medium with what its part says beside it, where the request says nothing else: how closely to
    /// look at an image, and the name under which a server knows it.
    pub(super) fn told(
        &self,
        medium: Arc<Medium>,
        part: &Value,
        value: &Value,
    ) -> Result<Arc<Medium>, String> {
        let text = |name: &str| value.get(name).or(part.get(name)).and_then(Value::as_str);
        let detail = match text("detail").filter(|_| medium.kind == MediumKind::Image) {
            Some(word) => Some(ImageDetail::from_word(word).ok_or_else(|| {
                let words = ImageDetail::ALL.map(ImageDetail::word).join(", ");
                format!("the detail '{word}' of an image is none of {words}")
            })?),
            None => None,
        };
        let detail = medium.detail.or(detail);
        let uuid = medium.uuid.clone().or(text("uuid").map(str::to_owned));
        match (detail, &uuid) {
            (None, None) => Ok(medium),
            _ => Ok(Arc::new(Medium { detail, uuid, ..Medium::clone(&medium) })),
        }
    }
}

/// Files of a kind in a folder, by their endings.
fn files_of(folder: &Path, kind: MediumKind) -> Result<Vec<PathBuf>, WorkloadError> {
    let read_error = |source| WorkloadError::Read { path: folder.to_owned(), source };
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(read_error)? {
        let path = entry.map_err(read_error)?.path();
        if is_of_kind(&path, kind) {
            paths.push(path);
        }
        if paths.len() > FILES_MAX {
            let reason = format!("holds more than {FILES_MAX} files; take a smaller folder");
            return Err(WorkloadError::File { file: file_name(folder), reason });
        }
    }
    Ok(paths)
}

/// Media with the names under which a server may know them. One whose data is missing goes by its name
/// alone.
///
/// # Errors
/// Names that are none, or not one for each.
fn named(media: Vec<Arc<Medium>>, names: &Value) -> Result<Vec<Arc<Medium>>, String> {
    let names = names.as_array().ok_or("'image_uuids' is no list of names")?;
    let names = names.iter().map(|name| name.as_str().filter(|name| !name.is_empty()));
    let names: Option<Vec<&str>> = names.collect();
    let names = names.ok_or("'image_uuids' has a name that is no text, or empty")?;
    if media.is_empty() {
        return Ok(names.iter().map(|it| Arc::new(file::of_name(it, MediumKind::Image))).collect());
    }
    if names.len() != media.len() {
        return Err(format!("{} names in 'image_uuids' for {} images", names.len(), media.len()));
    }
    let with_name = |(medium, name): (Arc<Medium>, &str)| {
        Arc::new(Medium { uuid: Some(name.to_owned()), ..Medium::clone(&medium) })
    };
    Ok(media.into_iter().zip(names).map(with_name).collect())
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

/// Whether a file's name ends as those of a kind do.
pub(super) fn is_of_kind(path: &Path, kind: MediumKind) -> bool {
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    endings(kind).contains(&ending.as_str())
}

/// Endings of files of a kind.
fn endings(kind: MediumKind) -> &'static [&'static str] {
    match kind {
        MediumKind::Image => &["jpg", "jpeg", "png", "webp", "gif"],
        MediumKind::Audio => &["wav", "mp3", "flac", "ogg", "opus", "m4a"],
        MediumKind::Video => &["mp4", "webm", "mov", "m4v", "mkv"],
    }
}
