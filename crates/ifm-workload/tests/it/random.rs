//! Random prompts over the embedded vocabulary: exact, distinct, reproducible.
use std::collections::BTreeSet;

use crate::tokenizer;
use ifm_workload::{
    Dataset, Generator, LengthRange, LengthScale, RandomSpec, WorkItem, WorkloadError,
    dataset::random::RandomPrompts,
};
use proptest::prelude::*;

fn text(item: WorkItem) -> String {
    item.turns[0].prompt.as_text().expect("random prompts are texts").to_owned()
}

fn generator(prompt: u32, output: u32, seed: u64) -> Generator {
    let spec = RandomSpec::fixed(prompt, output, seed).expect("the lengths are possible");
    Generator::random(&spec, &tokenizer()).expect("the words are found")
}

#[test]
fn every_length_is_exact() {
    let tokenizer = tokenizer();
    for tokens in [1, 2, 3, 4, 7, 16, 100, 1024, 50_000] {
        let mut generator = generator(tokens, 5, u64::from(tokens));
        for _ in 0..3 {
            let item = generator.next_item().unwrap();
            assert_eq!(item.turns[0].prompt_tokens, Some(tokens));
            let prompt = text(item);
            assert_eq!(tokenizer.encode(&prompt).unwrap().len(), tokens as usize);
            assert_eq!(prompt.trim(), prompt, "templates trim");
        }
    }
}

#[test]
fn prompts_never_change() {
    let mut generator = generator(64, 16, 42);
    let first = text(generator.next_item().unwrap());
    assert!(first.starts_with("value public cases safe like possible "), "{first}");
    for _ in 1..1000 {
        generator.next_item().unwrap();
    }
    assert_eq!(
        generator.prompts_sha256(),
        "92f19c02e9ce33689050e07d01361aafad0baac832e33f9117bfb6ee79203722"
    );
}

#[test]
fn any_item_can_be_made_again() {
    let spec = RandomSpec {
        prompt_tokens: LengthRange::new(5, 200).unwrap(),
        output_tokens: LengthRange::new(1, 64).unwrap(),
        shared_prefix_tokens: 4,
        seed: 9,
        scale: LengthScale::EXACT,
    };
    let tokenizer = tokenizer();
    let mut generator = Generator::random(&spec, &tokenizer).unwrap();
    let other = Generator::random(&spec, &tokenizer).unwrap();
    for id in 0..200 {
        let item = generator.next_item().unwrap();
        assert_eq!(item.id, id);
        assert_eq!(other.item(id).unwrap(), item);
    }
    let sha256 = other.prompts_sha256();
    assert_ne!(generator.prompts_sha256(), sha256);
    assert_eq!(
        sha256, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "making an item does not count it"
    );
}

#[test]
fn no_two_prompts_begin_alike() {
    let tokenizer = tokenizer();
    let mut generator = generator(8, 1, 3);
    let mut beginnings = BTreeSet::new();
    let mut firsts = BTreeSet::new();
    for id in 0..10_000 {
        let ids = tokenizer.encode(&text(generator.next_item().unwrap())).unwrap();
        assert_eq!(ids.len(), 8);
        assert!(beginnings.insert(ids[..3].to_vec()), "item {id} begins like another");
        if id < 256 {
            assert!(firsts.insert(ids[0]), "item {id} has another's first token");
        }
    }
    assert!(generator.distinct_items() > 1 << 27, "{}", generator.distinct_items());
}

#[test]
fn short_prompts_are_distinct_as_long_as_there_are_words() {
    let mut ones = generator(1, 1, 3);
    let distinct = ones.distinct_items();
    assert_eq!(distinct, 256);
    let prompts = (0..distinct).map(|_| text(ones.next_item().unwrap()));
    assert_eq!(prompts.collect::<BTreeSet<_>>().len() as u64, distinct);
    assert_eq!(text(ones.next_item().unwrap()), text(ones.item(0).unwrap()));
    assert_eq!(generator(2, 1, 3).distinct_items(), 256 * 1024);
}

#[test]
fn another_seed_makes_other_prompts() {
    let (one, two) = (generator(8, 1, 1), generator(8, 1, 2));
    let begin = |generator: &Generator| {
        (0..1000)
            .map(|id| {
                let prompt = text(generator.item(id).unwrap());
                prompt.split(' ').take(3).collect::<Vec<_>>().join(" ")
            })
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(begin(&one).intersection(&begin(&two)).count(), 0);
}

#[test]
fn a_shared_prefix_is_shared_and_no_more() {
    let tokenizer = tokenizer();
    let mut spec = RandomSpec::fixed(100, 1, 5).unwrap();
    spec.shared_prefix_tokens = 60;
    let mut generator = Generator::random(&spec, &tokenizer).unwrap();
    let first = tokenizer.encode(&text(generator.next_item().unwrap())).unwrap();
    let mut next = BTreeSet::from([first[60]]);
    for _ in 1..1000 {
        let ids = tokenizer.encode(&text(generator.next_item().unwrap())).unwrap();
        assert_eq!(ids.len(), 100);
        assert_eq!(ids[..60], first[..60]);
        assert!(next.insert(ids[60]), "two prompts share more than the prefix");
    }
    spec.shared_prefix_tokens = 100;
    let whole = Generator::random(&spec, &tokenizer).unwrap();
    assert_eq!(text(whole.item(0).unwrap()), text(whole.item(1).unwrap()));
    assert_eq!(whole.distinct_items(), 1);
    spec.shared_prefix_tokens = 101;
    let error = RandomPrompts::new(&spec, &tokenizer).err().unwrap();
    assert!(matches!(error, WorkloadError::Prefix { .. }), "{error}");
}

#[test]
fn lengths_come_from_their_own_streams() {
    let tokenizer = tokenizer();
    let spec = |prompt_max: u32, output_max: u32| RandomSpec {
        prompt_tokens: LengthRange::new(10, prompt_max).unwrap(),
        output_tokens: LengthRange::new(1, output_max).unwrap(),
        shared_prefix_tokens: 0,
        seed: 11,
        scale: LengthScale::EXACT,
    };
    let make = |spec: RandomSpec| RandomPrompts::new(&spec, &tokenizer).unwrap();
    let (base, longer) = (make(spec(50, 9)), make(spec(50, 900)));
    let mut lengths = BTreeSet::new();
    for id in 0..2000 {
        let (one, two) = (base.item(id).unwrap(), longer.item(id).unwrap());
        let (one, two) = (&one.turns[0], &two.turns[0]);
        assert_eq!(one.prompt, two.prompt, "output lengths moved a prompt");
        let prompt_tokens = one.prompt_tokens.unwrap();
        assert!((10..=50).contains(&prompt_tokens));
        assert!((1..=9).contains(&one.output_tokens.unwrap()));
        lengths.insert(prompt_tokens);
    }
    assert_eq!(lengths.len(), 41);
}

#[test]
fn the_record_holds_what_was_handed_out() {
    let spec = RandomSpec {
        prompt_tokens: LengthRange::new(10, 20).unwrap(),
        output_tokens: LengthRange::fixed(7).unwrap(),
        shared_prefix_tokens: 0,
        seed: 1,
        scale: LengthScale::EXACT,
    };
    let mut generator = Generator::random(&spec, &tokenizer()).unwrap();
    let mut total = 0;
    for _ in 0..500 {
        total += u64::from(generator.next_item().unwrap().turns[0].prompt_tokens.unwrap());
    }
    assert_eq!(generator.prompt_lengths().count(), 500);
    assert_eq!(generator.prompt_lengths().total_tokens(), total);
    assert_eq!(generator.prompt_lengths().min_tokens(), Some(10));
    assert_eq!(generator.prompt_lengths().max_tokens(), Some(20));
    assert_eq!(generator.output_lengths().iter().collect::<Vec<_>>(), [(7, 500)]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_item_is_exact(tokens in 1_u32..600, prefix in 0_u32..600, seed: u64, id: u32) {
        let tokenizer = tokenizer();
        let mut spec = RandomSpec::fixed(tokens, 1, seed).unwrap();
        spec.shared_prefix_tokens = prefix.min(tokens);
        let item = RandomPrompts::new(&spec, &tokenizer).unwrap().item(id).unwrap();
        prop_assert_eq!(tokenizer.encode(&text(item)).unwrap().len(), tokens as usize);
    }
}

#[test]
fn lengths_may_be_as_somebody_else_counts_them() {
    let tokenizer = tokenizer();
    let scale = LengthScale::new(10, 5, 4).unwrap();
    let spec =
        RandomSpec { scale, shared_prefix_tokens: 50, ..RandomSpec::fixed(135, 1, 3).unwrap() };
    let mut generator = Generator::random(&spec, &tokenizer).unwrap();
    let texts: Vec<_> = (0..8)
        .map(|_| {
            let item = generator.next_item().unwrap();
            let turn = &item.turns[0];
            assert_eq!(turn.prompt_tokens, Some(135), "what was asked is told");
            tokenizer.encode(turn.prompt.as_text().unwrap()).unwrap()
        })
        .collect();
    assert!(texts.iter().all(|ids| ids.len() == 100), "(135 - 10) * 4 / 5");
    assert!(texts.iter().all(|ids| ids[..40] == texts[0][..40]), "50 * 4 / 5 are shared");
    assert!(texts.iter().skip(1).all(|ids| ids[40] != texts[0][40]));
    let short = RandomSpec { shared_prefix_tokens: 135, ..spec };
    let item = Generator::random(&short, &tokenizer).unwrap().next_item().unwrap();
    assert_eq!(tokenizer.encode(item.turns[0].prompt.as_text().unwrap()).unwrap().len(), 108);
}
