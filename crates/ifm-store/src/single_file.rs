//! A run in one file, to be handed on: its requests as Parquet, with the manifest in the metadata
//! that Parquet keeps at the end of a file.
//!
//! The columns are copied as they are stored, byte for byte, and their checksum is in the metadata
//! next to the manifest, so that columns damaged in transit are detected before they are decoded.
//! The metadata itself has no checksum. Sampled series are not included.

use crate::REQUESTS_FILE;
use crate::disk::{SummedWriter, discard, open_file};
use crate::error::StoreError;
use crate::load::open_checked;
use crate::manifest_file::parse_manifest;
use crate::run_entry::RunEntry;
use crate::table::{RequestTable, TableError, read_metadata};
use crate::tags::read_tagged_manifest;
use ifm_core::order::Order as _;
use ifm_core::{Manifest, RequestRecord, RunData};
use parquet::errors::ParquetError;
use parquet::file::metadata::{FileMetaData, KeyValue, ParquetMetaData, ParquetMetaDataWriter};
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Name of the metadata that holds the manifest.
const MANIFEST_KEY: &str = "inferometer.manifest";
/// Name of the metadata that holds the CRC-32 of everything before the metadata.
const SUM_KEY: &str = "inferometer.columns_crc32";
/// First and last bytes of a Parquet file.
const MAGIC: &[u8] = b"PAR1";
/// Bytes at the end of a Parquet file: the length of its metadata and [`MAGIC`].
const TAIL_BYTES: u64 = 8;

/// Whether a file that begins with these bytes is Parquet.
pub fn is_parquet(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

/// Writes a sealed run as one file, in the place of any file at `out`.
///
/// # Errors
/// The run is not sealed or damaged, or the disk's; nothing is left at `out` then.
pub fn write_single_file(run: &RunEntry, out: &Path) -> Result<(), StoreError> {
    let manifest = read_tagged_manifest(&run.path)?;
    let stored = run.path.join(REQUESTS_FILE);
    let source = open_checked(&stored, &manifest, REQUESTS_FILE)?;
    let kept = || "the run is kept as it is: free space and retry".to_string();
    let sink = File::create(out).map_err(|error| StoreError::io("write", out, error))?;
    copy(source, &manifest, BufWriter::new(sink))
        .map_err(|error| error.writing(out, kept))
        .inspect_err(|_| discard(out))
}

/// Reads a run from one file; absent where a Parquet file holds none.
///
/// # Errors
/// The file is damaged or of another version, or the disk's.
pub fn read_single_file(path: &Path) -> Result<Option<RunData>, StoreError> {
    let mut file = open_file(path).map_err(|error| StoreError::io("open", path, error))?;
    let metadata = read_metadata(&file).map_err(|error| error.reading(path))?;
    let Some(manifest) = value(&metadata, MANIFEST_KEY) else { return Ok(None) };
    let manifest = parse_manifest(manifest.as_bytes(), path)?;
    let sum = columns_sum(&mut file).map_err(|error| StoreError::io("read", path, error))?;
    if value(&metadata, SUM_KEY) != Some(&format!("{sum:08x}")) {
        return Err(StoreError::damaged(path, "its checksum does not match the recorded one"));
    }
    let requests = requests(file).map_err(|error| error.reading(path))?;
    Ok(Some(RunData { manifest, requests, series: Vec::new() }))
}

/// Copies a table of requests and puts the manifest into its metadata.
fn copy(mut source: File, manifest: &Manifest, sink: impl Write) -> Result<(), TableError> {
    let metadata = read_metadata(&source)?;
    let mut summed = SummedWriter::new(sink);
    let mut columns = columns(&mut source).map_err(ParquetError::from)?;
    io::copy(&mut columns, &mut summed).map_err(ParquetError::from)?;
    let (mut sink, _, sum) = summed.finish();
    let manifest =
        serde_json::to_string(manifest).map_err(|error| TableError::Content(error.to_string()))?;
    let end = with_values(metadata, &[(MANIFEST_KEY, manifest), (SUM_KEY, format!("{sum:08x}"))])?;
    sink.write_all(&end).and_then(|()| sink.flush()).map_err(ParquetError::from)?;
    Ok(())
}

/// The end of a file: its metadata with these values in it.
fn with_values(
    metadata: ParquetMetaData,
    values: &[(&str, String)],
) -> Result<Vec<u8>, ParquetError> {
    let old = metadata.file_metadata();
    let mut all = old.key_value_metadata().cloned().unwrap_or_default();
    all.retain(|pair| values.iter().all(|(key, _)| pair.key != *key));
    all.extend(values.iter().map(|(key, value)| KeyValue::new((*key).to_string(), value.clone())));
    let file = FileMetaData::new(
        old.version(),
        old.num_rows(),
        old.created_by().map(str::to_string),
        Some(all),
        old.schema_descr_ptr(),
        old.column_orders().cloned(),
    );
    let metadata = ParquetMetaData::new(file, metadata.row_groups().to_vec());
    let mut end = Vec::new();
    ParquetMetaDataWriter::new(&mut end, &metadata).finish()?;
    Ok(end)
}

fn value<'a>(metadata: &'a ParquetMetaData, key: &str) -> Option<&'a String> {
    let values = metadata.file_metadata().key_value_metadata()?;
    values.iter().find(|pair| pair.key == key)?.value.as_ref()
}

/// Everything before the metadata of a file whose metadata could be read.
fn columns(file: &mut File) -> io::Result<impl Read + '_> {
    let bytes = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(bytes.saturating_sub(TAIL_BYTES)))?;
    let mut length = [0; 4];
    file.read_exact(&mut length)?;
    let metadata = TAIL_BYTES + u64::from(u32::from_le_bytes(length));
    file.seek(SeekFrom::Start(0))?;
    Ok(file.take(bytes.saturating_sub(metadata)))
}

fn columns_sum(file: &mut File) -> io::Result<u32> {
    let mut summed = SummedWriter::new(io::sink());
    io::copy(&mut columns(file)?, &mut summed)?;
    Ok(summed.finish().2)
}

/// All requests of a file, in the order of `seq`.
fn requests(file: File) -> Result<Vec<RequestRecord>, TableError> {
    let table = RequestTable::open(file)?;
    let mut requests = Vec::new();
    for group in 0..table.groups() {
        requests.append(&mut table.read_group(group)?);
    }
    requests.order_by_key(|record: &RequestRecord| record.seq);
    Ok(requests)
}
