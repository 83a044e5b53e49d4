//! Findings as a JSON document and as text.

use super::{Finding, State, count};
use crate::facts;
use ifm_report::TerminalStyle;
use serde::Serialize;

/// What the document says it is, and its version.
const KIND: &str = "inferometer_doctor";
const VERSION: u32 = 1;
/// Columns of the names at least.
const NAME_COLUMNS_MIN: usize = 34;

/// What `doctor --json` writes.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DoctorDocument<'a> {
    /// What the document is.
    #[cfg_attr(feature = "schema", schemars(extend("const" = KIND)))]
    kind: &'static str,
    /// Version of the document.
    #[cfg_attr(feature = "schema", schemars(extend("const" = VERSION)))]
    version: u32,
    /// When the machine was looked at: UTC, RFC 3339.
    taken_utc: String,
    /// The checks; the host's come first.
    checks: &'a [Finding],
}

impl<'a> From<&'a [Finding]> for DoctorDocument<'a> {
    fn from(checks: &'a [Finding]) -> DoctorDocument<'a> {
        DoctorDocument { kind: KIND, version: VERSION, taken_utc: facts::now_utc(), checks }
    }
}

/// A line for each finding; below each problem, its effect and how to fix it.
pub fn text(findings: &[Finding], style: &TerminalStyle) -> String {
    let longest = findings.iter().map(|finding| finding.what.chars().count()).max().unwrap_or(0);
    let columns = NAME_COLUMNS_MIN.max(longest + 4);
    let mut lines: Vec<String> = Vec::new();
    for finding in findings {
        let sign = match finding.state {
            State::Good => '✓',
            State::Caution => '⚠',
            State::Bad => '✗',
            State::Unknown => '·',
        };
        let name = format!("{sign} {:<width$}", finding.what, width = columns - 2);
        let told = format!("{name}{}", finding.found);
        lines.extend(style.paragraph(&told, &" ".repeat(columns)));
        for (word, more) in [("", finding.effect), ("fix: ", finding.fix.as_deref())] {
            if let Some(more) = more {
                lines.extend(style.paragraph(&format!("    {word}{more}"), "      "));
            }
        }
    }
    lines.push(String::new());
    lines.extend(style.paragraph(&summary(findings), ""));
    lines.join("\n") + "\n"
}

fn summary(findings: &[Finding]) -> String {
    let of = |state| count(findings, state);
    let (bad, caution) = (of(State::Bad), of(State::Caution));
    let first = match bad + caution {
        0 => "no problems found".to_owned(),
        1 => format!("1 problem found{}", graver(bad)),
        n => format!("{n} problems found{}", graver(bad)),
    };
    match of(State::Unknown) {
        0 => first,
        n => format!("{first}; {n} unknown"),
    }
}

fn graver(bad: usize) -> String {
    if bad == 0 { String::new() } else { format!(", {bad} of them serious") }
}

#[cfg(test)]
mod tests {
    use super::super::{Machine, look};
    use super::*;
    use ifm_core::Facts;
    use ifm_core::facts::{Container, Cpu, Gpu, GpuProcess, Host};

    fn state(findings: &[Finding], id: &str) -> State {
        findings.iter().find(|finding| finding.id == id).unwrap_or_else(|| panic!("{id}")).state
    }

    fn quiet() -> Machine {
        let cpu = Cpu {
            threads: Some(16),
            governor: Some("performance".to_owned()),
            numa_nodes: Some(1),
            ..Cpu::default()
        };
        let host = Host {
            cpu: Some(cpu),
            load_average: Some(0.2),
            hypervisor: Some("none".to_owned()),
            clock_source: Some("tsc".to_owned()),
            ..Host::default()
        };
        let gpu = Gpu {
            index: Some(0),
            power_limit_w: Some(700.0),
            power_limit_default_w: Some(700.0),
            persistence: Some(true),
            throttle_reasons: Some(vec!["idle".to_owned()]),
            processes: Some(Vec::new()),
            ..Gpu::default()
        };
        Machine {
            facts: Facts { gpus: vec![gpu], host: Some(host), ..Facts::default() },
            kernel_stamps: true,
            stolen: Some(0.0),
            memory_left_bytes: Some(64 << 30),
            swapped_bytes: Some(0),
            room_bytes: Some(100 << 30),
            ..Machine::default()
        }
    }

    #[test]
    fn a_quiet_machine_has_no_problems() {
        let findings = look(&quiet());
        assert_eq!(count(&findings, State::Good), findings.len(), "{findings:?}");
        let style = TerminalStyle { width: 80, color: false, ascii: false, verbose: false };
        let text = text(&findings, &style);
        assert!(
            text.contains("✓ kernel receive stamps") && text.contains("no problems found"),
            "{text}"
        );
        assert!(text.contains("GPU 0: what holds its clock down  nothing"), "{text}");
    }

    /// Each case changes one thing, and only that is reported.
    #[test]
    fn each_problem_is_reported_with_its_fix() {
        type Change = fn(&mut Machine);
        fn host(machine: &mut Machine) -> &mut Host {
            machine.facts.host.as_mut().unwrap()
        }
        fn cpu(machine: &mut Machine) -> &mut Cpu {
            host(machine).cpu.as_mut().unwrap()
        }
        let cases: [(&str, State, Change); 20] = [
            ("kernel_stamps", State::Caution, |m| m.kernel_stamps = false),
            ("clock_source", State::Caution, |m| host(m).clock_source = Some("hpet".to_owned())),
            ("processors", State::Caution, |m| cpu(m).threads = Some(2)),
            ("processors", State::Bad, |m| {
                host(m).container = Some(Container { cpus: Some(0.5), ..Container::default() });
                host(m).load_average = Some(0.0);
            }),
            ("governor", State::Caution, |m| cpu(m).governor = Some("powersave".to_owned())),
            ("load", State::Caution, |m| host(m).load_average = Some(6.0)),
            ("load", State::Bad, |m| host(m).load_average = Some(15.0)),
            ("steal", State::Bad, |m| {
                (host(m).hypervisor, m.stolen) = (Some("KVM".to_owned()), Some(0.08));
            }),
            ("numa", State::Caution, |m| cpu(m).numa_nodes = Some(2)),
            ("open_files", State::Caution, |m| m.open_files = Some(4096)),
            ("open_files", State::Bad, |m| m.open_files = Some(256)),
            ("memory", State::Caution, |m| m.memory_left_bytes = Some(2 << 30)),
            ("swap", State::Caution, |m| m.swapped_bytes = Some(1 << 30)),
            ("disk", State::Bad, |m| m.room_bytes = Some(1 << 20)),
            ("gpu_clock", State::Bad, |m| {
                m.facts.gpus[0].throttle_reasons = Some(vec!["heat (hardware)".to_owned()]);
            }),
            ("gpu_clock", State::Caution, |m| {
                m.facts.gpus[0].throttle_reasons = Some(vec!["power limit".to_owned()]);
            }),
            ("gpu_power", State::Caution, |m| m.facts.gpus[0].power_limit_w = Some(300.0)),
            ("gpu_persistence", State::Caution, |m| m.facts.gpus[0].persistence = Some(false)),
            ("gpu_processes", State::Caution, |m| {
                m.facts.gpus[0].processes = Some(vec![GpuProcess::default(); 2]);
            }),
            ("gpu", State::Unknown, |m| m.facts.gpus[0].trouble = Some("lost".to_owned())),
        ];
        for (id, expected, change) in cases {
            let mut machine = quiet();
            change(&mut machine);
            let findings = look(&machine);
            assert_eq!(state(&findings, id), expected, "{id}");
            let other = findings.iter().filter(|finding| finding.state != State::Good).count();
            // A machine of two processors at the same load is not loaded.
            assert_eq!(other, 1, "{id}: {findings:?}");
            let told = findings.iter().find(|finding| finding.id == id).unwrap();
            let has_fix = told.effect.is_some() && told.fix.is_some();
            assert_eq!(has_fix, expected != State::Unknown, "{id}");
        }
    }

    #[test]
    fn missing_facts_are_unknown() {
        let machine = Machine { kernel_stamps: true, ..Machine::default() };
        let findings = look(&machine);
        // But for what was tried: stamps, and files without a limit.
        assert_eq!(count(&findings, State::Good), 2, "{findings:?}");
        assert_eq!(count(&findings, State::Unknown), findings.len() - 2, "{findings:?}");
    }
}
