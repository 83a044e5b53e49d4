//! What is chosen from a file: the same as vLLM's and SGLang's own code chooses.
//!
//! `golden/selections.txt` was written by `golden/selections.py`, which says with which versions. The
//! files are made here again, word for word; a line is a name, how many were chosen, the tokens of
//! their prompts, and a SHA-256 over prompts and lengths in order.
use std::{fmt::Write as _, fs, path::PathBuf, sync::OnceLock};

use ifm_core::Prompt;
use ifm_tokenizer::Tokenizer;
use ifm_workload::{
    AfterLast, Lengths, OpenedWorkload, WorkloadRequest, compat::PythonRandom, open,
};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

const GOLDEN: &str = include_str!("../golden/selections.txt");
const TOKENIZER: &str = include_str!("../golden/tokenizer.json");
const WORDS: &str = "the of speed light model token answer question , . red green blue one two three \
     say \"yes\" tell\nme why naïve façade 東京 Straße 😀 x=1; C:\\dir a\tb";

fn hex(bytes: impl AsRef<[u8]>) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes it");
        text
    })
}

fn text(python: &mut PythonRandom) -> String {
    let words = WORDS.split(' ').collect::<Vec<_>>();
    let bound = match python.below(10) {
        0 => 4,
        1..8 => 120,
        8 => 600,
        _ => 2600,
    };
    let count = python.below(bound);
    let drawn = (0..count).map(|_| words[python.below(words.len() as u64) as usize]);
    drawn.collect::<Vec<_>>().join(" ")
}

fn conversations(seed: u64, count: u32) -> Vec<Value> {
    let mut python = PythonRandom::new(seed);
    let rows = (0..count).map(|index| {
        let key = if python.below(50) == 0 { "conversation" } else { "conversations" };
        let first = u64::from(python.below(10) == 0);
        let turns = (0..python.below(6)).map(|turn| {
            let from = ["human", "gpt"][((turn + first) % 2) as usize];
            json!({"from": from, "value": text(&mut python)})
        });
        let turns = turns.collect::<Value>();
        let fields = [(key.to_owned(), turns), ("id".to_owned(), format!("c{index}").into())];
        Value::Object(Map::from_iter(fields))
    });
    rows.collect()
}

/// The files that the script makes, in a folder of their own.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder can be made")
}

fn sharegpt(folder: &tempfile::TempDir) -> PathBuf {
    static CONTENT: OnceLock<Vec<u8>> = OnceLock::new();
    let path = folder.path().join("sharegpt.json");
    let content = CONTENT.get_or_init(|| {
        let content = serde_json::to_vec(&conversations(2023, 5000)).expect("it is JSON");
        assert_eq!(golden("file"), [format!("file {} {}", content.len(), hex(&content))]);
        content
    });
    fs::write(&path, content).expect("it is written");
    path
}

fn golden(name: &str) -> Vec<&'static str> {
    let lines = GOLDEN.lines();
    lines.filter(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(' '))).collect()
}

fn tokenizer() -> Tokenizer {
    Tokenizer::from_bytes("words", TOKENIZER.as_bytes()).expect("it is a tokenizer")
}

/// Checks all items of a workload against a golden line. `special` tokens were counted with each
/// prompt; where `texts` is false the lengths alone were recorded, or nothing but the texts.
fn assert_selection(name: &str, opened: &OpenedWorkload, special: u32, texts: bool, lengths: bool) {
    let items = opened.facts.items.expect("the data set ends");
    let (mut lines, mut tokens) = (String::new(), 0);
    for id in 0..items {
        let item = opened.dataset.item(id).expect("there is such an item");
        let turn = &item.turns[0];
        let text = match &turn.prompt {
            Prompt::Text(text) if texts => text.as_str(),
            Prompt::Text(_) => "",
            other => panic!("{other:?}"),
        };
        let prompt = if lengths { turn.prompt_tokens.expect("counted") + special } else { 0 };
        let output = if lengths { turn.output_tokens.expect("known") } else { 0 };
        tokens += u64::from(prompt);
        writeln!(lines, "{} {prompt} {output}", hex(text)).expect("a string takes it");
    }
    let line = format!("{name} {items} {tokens} {}", hex(&lines));
    assert_eq!(golden(name), [line]);
    assert!(opened.dataset.item(items).is_err());
}

#[test]
fn sharegpt_is_chosen_as_vllm_does() {
    let (folder, tokenizer) = (folder(), tokenizer());
    let path = sharegpt(&folder);
    for seed in [0, 1] {
        for (name, items, output, after_last) in [
            ("all", None, None, AfterLast::Stop),
            ("1000", Some(1000), None, AfterLast::Stop),
            ("output128", None, Some(128), AfterLast::Stop),
            ("oversampled", Some(4000), None, AfterLast::VllmOversample),
        ] {
            let text = format!("sharegpt:{}?seed={seed}", path.display());
            let mut request = WorkloadRequest::new(text, 9);
            request.items_max = items;
            request.output_tokens = output.map(|tokens| Lengths::fixed(tokens).unwrap());
            request.after_last = after_last;
            let opened = open(&request, &tokenizer).expect("it opens");
            assert_selection(&format!("vllm {seed} {name}"), &opened, 1, true, true);
        }
    }
    let text = format!("sharegpt:{}?shuffle=no&items=500", path.display());
    let opened = open(&WorkloadRequest::new(text, 9), &tokenizer).expect("it opens");
    assert_selection("vllm 0 unshuffled", &opened, 1, true, true);
    assert!(opened.facts.rules[0].contains("order of the file"), "{:?}", opened.facts.rules);
}

#[test]
fn sharegpt_is_chosen_as_sglang_does() {
    let (folder, tokenizer) = (folder(), tokenizer());
    let path = sharegpt(&folder);
    for seed in [0, 1, 42] {
        for (name, items, output, more) in [
            ("all", None, None, ""),
            ("1000", Some(1000), None, ""),
            ("output128", Some(1000), Some(128), ""),
            ("context", None, None, "&context=300"),
        ] {
            let text = format!("sharegpt:{}?rule=sglang{more}", path.display());
            let mut request = WorkloadRequest::new(text, 9);
            // 42 is SGLang's own default.
            request.selection_seed = (seed != 42).then_some(seed);
            request.items_max = items;
            request.output_tokens = output.map(|tokens| Lengths::fixed(tokens).unwrap());
            let opened = open(&request, &tokenizer).expect("it opens");
            assert_eq!(opened.facts.selection_seed, Some(seed));
            assert_selection(&format!("sglang {seed} {name}"), &opened, 1, true, true);
        }
    }
}

#[test]
fn what_was_chosen_is_told() {
    let (folder, tokenizer) = (folder(), tokenizer());
    let path = sharegpt(&folder);
    let text = format!("sharegpt:{}", path.display());
    let mut request = WorkloadRequest::new(text, 9);
    let facts = open(&request, &tokenizer).expect("it opens").facts;
    assert_eq!(facts.name, "sharegpt:sharegpt.json");
    assert_eq!(facts.files[0].sha256, golden("file")[0].split(' ').nth(2).unwrap());
    assert!(facts.rules[0].contains("vLLM 0.33 ShareGPT filter, seed 0, Python random.shuffle"));
    assert!(facts.rules[1].contains("count 1 tokens that the tokenizer adds"), "{:?}", facts.rules);
    let rows = facts.rows.expect("rows were read");
    assert_eq!((rows.read, rows.bad, rows.unused, rows.whole), (5000, 0, 0, true));
    assert_eq!(rows.kept + rows.dropped.values().sum::<u64>(), 5000);
    assert_eq!(rows.dropped.len(), 5, "{:?}", rows.dropped);
    assert_eq!((facts.items, facts.turns_max), (Some(rows.kept as u32), 1));
    assert!(facts.prompt_tokens_max <= Some(1023) && facts.total_tokens_max <= Some(2047));
    request.items_max = Some(100);
    let rows = open(&request, &tokenizer).expect("it opens").facts.rows.expect("rows were read");
    assert_eq!((rows.read, rows.kept), (5000, 100));
    assert_eq!(rows.kept + rows.unused + rows.dropped.values().sum::<u64>(), 5000);
}

#[test]
fn the_stream_of_a_hub_data_set_is_shuffled_as_vllm_does() {
    let (folder, tokenizer) = (folder(), tokenizer());
    for count in [300, 3500] {
        let path = folder.path().join(format!("rows{count}.jsonl"));
        let solution = "of ".repeat(5);
        let rows = (0..count).map(|index| {
            format!(
                "{}\n",
                json!({"problem": format!("the question {index}"), "solution": solution})
            )
        });
        fs::write(&path, rows.collect::<String>()).expect("it is written");
        for seed in [0, 1] {
            let text = format!("custom:{}?order=hf&columns=prompt:problem", path.display());
            let mut request = WorkloadRequest::new(text, 9);
            request.selection_seed = Some(seed);
            let opened = open(&request, &tokenizer).expect("it opens");
            assert_selection(&format!("hf {seed} {count}"), &opened, 0, true, false);
        }
    }
}

#[test]
fn burstgpt_rows_are_drawn_as_vllm_does() {
    let (folder, tokenizer) = (folder(), tokenizer());
    let path = folder.path().join("burst.csv");
    let mut csv =
        "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n".to_owned();
    let mut python = PythonRandom::new(7);
    for index in 0..2000 {
        let model = ["ChatGPT", "GPT-4"][python.below(2) as usize];
        let (prompt, output) = (1 + python.below(2000), python.below(500));
        let output = if python.below(20) == 0 { 0 } else { output };
        let total = prompt + output;
        writeln!(csv, "{},{model},{prompt},{output},{total},API log", index * 5)
            .expect("a string takes it");
    }
    fs::write(&path, csv).expect("it is written");
    for seed in [0, 1] {
        for count in [500, 1200] {
            let text = format!("burstgpt:{}?rule=vllm&items={count}", path.display());
            let mut request = WorkloadRequest::new(text, 9);
            request.selection_seed = Some(seed);
            let opened = open(&request, &tokenizer).expect("it opens");
            assert_selection(&format!("burst {seed} {count}"), &opened, 0, false, true);
            assert!(!opened.facts.timed);
        }
    }
}
