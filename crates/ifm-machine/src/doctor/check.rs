//! The checks of the host, one row each.

use super::{Machine, Seen};
use ifm_core::facts::{Cpu, Host};

/// A check of the host.
pub struct Check {
    /// Its id in documents.
    pub id: &'static str,
    /// What it looks at, in words.
    pub what: &'static str,
    /// Looks.
    pub look: fn(&Machine) -> Seen,
}

/// Every check, in the order of the report.
pub const CHECKS: &[Check] = &[
    Check { id: "kernel_stamps", what: "kernel receive stamps", look: kernel_stamps },
    Check { id: "clock_source", what: "clock source", look: clock_source },
    Check { id: "processors", what: "processors", look: processors },
    Check { id: "governor", what: "frequency governor", look: governor },
    Check { id: "load", what: "other load", look: load },
    Check { id: "steal", what: "time given to other guests", look: steal },
    Check { id: "numa", what: "NUMA nodes", look: numa },
    Check { id: "open_files", what: "open files", look: open_files },
    Check { id: "memory", what: "memory left", look: memory },
    Check { id: "swap", what: "swap in use", look: swap },
    Check { id: "disk", what: "room for the store", look: disk },
];

const GIB: f64 = (1_u64 << 30) as f64;
/// Clocks that are read without asking a device.
const QUICK_CLOCKS: [&str; 4] =
    ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"];
/// Load of a processor above which another program is felt, and above which it decides.
const LOAD: (f64, f64) = (0.25, 0.75);
/// The same of stolen time.
const STOLEN: (f64, f64) = (0.01, 0.05);
/// Processors of a client that leave a server enough room.
const PROCESSORS_MIN: f64 = 4.0;
/// Users, each with a connection, for whom a limit of open files is small, and too small.
const FILES: (u64, u64) = (16_384, 1_024);
/// Memory left, and room for runs, bytes: little, and too little.
const MEMORY: (u64, u64) = (4 << 30, 1 << 30);
const ROOM: (u64, u64) = (10 << 30, 1 << 30);

fn host(machine: &Machine) -> Option<&Host> {
    machine.facts.host.as_ref()
}

fn cpu(machine: &Machine) -> Option<&Cpu> {
    host(machine)?.cpu.as_ref()
}

/// Processors that this process may use.
fn usable(machine: &Machine) -> Option<f64> {
    let all = cpu(machine)?.threads.map(f64::from)?;
    let most = host(machine).and_then(|host| host.container.as_ref()?.cpus);
    Some(most.map_or(all, |most| most.min(all)))
}

fn gib(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / GIB)
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn kernel_stamps(machine: &Machine) -> Seen {
    match machine.kernel_stamps {
        true => Seen::good("yes"),
        false => Seen::caution(
            "no",
            "a token's time is when this program read it, which a busy machine delays; a run measures by how much",
            "measure from a Linux kernel of its own: sandboxes such as gVisor have no such stamps",
        ),
    }
}

fn clock_source(machine: &Machine) -> Seen {
    let Some(source) = host(machine).and_then(|host| host.clock_source.clone()) else {
        return Seen::unknown("not reported");
    };
    if QUICK_CLOCKS.contains(&source.as_str()) {
        return Seen::good(source);
    }
    Seen::caution(
        source,
        "reading the time asks a device, a microsecond or more for each event",
        "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource",
    )
}

fn processors(machine: &Machine) -> Seen {
    match usable(machine) {
        None => Seen::unknown("not reported"),
        Some(usable) if usable >= PROCESSORS_MIN => Seen::good(format!("{usable}")),
        Some(usable) => Seen::caution(
            format!("{usable}"),
            "a server on this machine and its client take time from each other",
            "measure a server of another machine, or give this one four processors or more",
        )
        .worse(usable < 2.0),
    }
}

fn governor(machine: &Machine) -> Seen {
    match cpu(machine).and_then(|cpu| cpu.governor.clone()) {
        None => Seen::unknown("not reported, as in most virtual machines"),
        Some(governor) if governor == "performance" => Seen::good(governor),
        Some(governor) => Seen::caution(
            governor,
            "the frequency falls between requests, so that the same work takes more or less time",
            "sudo cpupower frequency-set -g performance",
        ),
    }
}

fn load(machine: &Machine) -> Seen {
    let load = host(machine).and_then(|host| host.load_average);
    let (Some(load), Some(usable)) = (load, usable(machine)) else {
        return Seen::unknown("not reported");
    };
    let found = format!("{load:.2} in the last minute, on {usable} processors");
    let share = load / usable;
    if share < LOAD.0 {
        return Seen::good(found);
    }
    let effect = "other programs delay client and server, by milliseconds where processors are few";
    Seen::caution(found, effect, "top shows what runs: end it, or measure when it is done")
        .worse(share > LOAD.1)
}

fn steal(machine: &Machine) -> Seen {
    let hypervisor = host(machine).and_then(|host| host.hypervisor.clone());
    match (hypervisor.as_deref(), machine.stolen) {
        (Some("none"), _) => Seen::good("none: no virtual machine"),
        (_, None) => Seen::unknown("not reported"),
        (_, Some(stolen)) if stolen < STOLEN.0 => Seen::good(percent(stolen)),
        (_, Some(stolen)) => Seen::caution(
            percent(stolen),
            "the hypervisor pauses this machine now and then, and no program in it can see when",
            "ask for processors of its own, or measure on another machine",
        )
        .worse(stolen > STOLEN.1),
    }
}

fn numa(machine: &Machine) -> Seen {
    match cpu(machine).and_then(|cpu| cpu.numa_nodes) {
        None => Seen::unknown("not reported"),
        Some(1) => Seen::good("1"),
        Some(nodes) => Seen::caution(
            nodes.to_string(),
            "a program that moves to another node reads its memory more slowly than before",
            "numactl --cpunodebind=0 --membind=0 before the command, and the server on the GPU's node",
        ),
    }
}

fn open_files(machine: &Machine) -> Seen {
    let Some(files) = machine.open_files else { return Seen::good("no limit") };
    if files >= FILES.0 {
        return Seen::good(files.to_string());
    }
    let effect = "each user in flight has a connection: more users than this cannot be measured";
    Seen::caution(files.to_string(), effect, "ulimit -n 65536, or LimitNOFILE= of the unit")
        .worse(files < FILES.1)
}

fn memory(machine: &Machine) -> Seen {
    let Some(left) = machine.memory_left_bytes else { return Seen::unknown("not reported") };
    if left >= MEMORY.0 {
        return Seen::good(gib(left));
    }
    let effect = "prompts, media and events of a run are kept in memory until it is stored";
    Seen::caution(gib(left), effect, "end other programs, or measure from another machine")
        .worse(left < MEMORY.1)
}

fn swap(machine: &Machine) -> Seen {
    match machine.swapped_bytes {
        None => Seen::unknown("not reported"),
        Some(0) => Seen::good("none"),
        Some(swapped) => Seen::caution(
            gib(swapped),
            "a page that was moved to disk costs milliseconds when it is touched again",
            "sudo swapoff -a, if the memory is large enough for what runs",
        ),
    }
}

fn disk(machine: &Machine) -> Seen {
    let Some(room) = machine.room_bytes else { return Seen::unknown("not reported") };
    if room >= ROOM.0 {
        return Seen::good(gib(room));
    }
    let effect = "a run that finds the disk full keeps what it had until then";
    Seen::caution(
        gib(room),
        effect,
        "--store DIR on another disk, or inferometer runs rm --permanent RUN",
    )
    .worse(room < ROOM.1)
}
