//! Pages of memory, asked for together.

/// Shortest room that is asked for as a whole.
const LONG_BYTES: usize = 64 * 1024;

/// Makes room for `bytes` bytes and `more` that may follow, unless there is room already; asks for the
/// pages of long ones before they are written to.
///
/// The kernel gives memory page by page when it is first touched: some 3 µs each where this was measured, a
/// virtual machine, and half of that for pages that are asked for together (Linux 5.14). Elsewhere this is a
/// plain reserve.
pub fn make_room(buffer: &mut Vec<u8>, bytes: usize, more: usize) {
    let room = buffer.capacity() - buffer.len();
    if room >= bytes + more / 2 {
        return;
    }
    buffer.reserve_exact(bytes + more);
    if bytes >= LONG_BYTES {
        ask_for(buffer.spare_capacity_mut().get_mut(..bytes).unwrap_or_default());
    }
}

/// Has whole pages of a place ready; what is in them stays.
#[cfg(target_os = "linux")]
fn ask_for(place: &mut [std::mem::MaybeUninit<u8>]) {
    let page_bytes = page_bytes();
    let skipped = place.as_ptr().align_offset(page_bytes);
    let Some(whole) = place.get_mut(skipped..) else { return };
    let bytes = whole.len() / page_bytes * page_bytes;
    // SAFETY: the pages lie within memory that is borrowed here alone, and neither advice changes a byte of
    // it. A kernel that does not know one, or has no page, gives each when it is touched.
    unsafe {
        // Huge pages (2 MB) where possible: they are provided faster, and read faster.
        libc::madvise(whole.as_mut_ptr().cast(), bytes, libc::MADV_HUGEPAGE);
        libc::madvise(whole.as_mut_ptr().cast(), bytes, libc::MADV_POPULATE_WRITE);
    }
}

/// 4 kB, or 16 or 64 on some Arm machines.
#[cfg(target_os = "linux")]
fn page_bytes() -> usize {
    // SAFETY: sysconf touches no memory of this program.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).ok().filter(|bytes| bytes.is_power_of_two()).unwrap_or(64 * 1024)
}

#[cfg(not(target_os = "linux"))]
fn ask_for(_place: &mut [std::mem::MaybeUninit<u8>]) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_a_buffer_stays() {
        let mut buffer = b"head".to_vec();
        for bytes in [0, 1, LONG_BYTES - 1, LONG_BYTES, 40 * LONG_BYTES + 7] {
            make_room(&mut buffer, bytes, bytes / 9);
            assert!(buffer.capacity() >= buffer.len() + bytes);
            assert_eq!(buffer, b"head");
        }
    }

    /// Whether the kernel knows the call: Linux 5.14.
    #[cfg(target_os = "linux")]
    fn can_be_asked() -> bool {
        let system = rustix::system::uname();
        let release = system.release().to_string_lossy();
        let mut numbers = release.split(['.', '-']).map_while(|number| number.parse::<u32>().ok());
        (numbers.next(), numbers.next()) >= (Some(5), Some(14))
    }

    /// Pages of untouched memory are resident once the kernel was asked for them.
    #[cfg(target_os = "linux")]
    #[test]
    fn pages_are_there_before_they_are_written_to() {
        const BYTES: usize = 64 << 20;
        let resident = || {
            let pages = std::fs::read_to_string("/proc/self/statm").expect("an account");
            let pages: usize = pages.split(' ').nth(1).expect("a field").parse().expect("a number");
            pages * page_bytes()
        };
        let before = resident();
        let mut buffer = Vec::new();
        make_room(&mut buffer, BYTES, 0);
        let held = resident().saturating_sub(before);
        assert!(buffer.is_empty());
        assert_eq!(held > BYTES / 2, can_be_asked(), "{held} of {BYTES}");
    }
}
