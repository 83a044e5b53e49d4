//! Files, as the store needs them: whole or absent after a crash, locked while written, and
//! checked by a sum when read.
//!
//! Not here: any format.

use crate::error::StoreError;
use ifm_core::Manifest;
pub(crate) use ifm_core::regular::open_regular as open_file;
use rustix::fs::{FlockOperation, flock, statvfs};
use rustix::io::Errno;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Bytes moved at a time when a whole file passes through.
pub(crate) const COPY_BYTES: usize = 256 * 1024;

/// Room that a user has on the disk of a folder, bytes.
pub(crate) fn room_bytes(folder: &Path) -> Option<u64> {
    let disk = statvfs(folder).ok()?;
    disk.f_bavail.checked_mul(disk.f_frsize)
}

/// A file being written: what the store needs from it in addition to writing.
///
/// A trait, so that tests can put a disk that fills up in the place of a real one.
pub(crate) trait StorageFile: Write + Send {
    /// Cuts the file to `bytes`; later writes go on from there.
    fn truncate(&mut self, bytes: u64) -> io::Result<()>;
    /// Waits until the content is on the disk.
    fn sync(&mut self) -> io::Result<()>;
}

impl StorageFile for File {
    fn truncate(&mut self, bytes: u64) -> io::Result<()> {
        self.set_len(bytes)?;
        self.seek(SeekFrom::Start(bytes)).map(drop)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

/// Makes new files of a run folder.
pub(crate) trait FileMaker {
    /// The file made.
    type File: StorageFile;
    /// Makes an empty file at `path`, in the place of any file there.
    fn make(&mut self, path: &Path) -> io::Result<Self::File>;
}

/// Makes real files.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RealFiles {
    /// Whether only the user can read them. Otherwise the umask decides.
    pub(crate) private: bool,
}

impl RealFiles {
    /// Files that only the user can read.
    pub(crate) fn private() -> RealFiles {
        RealFiles { private: true }
    }

    /// The files of a run: private where it keeps the texts of answers.
    pub(crate) fn of_run(manifest: &Manifest) -> RealFiles {
        RealFiles { private: manifest.spec.keep_text }
    }

    /// How its files are opened to write them.
    pub(crate) fn options(self) -> OpenOptions {
        let mut options = OpenOptions::new();
        options.mode(if self.private { 0o600 } else { 0o666 });
        options
    }
}

/// Makes a folder that only the user can read, in folders of usual rights; one that is there stays as it is.
pub(crate) fn private_folder(path: &Path) -> Result<(), StoreError> {
    let made = path.parent().map_or(Ok(()), fs::create_dir_all);
    let made = made.and_then(|()| fs::DirBuilder::new().recursive(true).mode(0o700).create(path));
    made.map_err(|source| StoreError::io("create", path, source))
}

impl FileMaker for RealFiles {
    type File = File;

    fn make(&mut self, path: &Path) -> io::Result<File> {
        self.options().write(true).create(true).truncate(true).open(path)
    }
}

/// A writer that counts and sums what passes through it.
pub(crate) struct SummedWriter<W> {
    inner: W,
    sum: crc32fast::Hasher,
    bytes: u64,
}

impl<W: Write> SummedWriter<W> {
    pub(crate) fn new(inner: W) -> SummedWriter<W> {
        SummedWriter { inner, sum: crc32fast::Hasher::new(), bytes: 0 }
    }

    /// What was written to, the number of bytes and their CRC-32.
    pub(crate) fn finish(self) -> (W, u64, u32) {
        (self.inner, self.bytes, self.sum.finalize())
    }
}

impl<W: Write> Write for SummedWriter<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(buffer)?;
        self.sum.update(buffer.get(..written).unwrap_or(buffer));
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// The content of a file of at most `bytes_max` bytes.
pub(crate) fn read_file(path: &Path, bytes_max: u64) -> Result<Vec<u8>, StoreError> {
    let file = open_file(path).map_err(|source| StoreError::io("open", path, source))?;
    let mut content = Vec::new();
    file.take(bytes_max + 1)
        .read_to_end(&mut content)
        .map_err(|source| StoreError::io("read", path, source))?;
    if content.len() as u64 > bytes_max {
        let (size, unit) = if bytes_max < 1 << 20 { (10, "KiB") } else { (20, "MiB") };
        return Err(StoreError::damaged(path, format!("larger than {} {unit}", bytes_max >> size)));
    }
    Ok(content)
}

/// Puts `content` at `path`: after a crash the file holds the old content or the new, never a mix.
/// `kept` says what stays if storage is used up.
pub(crate) fn replace_file<M: FileMaker>(
    files: &mut M,
    path: &Path,
    content: &[u8],
    kept: &str,
) -> Result<(), StoreError> {
    let temporary = temporary_path(path);
    let mut write = || -> io::Result<()> {
        let mut file = files.make(&temporary)?;
        file.write_all(content)?;
        file.sync()?;
        drop(file);
        fs::rename(&temporary, path)
    };
    write().map_err(|source| {
        discard(&temporary);
        StoreError::from_io("write", path, source, || kept.to_string())
    })?;
    sync_parent(path)
}

/// Where a file is built before it takes its place: in the same folder, hidden, and named after
/// this process, so that two processes do not share one.
pub(crate) fn temporary_path(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}

/// Removes a file that is of no use any more. Failing to is harmless: it is hidden and never read.
pub(crate) fn discard(path: &Path) {
    let _ = fs::remove_file(path);
}

/// Waits until the names in the folder of `path` are on the disk.
pub(crate) fn sync_parent(path: &Path) -> Result<(), StoreError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    sync_folder(folder)
}

/// Waits until the names in `folder` are on the disk.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), StoreError> {
    File::open(folder)
        .and_then(|handle| handle.sync_all())
        .map_err(|source| StoreError::io("sync", folder, source))
}

/// What came of asking for a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LockOutcome {
    /// The lock is held until the file is closed.
    Held,
    /// Another open file, as a rule of another process, holds a lock in the way.
    Busy,
    /// The file system has no locks.
    Unsupported,
}

/// Asks for the exclusive lock of `file`, without waiting.
pub(crate) fn lock_exclusive(file: &File, path: &Path) -> Result<LockOutcome, StoreError> {
    lock(file, path, FlockOperation::NonBlockingLockExclusive)
}

/// Asks for a shared lock of `file`, without waiting: refused while a writer holds its own.
pub(crate) fn lock_shared(file: &File, path: &Path) -> Result<LockOutcome, StoreError> {
    lock(file, path, FlockOperation::NonBlockingLockShared)
}

fn lock(file: &File, path: &Path, operation: FlockOperation) -> Result<LockOutcome, StoreError> {
    loop {
        match flock(file, operation) {
            Ok(()) => return Ok(LockOutcome::Held),
            Err(Errno::WOULDBLOCK) => return Ok(LockOutcome::Busy),
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::NOLCK | Errno::INVAL) => {
                return Ok(LockOutcome::Unsupported);
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(StoreError::io("lock", path, error.into())),
        }
    }
}

#[cfg(test)]
pub(crate) mod test_disks {
    //! Disks that fill up.

    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Storage shared by several files, in bytes that are left.
    #[derive(Clone)]
    pub(crate) struct SmallDisk(pub(crate) Arc<AtomicU64>);

    impl SmallDisk {
        pub(crate) fn with_bytes(bytes: u64) -> SmallDisk {
            SmallDisk(Arc::new(AtomicU64::new(bytes)))
        }

        pub(crate) fn free(&self, bytes: u64) {
            self.0.fetch_add(bytes, Ordering::SeqCst);
        }

        pub(crate) fn file(&self, file: File) -> SmallDiskFile {
            SmallDiskFile { file, disk: self.clone() }
        }
    }

    /// A real file on a disk that fills up. A write that finds some room writes a part, as real
    /// ones do.
    pub(crate) struct SmallDiskFile {
        file: File,
        disk: SmallDisk,
    }

    impl Write for SmallDiskFile {
        fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
            let left = self.disk.0.load(Ordering::SeqCst);
            if left == 0 && !buffer.is_empty() {
                return Err(io::ErrorKind::StorageFull.into());
            }
            let part = buffer.len().min(left as usize);
            let written = self.file.write(&buffer[..part])?;
            self.disk.0.fetch_sub(written as u64, Ordering::SeqCst);
            Ok(written)
        }

        fn flush(&mut self) -> io::Result<()> {
            self.file.flush()
        }
    }

    impl StorageFile for SmallDiskFile {
        fn truncate(&mut self, bytes: u64) -> io::Result<()> {
            self.file.truncate(bytes)
        }

        fn sync(&mut self) -> io::Result<()> {
            self.file.sync()
        }
    }

    impl FileMaker for SmallDisk {
        type File = SmallDiskFile;

        fn make(&mut self, path: &Path) -> io::Result<SmallDiskFile> {
            Ok(self.file(File::create(path)?))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::test_disks::SmallDisk;
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("head");
        replace_file(&mut RealFiles::default(), &path, b"old", "").unwrap();
        let mut disk = SmallDisk::with_bytes(5);
        let error = replace_file(&mut disk, &path, b"newer", "the old one is kept");
        assert!(error.is_ok());
        let error = replace_file(&mut disk, &path, b"newest", "the old one is kept").unwrap_err();
        assert!(error.is_storage_full());
        assert!(error.to_string().ends_with("head: the old one is kept"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"newer");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn writers_count_and_sum() {
        let mut writer = SummedWriter::new(Vec::new());
        writer.write_all(b"12345").unwrap();
        writer.write_all(b"6789").unwrap();
        assert_eq!(writer.finish(), (b"123456789".to_vec(), 9, 0xcbf4_3926));
    }

    #[test]
    fn a_pipe_in_the_place_of_a_file_is_an_error_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("manifest.json");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).unwrap();
        assert_eq!(open_file(&pipe).unwrap_err().to_string(), "it is not a regular file");
        assert!(open_file(Path::new("/dev/zero")).is_err());
        assert!(read_file(&pipe, 10).is_err());
    }

    #[test]
    fn a_file_over_its_bound_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, [b' '; 2049]).unwrap();
        assert_eq!(read_file(&path, 2049).unwrap().len(), 2049);
        let error = read_file(&path, 2048).unwrap_err().to_string();
        assert!(error.contains("larger than 2 KiB"), "{error}");
    }

    #[test]
    fn two_open_files_do_not_share_the_exclusive_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("locked");
        let first = File::create(&path).unwrap();
        let second = File::open(&path).unwrap();
        assert_eq!(lock_exclusive(&first, &path).unwrap(), LockOutcome::Held);
        assert_eq!(lock_shared(&second, &path).unwrap(), LockOutcome::Busy);
        drop(first);
        assert_eq!(lock_shared(&second, &path).unwrap(), LockOutcome::Held);
    }
}
