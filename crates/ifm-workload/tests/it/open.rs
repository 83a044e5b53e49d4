//! Workloads by name: presets, kinds, options and lengths.
use std::{collections::BTreeSet, fs, path::Path};

use crate::tokenizer;
use ifm_core::{Prompt, Role};
use ifm_tokenizer::Tokenizer;
use ifm_workload::{
    AfterLast, DATASETS, Lengths, OpenedWorkload, WorkItem, WorkloadError, WorkloadRequest, open,
    presets, preview,
};

fn opened(text: &str) -> OpenedWorkload {
    open(&WorkloadRequest::new(text, 7), &tokenizer()).unwrap_or_else(|error| panic!("{error}"))
}

fn error(text: &str) -> String {
    match open(&WorkloadRequest::new(text, 7), &tokenizer()) {
        Ok(_) => panic!("{text} opens"),
        Err(error) => error.to_string(),
    }
}

fn text(item: &WorkItem) -> &str {
    item.turns[0].prompt.as_text().expect("it is a text")
}

fn lengths(item: &WorkItem) -> (u32, u32) {
    let turn = &item.turns[0];
    (turn.prompt_tokens.expect("counted"), turn.output_tokens.expect("known"))
}

#[test]
fn presets_and_lengths_are_understood() {
    for (name, prompt, output, known_as) in [
        ("chat", 1024, 256, "chat"),
        ("chatbot", 1024, 256, "chat"),
        ("rag", 4096, 256, "rag"),
        ("agentic", 16_384, 256, "agent"),
        ("tool-calling", 32_768, 256, "tools"),
        ("random:1500/250", 1500, 250, "1500/250"),
        ("random:4000/1000", 4000, 1000, "4000/1000"),
        ("1000/1000", 1000, 1000, "1000/1000"),
        ("D(100,1000)", 100, 1000, "D(100,1000)"),
        ("prompt_tokens=128,output_tokens=16", 128, 16, "128/16"),
        ("sonnet", 550, 150, "sonnet:550/150"),
        ("prefix_repetition", 512, 128, "prefix-repetition:512/128"),
        ("chat?prefix=100", 1024, 256, "chat"),
    ] {
        let opened = opened(name);
        let item = opened.dataset.item(3).expect("there is such an item");
        assert_eq!(lengths(&item), (prompt, output), "{name}");
        assert_eq!(opened.facts.name, known_as);
        assert_eq!(tokenizer().encode(text(&item)).unwrap().len(), prompt as usize, "{name}");
        let facts = &opened.facts;
        assert_eq!(
            (facts.prompt_tokens_max, facts.output_tokens_max),
            (Some(prompt), Some(output))
        );
        assert!(facts.ignore_eos && facts.items.is_none() && opened.dataset.items().is_none());
    }
}

#[test]
fn a_name_is_understood_again() {
    for name in [
        "N(480,240)/(300,150)",
        "U(50,100)/(200,250)",
        "prompt_tokens=128,prompt_tokens_stdev=20,output_tokens=16",
        "100:5,200:3/lognormal(100,20)",
        "random-ids:5-9/3",
        "sonnet:40/5",
    ] {
        let (first, known_as) = (opened(name), opened(name).facts.name);
        let again = opened(&known_as);
        assert_eq!(again.facts.name, known_as);
        for id in 0..5 {
            assert_eq!(first.dataset.item(id).unwrap(), again.dataset.item(id).unwrap(), "{name}");
        }
    }
}

#[test]
fn every_preset_opens_or_names_its_file() {
    let list = presets(None).expect("they are sound");
    assert_eq!(list.iter().map(|preset| &preset.name).collect::<BTreeSet<_>>().len(), list.len());
    for preset in list {
        match open(&WorkloadRequest::new(preset.name.as_str(), 1), &tokenizer()) {
            Ok(opened) => assert_eq!(opened.facts.preset, Some(preset.name)),
            Err(error) => {
                let text = error.to_string();
                assert!(matches!(error, WorkloadError::Hub { .. }), "{text}");
                assert!(text.contains("https://huggingface.co/datasets/"), "{text}");
                assert!(text.contains("name it") || text.contains("name their folder"), "{text}");
            }
        }
    }
}

#[test]
fn users_add_presets() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("mine.toml", "name='mine'\nsummary='x'\nworkload='random:10/5?prefix=4'\n");
    write("chat.toml", "name='chat'\nsummary='x'\nworkload='random:20/5'\nignore_eos=false\n");
    let mut request = WorkloadRequest::new("mine", 7);
    request.preset_folder = Some(folder.path().to_owned());
    let facts = open(&request, &tokenizer()).unwrap().facts;
    assert_eq!((facts.name.as_str(), facts.prompt_tokens_max), ("mine", Some(10)));
    assert!(facts.rules[0].contains("the first 4 tokens"), "{:?}", facts.rules);
    request.text = "chat".to_owned();
    let facts = open(&request, &tokenizer()).unwrap().facts;
    assert_eq!((facts.prompt_tokens_max, facts.ignore_eos), (Some(20), false));
    write("bad.toml", "name='a b'\nsummary='x'\nworkload='1/1'\n");
    let error = open(&request, &tokenizer()).err().unwrap().to_string();
    assert!(error.contains("bad.toml") && error.contains("its name"), "{error}");
    write("bad.toml", "name='a'\nworkload='1/1'\n");
    let error = open(&request, &tokenizer()).err().unwrap().to_string();
    assert!(error.contains("summary"), "{error}");
    assert_eq!(presets(Some(Path::new("no such folder"))).unwrap(), presets(None).unwrap());
}

#[test]
fn what_is_wrong_is_said() {
    for (name, part) in [
        ("chatt", "did you mean 'chat'? `inferometer workload list` shows all"),
        ("zzzz", "there are chat, rag, agent, tools"),
        ("", "there are chat"),
        ("random:1500", "random:1500/250"),
        ("random", "workload 'random': it is written random:PROMPT/OUTPUT; write prompt"),
        ("mix", "workload 'mix': it is written mix:NAME=SHARE@MODEL*WORKLOAD"),
        ("agents:", "workload 'agents': it is written agents:PROMPT/OUTPUT"),
        ("random:1500/x", "'x' is not a number"),
        ("random:9-3/5", "smaller first"),
        ("random:5/5?prefix=6", "does not fit"),
        ("random:5/5?colour=red", "there is no option 'colour'"),
        ("random:5/5?turns=x", "'turns' needs a number of turns"),
        ("random:5/5?range_ratio=0.2", "say whose: vllm (L(1-r) to L(1+r)), sglang"),
        ("random:5/5?range_ratio=1&ratio=vllm", "from 0 to below 1"),
        ("random:5-9/5?range_ratio=0.1&ratio=vllm", "needs one length"),
        ("random:5/5?draws=vllm&ratio=sglang", "same tool"),
        ("random:5/5?draws=vllm&range_ratio=x", "write one number"),
        ("random:5/5?after=never", "stop, repeat, vllm"),
        ("random:5/5?bad_rows=x", "stop, skip"),
        ("custom", "name the file, as in custom:PATH"),
        ("custom:no-such-file.jsonl", "cannot read no-such-file.jsonl"),
        ("hub:a", "write hub:OWNER/NAME"),
        ("prefix-repetition:100/5?hit=2", "from 0 to 1"),
        ("prefix-repetition:5+1-9/5", "has one length"),
        ("prefix-repetition:100/5?order=vllm", "needs the number of requests"),
        ("random-ids:5/5?rule=vllm&prefix=3", "no option 'prefix'"),
    ] {
        let error = error(name);
        assert!(error.contains(part), "{name}: {error}");
    }
}

#[test]
fn lengths_of_the_command_line_come_first() {
    let mut request = WorkloadRequest::new("chat", 7);
    request.prompt_tokens = Some("normal(100,10)".parse().unwrap());
    request.output_tokens = Some(Lengths::fixed(9).unwrap());
    request.shared_prefix_tokens = 20;
    let opened = open(&request, &tokenizer()).unwrap();
    assert_eq!(opened.facts.prompt_tokens.as_deref(), Some("normal(100,10,50,150)"));
    assert_eq!(opened.facts.total_tokens_max, Some(159));
    for id in 0..50 {
        let item = opened.dataset.item(id).unwrap();
        let (prompt, output) = lengths(&item);
        assert!((50..=150).contains(&prompt) && output == 9);
        assert_eq!(tokenizer().encode(text(&item)).unwrap().len(), prompt as usize);
    }
    let preview = preview(opened.dataset.as_ref(), 50).unwrap();
    assert_eq!(preview.distinct_prompts, 50);
    assert!(preview.shared_prefix_share > Some(0.05), "{:?}", preview.shared_prefix_share);
}

/// The lengths themselves are checked against numpy in `compat.rs`.
#[test]
fn a_tools_own_draws_are_used_when_asked_for() {
    let name = "random:1024/128?draws=vllm&range_ratio=0.2&seed=0&items=1000";
    let workload = opened(name);
    let facts = &workload.facts;
    assert_eq!((facts.items, facts.selection_seed), (Some(1000), Some(0)));
    assert_eq!(facts.range_ratio.as_deref(), Some("0.2 as vllm means it: L(1-r) to L(1+r)"));
    assert!(facts.rules[0].contains("vLLM 0.33, numpy default_rng, seed 0, drawn for 1000"));
    // numpy 2.4.6: default_rng(0).integers(819, 1230, size=1000)[:4], then
    // integers(102, 155, size=1000)[:4] of the same generator.
    let drawn = (0..4).map(|id| lengths(&workload.dataset.item(id).unwrap()));
    let (prompts, outputs) = drawn.unzip::<_, _, Vec<_>, Vec<_>>();
    assert_eq!(prompts, [1168, 1080, 1029, 929]);
    assert_eq!(outputs, [131, 106, 111, 148]);
    assert!(matches!(workload.dataset.item(1000), Err(WorkloadError::Exhausted { items: 1000 })));
    let again = opened(&format!("{name}&after=repeat"));
    assert_eq!(again.facts.items, None);
    let (first, later) = (again.dataset.item(0).unwrap(), again.dataset.item(1000).unwrap());
    assert_eq!(lengths(&first), lengths(&later));
    assert_ne!(text(&first), text(&later));
    // SGLang means the same text differently.
    let sglang = opened("random:1024/128?range_ratio=0.2&ratio=sglang");
    assert_eq!(sglang.facts.name, "204-1024/25-128");
}

#[test]
fn token_ids_are_exact_and_distinct() {
    let tokenizer = tokenizer();
    let workload = opened("random-ids:20-40/5");
    let mut heads = BTreeSet::new();
    for id in 0..2000 {
        let item = workload.dataset.item(id).unwrap();
        let Prompt::Tokens(ids) = &item.turns[0].prompt else { panic!("these are ids") };
        assert_eq!(ids.len(), lengths(&item).0 as usize);
        assert!(ids.iter().all(|&id| id < tokenizer.vocab_size() && !tokenizer.is_special(id)));
        assert!(heads.insert(ids[..3].to_vec()), "item {id} begins like another");
    }
    let mut request = WorkloadRequest::new("random-ids:20/5", 7);
    request.shared_prefix_tokens = 6;
    let shared = open(&request, &tokenizer).unwrap().dataset;
    let ids = |id: u32| match shared.item(id).unwrap().turns.remove(0).prompt {
        Prompt::Tokens(ids) => ids,
        other => panic!("{other:?}"),
    };
    assert_eq!(ids(1)[..6], ids(2)[..6]);
    assert_ne!(ids(1)[6], ids(2)[6]);
}

/// vLLM: `allowed[(offset + index + arange(length)) % len(allowed)]`, SGLang:
/// `(offset + index + j) % vocab_size`.
#[test]
fn token_ids_of_a_tool_run_through_the_vocabulary() {
    let special = tokenizer().special_ids().len() as u32;
    let vocab = tokenizer().vocab_size();
    for (rule, first, count) in [("vllm", special, vocab - special), ("sglang", 0, vocab)] {
        let name = format!("random-ids:30/5?rule={rule}&range_ratio=0.5&items=200");
        let workload = opened(&name);
        assert_eq!(workload.dataset.items(), Some(200));
        for id in 0..200 {
            let item = workload.dataset.item(id).unwrap();
            let Prompt::Tokens(ids) = &item.turns[0].prompt else { panic!("these are ids") };
            assert_eq!(ids.len(), lengths(&item).0 as usize);
            let place = |id: u32| (id - first) % count;
            for two in ids.windows(2) {
                assert_eq!(place(two[1]), (place(two[0]) + 1) % count, "{rule}");
            }
        }
    }
}

#[test]
fn prefixes_repeat_with_the_hit_rate_asked_for() {
    let workload = opened("prefix-repetition:400/5?hit=0.6&prefixes=4");
    let mut prefixes = BTreeSet::new();
    for id in 0..40 {
        let item = workload.dataset.item(id).unwrap();
        let ids = tokenizer().encode(text(&item)).unwrap();
        assert_eq!(ids.len(), 400);
        prefixes.insert(ids[..240].to_vec());
    }
    assert_eq!(prefixes.len(), 4);
    let share = preview(workload.dataset.as_ref(), 400).unwrap().shared_prefix_share.unwrap();
    assert!((share - 0.6).abs() < 0.03, "{share}");
    assert!(workload.facts.rules[0].contains("60.0 %"), "{:?}", workload.facts.rules);
    let random = opened("prefix-repetition:30+10/5?order=random&prefixes=3");
    let firsts = (0..300)
        .map(|id| text(&random.dataset.item(id).unwrap()).split(' ').next().unwrap().to_owned());
    let firsts = firsts.collect::<Vec<_>>();
    let kinds = firsts.iter().collect::<BTreeSet<_>>();
    assert_eq!(kinds.len(), 3);
    for kind in kinds {
        let count = firsts.iter().filter(|first| *first == kind).count();
        assert!((60..140).contains(&count), "{count}");
    }
}

/// Python 3.11.7: `order = [i for i in range(3) for _ in range(4)]; random.seed(0);
/// random.shuffle(order)`.
#[test]
fn prefixes_come_in_vllms_order() {
    let workload = opened("prefix-repetition:8+4/5?order=vllm&prefixes=3&items=14&seed=0");
    assert_eq!(workload.dataset.items(), Some(12));
    let firsts = (0..12).map(|id| {
        let item = workload.dataset.item(id).unwrap();
        text(&item).split(' ').take(8).collect::<Vec<_>>().join(" ")
    });
    let firsts = firsts.collect::<Vec<_>>();
    let order = [0, 2, 2, 1, 2, 0, 0, 1, 1, 0, 2, 1];
    for (one, first) in order.iter().zip(&firsts) {
        for (other, second) in order.iter().zip(&firsts) {
            assert_eq!(one == other, first == second);
        }
    }
    assert!(workload.dataset.item(12).is_err());
}

#[test]
fn synthetic_conversations_have_turns_and_pauses() {
    let workload = opened("random:100/10?turns=3&turn_tokens=20-30&think=1s-2s");
    assert_eq!(workload.facts.turns_max, 3);
    assert_eq!(workload.facts.total_tokens_max, Some(110 + 2 * 40));
    let mut later = BTreeSet::new();
    for id in 0..20 {
        let item = workload.dataset.item(id).unwrap();
        assert_eq!(item, workload.dataset.item(id).unwrap());
        assert_eq!((item.turns.len(), item.turns[0].think_ns), (3, 0));
        for turn in &item.turns[1..] {
            let Prompt::Messages(messages) = &turn.prompt else { panic!("these are messages") };
            assert_eq!((messages.len(), messages[0].role), (1, Role::User));
            let tokens = tokenizer().encode(&messages[0].content).unwrap().len() as u32;
            assert_eq!(turn.prompt_tokens, Some(tokens));
            assert!((20..=30).contains(&tokens));
            assert!((1_000_000_000..=2_000_000_000).contains(&turn.think_ns));
            assert!(later.insert(messages[0].content.clone()), "a turn comes twice");
        }
    }
}

#[test]
fn poems_are_cut_to_exact_lengths() {
    let workload = opened("sonnet:40-300/5?prefix=20");
    let mut prompts = BTreeSet::new();
    for id in 0..60 {
        let item = workload.dataset.item(id).unwrap();
        assert_eq!(tokenizer().encode(text(&item)).unwrap().len(), lengths(&item).0 as usize);
        assert!(text(&item).starts_with("Pick as many lines as you can"), "{}", text(&item));
        prompts.insert(text(&item).to_owned());
    }
    assert_eq!(prompts.len(), 60);
    // A tokenizer that takes a text as one piece: there, tokens of lines need not add up.
    let json = tokenizer().to_json().unwrap().replace("\"use_regex\":true", "\"use_regex\":false");
    let whole = Tokenizer::from_bytes("whole", json.as_bytes()).unwrap();
    assert_eq!(whole.pieces("one\ntwo three\n").unwrap().len(), 1);
    let workload = open(&WorkloadRequest::new("sonnet:40-300/5", 7), &whole).unwrap();
    for id in 0..20 {
        let item = workload.dataset.item(id).unwrap();
        assert_eq!(whole.encode(text(&item)).unwrap().len(), lengths(&item).0 as usize);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("poem.txt");
    fs::write(&path, "one line of mine\n\nanother line\n").unwrap();
    let name = format!("sonnet:50/5?prefix=0&text={}", path.display());
    let mine = opened(&name);
    let item = mine.dataset.item(0).unwrap();
    assert!(text(&item).starts_with("one line of mine") || text(&item).starts_with("another line"));
    assert_eq!(mine.facts.files[0].name, "poem.txt");
    fs::write(&path, b"fine\nnot \xff fine\n").unwrap();
    assert!(error(&name).contains("poem.txt:2: not UTF-8"), "{}", error(&name));
    fs::write(&path, "\n \n").unwrap();
    assert!(error(&name).contains("no line with text"), "{}", error(&name));
}

#[test]
fn kinds_have_names_of_their_own() {
    let names = DATASETS
        .iter()
        .flat_map(|kind| std::iter::once(kind.name).chain(kind.aliases.iter().copied()));
    let names = names.collect::<Vec<_>>();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    assert!(DATASETS.iter().all(|kind| kind.usage.starts_with(kind.name)));
    assert_eq!(AfterLast::default(), AfterLast::Stop);
}
