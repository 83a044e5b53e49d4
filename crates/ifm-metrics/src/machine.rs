//! The machine of a run as text: one table of facts, which lists of facts, reports and comparisons
//! read.
//!
//! Facts that are not reported have no row. Not here: what a difference means for a comparison
//! (`comparison` of `ifm-compare`).

use ifm_core::Facts;
use ifm_core::facts::{Confidential, Container, Cpu, Gpu, Host, ServerProcess};
use ifm_core::words::counted;

/// What belongs together in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The GPUs.
    Gpus,
    /// Confidential computing.
    Confidential,
    /// Processors, memory, system.
    Host,
    /// The server's process.
    Server,
}

impl Part {
    /// Every part, in the order of lists.
    pub const ALL: [Part; 4] = [Part::Gpus, Part::Confidential, Part::Host, Part::Server];

    /// Its heading.
    pub fn title(self) -> &'static str {
        match self {
            Part::Gpus => "GPUs",
            Part::Confidential => "Confidential computing",
            Part::Host => "Host",
            Part::Server => "Server",
        }
    }
}

/// One fact of a machine.
pub struct MachineFact {
    /// Where it belongs.
    pub part: Part,
    /// Its name.
    pub what: &'static str,
    /// Whether two runs that are compared should share it; what moves by itself, or is what is compared,
    /// is not.
    pub is_shared: bool,
    of: fn(&Facts) -> Option<String>,
}

impl MachineFact {
    /// What it is on this machine, as text.
    pub fn value(&self, facts: &Facts) -> Option<String> {
        (self.of)(facts)
    }
}

const fn shared(part: Part, what: &'static str, of: fn(&Facts) -> Option<String>) -> MachineFact {
    MachineFact { part, what, is_shared: true, of }
}

const fn told(part: Part, what: &'static str, of: fn(&Facts) -> Option<String>) -> MachineFact {
    MachineFact { part, what, is_shared: false, of }
}

/// The names of the GPUs.
pub const GPUS: &str = "GPUs";

/// Every fact, in the order of lists.
pub const MACHINE: &[MachineFact] = &[
    shared(Part::Gpus, GPUS, names),
    told(Part::Gpus, "GPU identities", |f| gpus(f, |gpu| gpu.uuid.clone())),
    shared(Part::Gpus, "GPU memory", |f| gpus(f, |gpu| gpu.memory_bytes.map(gib))),
    shared(Part::Gpus, "GPU driver", |f| gpus(f, |gpu| gpu.driver.clone())),
    shared(Part::Gpus, "CUDA version of the driver", |f| gpus(f, |gpu| gpu.cuda.clone())),
    shared(Part::Gpus, "VBIOS", |f| gpus(f, |gpu| gpu.vbios.clone())),
    shared(Part::Gpus, "power limit", |f| gpus(f, |gpu| gpu.power_limit_w.map(watts))),
    shared(Part::Gpus, "enforced power limit", |f| {
        gpus(f, |gpu| gpu.power_limit_enforced_w.map(watts))
    }),
    told(Part::Gpus, "default power limit", |f| {
        gpus(f, |gpu| gpu.power_limit_default_w.map(watts))
    }),
    told(Part::Gpus, "range of power limits", |f| {
        gpus(f, |gpu| {
            Some(format!("{} to {}", watts(gpu.power_limit_min_w?), watts(gpu.power_limit_max_w?)))
        })
    }),
    shared(Part::Gpus, "locked clocks", |f| {
        gpus(f, |gpu| gpu.locked_clocks_mhz.map(|(low, high)| format!("{low} to {high} MHz")))
    }),
    shared(Part::Gpus, "highest clocks", |f| {
        gpus(f, |gpu| clocks(gpu.sm_clock_max_mhz, gpu.memory_clock_max_mhz))
    }),
    told(Part::Gpus, "clocks when read", |f| {
        gpus(f, |gpu| clocks(gpu.sm_clock_mhz, gpu.memory_clock_mhz))
    }),
    shared(Part::Gpus, "ECC", |f| gpus(f, |gpu| gpu.ecc.map(on))),
    shared(Part::Gpus, "MIG", |f| gpus(f, |gpu| gpu.mig.map(on))),
    shared(Part::Gpus, "persistence mode", |f| gpus(f, |gpu| gpu.persistence.map(on))),
    told(Part::Gpus, "temperature when read", |f| {
        gpus(f, |gpu| gpu.temperature_c.map(|degrees| format!("{degrees} °C")))
    }),
    told(Part::Gpus, "held down when read", |f| {
        gpus(f, |gpu| gpu.throttle_reasons.as_ref().map(|reasons| list(reasons)))
    }),
    told(Part::Gpus, "processes on the GPUs", |f| gpus(f, processes)),
    told(Part::Gpus, "GPUs that tell nothing", |f| gpus(f, |gpu| gpu.trouble.clone())),
    shared(Part::Confidential, "confidential computing of the GPUs", |f| {
        confidential(f, |cc| cc.gpus.map(on))
    }),
    shared(Part::Confidential, "confidential environment", |f| {
        confidential(f, |cc| cc.environment.clone())
    }),
    shared(Part::Confidential, "confidential development mode", |f| {
        confidential(f, |cc| cc.dev_mode.map(on))
    }),
    shared(Part::Confidential, "protected PCIe", |f| {
        confidential(f, |cc| cc.protected_pcie.map(on))
    }),
    told(Part::Confidential, "GPUs take confidential work", |f| {
        confidential(f, |cc| cc.is_ready.map(yes))
    }),
    shared(Part::Confidential, "guest that the processor protects", |f| {
        confidential(f, |cc| cc.cpu_guest.clone())
    }),
    shared(Part::Host, "processor of the host", |f| cpu(f, |cpu| cpu.name.clone())),
    shared(Part::Host, "sockets, cores, threads", |f| cpu(f, shape)),
    shared(Part::Host, "frequency governor", |f| cpu(f, |cpu| cpu.governor.clone())),
    shared(Part::Host, "frequency limits", |f| {
        cpu(f, |cpu| {
            let (low, high) = (cpu.frequency_min_mhz?, cpu.frequency_max_mhz?);
            Some(format!("{low:.0} to {high:.0} MHz"))
        })
    }),
    shared(Part::Host, "NUMA nodes", |f| cpu(f, |cpu| cpu.numa_nodes.map(|n| n.to_string()))),
    shared(Part::Host, "mitigations", |f| cpu(f, mitigations)),
    shared(Part::Host, "memory of the host", |f| host(f, |host| host.memory_bytes.map(gib))),
    shared(Part::Host, "kernel", |f| host(f, |host| host.kernel.clone())),
    shared(Part::Host, "distribution", |f| host(f, |host| host.distribution.clone())),
    shared(Part::Host, "container", |f| container(f, |found| found.kind.clone())),
    shared(Part::Host, "processors of the container", |f| {
        container(f, |found| found.cpus.map(|cpus| cpus.to_string()))
    }),
    shared(Part::Host, "memory of the container", |f| {
        container(f, |found| found.memory_bytes.map(gib))
    }),
    shared(Part::Host, "virtual machine", |f| host(f, |host| host.hypervisor.clone())),
    shared(Part::Host, "clock source", |f| host(f, |host| host.clock_source.clone())),
    told(Part::Host, "load average when read", |f| {
        host(f, |host| host.load_average.map(|load| load.to_string()))
    }),
    told(Part::Server, "server", |f| server(f, kind)),
    told(Part::Server, "its model", |f| server(f, |server| server.model.clone())),
    told(Part::Server, "its command", |f| {
        server(f, |server| (!server.command.is_empty()).then(|| server.command.join(" ")))
    }),
    told(Part::Server, "tokens in its KV cache", |f| {
        server(f, |server| server.kv_capacity_tokens.map(|tokens| tokens.to_string()))
    }),
    told(Part::Server, "engine", |f| {
        server(f, |server| {
            let notes = server.notes.iter().map(|(name, value)| format!("{name}={value}"));
            Some(notes.collect::<Vec<_>>()).filter(|notes| !notes.is_empty()).map(|n| n.join(", "))
        })
    }),
    told(Part::Server, "its log", |f| server(f, |server| server.log_file.clone())),
    told(Part::Server, "start-up", |f| server(f, start_up)),
];

/// The facts of a machine: part, name and value, in the order of lists.
pub fn told_of(facts: &Facts) -> impl Iterator<Item = (Part, &'static str, String)> + '_ {
    MACHINE.iter().filter_map(|fact| Some((fact.part, fact.what, fact.value(facts)?)))
}

/// One value for all GPUs, or each with its number.
fn gpus(facts: &Facts, of: impl Fn(&Gpu) -> Option<String>) -> Option<String> {
    let values: Vec<(Option<u32>, String)> =
        facts.gpus.iter().filter_map(|gpu| Some((gpu.index, of(gpu)?))).collect();
    let (_, first) = values.first()?;
    if values.len() == facts.gpus.len() && values.iter().all(|(_, value)| value == first) {
        return Some(first.clone());
    }
    let each = values.iter().map(|(index, value)| match index {
        Some(index) => format!("GPU {index}: {value}"),
        None => value.clone(),
    });
    Some(each.collect::<Vec<_>>().join("; "))
}

/// How many of which: `8 × NVIDIA H100`.
fn names(facts: &Facts) -> Option<String> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for gpu in &facts.gpus {
        let name = gpu.name.as_deref().unwrap_or("not named");
        match counts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => counts.push((name, 1)),
        }
    }
    let words = counts.iter().map(|(name, count)| format!("{count} × {name}"));
    Some(words.collect::<Vec<_>>().join(", ")).filter(|words| !words.is_empty())
}

fn processes(gpu: &Gpu) -> Option<String> {
    let words = gpu.processes.as_ref()?.iter().map(|process| {
        let name = process.name.as_deref().unwrap_or("process");
        let id = process.pid.map(|pid| format!(" {pid}")).unwrap_or_default();
        let memory = process.memory_bytes.map(|bytes| format!(" ({})", gib(bytes)));
        format!("{name}{id}{}", memory.unwrap_or_default())
    });
    Some(list(&words.collect::<Vec<_>>()))
}

fn clocks(sm_mhz: Option<u32>, memory_mhz: Option<u32>) -> Option<String> {
    let words = [("SM", sm_mhz), ("memory", memory_mhz)];
    let words = words.iter().filter_map(|(name, mhz)| Some(format!("{name} {} MHz", (*mhz)?)));
    Some(words.collect::<Vec<_>>().join(", ")).filter(|words| !words.is_empty())
}

fn confidential(facts: &Facts, of: fn(&Confidential) -> Option<String>) -> Option<String> {
    facts.confidential.as_ref().and_then(of)
}

fn host(facts: &Facts, of: fn(&Host) -> Option<String>) -> Option<String> {
    facts.host.as_ref().and_then(of)
}

fn cpu(facts: &Facts, of: fn(&Cpu) -> Option<String>) -> Option<String> {
    facts.host.as_ref()?.cpu.as_ref().and_then(of)
}

fn container(facts: &Facts, of: fn(&Container) -> Option<String>) -> Option<String> {
    facts.host.as_ref()?.container.as_ref().and_then(of)
}

fn server(facts: &Facts, of: fn(&ServerProcess) -> Option<String>) -> Option<String> {
    facts.server.as_ref().and_then(of)
}

fn kind(server: &ServerProcess) -> Option<String> {
    let version = server.version.as_deref().unwrap_or_default();
    Some(format!("{} {version}", server.kind.as_deref()?).trim_end().to_owned())
}

fn start_up(server: &ServerProcess) -> Option<String> {
    let found = server.start_up?;
    let steps = [
        ("listening", found.listening_s),
        ("ready", found.ready_s),
        ("first token", found.first_token_s),
    ];
    let words = steps.iter().filter_map(|(name, s)| Some(format!("{name} after {:.1} s", (*s)?)));
    Some(words.collect::<Vec<_>>().join(", ")).filter(|words| !words.is_empty())
}

fn shape(cpu: &Cpu) -> Option<String> {
    let nouns = [(cpu.sockets, "socket"), (cpu.cores, "core"), (cpu.threads, "thread")];
    let words = nouns.iter().filter_map(|(n, noun)| Some(counted(u64::from((*n)?), noun)));
    Some(words.collect::<Vec<_>>().join(", ")).filter(|words| !words.is_empty())
}

fn mitigations(cpu: &Cpu) -> Option<String> {
    let active = cpu.mitigations.iter().filter(|(_, state)| *state != "Not affected");
    let words: Vec<String> = active.map(|(name, state)| format!("{name}: {state}")).collect();
    (!cpu.mitigations.is_empty()).then(|| list(&words))
}

fn list(words: &[String]) -> String {
    if words.is_empty() { "none".to_owned() } else { words.join("; ") }
}

fn on(is: bool) -> String {
    if is { "on" } else { "off" }.to_owned()
}

fn yes(is: bool) -> String {
    if is { "yes" } else { "no" }.to_owned()
}

fn watts(watts: f64) -> String {
    format!("{watts} W")
}

fn gib(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / f64::from(1_u32 << 30))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn gpu(index: u32, limit_w: f64) -> Gpu {
        Gpu {
            index: Some(index),
            name: Some("H".to_owned()),
            power_limit_w: Some(limit_w),
            ecc: Some(true),
            ..Gpu::default()
        }
    }

    #[test]
    fn lists_different_gpus_separately() {
        let told = |gpus: Vec<Gpu>| -> Vec<(&'static str, String)> {
            let facts = Facts { gpus, ..Facts::default() };
            told_of(&facts).map(|(_, what, value)| (what, value)).collect()
        };
        let same = told(vec![gpu(0, 700.0), gpu(1, 700.0)]);
        let expect = [("GPUs", "2 × H"), ("power limit", "700 W"), ("ECC", "on")];
        assert_eq!(same, expect.map(|(what, value)| (what, value.to_owned())));
        let other = told(vec![gpu(0, 700.0), gpu(1, 500.0)]);
        assert_eq!(other[1].1, "GPU 0: 700 W; GPU 1: 500 W");
        let silent = Gpu { power_limit_w: None, ..gpu(1, 0.0) };
        assert_eq!(told(vec![gpu(0, 700.0), silent])[1].1, "GPU 0: 700 W");
        assert!(told(vec![]).is_empty());
    }

    #[test]
    fn lists_each_name_once() {
        let names: BTreeSet<&str> = MACHINE.iter().map(|fact| fact.what).collect();
        assert_eq!(names.len(), MACHINE.len());
        assert!(MACHINE.is_sorted_by_key(|fact| fact.part));
    }
}
