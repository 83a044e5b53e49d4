//! The kernel's page cache: which parts of files are in memory, and dropping them from it.

use std::fs::File;
use std::io;
use std::path::Path;

/// Takes a file out of the cache, and says whether it is out: not where another process has it mapped,
/// or on a file system that keeps it. Needs no rights but to read it.
///
/// # Errors
/// The file cannot be opened, or the system does not know the call.
#[cfg(target_os = "linux")]
pub fn drop_file(path: &Path) -> io::Result<bool> {
    use rustix::fs::{Advice, fadvise};
    let file = File::open(path)?;
    // What is not on the disk yet stays in the cache. A file that cannot be written out was not written.
    let _ = file.sync_data();
    fadvise(&file, 0, None, Advice::DontNeed)?;
    let length = file.metadata()?.len();
    Ok(length == 0 || !is_cached(&file, length / 2)?)
}

/// Whether the byte at a place can be read without the disk.
#[cfg(target_os = "linux")]
fn is_cached(file: &File, offset: u64) -> io::Result<bool> {
    use rustix::io::{Errno, ReadWriteFlags, preadv2};
    use std::io::IoSliceMut;
    let mut byte = [0];
    match preadv2(file, &mut [IoSliceMut::new(&mut byte)], offset, ReadWriteFlags::NOWAIT) {
        Ok(bytes) => Ok(bytes > 0),
        Err(Errno::AGAIN) => Ok(false),
        // A file system without such reads: the advice has to suffice.
        Err(Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// No such call is known here.
///
/// # Errors
/// Always.
#[cfg(not(target_os = "linux"))]
pub fn drop_file(path: &Path) -> io::Result<bool> {
    File::open(path)?;
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_no_file_is_told() {
        assert!(super::drop_file(std::path::Path::new("/nowhere/at/all")).is_err());
        // Whether the file goes is up to the host; asking for it is up to us.
        assert!(super::drop_file(&std::env::current_exe().expect("a program")).is_ok());
    }
}
