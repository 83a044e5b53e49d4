//! The host as its kernel reports it: processors, memory, container and limits, virtual machine, and
//! whether the processor protects this system.
//!
//! Everything is read below a root, which is `/` except in tests. What is not reported is absent.

use crate::sysfs::{entries, number, text};
use ifm_core::facts::{Container, Cpu, Host};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Where the kernel's trees are.
pub const ROOT: &str = "/";

/// Reads the host.
pub fn read(root: &Path) -> Host {
    let cpuinfo = whole(root, "proc/cpuinfo").unwrap_or_default();
    Host {
        cpu: Some(cpu(root, &cpuinfo)).filter(|cpu| *cpu != Cpu::default()),
        memory_bytes: memory_bytes(root),
        kernel: kernel(root),
        distribution: distribution(root),
        container: container(root),
        load_average: text(&root.join("proc/loadavg"))
            .and_then(|text| text.split_whitespace().next()?.parse().ok()),
        hypervisor: hypervisor(root, &cpuinfo),
        clock_source: text(
            &root.join("sys/devices/system/clocksource/clocksource0/current_clocksource"),
        ),
    }
}

/// `TDX` or `SEV-SNP` where this system is a guest that the processor protects. Its flags alone mean a
/// guest only inside a virtual machine: a host has them too.
pub fn confidential_guest(root: &Path) -> Option<String> {
    let cpuinfo = whole(root, "proc/cpuinfo").unwrap_or_default();
    let flags = flags(&cpuinfo);
    let is_there = |paths: &[&str]| paths.iter().any(|path| root.join(path).exists());
    let is_tdx = is_there(&["sys/devices/virtual/misc/tdx_guest", "dev/tdx_guest"])
        || flags.contains("tdx_guest");
    let is_snp = is_there(&["dev/sev-guest", "sys/devices/virtual/misc/sev-guest"])
        || (flags.contains("sev_snp") && flags.contains("hypervisor"));
    let found = if is_tdx { Some("TDX") } else { is_snp.then_some("SEV-SNP") };
    found.map(str::to_owned)
}

/// A file of any length.
fn whole(root: &Path, path: &str) -> Option<String> {
    fs::read_to_string(root.join(path)).ok()
}

fn flags(cpuinfo: &str) -> BTreeSet<&str> {
    let line = cpuinfo.lines().find(|line| line.starts_with("flags"));
    line.and_then(|line| line.split_once(':'))
        .map_or_else(BTreeSet::new, |(_, flags)| flags.split_whitespace().collect())
}

fn cpu(root: &Path, cpuinfo: &str) -> Cpu {
    let values = |name: &str| -> Vec<&str> {
        let named = cpuinfo.lines().filter_map(|line| line.split_once(':'));
        named.filter(|(key, _)| key.trim() == name).map(|(_, value)| value.trim()).collect()
    };
    let count = |n: usize| u32::try_from(n).ok().filter(|n| *n > 0);
    let distinct = |values: &[(&str, &str)]| count(values.iter().collect::<BTreeSet<_>>().len());
    let (sockets, cores) = (values("physical id"), values("core id"));
    let places: Vec<(&str, &str)> = sockets.iter().copied().zip(cores).collect();
    let of_sockets: Vec<(&str, &str)> = sockets.iter().map(|socket| (*socket, "")).collect();
    let system = root.join("sys/devices/system");
    let processors = entries(&system.join("cpu"), |name| is_numbered(name, "cpu"));
    let governors: BTreeSet<String> = processors
        .iter()
        .filter_map(|processor| text(&processor.join("cpufreq/scaling_governor")))
        .collect();
    // Kilohertz; processors of two kinds have two ranges.
    let frequencies = |file: &str| -> Vec<f64> {
        let all = processors.iter().map(|processor| processor.join("cpufreq").join(file));
        all.filter_map(|path| number(&path)).map(|khz| khz / 1e3).collect()
    };
    let nodes = entries(&system.join("node"), |name| is_numbered(name, "node"));
    let mitigations = entries(&system.join("cpu/vulnerabilities"), |_| true);
    let mitigations: BTreeMap<String, String> = mitigations
        .iter()
        .filter_map(|path| Some((path.file_name()?.to_str()?.to_owned(), text(path)?)))
        .collect();
    Cpu {
        name: values("model name").first().map(|name| (*name).to_owned()),
        sockets: distinct(&of_sockets),
        cores: distinct(&places),
        threads: count(values("processor").len()),
        governor: (!governors.is_empty())
            .then(|| governors.into_iter().collect::<Vec<_>>().join(", ")),
        frequency_min_mhz: frequencies("scaling_min_freq").into_iter().reduce(f64::min),
        frequency_max_mhz: frequencies("scaling_max_freq").into_iter().reduce(f64::max),
        numa_nodes: count(nodes.len()),
        mitigations,
    }
}

/// Whether a name is a word and a number: `cpu12`.
fn is_numbered(name: &str, word: &str) -> bool {
    let digits = name.strip_prefix(word).unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn memory_bytes(root: &Path) -> Option<u64> {
    let meminfo = whole(root, "proc/meminfo")?;
    let line = meminfo.lines().find(|line| line.starts_with("MemTotal:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

/// Memory that was moved to disk, bytes: 0 where there is no swap.
pub fn swapped_bytes(root: &Path) -> Option<u64> {
    let meminfo = whole(root, "proc/meminfo")?;
    let kib = |name: &str| -> Option<u64> {
        let line = meminfo.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse().ok()
    };
    Some(kib("SwapTotal:")?.saturating_sub(kib("SwapFree:")?) * 1024)
}

fn kernel(root: &Path) -> Option<String> {
    let name = text(&root.join("proc/sys/kernel/ostype")).unwrap_or_else(|| "Linux".to_owned());
    Some(format!("{name} {}", text(&root.join("proc/sys/kernel/osrelease"))?))
}

fn distribution(root: &Path) -> Option<String> {
    let release = whole(root, "etc/os-release")?;
    let line = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(line.trim().trim_matches(['"', '\'']).to_owned()).filter(|name| !name.is_empty())
}

/// The hypervisor's name if the firmware reports one: processors only show that there is one.
fn hypervisor(root: &Path, cpuinfo: &str) -> Option<String> {
    let firmware = root.join("sys/class/dmi/id");
    let named = [firmware.join("product_name"), firmware.join("sys_vendor")];
    let named = || named.iter().filter_map(|path| text(path)).find(|name| !name.is_empty());
    if let Some(kind) = text(&root.join("sys/hypervisor/type")) {
        return Some(kind);
    }
    match flags(cpuinfo) {
        flags if flags.contains("hypervisor") => Some(named().unwrap_or("not named".to_owned())),
        flags if flags.is_empty() => None,
        _ => Some("none".to_owned()),
    }
}

/// Marks of the kinds of containers: files, and words in the names of control groups.
const CONTAINERS: [(&str, &[&str], &[&str]); 3] = [
    ("kubernetes", &["run/secrets/kubernetes.io", "var/run/secrets/kubernetes.io"], &["kubepods"]),
    ("podman", &["run/.containerenv"], &["libpod"]),
    ("docker", &[".dockerenv"], &["docker"]),
];
/// Words of other containers.
const OTHER: [&str; 3] = ["lxc", "containerd", "machine.slice"];

fn container(root: &Path) -> Option<Container> {
    let groups = whole(root, "proc/self/cgroup")?;
    let is_marked = |(_, files, words): &&(&str, &[&str], &[&str])| {
        files.iter().any(|file| root.join(file).exists())
            || words.iter().any(|word| groups.contains(word))
    };
    let other = || OTHER.iter().any(|word| groups.contains(word)).then_some("container");
    let kind = CONTAINERS.iter().find(is_marked).map(|(kind, ..)| *kind);
    let kind = kind.or_else(other).unwrap_or("none");
    Some(Container {
        kind: Some(kind.to_owned()),
        cpus: cpus_max(root, &groups),
        memory_bytes: memory_max(root, &groups),
    })
}

/// What `of` finds in the folders of a control group, the innermost first; the second version has one tree
/// without a controller's name. In a container the tree may begin at the group itself.
fn in_groups<T>(
    root: &Path,
    groups: &str,
    controller: &str,
    of: impl Fn(&Path) -> Option<T>,
) -> Vec<T> {
    let tree = root.join("sys/fs/cgroup");
    let mut found = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(names), Some(path)) = (parts.next(), parts.next()) else { continue };
        let base = match names {
            "" => tree.clone(),
            _ if names.split(',').any(|name| name == controller) => {
                let joined = tree.join(names);
                if joined.exists() { joined } else { tree.join(controller) }
            }
            _ => continue,
        };
        let mut path = Path::new(path.trim_start_matches('/'));
        loop {
            found.extend(of(&base.join(path)));
            match path.parent() {
                Some(outer) => path = outer,
                None => break,
            }
        }
    }
    found
}

fn cpus_max(root: &Path, groups: &str) -> Option<f64> {
    let share = |quota: &str, period: &str| {
        let (quota, period) = (quota.parse::<f64>().ok()?, period.parse::<f64>().ok()?);
        (quota > 0.0 && period > 0.0).then(|| quota / period)
    };
    let limits = in_groups(root, groups, "cpu", |folder| {
        match text(&folder.join("cpu.max")) {
            // "max 100000" is no limit.
            Some(words) => words.split_once(' ').and_then(|(quota, period)| share(quota, period)),
            None => share(
                &text(&folder.join("cpu.cfs_quota_us"))?,
                &text(&folder.join("cpu.cfs_period_us"))?,
            ),
        }
    });
    limits.into_iter().reduce(f64::min)
}

fn memory_max(root: &Path, groups: &str) -> Option<u64> {
    let limits = in_groups(root, groups, "memory", |folder| {
        let files = ["memory.max", "memory.limit_in_bytes"];
        let bytes = files.iter().find_map(|file| text(&folder.join(file)))?;
        // The first version writes "no limit" as the largest number of pages.
        bytes.parse::<u64>().ok().filter(|bytes| *bytes < i64::MAX as u64 / 4096 * 4096)
    });
    limits.into_iter().min()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree of files.
    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        root
    }

    fn processors(flags: &str) -> String {
        let one = |processor, socket, core| {
            format!(
                "processor\t: {processor}\nmodel name\t: CPU X 9\nphysical id\t: {socket}\n\
                 core id\t\t: {core}\nflags\t\t: fpu {flags}\n\n"
            )
        };
        // Two sockets with one core each, whose two threads are processors.
        [one(0, 0, 0), one(1, 0, 0), one(2, 1, 0), one(3, 1, 0)].concat()
    }

    #[test]
    fn a_host_is_read() {
        let cpuinfo = processors("");
        let root = tree(&[
            ("proc/cpuinfo", &cpuinfo),
            ("proc/meminfo", "MemTotal:  1024 kB\nMemFree: 1 kB\n"),
            ("proc/sys/kernel/osrelease", "6.1.0\n"),
            ("proc/loadavg", "0.50 0.40 0.30 1/2 3\n"),
            ("etc/os-release", "ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n"),
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
            ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n"),
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_min_freq", "800000\n"),
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq", "3500000\n"),
            ("sys/devices/system/cpu/cpu1/cpufreq/scaling_max_freq", "2500000\n"),
            ("sys/devices/system/cpu/cpuidle/x", ""),
            ("sys/devices/system/cpu/vulnerabilities/meltdown", "Not affected\n"),
            ("sys/devices/system/node/node0/x", ""),
            ("sys/devices/system/node/node1/x", ""),
            ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
        ]);
        let host = read(root.path());
        let cpu = host.cpu.expect("a processor");
        assert_eq!(cpu.name.as_deref(), Some("CPU X 9"));
        assert_eq!((cpu.sockets, cpu.cores, cpu.threads), (Some(2), Some(2), Some(4)));
        assert_eq!(cpu.governor.as_deref(), Some("performance, powersave"));
        assert_eq!((cpu.frequency_min_mhz, cpu.frequency_max_mhz), (Some(800.0), Some(3500.0)));
        assert_eq!(cpu.numa_nodes, Some(2));
        assert_eq!(cpu.mitigations["meltdown"], "Not affected");
        assert_eq!((host.memory_bytes, host.load_average), (Some(1 << 20), Some(0.5)));
        assert_eq!(host.kernel.as_deref(), Some("Linux 6.1.0"));
        assert_eq!(host.distribution.as_deref(), Some("Debian GNU/Linux 12"));
        assert_eq!(host.hypervisor.as_deref(), Some("none"));
        assert_eq!(host.clock_source.as_deref(), Some("tsc"));
        assert_eq!(host.container, None, "no file reports a container");
    }

    #[test]
    fn what_is_not_reported_is_absent() {
        let root = tree(&[("proc/x", "")]);
        assert_eq!(read(root.path()), Host::default());
        assert_eq!(confidential_guest(root.path()), None);
    }

    #[test]
    fn containers_and_their_limits_are_found() {
        let container = |files: &[(&str, &str)]| {
            let found = read(tree(files).path()).container.expect("a container");
            (found.kind.expect("a kind"), found.cpus, found.memory_bytes)
        };
        let second = ("proc/self/cgroup", "0::/a/b\n");
        let max = ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
        let outer = ("sys/fs/cgroup/a/cpu.max", "150000 100000\n");
        let memory = ("sys/fs/cgroup/a/b/memory.max", "1048576\n");
        let none = |kind: &str| (kind.to_owned(), None, None);
        assert_eq!(container(&[second]), none("none"));
        assert_eq!(
            container(&[second, max, outer, memory, (".dockerenv", "")]),
            ("docker".to_owned(), Some(1.5), Some(1 << 20))
        );
        assert_eq!(container(&[second, ("run/.containerenv", "")]), none("podman"));
        let pod = ("proc/self/cgroup", "0::/kubepods.slice/x\n");
        assert_eq!(container(&[pod, (".dockerenv", "")]), none("kubernetes"));
        assert_eq!(container(&[("proc/self/cgroup", "0::/lxc/x\n")]), none("container"));
        let first = ("proc/self/cgroup", "4:memory:/m\n3:cpu,cpuacct:/c\n0::/\n");
        let quota = ("sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_quota_us", "200000\n");
        let period = ("sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_period_us", "100000\n");
        let unlimited = ("sys/fs/cgroup/memory/m/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(
            container(&[first, quota, period, unlimited]),
            ("none".to_owned(), Some(2.0), None)
        );
    }

    #[test]
    fn a_protected_guest_is_distinguished_from_its_host() {
        let guest = |flags: &str, file: &str| {
            confidential_guest(tree(&[("proc/cpuinfo", &processors(flags)), (file, "")]).path())
        };
        assert_eq!(guest("sev sev_es sev_snp", "x"), None, "the host of such guests");
        assert_eq!(guest("hypervisor sev_snp", "x").as_deref(), Some("SEV-SNP"));
        assert_eq!(guest("hypervisor", "dev/sev-guest").as_deref(), Some("SEV-SNP"));
        assert_eq!(guest("hypervisor tdx_guest", "x").as_deref(), Some("TDX"));
        let device = "sys/devices/virtual/misc/tdx_guest/dev";
        assert_eq!(guest("hypervisor", device).as_deref(), Some("TDX"));
        assert_eq!(guest("hypervisor", "x"), None);
    }

    #[test]
    fn a_virtual_machine_is_named_where_the_firmware_does() {
        let named = |files: &[(&str, &str)]| read(tree(files).path()).hypervisor;
        let inside = processors("hypervisor");
        let cpuinfo = ("proc/cpuinfo", inside.as_str());
        assert_eq!(named(&[cpuinfo]).as_deref(), Some("not named"));
        let product = ("sys/class/dmi/id/product_name", "Virtual Machine Q\n");
        assert_eq!(named(&[cpuinfo, product]).as_deref(), Some("Virtual Machine Q"));
        assert_eq!(named(&[cpuinfo, ("sys/hypervisor/type", "xen\n")]).as_deref(), Some("xen"));
    }
}
