//! The tables: every row is read, counts equal the published ones, and names find their rows.

use ifm_roofline::{
    Confidence, KvFormat, Machine, Model, RooflineError, WeightFormat, architectures,
};

#[test]
fn every_row_is_read_and_its_own_names_find_it() {
    let rows = |text: &str, head: &str| text.lines().filter(|line| *line == head).count();
    let machines = rows(include_str!("../../data/hardware.toml"), "[[machine]]");
    let models = rows(include_str!("../../data/models.toml"), "[[model]]");
    assert_eq!((Machine::all().len(), Model::all().count()), (machines, models));
    for machine in Machine::all() {
        for name in [&machine.id, &machine.name] {
            let found = Machine::find(name).map(|found| found.id);
            assert_eq!(found.as_ref(), Ok(&machine.id), "{name}");
        }
        assert!(machine.bandwidth_gb_s > 100.0 && machine.bf16_tflops > 5.0, "{}", machine.id);
        assert!(machine.source.len() > 10 && machine.confidence != Confidence::User);
    }
    for model in Model::all() {
        assert_eq!(Model::find(&model.id).map(|found| found.id).as_ref(), Ok(&model.id));
        let native = model.native_format.as_deref().map(WeightFormat::find);
        assert!(matches!(native, Some(Ok(_))), "{}", model.id);
    }
}

#[test]
fn counts_equal_the_published_ones() {
    let mut compared = 0;
    for model in Model::all() {
        let Some(published) = model.published_parameters else { continue };
        compared += 1;
        assert_eq!(model.parameters(), published as f64, "{}", model.id);
    }
    assert!(compared >= 30, "{compared} of {} rows have a published count", Model::all().count());
}

/// Every line of `tests/data/names.txt`.
#[test]
fn names_find_what_they_mean_and_no_more() {
    let id = |found: Result<Model, RooflineError>| found.map(|model| model.id);
    let mut lines = 0;
    for line in include_str!("../data/names.txt").lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let parts: Vec<&str> = line.split('|').map(str::trim).collect();
        let [kind, name, expect] = parts.as_slice() else { panic!("{line}") };
        let expect = *expect;
        lines += 1;
        let numbers = || expect.split(", ").map(|number| number.parse::<f64>().expect(line));
        match *kind {
            "machine" => {
                assert_eq!(
                    Machine::find(name).map(|found| found.id).as_deref(),
                    Ok(expect),
                    "{line}"
                );
            }
            "machines" => match Machine::find(name) {
                Err(RooflineError::Ambiguous { candidates, .. }) => {
                    let is_there = |id: &str| candidates.iter().any(|found| found == id);
                    assert!(expect.split(", ").all(is_there), "{line}: {candidates:?}");
                }
                other => panic!("{line}: {other:?}"),
            },
            "no machine" => {
                let found = Machine::find(name);
                assert!(matches!(found, Err(RooflineError::Unknown { .. })), "{line}: {found:?}");
            }
            "model" => assert_eq!(id(Model::find(name)).as_deref(), Ok(expect), "{line}"),
            "not one model" => {
                use RooflineError::{Ambiguous, Unknown};
                let found = Model::find(name);
                assert!(
                    matches!(found, Err(Ambiguous { .. } | Unknown { .. })),
                    "{line}: {found:?}"
                );
            }
            "no model" => {
                let found = Model::find(name);
                assert!(matches!(found, Err(RooflineError::Unknown { .. })), "{line}: {found:?}");
            }
            "format" => {
                let found = WeightFormat::named_in(name).map_or("", |format| format.id);
                assert_eq!(found, expect, "{line}");
            }
            "kv bytes" => {
                let bytes = 2.0 * Model::find(name).unwrap().kv_elements_per_token();
                assert_eq!(Some(bytes), numbers().next(), "{line}");
            }
            "active" => {
                let model = Model::find(name).unwrap();
                let counts = [model.parameters() / 1e9, model.active_parameters() / 1e9];
                for ((count, expect), off) in counts.iter().zip(numbers()).zip([1e-4, 2e-4]) {
                    assert!((count / expect - 1.0).abs() < off, "{line}: {counts:?}");
                }
            }
            row => {
                let parameters = row.strip_prefix("row of ").expect(line).parse().expect(line);
                let found = id(Model::find_with_parameters(name, parameters));
                assert_eq!(found.as_deref(), Ok(expect), "{line}");
            }
        }
    }
    assert!(lines > 90, "{lines}");
    let Err(RooflineError::Unknown { nearest, .. }) = Machine::find("l40x") else { panic!() };
    assert!(nearest.iter().any(|id| id == "l40s"), "{nearest:?}");
    assert!(Model::find_with_parameters("Qwen3-4B", 9.0e9).is_err());
    assert!(Model::find_with_parameters("some model", 1.0).is_err());
}

#[test]
fn number_formats_are_read_from_flags() {
    assert_eq!(WeightFormat::find("IQ4_XS - 4.25 bpw").map(|format| format.bits), Ok(4.25));
    assert_eq!(WeightFormat::find("Q4_K - Small").map(|format| format.id), Ok("q4_k_s"));
    assert_eq!(KvFormat::find("fp8_e4m3").map(|format| format.bits), Ok(8.0));
    let Err(RooflineError::Unknown { nearest, .. }) = WeightFormat::find("q4_k_x") else {
        panic!()
    };
    assert!(nearest.iter().any(|id| id == "q4_k_m"), "{nearest:?}");
    assert!(architectures().any(|name| name == "llama"));
}

#[test]
fn machines_are_described_by_hand() {
    let machine = Machine::parse("bw=864,bf16=362, mem=45,name=mine").unwrap();
    assert_eq!((machine.bandwidth_gb_s, machine.memory_gib), (864.0, Some(45.0)));
    assert_eq!((machine.name.as_str(), machine.int8_tops), ("mine", None));
    let changed = Machine::parse("l40s,bw=900").unwrap();
    assert_eq!((changed.bandwidth_gb_s, changed.bf16_tflops), (900.0, 362.05));
    assert_eq!(changed.confidence, Confidence::User);
    let text = "bw=42,bf16=0.1,id=l40s,name=8x mine,measured=here on 2026-11-25 by abc";
    let measured = Machine::parse(text).unwrap();
    assert_eq!((measured.id.as_str(), measured.confidence), ("l40s", Confidence::Measured));
    assert_eq!(measured.source, "here on 2026-11-25 by abc");
    assert_eq!((Machine::count_in(text), Machine::count_in("8xl40s,bw=900")), (None, Some(8)));
    for text in ["bw=864", "bf16=1,bw=0", "bw=fast,bf16=1", "bw=1,bf16=2,hz=3", "bw=1,bf16=2,l40s"]
    {
        assert!(matches!(Machine::parse(text), Err(RooflineError::Machine { .. })), "{text}");
    }
}
