//! Facts about the machine, read from the kernel: values that are not reported are absent.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs;

/// Kernel name and release: `Linux 6.18.44`.
pub fn os_release() -> String {
    let name = rustix::system::uname();
    format!("{} {}", name.sysname().to_string_lossy(), name.release().to_string_lossy())
}

/// The C library that this program calls, in words.
pub fn c_library() -> &'static str {
    match (cfg!(target_os = "linux"), cfg!(target_env = "musl")) {
        (true, true) => "musl, in the program: NVIDIA's library for GPU facts cannot be loaded",
        (true, false) => "glibc of the host",
        (false, _) => "that of the host",
    }
}

/// The processor's name.
pub fn cpu_name() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Memory of the machine, bytes.
pub fn memory_bytes() -> Option<u64> {
    memory_line("MemTotal:")
}

/// Memory that programs can still take without any being moved to disk, bytes, as the
/// kernel estimates it.
pub fn available_memory_bytes() -> Option<u64> {
    memory_line("MemAvailable:")
}

/// A line of `/proc/meminfo`, bytes.
fn memory_line(name: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

/// One-minute load average.
pub fn load_average() -> Option<f64> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// CPU time of the whole machine since boot, in clock ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuTicks {
    /// All ticks, idle ones among them.
    pub total: u64,
    /// Ticks that the hypervisor gave to another guest.
    pub stolen: u64,
}

impl CpuTicks {
    /// Reads the ticks.
    pub fn read() -> Option<CpuTicks> {
        CpuTicks::parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// Parses the first line of `/proc/stat`: user nice system idle iowait irq softirq steal
    /// guest guest_nice, where the last two are already part of user and nice.
    fn parse(text: &str) -> Option<CpuTicks> {
        let line = text.lines().next()?.strip_prefix("cpu ")?;
        let ticks: Vec<u64> =
            line.split_whitespace().take(8).map_while(|word| word.parse().ok()).collect();
        Some(CpuTicks { total: ticks.iter().sum(), stolen: *ticks.get(7)? })
    }

    /// Share of the time since `earlier` that was stolen, 0 to 1; absent when no tick passed.
    pub fn steal_share_since(self, earlier: CpuTicks) -> Option<f64> {
        let total = self.total.checked_sub(earlier.total).filter(|total| *total > 0)?;
        Some(self.stolen.saturating_sub(earlier.stolen) as f64 / total as f64)
    }
}

/// Raises the limit of open files as far as this process may, and returns the new limit;
/// `None` means no limit.
pub fn raise_open_files() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return limit.current;
    }
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    }
}

/// Columns of the terminal behind a stream of this process; absent if it is not a terminal.
pub fn terminal_columns(stream: impl std::os::fd::AsFd) -> Option<u16> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    Some(size.ws_col).filter(|columns| *columns > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_is_the_eighth_column() {
        let early = CpuTicks::parse("cpu  10 0 10 70 0 0 0 10 5 5\ncpu0 1\n").unwrap();
        assert_eq!(early, CpuTicks { total: 100, stolen: 10 });
        let late = CpuTicks { total: 200, stolen: 30 };
        assert_eq!(late.steal_share_since(early), Some(0.2));
        assert_eq!(early.steal_share_since(early), None);
        assert_eq!(CpuTicks::parse("cpu  1 2 3 4\n"), None);
    }

    #[test]
    fn open_files_can_be_raised_or_stay() {
        assert!(raise_open_files().is_none_or(|limit| limit >= 64));
        assert!(os_release().starts_with("Linux "));
    }
}
