//! Files of other tools on their way in: streamed to the readers, kept in the store.
//!
//! A file goes to its reader in pieces as it arrives and is never held as a whole. Not here: what
//! is said about what was read (`page::document`).

use crate::app::{App, aside};
use crate::failure::Failure;
use crate::guard::CSRF_FIELD;
use crate::time;
use axum::body::Bytes;
use axum::extract::Multipart;
use axum::extract::multipart::{Field, MultipartError};
use axum::http::StatusCode;
use ifm_core::Sheet;
use ifm_core::sheet::SHEET_VERSION;
use ifm_interop::{ImportError, Input, read};
use ifm_report::plain;
use ifm_store::{Import, NAME_LENGTH_MAX, new_run_id};
use std::io::{self, Read};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Largest request with files, bytes.
pub(crate) const BODY_BYTES_MAX: usize = 64 << 20;
/// Files of one import.
const FILES_MAX: usize = 200;
/// Pieces of a file that wait for its reader.
const PIECES_MAX: usize = 16;
/// Longest name of a file that is kept, characters.
const FILE_NAME_MAX: usize = 200;

/// A file that could not be read, in the words of the command line.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) sentence: String,
    pub(crate) hints: Vec<String>,
}

/// What came of some files.
#[derive(Debug)]
pub(crate) struct Imported {
    /// What was kept; absent where nothing could be read.
    pub(crate) kept: Option<Import>,
    pub(crate) refused: Vec<Refused>,
}

/// What a field says. Pages are sent in UTF-8: the decoders of all other encodings stay out of the program.
async fn words(field: Field<'_>) -> Result<String, Failure> {
    let bytes = field.bytes().await.map_err(broken)?;
    String::from_utf8(bytes.into()).map_err(|_| Failure::bad("a field of the form is not UTF-8"))
}

/// Reads and keeps the files of a form; `is_ours` where a header said so already.
pub(crate) async fn gather(
    app: &Arc<App>,
    mut form: Multipart,
    mut is_ours: bool,
) -> Result<Imported, Failure> {
    let mut sheets = Vec::new();
    let mut refused = Vec::new();
    let mut name = None;
    while let Some(field) = form.next_field().await.map_err(broken)? {
        match field.name() {
            Some(CSRF_FIELD) => {
                app.guard.check_csrf(words(field).await.ok().as_deref())?;
                is_ours = true;
            }
            _ if !is_ours => app.guard.check_csrf(None)?,
            Some("name") => {
                let text = words(field).await?;
                name = Some(text.trim().to_owned()).filter(|text| !text.is_empty());
                if text.chars().count() > NAME_LENGTH_MAX {
                    let sentence = format!("a name has at most {NAME_LENGTH_MAX} characters");
                    return Err(Failure::bad(sentence));
                }
            }
            Some("file") if field.file_name().is_some_and(|name| !name.is_empty()) => {
                if sheets.len() + refused.len() >= FILES_MAX {
                    let sentence = format!("an import has at most {FILES_MAX} files");
                    return Err(Failure::bad(sentence));
                }
                match read_field(field).await? {
                    Ok(sheet) => sheets.push(sheet),
                    Err(error) => refused.push(Refused {
                        sentence: plain(&error.to_string()),
                        hints: error.hints().iter().map(|hint| plain(hint)).collect(),
                    }),
                }
            }
            _ => {}
        }
    }
    if sheets.is_empty() && refused.is_empty() {
        return Err(Failure::bad("no file was chosen"));
    }
    if sheets.is_empty() {
        return Ok(Imported { kept: None, refused });
    }
    ifm_interop::settle_together(&mut sheets);
    let kept = aside(app, move |app| keep(app, name, sheets)).await?;
    Ok(Imported { kept: Some(kept), refused })
}

fn keep(app: &App, name: Option<String>, sheets: Vec<Sheet>) -> Result<Import, Failure> {
    let mut chance = [0; 2];
    // An id that is taken is told by the store; chance only makes that rare.
    let _ = getrandom::fill(&mut chance);
    let import = Import {
        sheet_version: SHEET_VERSION,
        id: new_run_id(time::now_unix_ns(), u16::from_le_bytes(chance)),
        name,
        tool_version: app.version.clone(),
        plan: None,
        sheets,
    };
    app.store.keep_import(&import)?;
    Ok(import)
}

/// Hands a file to its reader piece by piece, as fast as that takes them.
async fn read_field(mut field: Field<'_>) -> Result<Result<Sheet, ImportError>, Failure> {
    let name: String =
        plain(field.file_name().unwrap_or("file")).chars().take(FILE_NAME_MAX).collect();
    let (sender, receiver) = mpsc::channel(PIECES_MAX);
    let pieces = Pieces { receiver, piece: Bytes::new() };
    let reading = tokio::task::spawn_blocking(move || read(Input::new(name, pieces)));
    let mut failure = None;
    loop {
        let piece = match field.chunk().await {
            Ok(None) => break,
            Ok(Some(piece)) => Ok(piece),
            Err(error) => {
                failure = Some(broken(error));
                Err(io::Error::from(io::ErrorKind::UnexpectedEof))
            }
        };
        // A reader that has what it needs, or gave up, takes no more; the rest is passed over.
        let _ = sender.send(piece).await;
        if failure.is_some() {
            break;
        }
    }
    drop(sender);
    let read = reading.await.map_err(|_| {
        Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "this is a bug of inferometer")
    })?;
    failure.map_or(Ok(read), Err)
}

fn broken(error: MultipartError) -> Failure {
    match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Failure::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!(
                "the files are larger than {} MiB together: read them with inferometer import",
                BODY_BYTES_MAX >> 20
            ),
        ),
        status => Failure::new(status, plain(&error.body_text())),
    }
}

/// The pieces of a file, read as one.
struct Pieces {
    receiver: mpsc::Receiver<io::Result<Bytes>>,
    piece: Bytes,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            match self.receiver.blocking_recv() {
                Some(piece) => self.piece = piece?,
                None => return Ok(0),
            }
        }
        let some = self.piece.split_to(self.piece.len().min(buffer.len()));
        let (front, _) = buffer.split_at_mut(some.len());
        front.copy_from_slice(&some);
        Ok(some.len())
    }
}
