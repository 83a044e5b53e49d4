//! Providers that do what none should, as a few lines of shell: each is a row with one clear sentence,
//! and the rest is measured.

use super::course::{Ask, Done, Run, measure};
use super::masks::{Masks, wire};
use super::protocol::{About, Attention, Case, Load, Operation, Pass, VERSION};
use super::provider::Provider;
use super::sheet::{line, sheet};
use crate::interrupts::Interrupts;
use crate::program::Limits;
use ifm_core::sheet::{Factors, RemarkKind, RowRole};
use std::time::Duration;

/// Shell functions shared by all fake providers: be ready, prepare a copy of the same number, time
/// two runs.
const KNOWN: &str = r#"
ready() { read -r load; echo '{"is":"ready","provider":"stand-in","device":"cpu"}'; }
prepare() {
    read -r order || exit 0
    file=${order##*\"check\":\"}; file=${file%%\"*}
    head -c ${1:-2048} /dev/zero > "$file"
    echo '{"is":"prepared"}'
}
run() { read -r order || exit 0; echo '{"is":"timed","wall_ns":['$1']}'; }
"#;

fn ask(script: &str, cases: usize, repeats: u32) -> Ask {
    let case = Case {
        implementation: "copy".to_owned(),
        kind: "f32".to_owned(),
        operation: Operation::Bandwidth { bytes: 1 << 20 },
        grows: 0,
    };
    // Longer than any host takes.
    let limit = Duration::from_secs(60);
    let words = ["sh", "-c", &format!("{KNOWN}{script}")].map(str::to_owned).to_vec();
    Ask {
        providers: vec![Provider::Command(words)],
        load: Load { protocol: VERSION, threads: None, instructions: None, device: None },
        cases: vec![(0, case); cases],
        masks: Masks::default(),
        repeats,
        warm_up: 0,
        flush_bytes: 0,
        budget: limit,
        replaces: false,
        reference: "command:copy".to_owned(),
        times: true,
        folder: tempfile::tempdir().expect("a folder"),
        limits: Limits {
            start: limit,
            repeat: limit,
            grace: Duration::from_millis(500),
            guard: None,
            interrupts: Interrupts::default(),
        },
    }
}

fn measured(script: &str, cases: usize, repeats: u32) -> Vec<Done> {
    measure(&ask(script, cases, repeats), |_, _| ())
}

#[test]
fn what_a_provider_does_wrong_is_a_sentence() {
    for (script, said) in [
        (
            "echo 'no licence' >&2; exit 3",
            "the provider ended (exit status: 3); it said: no licence",
        ),
        (
            "read -r l; echo hello",
            "the provider printed \"hello\", which is not a line of the protocol",
        ),
        (
            "read -r l; kill -9 $$",
            "the provider was killed, as the kernel does when memory runs out",
        ),
        ("read -r l; echo '{\"is\":\"cannot\",\"why\":\"no torch here\"}'", "no torch here"),
        ("ready; run 5", "the provider answered out of turn"),
        ("ready; read -r o; echo '{\"is\":\"prepared\"}'", "the provider wrote no file to check"),
        ("ready; prepare 100", "the provider wrote 100 bytes to check its results, expected 2048"),
        ("ready; prepare; run 5,5", "the provider reported 2 wall times for 1 runs"),
        ("ready; prepare; run 0", "the provider reported a wall time of 0 ns"),
        (
            "ready; prepare; run 99999999999999",
            "the provider reported 99999999999999 ns for runs that",
        ),
        (
            "ready; prepare; read -r o; head -c 20000000 /dev/zero",
            "the provider printed a line of more than 16777216 bytes",
        ),
        (
            "ready; prepare; read -r o; exec >&-; exec sleep 60",
            "the provider closed its output, and",
        ),
    ] {
        let all = measured(script, 1, 1);
        let why = all[0].why().unwrap_or_default();
        assert!(why.starts_with(said) && !all[0].is_timed(), "{script}: {why}");
    }
}

#[test]
fn a_provider_that_is_lost_is_started_again_and_the_rest_is_measured() {
    // The first process dies in its first case, the second goes on.
    let folder = tempfile::tempdir().expect("a folder");
    let mark = folder.path().join("mark");
    let script = format!(
        "mark={}; ready; if [ ! -e $mark ]; then touch $mark; exit 1; fi; \
         while true; do prepare; run 700; run 900; done",
        mark.display()
    );
    let ask = ask(&script, 3, 2);
    let all = measure(&ask, |_, _| ());
    let why = all[0].why().unwrap_or_default();
    assert!(why.starts_with("the provider ended (exit status: 1)"), "{why}");
    assert!(all[1].is_timed() && all[2].is_timed());
    let told = line(&ask, &all, 1);
    assert!(
        told.starts_with("copy by command, f32 1048576 bytes: 0.80 ± 0.14 µs, 2\u{202f}621 GB/s"),
        "{told}"
    );
    let sheet = sheet(&ask, "a", &Factors::default(), &all);
    let roles: Vec<RowRole> = sheet.parts[0].rows.iter().map(|row| row.role).collect();
    assert_eq!(roles, [RowRole::Planned, RowRole::Measured, RowRole::Measured]);
    // A busy host adds a remark of its own.
    let of_cases = sheet.remarks.iter().filter(|remark| remark.kind == RemarkKind::Missing);
    let missing: Vec<&str> = of_cases.map(|remark| remark.text.as_str()).collect();
    assert_eq!(missing.len(), 1);
    assert!(
        missing[0].starts_with("copy by command, f32 1048576 bytes, forward: the provider"),
        "{missing:?}"
    );
}

#[test]
fn a_provider_that_is_not_there_is_looked_for_once() {
    let mut ask = ask("", 2, 1);
    ask.providers = vec![Provider::Command(vec!["/no/such/provider".to_owned()])];
    for done in measure(&ask, |_, _| ()) {
        let why = done.why().unwrap_or_default();
        assert!(why.starts_with("/no/such/provider cannot be started: "), "{why}");
        assert_eq!(done.passes[&Pass::Forward].runs, []);
    }
}

#[test]
fn what_is_wrong_is_not_timed() {
    // `a = b` where `b` is not what `a` is.
    let script = r#"ready
        read -r order; file=${order##*\"check\":\"}; file=${file%%\"*}
        { head -c 1024 /dev/zero; head -c 1024 /dev/zero | tr '\0' '?'; } > "$file"
        echo '{"is":"prepared"}'; run 5"#;
    let all = measured(script, 1, 1);
    let why = all[0].why().unwrap_or_default();
    assert!(why.starts_with("wrong: the relative error of copy is 1.0e0"), "{why}");
    assert!(!all[0].is_timed() && all[0].check.is_some());
}

fn about(gpu: Option<&str>) -> About {
    About {
        provider: "torch".to_owned(),
        version: None,
        device: "here".to_owned(),
        gpu: gpu.map(str::to_owned),
        threads: None,
        instructions: None,
        versions: Default::default(),
    }
}

#[test]
fn a_product_without_a_given_size_is_larger_on_a_gpu() {
    let size = |grows: u64, gpu: Option<&str>| {
        let mut case = Case {
            implementation: "gemm".to_owned(),
            kind: "f16".to_owned(),
            operation: Operation::Gemm { m: 1024, n: 512, k: 8 },
            grows,
        };
        case.on(&about(gpu));
        // Once is enough: a provider that is restarted gets the same size.
        case.on(&about(gpu));
        super::sheet::size_of(&case.operation)
    };
    assert_eq!(size(8, Some("NVIDIA H200")), "8192x4096x64");
    assert_eq!(size(8, None), "1024x512x8");
    assert_eq!(size(0, Some("NVIDIA H200")), "1024x512x8");
}

/// One run of a case on the same processor.
fn ran(operation: Operation, kind: &str, wall_ns: u64) -> Done {
    let name = if let Operation::Bandwidth { .. } = operation { "triad" } else { "tiled" };
    let (implementation, kind) = (name.to_owned(), kind.to_owned());
    let mut done = Done::new(0, Case { implementation, kind, operation, grows: 0 });
    done.about = Some(about(None));
    let run = Run { wall_ns, cpu_ns: None, device_ns: None, disturbance: None };
    for passed in done.passes.values_mut() {
        passed.runs.push(run.clone());
    }
    done
}

#[test]
fn a_kernel_that_is_faster_than_its_ceiling_has_no_share_of_it() {
    let mut ask = ask("", 0, 1);
    let mask = ask.masks.add("full", 128).expect("a mask");
    let attention = Attention {
        batch: 1,
        query_heads: 1,
        kv_heads: 1,
        queries: 1000,
        keys: 1000,
        width: 64,
        passes: vec![Pass::Forward],
        mask: wire(&mask, 1000, 1000).expect("a mask to send"),
        block: 128,
        check_batch: 0,
        check_kv_head: 0,
    };
    // 256e6 operations; the product says 1e12 a second, the triad has bytes enough: 256 us at least.
    let share = |attention_ns: u64| {
        let all = [
            ran(Operation::Gemm { m: 1000, n: 1000, k: 500 }, "f32", 1_000_000),
            ran(Operation::Bandwidth { bytes: 1 << 30 }, "f32", 1_000_000),
            ran(Operation::Attention(attention.clone()), "f32", attention_ns),
        ];
        let sheet = sheet(&ask, "a", &Factors::default(), &all);
        let rows = sheet.parts.iter().flat_map(|part| &part.rows);
        let mut figures = rows.flat_map(|row| &row.figures);
        let quantity = ifm_core::sheet::kernel::roofline();
        let share =
            figures.find(|figure| figure.quantity == quantity).and_then(|figure| figure.value);
        let remarks: Vec<String> = sheet.remarks.into_iter().map(|remark| remark.text).collect();
        (share, remarks.join("; "))
    };
    let (half, said) = share(512_000);
    assert!((half.expect("a share") - 0.5).abs() < 1e-9 && said.is_empty(), "{half:?} {said}");
    // Both are measured, and scatter.
    assert!(share(250_000).0.is_some());
    let (none, said) = share(128_000);
    assert!(none.is_none() && said.contains("2.0 times as fast"), "{none:?} {said}");
}
