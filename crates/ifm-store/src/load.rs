//! Reading a run back, sealed or not.
//!
//! A sealed run is checked before it is decoded: each file must have the size and the CRC-32
//! recorded in the manifest. An unsealed run is read from its journal, as far as that is whole.

use crate::disk::{SummedWriter, open_file};
use crate::error::StoreError;
use crate::journal::{JournalLoss, JournalReader};
use crate::manifest_file::{is_sealed, told_sum};
use crate::table::{GROUP_EVENTS, GROUP_REQUESTS, RequestTable, read_series};
use crate::tags::read_tagged_manifest;
use crate::{JOURNAL_FILE, REQUESTS_FILE, SERIES_FILE};
use ifm_core::order::Order as _;
use ifm_core::{Manifest, RequestRecord, RunData, Series};
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::path::{Path, PathBuf};

/// A run in memory, and what could not be read of it.
#[derive(Debug)]
pub struct LoadedRun {
    /// The run, its requests in the order of `seq`.
    pub data: RunData,
    /// What the journal of an unsealed run had lost. While a live process writes it, the last
    /// bytes may be a record on its way rather than a loss.
    pub loss: Option<JournalLoss>,
}

/// Loads the run in `folder`.
pub(crate) fn load_run(folder: &Path) -> Result<LoadedRun, StoreError> {
    let (manifest, mut batches) = open_batches(folder)?;
    let mut requests = Vec::new();
    for batch in batches.by_ref() {
        requests.append(&mut batch?);
    }
    requests.order_by_key(|record: &RequestRecord| record.seq);
    let loss = batches.loss();
    let series = match batches.source {
        Source::Journal { reader, .. } => reader.into_series(),
        Source::Table { .. } => load_series(folder, &manifest)?,
    };
    Ok(LoadedRun { data: RunData { manifest, requests, series }, loss })
}

/// The requests of a run, some thousands at a time, in the order in which they finished.
///
/// Memory is bounded by one batch: up to 16 Ki requests or 256 Ki token events. After an error the
/// iterator ends.
pub struct RequestBatches {
    source: Source,
    path: PathBuf,
    ended: bool,
}

enum Source {
    Table { table: RequestTable, next_group: usize },
    Journal { reader: JournalReader },
}

impl RequestBatches {
    /// What the journal of an unsealed run had lost; complete once the last batch was read.
    pub fn loss(&self) -> Option<JournalLoss> {
        match &self.source {
            Source::Table { .. } => None,
            Source::Journal { reader } => reader.loss(),
        }
    }

    fn next_batch(&mut self) -> Result<Option<Vec<RequestRecord>>, StoreError> {
        match &mut self.source {
            Source::Table { table, next_group } if *next_group < table.groups() => {
                let batch = table.read_group(*next_group);
                *next_group += 1;
                batch.map(Some).map_err(|error| error.reading(&self.path))
            }
            Source::Table { .. } => Ok(None),
            Source::Journal { reader } => {
                let mut batch = Vec::new();
                let mut events = 0;
                while batch.len() < GROUP_REQUESTS && events < GROUP_EVENTS {
                    let Some(record) = reader.next_request()? else { break };
                    events += record.events.len();
                    batch.push(record);
                }
                Ok(Some(batch).filter(|batch| !batch.is_empty()))
            }
        }
    }
}

impl Iterator for RequestBatches {
    type Item = Result<Vec<RequestRecord>, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let batch = self.next_batch().transpose();
        self.ended = !matches!(batch, Some(Ok(_)));
        batch
    }
}

/// The manifest of a run and its requests. The manifest is read anew, since the run may have been
/// sealed since it was listed.
pub(crate) fn open_batches(folder: &Path) -> Result<(Manifest, RequestBatches), StoreError> {
    let mut manifest = read_tagged_manifest(folder)?;
    if !is_sealed(&manifest) {
        let path = folder.join(JOURNAL_FILE);
        match JournalReader::open(&path) {
            Ok(reader) => {
                let source = Source::Journal { reader };
                return Ok((manifest, RequestBatches { source, path, ended: false }));
            }
            Err(error) => {
                // Sealed between the two reads: the journal is gone, and the manifest is another.
                manifest = read_tagged_manifest(folder)?;
                if !is_missing(&error) || !is_sealed(&manifest) {
                    return Err(error);
                }
            }
        }
    }
    let path = folder.join(REQUESTS_FILE);
    let file = open_checked(&path, &manifest, REQUESTS_FILE)?;
    let table = RequestTable::open(file).map_err(|error| error.reading(&path))?;
    let source = Source::Table { table, next_group: 0 };
    Ok((manifest, RequestBatches { source, path, ended: false }))
}

fn is_missing(error: &StoreError) -> bool {
    matches!(error, StoreError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
}

fn load_series(folder: &Path, manifest: &Manifest) -> Result<Vec<Series>, StoreError> {
    if !manifest.files.iter().any(|file| file.name == SERIES_FILE) {
        return Ok(Vec::new());
    }
    let path = folder.join(SERIES_FILE);
    let file = open_checked(&path, manifest, SERIES_FILE)?;
    read_series(file).map_err(|error| error.reading(&path))
}

/// Opens a file after checking its size and checksum against the manifest.
pub(crate) fn open_checked(
    path: &Path,
    manifest: &Manifest,
    name: &str,
) -> Result<File, StoreError> {
    let told = manifest.files.iter().find(|file| file.name == name);
    let (Some(told), Some(told_sum)) = (told, told_sum(manifest, name)) else {
        let detail = "the manifest has no size and checksum for it";
        return Err(StoreError::damaged(path, detail));
    };
    let mut file = open_file(path).map_err(|source| StoreError::io("open", path, source))?;
    let unreadable = |source| StoreError::io("read", path, source);
    let bytes = file.metadata().map_err(unreadable)?.len();
    if bytes != told.bytes {
        let detail = format!("it has {bytes} bytes, but the manifest says {}", told.bytes);
        return Err(StoreError::damaged(path, detail));
    }
    let mut summed = SummedWriter::new(io::sink());
    io::copy(&mut file.by_ref().take(bytes), &mut summed).map_err(unreadable)?;
    if summed.finish().2 != told_sum {
        return Err(StoreError::damaged(path, "its checksum is not the one in the manifest"));
    }
    file.rewind().map_err(unreadable)?;
    Ok(file)
}
