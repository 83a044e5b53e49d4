//! Pages of real servers give the numbers that they contain; damaged ones never give any other
//! number.

use ifm_core::series::Signal as Q;
use ifm_telemetry::engine::recognise;
use ifm_telemetry::{Page, dcgm};

const PAGES: [(&str, &str); 6] = [
    ("llama.cpp", include_str!("../data/llama_cpp.txt")),
    ("vLLM", include_str!("../data/vllm.txt")),
    ("SGLang", include_str!("../data/sglang.txt")),
    ("TGI", include_str!("../data/tgi.txt")),
    ("TensorRT-LLM", include_str!("../data/tensorrt_llm.txt")),
    ("Triton", include_str!("../data/triton.txt")),
];

fn read(text: &str) -> (Option<&'static str>, Vec<(Q, f64)>) {
    let page = Page::read(text);
    let Some(engine) = recognise(&page) else { return (None, Vec::new()) };
    let told = engine.read(&page).into_iter().map(|told| (told.quantity, told.value)).collect();
    (Some(engine.name), told)
}

#[test]
fn every_page_is_recognised_and_read() {
    for (name, text) in PAGES {
        let page = Page::read(text);
        assert_eq!((page.faulty_lines, page.is_cut), (0, false), "{name}");
        let expect = include_str!("../data/expected.txt").lines();
        let expect = expect.filter_map(|line| line.strip_prefix(&format!("{name} ")));
        let (engine, told) = read(text);
        assert_eq!(engine, Some(name));
        let told: Vec<String> =
            told.iter().map(|(what, value)| format!("{what:?} {value}")).collect();
        assert_eq!(told, expect.collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn a_page_that_went_through_another_program_is_read_the_same() {
    for (name, text) in PAGES {
        let (_, told) = read(text);
        assert_eq!(read(&text.replace(':', "_")).1, told, "{name} without colons");
        assert_eq!(read(&text.replace('\n', "\r\n")).1, told, "{name} with other line ends");
        let mut lines: Vec<&str> = text.lines().collect();
        lines.reverse();
        let (again, mut turned) = read(&lines.join("\n"));
        turned.sort_by_key(|told| told.0);
        let mut sorted = told.clone();
        sorted.sort_by_key(|told| told.0);
        assert_eq!((again, turned), (Some(name), sorted), "{name} upside down");
    }
}

#[test]
fn a_page_cut_anywhere_gives_no_more_than_the_whole() {
    for (name, text) in PAGES {
        let (_, whole) = read(text);
        for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
            // A number that lost digits is smaller; sums over parts are too.
            for (quantity, value) in read(&text[..end]).1 {
                let full = whole.iter().find(|told| told.0 == quantity).expect("on the whole page");
                assert!(value <= full.1 * 10.0 + 10.0, "{name} cut at {end}: {quantity:?} {value}");
            }
        }
    }
}

#[test]
fn any_byte_may_be_any_other() {
    for (name, text) in PAGES {
        let mut bytes = text.as_bytes().to_vec();
        for at in 0..bytes.len() {
            let was = bytes[at];
            for now in [b'"', b'{', b'\\', b'\n', b' ', b'9', 0] {
                bytes[at] = now;
                let spoilt = String::from_utf8_lossy(&bytes);
                let told = read(&spoilt).1;
                assert!(told.iter().all(|told| told.1.is_finite() && told.1 >= 0.0), "{name} {at}");
            }
            bytes[at] = was;
        }
    }
}

#[test]
fn distinguishes_gpus_of_an_exporter() {
    let page = Page::read(include_str!("../data/dcgm.txt"));
    let told = dcgm::read(&page);
    let power: Vec<(&str, f64)> = told
        .iter()
        .filter(|told| told.quantity == Q::GpuPower)
        .map(|told| (told.source.as_str(), told.value))
        .collect();
    assert_eq!(power, [("DCGM node-1 GPU 0", 57.145), ("DCGM node-1 GPU 7", 55.011)]);
    assert_eq!(told.len(), 5);
    assert!(PAGES.iter().all(|(_, text)| dcgm::read(&Page::read(text)).is_empty()));
}
