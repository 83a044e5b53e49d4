//! The checks of each GPU that the driver reports.

use super::{Machine, Seen};
use ifm_core::facts::Gpu;

/// Reasons for a low clock that no measurement of speed survives, as the facts word them.
const FORCED: [&str; 4] = ["hardware", "heat (software)", "heat (hardware)", "power supply"];

/// Runs every check on every GPU; returns one row if there is no GPU.
pub fn look(machine: &Machine) -> Vec<(&'static str, String, Seen)> {
    if machine.facts.gpus.is_empty() {
        let why = machine.without_gpus.clone().unwrap_or_else(|| "there are none".to_owned());
        return vec![("gpu", "GPUs".to_owned(), Seen::unknown(format!("no GPU visible: {why}")))];
    }
    machine.facts.gpus.iter().flat_map(of_one).collect()
}

fn of_one(gpu: &Gpu) -> Vec<(&'static str, String, Seen)> {
    let number = gpu.index.unwrap_or_default();
    let named = |what: &str| format!("GPU {number}: {what}");
    if let Some(trouble) = &gpu.trouble {
        return vec![("gpu", named("driver"), Seen::unknown(trouble.clone()))];
    }
    vec![
        ("gpu_clock", named("what holds its clock down"), clock(gpu)),
        ("gpu_power", named("power limit"), power(gpu, number)),
        ("gpu_persistence", named("driver stays loaded"), persistence(gpu)),
        ("gpu_processes", named("processes"), processes(gpu)),
    ]
}

fn clock(gpu: &Gpu) -> Seen {
    let Some(reasons) = &gpu.throttle_reasons else { return Seen::unknown("not reported") };
    let told: Vec<&str> = reasons.iter().map(String::as_str).filter(|why| *why != "idle").collect();
    if told.is_empty() {
        return Seen::good("nothing");
    }
    let is_forced = told.iter().any(|why| FORCED.contains(why));
    Seen::caution(
        told.join(", "),
        "the clock is lower than it could be, and changes during a run",
        "nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER shows details: cool it, or lock its clocks with -lgc",
    )
    .worse(is_forced)
}

fn power(gpu: &Gpu, number: u32) -> Seen {
    let (Some(limit), Some(usual)) = (gpu.power_limit_w, gpu.power_limit_default_w) else {
        return Seen::unknown("not reported");
    };
    if limit >= usual {
        return Seen::good(format!("{limit} W"));
    }
    Seen::caution(
        format!("{limit} W of {usual} W"),
        "it computes more slowly than others of its kind; results say so, and compare refuses to mix them",
        format!("sudo nvidia-smi -i {number} -pl {usual}, unless that is what is measured"),
    )
}

fn persistence(gpu: &Gpu) -> Seen {
    match gpu.persistence {
        None => Seen::unknown("not reported"),
        Some(true) => Seen::good("yes"),
        Some(false) => Seen::caution(
            "no",
            "limits and clocks are lost, and the start takes seconds more, when no program is on it",
            "sudo nvidia-smi -pm 1",
        ),
    }
}

fn processes(gpu: &Gpu) -> Seen {
    let Some(processes) = &gpu.processes else { return Seen::unknown("not reported") };
    match processes.as_slice() {
        [] => Seen::good("none"),
        [one] => Seen::good(format!("1: {}", one.name.as_deref().unwrap_or("not named"))),
        several => Seen::caution(
            several.len().to_string(),
            "they share its time and memory with the server that is measured",
            "nvidia-smi names them: end those that are none of the server's",
        ),
    }
}
