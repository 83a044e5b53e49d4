//! Masks against their definitions, written out a second time, and against printed figures.

use super::*;
use crate::random::RandomStream;

type Definition = Box<dyn Fn(i64, i64, i64) -> bool>;

/// Masks with what they mean, for this many keys.
fn masks(keys: i64) -> Vec<(String, Definition)> {
    let third = keys / 3;
    let lengths = format!("document:{}+1+{}", third + 1, keys - third - 2);
    let document = move |place: i64| match place {
        place if place <= third => 0,
        place if place == third + 1 => 1,
        _ => 2,
    };
    let named = |name: &str, allowed: fn(i64, i64, i64) -> bool| -> (String, Definition) {
        (name.to_owned(), Box::new(allowed))
    };
    vec![
        named("full", |_, _, _| true),
        named("causal", |q, k, _| q >= k),
        named("alibi & causal", |q, k, _| k <= q),
        named("sliding:7", |q, k, _| k <= q && k >= q - 7),
        named("prefix:5", |q, k, _| k < 5 || k <= q),
        named("prefix:3 & sliding:4", |q, k, _| (k < 3 || k <= q) && (0..=4).contains(&(q - k))),
        (lengths, Box::new(move |q, k, _| q >= k && document(q) == document(k))),
        named("expr:q >= k && (q - k) % 4 == 0", |q, k, _| k <= q && (q - k) & 3 == 0),
        named("expr:(q + k * 3) / 7 % 2 != 0 || h == 1 && q < k", |q, k, h| {
            (q + 3 * k).div_euclid(7).rem_euclid(2) == 1 || h == 1 && q < k
        }),
        named("expr:!(q - k > 6 || k - q > 2) & expr:k >= h", |q, k, h| {
            q - k <= 6 && k - q <= 2 && k >= h
        }),
        named("expr:k < 0", |_, _, _| false),
    ]
}

#[test]
fn masks_mean_what_they_say_and_blocks_have_all_of_it() {
    for (queries, keys, side) in
        [(1, 4, 1), (37, 37, 8), (70, 150, 64), (150, 70, 67), (9, 40, 128)]
    {
        for (name, allowed) in masks(keys) {
            let mask = Mask::parse(&name).expect(&name);
            let placed = mask.place(queries as u64, keys as u64, 0).expect(&name);
            for head in [0, 1] {
                let blocks = Blocks::new(&placed, side as u64, head);
                let (mut all, mut counts) = (0, BTreeMap::new());
                for query in 0..queries {
                    let position = query + keys - queries;
                    for key in 0..keys {
                        let expected = allowed(position, key, head as i64);
                        assert_eq!(
                            placed.allows(position, key, head),
                            expected,
                            "{name} {query} {key}"
                        );
                        let (row, column) = ((query / side) as usize, (key / side) as usize);
                        let words = blocks.words(row, column, (query % side) as usize);
                        let bit = words[(key % side) as usize / 64] >> ((key % side) % 64) & 1;
                        assert_eq!(bit == 1, expected, "{name}: bit of {query} {key}");
                        all += u64::from(expected);
                        let (some, pairs) = counts.entry((row, column)).or_insert((0, 0));
                        *some += u64::from(expected);
                        *pairs += 1;
                    }
                }
                assert_eq!(blocks.allowed_pairs(), all, "{name}");
                let mut computed = 0;
                for ((row, column), (some, pairs)) in counts {
                    let kind = match some {
                        0 => Block::Empty,
                        some if some == pairs => Block::Full,
                        _ => Block::Partial,
                    };
                    assert_eq!(blocks.kind(row, column), kind, "{name}: block {row} {column}");
                    computed += if kind == Block::Empty { 0 } else { pairs };
                }
                assert_eq!(blocks.computed_pairs(), computed, "{name}");
            }
        }
    }
}

/// Random conditions: what intervals say of a block is true.
#[test]
fn blocks_of_random_conditions_agree_with_the_definition() {
    let mut stream = RandomStream::new(4, "conditions");
    let mut undecided = 0;
    for _ in 0..300 {
        let mut number = |depth: u64| random_number(&mut stream, depth);
        let text = format!("expr:{} <= {} || {} == {}", number(3), number(3), number(2), number(1));
        let placed = Mask::parse(&text).expect(&text).place(23, 19, 0).expect(&text);
        let blocks = Blocks::new(&placed, 5, 3);
        for (query, key) in (0..23).flat_map(|query| (0..19).map(move |key| (query, key))) {
            let bit = blocks.words(query / 5, key / 5, query % 5)[0] >> (key % 5) & 1;
            let position = query as i64 - 4;
            assert_eq!(bit == 1, placed.allows(position, key as i64, 3), "{text}: {query} {key}");
        }
        undecided += blocks.count(Block::Partial);
    }
    assert!(undecided > 300, "{undecided} partial blocks are hardly a test");
}

fn random_number(stream: &mut RandomStream, depth: u64) -> String {
    let leaf = ["q", "k", "h", "7", "13", "q", "k"];
    if depth == 0 || stream.below(5) == 0 {
        return leaf[stream.below(leaf.len() as u64) as usize].to_owned();
    }
    let left = random_number(stream, depth - 1);
    let divisor = [3, 4, -5, 16, -1][stream.below(5) as usize];
    match stream.below(5) {
        0 => format!("({left} + {})", random_number(stream, depth - 1)),
        1 => format!("({left} - {})", random_number(stream, depth - 1)),
        2 => format!("({left} * {})", random_number(stream, depth - 1)),
        3 => format!("({left} / {divisor})"),
        _ => format!("({left} % {divisor})"),
    }
}

#[test]
fn lists_of_blocks_are_by_number_of_query() {
    let mask = Mask::from_blocks("mine", "█ \n011\n", 4).expect("a list");
    let placed = mask.place(7, 11, 0).expect("it fits");
    let blocks = Blocks::new(&placed, 4, 0);
    let kinds: Vec<Block> = (0..6).map(|index| blocks.kind(index / 3, index % 3)).collect();
    let (full, empty) = (Block::Full, Block::Empty);
    assert_eq!(kinds, [full, empty, empty, empty, full, full]);
    assert_eq!(blocks.allowed_pairs(), 16 + 3 * 7);
    assert!(placed.allows(4, 0, 0) && !placed.allows(8, 0, 0) && placed.allows(8, 10, 0));
    assert_eq!(
        mask.place(9, 11, 0).expect_err("a row is missing").to_string(),
        "the list of blocks has 2 rows of 3, and 3 rows of 3 blocks of side 4 are needed"
    );
    assert_eq!(
        Mask::from_blocks("mine", "10\n1x\n", 4).expect_err("x").to_string(),
        "list of blocks, line 2, column 2: `x` is not 1, 0, █ or blank"
    );
    assert_eq!(Mask::from_blocks("mine", "\n", 4), Err(MaskError::NoCells));
}

#[test]
fn documents_are_drawn_by_the_seed() {
    let mask = Mask::parse("document:12").expect("a mask");
    let lengths = |seed, keys| {
        let (_, tables) = mask.place(64, keys, seed).expect("documents").to_python();
        let table = &tables["document"];
        let mut lengths = BTreeMap::new();
        table.iter().filter(|document| **document >= 0).for_each(|document| {
            *lengths.entry(*document).or_insert(0) += 1;
        });
        lengths.into_values().collect::<Vec<u64>>()
    };
    assert_eq!(lengths(0, 12), [1; 12]);
    for seed in 0..50 {
        let lengths = lengths(seed, 1000);
        assert_eq!((lengths.len(), lengths.iter().sum::<u64>()), (12, 1000), "{lengths:?}");
    }
    assert_eq!(lengths(1, 1000), lengths(1, 1000));
    assert_ne!(lengths(1, 1000), lengths(2, 1000));
    assert!(matches!(mask.place(4, 11, 0), Err(MaskError::Documents { .. })));
    let given = Mask::parse("document:5+6").expect("lengths").place(12, 12, 0);
    assert_eq!(given, Err(MaskError::Lengths { sum: 11, keys: 12 }));
}

#[test]
fn every_set_of_documents_is_as_likely() {
    // Three of five keys: six ways to cut, a thousand draws, 167 expected of each.
    let mask = Mask::parse("document:3").expect("a mask");
    let mut counts = BTreeMap::new();
    for seed in 0..1000 {
        let (_, tables) = mask.place(5, 5, seed).expect("documents").to_python();
        *counts.entry(tables["document"].clone()).or_insert(0) += 1;
    }
    assert_eq!(counts.len(), 6);
    assert!(counts.values().all(|count| (120..220).contains(count)), "{counts:?}");
}

#[test]
fn parts_are_joined_and_errors_say_what_is_wrong() {
    let mask = Mask::parse(" softcap:50 & sliding:512 ").expect("a mask");
    assert_eq!((mask.score(), mask.name()), (Score::Softcap(50.0), "softcap:50 & sliding:512"));
    assert!(Mask::parse("alibi&causal").expect("a mask").is_causal());
    assert!(!Mask::parse("sliding:9&causal").expect("a mask").is_causal());
    assert!(Mask::parse("alibi").expect("a mask").is_full());
    for (text, said) in [
        ("window:3", "unknown mask `window:3`"),
        ("", "unknown mask ``"),
        ("causal:3", "unknown mask"),
        ("sliding", "unknown mask"),
        ("sliding:-1", "the value of mask `sliding:-1`"),
        ("document:0", "the value of mask"),
        ("document:3+0", "the value of mask"),
        ("softcap:0", "the value of mask"),
        ("softcap:inf", "the value of mask"),
        ("alibi&softcap:3", "changes the score twice"),
        ("expr:q >= k & causal & expr:k +", "expression, column 4"),
    ] {
        let error = Mask::parse(text).expect_err(text).to_string();
        assert!(error.contains(said), "{text}: {error}");
    }
}

#[test]
fn python_gets_every_comparison_in_parentheses() {
    for (text, expected) in [
        ("full", None),
        ("alibi", None),
        ("causal", Some("(k <= q)")),
        ("sliding:1024", Some("((k <= q) & ((q - k) <= 1024))")),
        (
            "prefix:8&expr:!(q / -3 % 4 == 1 && h < 2)",
            Some("(((k < 8) | (k <= q)) & ((((q // (-3)) % (4)) != 1) | (h >= 2)))"),
        ),
        ("document:2+2", Some("((k <= q) & (document[(q + 1)] == document[(k + 1)]))")),
    ] {
        let placed = Mask::parse(text).expect(text).place(5, 4, 0).expect(text);
        assert_eq!(placed.to_python().0.as_deref(), expected, "{text}");
    }
    let blocks = Mask::from_blocks("mine", "10\n01\n", 2).expect("blocks").place(4, 3, 0);
    let (text, tables) = blocks.expect("it fits").to_python();
    let text = text.expect("not all are allowed");
    assert_eq!(text, "(blocks[((((q + 1) // (2)) * 2) + (k // (2)))] == 1)");
    assert_eq!(tables["blocks"], [1, 0, 0, 1]);
}

/// Figures and pictures that attention-gym printed for 8192 tokens in blocks of 128.
#[test]
fn shares_and_pictures_are_those_of_torch() {
    for (name, percent, picture) in [
        (
            "causal",
            "49.22",
            "\
░░
██░░
████░░
██████░░
████████░░
██████████░░
████████████░░
██████████████░░
████████████████░░
██████████████████░░
████████████████████░░
██████████████████████░░
████████████████████████░░
██████████████████████████░░
████████████████████████████░░
██████████████████████████████░░
",
        ),
        (
            "sliding:1024",
            "86.82",
            "\
░░
██░░
░░██░░
\x20 ░░██░░
\x20   ░░██░░
\x20     ░░██░░
\x20       ░░██░░
\x20         ░░██░░
\x20           ░░██░░
\x20             ░░██░░
\x20               ░░██░░
\x20                 ░░██░░
\x20                   ░░██░░
\x20                     ░░██░░
\x20                       ░░██░░
\x20                         ░░██░░
",
        ),
        (
            "prefix:1024",
            "48.54",
            "\
████
████
████░░
██████░░
████████░░
██████████░░
████████████░░
██████████████░░
████████████████░░
██████████████████░░
████████████████████░░
██████████████████████░░
████████████████████████░░
██████████████████████████░░
████████████████████████████░░
██████████████████████████████░░
",
        ),
    ] {
        let placed = Mask::parse(name).expect(name).place(8192, 8192, 0).expect(name);
        let blocks = Blocks::new(&placed, 128, 0);
        assert_eq!(format!("{:.2}", blocks.sparsity() * 100.0), percent, "{name}");
        assert_eq!(blocks.draw(20), picture, "{name}");
    }
}
