//! GPUs by a stand-in for NVIDIA's library: what it reports, what it does not, and what is set on
//! it.

use ifm_core::series::Signal;
use ifm_metrics::testing::{closed_loop, run};
use ifm_telemetry::control::{Control, ControlError, Restore, restore};
use ifm_telemetry::nvml::Gpus;
use ifm_telemetry::{DeviceSource, Recorder, gpu_facts};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A compiled stand-in, and the folder that its GPU follows.
struct StandIn {
    folder: tempfile::TempDir,
    library: PathBuf,
}

impl StandIn {
    fn new() -> StandIn {
        StandIn::compiled(&[])
    }

    fn compiled(flags: &[&str]) -> StandIn {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("libnvidia-ml.so.1");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/nvml.c");
        let output = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-w"])
            .args(flags)
            .arg(format!("-DFOLDER=\"{}\"", folder.path().display()))
            .arg("-o")
            .arg(&library)
            .arg(source)
            .arg("-lm")
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        StandIn { folder, library }
    }

    fn set(&self, name: &str, text: impl ToString) {
        fs::write(self.folder.path().join(name), text.to_string()).unwrap();
    }

    fn limit_w(&self) -> f64 {
        let text = fs::read_to_string(self.folder.path().join("limit")).unwrap();
        text.trim().parse::<f64>().unwrap() / 1e3
    }

    fn control(&self) -> Control {
        Control::open(Some(&self.library)).unwrap()
    }
}

const S: f64 = 1e9;

/// A run whose telemetry comes from the stand-in at simulated times: one reading a second.
fn measured(stand_in: &StandIn) -> ifm_core::RunData {
    // 2 users, 60 rounds: 15 s, sampled from before its start until after its end.
    let mut run = run(&[2], closed_loop((0, 0), (2, 60), 1000.0, (100.0, 10.0, 16)));
    let mut gpus = Gpus::of_driver(Some(&stand_in.library), None).unwrap();
    let mut recorder = Recorder::default();
    for second in 0..=20_u32 {
        stand_in.set("now", second);
        recorder.add(u64::from(second) * S as u64, gpus.read());
    }
    run.series = recorder.into_series();
    run
}

/// The integral of the stand-in's power over a span of seconds.
fn analytic_j(limit_w: f64, (start_s, end_s): (f64, f64)) -> f64 {
    let turn = std::f64::consts::TAU / 40.0;
    let until = |at: f64| 300.0 * at - 100.0 / turn * (turn * at).cos();
    limit_w / 700.0 * (until(end_s) - until(start_s))
}

#[test]
fn the_energy_of_a_run_is_that_of_the_known_curve() {
    for (flags, method) in [(&[][..], "counter"), (&["-DOLD"][..], "samples")] {
        for limit_w in [700.0, 350.0] {
            let stand_in = StandIn::compiled(flags);
            stand_in.set("limit", limit_w * 1e3);
            let run = measured(&stand_in);
            let summary = ifm_metrics::summarize(&run);
            let level = &summary.levels[0];
            let energy = level.energy.expect("energy");
            assert_eq!(energy.method.word(), method);
            let window = level.window().expect("a window").window;
            let span_s = (window.start_ns as f64 / S, window.end_ns as f64 / S);
            let (found, expect) = (energy.joules, analytic_j(limit_w, span_s));
            assert!((found / expect - 1.0).abs() < 0.01, "{method} {limit_w} W: {found} {expect}");
            let tokens_per_j = 1.0 / energy.joules_per_output_token.expect("tokens");
            let rate = level.window().expect("a window").output_tokens / energy.seconds;
            assert!((tokens_per_j / (rate / energy.watts_mean) - 1.0).abs() < 1e-9);
        }
    }
}

#[test]
fn facts_contain_what_the_driver_reports() {
    let stand_in = StandIn::new();
    stand_in.set("process", format!("{} 1048576", std::process::id()));
    stand_in.set("limit", 350_000);
    let (gpus, confidential) = gpu_facts::read(Some(&stand_in.library)).unwrap();
    assert_eq!(confidential, None, "the driver knows nothing of it");
    let [gpu] = &gpus[..] else { panic!("{gpus:?}") };
    let words = [&gpu.name, &gpu.uuid, &gpu.driver, &gpu.cuda, &gpu.vbios];
    assert_eq!(
        words.map(|word| word.as_deref().unwrap()),
        ["NVIDIA Stand-in 80GB", "GPU-5ta9d-1n", "570.86.15", "12.8", "96.00.74.00.0D"]
    );
    let limits = [
        gpu.power_limit_w,
        gpu.power_limit_default_w,
        gpu.power_limit_min_w,
        gpu.power_limit_max_w,
        gpu.power_limit_enforced_w,
    ];
    assert_eq!(limits.map(Option::unwrap), [350.0, 700.0, 200.0, 700.0, 350.0]);
    let clocks = [gpu.sm_clock_mhz, gpu.sm_clock_max_mhz, gpu.memory_clock_mhz];
    assert_eq!(clocks, [Some(1980), Some(1980), Some(2619)]);
    assert_eq!((gpu.ecc, gpu.mig, gpu.persistence), (Some(true), Some(false), Some(true)));
    assert_eq!((gpu.temperature_c, gpu.memory_bytes), (Some(61), Some(80 << 30)));
    assert_eq!(gpu.throttle_reasons.as_deref(), Some(&["power limit".to_owned()][..]));
    let process = &gpu.processes.as_ref().unwrap()[0];
    assert_eq!((process.pid, process.memory_bytes), (Some(std::process::id()), Some(1 << 20)));
    assert_eq!(process.name.as_deref(), Some("/opt/trainer"));
    assert_eq!((&gpu.trouble, gpu.locked_clocks_mhz), (&None, None));
}

#[test]
fn confidential_computing_is_reported_as_read() {
    // Environment, feature, development tools; and what follows.
    for (cc, is_on, environment, dev_mode) in [
        ("2 1 0", true, Some("production"), false),
        ("2 1 1", true, Some("production"), true),
        ("1 1 0", true, None, false),
        ("0 0 0", false, None, false),
    ] {
        let stand_in = StandIn::new();
        stand_in.set("cc", cc);
        let found = gpu_facts::read(Some(&stand_in.library)).unwrap().1.expect("told");
        assert_eq!(found.is_on(), Some(is_on), "{cc}");
        assert_eq!(found.environment.as_deref(), environment, "{cc}");
        assert_eq!((found.dev_mode, found.is_ready), (Some(dev_mode), Some(true)), "{cc}");
    }
}

#[test]
fn what_an_old_driver_lacks_is_absent() {
    let stand_in = StandIn::compiled(&["-DOLD"]);
    stand_in.set("cc", "2 1 0");
    let (gpus, confidential) = gpu_facts::read(Some(&stand_in.library)).unwrap();
    assert_eq!((&gpus[0].processes, confidential), (&None, None));
    let read = Gpus::of_driver(Some(&stand_in.library), None).unwrap().read();
    assert!(read.iter().any(|told| told.quantity == Signal::GpuPower));
    assert!(read.iter().all(|told| told.quantity != Signal::GpuEnergy));
    let text = serde_json::to_string(&gpus[0]).unwrap();
    assert!(!text.contains("processes") && !text.contains("null"), "{text}");
}

#[test]
fn a_gpu_that_falls_off_the_bus_reports_nothing_more() {
    let stand_in = StandIn::new();
    let mut gpus = Gpus::of_driver(Some(&stand_in.library), None).unwrap();
    assert!(!gpus.read().is_empty());
    let control = stand_in.control();
    stand_in.set("lost", "");
    assert!(gpus.read().is_empty());
    for error in [
        control.set_power_limit(0, 500_000).unwrap_err(),
        control.lock_clocks(0, 210, 1500).unwrap_err(),
        control.reset_clocks(0).unwrap_err(),
        control.power_limit(0).unwrap_err(),
    ] {
        assert_eq!(error, ControlError::Lost(0));
    }
    let gpu = gpu_facts::read(Some(&stand_in.library)).unwrap().0.remove(0);
    assert!(gpu.trouble.is_some_and(|why| why.contains("fell off the bus")));
    assert_eq!((gpu.name, gpu.power_limit_w, gpu.index), (None, None, Some(0)));
}

#[test]
fn limits_and_clocks_are_set_read_back_and_put_back() {
    let stand_in = StandIn::new();
    let control = stand_in.control();
    let before = control.set_power_limit(0, 500_000).unwrap();
    assert_eq!((before.set_mw, before.range_mw), (700_000, Some((200_000, 700_000))));
    assert_eq!(control.power_limit(0).unwrap().set_mw, 500_000);
    control.lock_clocks(0, 210, 1_410).unwrap();
    assert_eq!(control.clock(0).unwrap(), 1_410);
    let library = Some(stand_in.library.as_path());
    restore(library, Restore::PowerLimit { gpu: 0, milliwatts: before.set_mw }).unwrap();
    restore(library, Restore::Clocks { gpu: 0 }).unwrap();
    restore(library, Restore::Clocks { gpu: 0 }).unwrap();
    assert_eq!(
        (control.power_limit(0).unwrap().set_mw, control.clock(0).unwrap()),
        (700_000, 1_980)
    );
}

#[test]
fn what_cannot_be_set_is_refused_in_one_sentence() {
    let stand_in = StandIn::new();
    let control = stand_in.control();
    let refused = |error: ControlError, sentence: &str| assert_eq!(error.to_string(), sentence);
    for milliwatts in [100_000, 900_000] {
        refused(
            control.set_power_limit(0, milliwatts).unwrap_err(),
            &format!("GPU 0: {} W is outside what it takes: 200 W to 700 W", milliwatts / 1000),
        );
    }
    refused(
        control.lock_clocks(0, 210, 2_500).unwrap_err(),
        "GPU 0: 210 to 2500 MHz is outside what it takes: 0 MHz to 1980 MHz",
    );
    refused(control.power_limit(3).unwrap_err(), "there is no GPU 3");
    stand_in.set("deaf", "");
    refused(
        control.set_power_limit(0, 300_000).unwrap_err(),
        "GPU 0: 300 W was set, and 700 W is what it has",
    );
    stand_in.set("no_rights", "");
    refused(
        control.set_power_limit(0, 300_000).unwrap_err(),
        "GPU 0: setting a power limit needs root",
    );
    refused(
        control.lock_clocks(0, 210, 1_410).unwrap_err(),
        "GPU 0: setting locked clocks needs root",
    );
    assert_eq!(control.power_limit(0).unwrap().set_mw, 700_000, "nothing was set");
    let nowhere = Control::open(Some(Path::new("/nowhere/libnvidia-ml.so"))).map(|_| ());
    assert!(nowhere.unwrap_err().to_string().starts_with("no GPU driver available: NVML: "));
}

/// Says where its library is, so that the test below may start it as a process of its own.
const LIBRARY_VARIABLE: &str = "IFM_STAND_IN";

#[test]
#[ignore = "not a test: the process that sets a limit and is killed"]
fn sets_a_limit_and_waits() {
    let Ok(library) = std::env::var(LIBRARY_VARIABLE) else { return };
    let control = Control::open(Some(Path::new(&library))).unwrap();
    let before = control.set_power_limit(0, 250_000).unwrap();
    control.lock_clocks(0, 210, 1_200).unwrap();
    println!("set {}", before.set_mw);
    std::io::stdout().flush().unwrap();
    // Until it is killed, or until the test that started it is gone.
    let _ = std::io::stdin().read_line(&mut String::new());
}

#[test]
fn a_limit_is_put_back_after_its_setter_was_killed() {
    let stand_in = StandIn::new();
    let mut setter = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "nvml::sets_a_limit_and_waits", "--nocapture"])
        .env(LIBRARY_VARIABLE, &stand_in.library)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(setter.stdout.take().unwrap()).lines();
    let said = lines.map(Result::unwrap).find_map(|line| {
        let (_, milliwatts) = line.split_once("set ")?;
        milliwatts.trim().parse::<u32>().ok()
    });
    setter.kill().unwrap();
    setter.wait().unwrap();
    let milliwatts = said.expect("what it was before");
    assert_eq!(stand_in.limit_w(), 250.0, "a killed process leaves what it set");
    assert_eq!(stand_in.control().clock(0).unwrap(), 1_200);
    let library = Some(stand_in.library.as_path());
    restore(library, Restore::PowerLimit { gpu: 0, milliwatts }).unwrap();
    restore(library, Restore::Clocks { gpu: 0 }).unwrap();
    assert_eq!((stand_in.limit_w(), stand_in.control().clock(0).unwrap()), (700.0, 1_980));
}
