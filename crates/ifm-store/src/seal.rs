//! Sealing: the journal becomes the final files of the run.
//!
//! The order makes a crash at any point harmless: final files are built next to their place, synced
//! and renamed; then the manifest names them; then the journal goes. Until the manifest names them,
//! the journal is the run. Rows stream through, so memory is bounded by one row group.

use crate::disk::{FileMaker, StorageFile, SummedWriter, discard, sync_folder, temporary_path};
use crate::error::StoreError;
use crate::journal::{JournalLoss, JournalReader, merge_series};
use crate::manifest_file::{tell_sums, write_manifest};
use crate::table::{RequestWriter, TableError, write_series};
use crate::{JOURNAL_FILE, REQUESTS_FILE, SERIES_FILE};
use ifm_core::manifest::{FileInfo, RunState};
use ifm_core::{Manifest, Series};
use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// A run that has just been sealed.
#[derive(Debug)]
pub struct SealedRun {
    /// Folder of the run.
    pub path: PathBuf,
    /// The manifest as stored.
    pub manifest: Manifest,
    /// Requests stored.
    pub requests: u64,
    /// Token events stored.
    pub events: u64,
    /// Bytes of the final files, without the manifest.
    pub bytes: u64,
    /// What the journal had lost, if anything.
    pub loss: Option<JournalLoss>,
}

/// Seals the run in `folder`. The caller holds the lock of the journal.
pub(crate) fn seal_folder<M: FileMaker>(
    files: &mut M,
    folder: &Path,
    mut manifest: Manifest,
    series: &[Series],
) -> Result<SealedRun, StoreError> {
    let journal_path = folder.join(JOURNAL_FILE);
    let kept = || {
        format!(
            "the run is not sealed, but every request in {} is safe: free space and seal it again",
            journal_path.display()
        )
    };
    let mut journal = JournalReader::open(&journal_path)?;
    let mut made = Vec::new();
    let built =
        build_file(files, folder, REQUESTS_FILE, &kept, |sink| write_requests(&mut journal, sink))?;
    let (requests, events) = built.outcome;
    let mut sums = vec![(REQUESTS_FILE, built.sum)];
    made.push(FileInfo { name: REQUESTS_FILE.to_string(), rows: requests, bytes: built.bytes });
    let loss = journal.loss();
    let mut all_series = journal.into_series();
    for more in series {
        merge_series(&mut all_series, more.clone());
    }
    if !all_series.is_empty() {
        let built = build_file(files, folder, SERIES_FILE, &kept, |sink| {
            Ok((write_series(sink, &all_series).map_err(BuildError::Table)?, ()))
        })?;
        sums.push((SERIES_FILE, built.sum));
        let rows = all_series.len() as u64;
        made.push(FileInfo { name: SERIES_FILE.to_string(), rows, bytes: built.bytes });
    }
    sync_folder(folder)?;
    if manifest.state == RunState::Open || loss.is_some() {
        manifest.state = RunState::Partial;
    }
    if let Some(loss) = loss {
        let reasons = manifest.stop_reason.into_iter().chain([loss.to_string()]);
        manifest.stop_reason = Some(reasons.collect::<Vec<_>>().join("; "));
    }
    let bytes = made.iter().map(|file| file.bytes).sum();
    tell_sums(&mut manifest, &sums);
    manifest.files = made;
    write_manifest(files, folder, &manifest)?;
    discard(&journal_path);
    Ok(SealedRun { path: folder.to_path_buf(), manifest, requests, events, bytes, loss })
}

/// A file that is in its final place, and what building it gave.
struct Built<T> {
    outcome: T,
    bytes: u64,
    sum: u32,
}

/// What can fail while a file is built: reading the journal, or writing the table.
enum BuildError {
    Store(StoreError),
    Table(TableError),
}

type Sink<F> = SummedWriter<BufWriter<F>>;

/// Bytes gathered before a write of a final file.
const SINK_BYTES: usize = 256 << 10;

/// Builds a file next to its place and renames it. After an error nothing of it is left.
fn build_file<M: FileMaker, T>(
    files: &mut M,
    folder: &Path,
    name: &str,
    kept: &dyn Fn() -> String,
    write: impl FnOnce(Sink<M::File>) -> Result<(Sink<M::File>, T), BuildError>,
) -> Result<Built<T>, StoreError> {
    let path = folder.join(name);
    let temporary = temporary_path(&path);
    let storage = |source| StoreError::from_io("write", &path, source, kept);
    let build = || {
        let file = files.make(&temporary).map_err(storage)?;
        let sink = SummedWriter::new(BufWriter::with_capacity(SINK_BYTES, file));
        let (sink, outcome) = write(sink).map_err(|error| match error {
            BuildError::Store(error) => error,
            BuildError::Table(error) => error.writing(&path, kept),
        })?;
        let (buffered, bytes, sum) = sink.finish();
        let mut file = buffered.into_inner().map_err(|error| storage(error.into_error()))?;
        file.sync().map_err(storage)?;
        drop(file);
        fs::rename(&temporary, &path).map_err(storage)?;
        Ok(Built { outcome, bytes, sum })
    };
    build().inspect_err(|_| discard(&temporary))
}

fn write_requests<W: Write + Send>(
    journal: &mut JournalReader,
    sink: W,
) -> Result<(W, (u64, u64)), BuildError> {
    let mut writer = RequestWriter::start(sink).map_err(BuildError::Table)?;
    while let Some(record) = journal.next_request().map_err(BuildError::Store)? {
        writer.add(record).map_err(BuildError::Table)?;
    }
    let (sink, rows, events) = writer.finish().map_err(BuildError::Table)?;
    Ok((sink, (rows, events)))
}
