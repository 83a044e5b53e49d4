//! Draws that are the same as those of Python, numpy, vLLM and SGLang.
//!
//! `golden/draws.txt` was written by `golden/draws.py`, which says with which versions; a line is a
//! name, the first eight numbers, how many there are, and the start of a SHA-256 over all of them.
use ifm_workload::compat::{
    NumpyGenerator, NumpyLegacy, PythonRandom,
    lengths::{RandomAsk, RandomDraw, sglang_random, vllm_random},
};
use sha2::{Digest as _, Sha256};

const GOLDEN: &str = include_str!("../golden/draws.txt");
const SEEDS: [u64; 4] = [0, 1, 42, (1 << 40) + 7];

fn line<T: ToString>(name: String, numbers: impl IntoIterator<Item = T>) -> String {
    let numbers = numbers.into_iter().map(|number| number.to_string()).collect::<Vec<_>>();
    let digest = Sha256::digest(numbers.join(","));
    let digest = digest[..8].iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let first = numbers[..numbers.len().min(8)].join(",");
    format!("{name} {first} {} {digest}", numbers.len())
}

/// The golden lines that begin with a word are the lines given, in order.
fn assert_lines(word: &str, lines: &[String]) {
    let golden = GOLDEN.lines().filter(|line| line.split(' ').next() == Some(word));
    let golden = golden.collect::<Vec<_>>();
    golden.iter().zip(lines).for_each(|(golden, line)| assert_eq!(golden, line));
    assert_eq!(golden.len(), lines.len());
}

#[test]
fn python_draws_the_same() {
    let mut lines = Vec::new();
    for seed in SEEDS {
        let mut python = PythonRandom::new(seed);
        let name = |what: &str| format!("python {seed} {what}");
        lines.push(line(name("bits"), [1, 8, 31, 32, 33, 64].map(|bits| python.bits(bits))));
        let bounds = [1, 2, 3, 10, 1000, 1 << 31, 1 << 40];
        lines.push(line(name("below"), bounds.map(|bound| python.below(bound))));
        lines.push(line(name("random"), (0..1000).map(|_| python.random().to_bits())));
        let mut list = (0..5000).collect::<Vec<_>>();
        python.shuffle(&mut list);
        lines.push(line(name("shuffle"), list));
        let population = (0..1000).collect::<Vec<_>>();
        let choice = (0..100).map(|_| *python.choice(&population[..77]).expect("not empty"));
        lines.push(line(name("choice"), choice));
        lines.push(line(name("choices"), python.choices(&population, 1000)));
        lines.push(line(name("randint"), (0..100).map(|_| python.randint(100, 200))));
    }
    assert_lines("python", &lines);
    assert_eq!(PythonRandom::new(1).choice::<u8>(&[]), None);
    assert_eq!(PythonRandom::new(1).randint(7, 3), 7);
}

#[test]
fn numpy_draws_the_same() {
    let mut lines = Vec::new();
    for seed in SEEDS {
        let mut numpy = NumpyGenerator::new(seed);
        let ranges = [
            (0, 10, 5),
            (819, 1230, 1000),
            (0, 1 << 32, 3),
            (0, (1 << 32) - 1, 3),
            (-(1 << 40), 1 << 41, 100),
            (0, i64::MAX, 2),
            (5, 6, 2),
            (0, 3, 1),
        ];
        for (low, high, count) in ranges {
            let name = format!("numpy {seed} integers {high}");
            lines.push(line(name, numpy.integers(low, high, count)));
        }
        let random = (0..1000).map(|_| numpy.random().to_bits());
        lines.push(line(format!("numpy {seed} random"), random));
        let mut list = (0..50).collect::<Vec<_>>();
        numpy.shuffle(&mut list);
        lines.push(line(format!("numpy {seed} shuffle"), list));
        lines.push(line(format!("numpy {seed} after"), numpy.integers(0, 1000, 3)));
    }
    assert_lines("numpy", &lines);
    assert_eq!(NumpyGenerator::new(1).integer(7, 3), 7);
}

#[test]
fn the_older_numpy_draws_the_same() {
    let (mut lines, mut pandas) = (Vec::new(), Vec::new());
    for seed in [0, 1, 42] {
        let mut legacy = NumpyLegacy::new(seed);
        for (low, high, count) in [(0, 10, 5), (204, 1025, 1000), (7, 8, 2)] {
            let name = format!("legacy {seed} randint {high}");
            lines.push(line(name, legacy.randints(low, high, count)));
        }
        lines.push(line(format!("legacy {seed} permutation"), legacy.permutation(5000)));
        let mut sample = |name: &str, count| {
            let rows = NumpyLegacy::new(seed).sample_rows(1000, count);
            pandas.push(line(format!("pandas {seed} {name}"), rows));
        };
        sample("sample", 700);
        sample("replace", 1500);
    }
    assert_lines("legacy", &lines);
    assert_lines("pandas", &pandas);
    assert_eq!(NumpyLegacy::new(1).randint(7, 3), 7);
}

fn tool(name: &str, seeds: [u32; 3], asks: [(f64, u32, u32, u32); 2]) -> Vec<String> {
    let draw = if name == "vllm" { vllm_random } else { sglang_random };
    let mut lines = Vec::new();
    for seed in seeds {
        for (ratio, input_tokens, output_tokens, requests) in asks {
            let draws = draw(&RandomAsk {
                seed,
                requests,
                input_tokens,
                output_tokens,
                input_ratio: ratio,
                output_ratio: ratio,
                special_tokens: 1,
                vocab_size: 128_000,
            });
            let column = |pick: fn(&RandomDraw) -> u32| draws.iter().map(pick);
            let numbers = column(|draw| draw.prompt_tokens)
                .chain(column(|draw| draw.output_tokens))
                .chain(column(|draw| draw.offset));
            lines.push(line(format!("{name} {seed} {input_tokens}"), numbers));
        }
    }
    lines
}

#[test]
fn the_tools_draw_the_same() {
    let asks = [(0.2, 1024, 128, 1000), (0.5, 1500, 250, 333)];
    assert_lines("vllm", &tool("vllm", [0, 1, 7], asks));
    let asks = [(0.0, 1024, 1024, 1000), (0.5, 1500, 250, 333)];
    assert_lines("sglang", &tool("sglang", [0, 1, 42], asks));
}
