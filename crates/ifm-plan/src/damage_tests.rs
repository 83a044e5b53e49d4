//! Damaged copies of plans: an error or a plan, never a panic. `MUTANTS` sets the number of copies.

use crate::{TEMPLATES, fuzzed::read};
use ifm_core::contained::contained;
use ifm_made::mutants::{Mutants, Pace};
use ifm_made::seeds::replay;

/// Copies of each plan.
const COPIES: usize = 40;

#[test]
fn damaged_plans_are_an_error_and_no_panic() {
    let copies = Mutants::count(COPIES);
    for template in TEMPLATES {
        let (mut mutants, mut refused) = (Mutants::new(50), 0);
        let mut pace = Pace::of_sound(|| read(template.text));
        for _ in 0..copies {
            let copy = mutants.damage(template.text.as_bytes());
            let text = String::from_utf8_lossy(&copy);
            let read = pace
                .read(|| contained(|| read(&text)))
                .unwrap_or_else(|error| panic!("{error}:\n{text}"));
            refused += usize::from(read.is_err());
        }
        let slowest = pace.slowest();
        println!("{}: {copies} copies, {refused} refused, slowest {slowest:?}", template.word);
        assert!(refused * 10 >= copies, "{}: {refused} of {copies} refused", template.word);
        assert!(!pace.is_slow(), "{}: {pace:?}", template.word);
    }
}

#[test]
fn a_plan_of_too_many_combinations_is_refused_before_they_are_made() {
    let plan = |repeats: u32, lists: usize, value: &str| {
        let lists: Vec<String> =
            (0..lists).map(|list| format!("p{list} = [\"{value}\", \"b\"]")).collect();
        format!(
            "[plan]\nname = \"p\"\nrepeats = {repeats}\n[[server]]\nname = \"a\"\nkind = \"vllm\"\n\
             model = \"m\"\nparameters = {{ {} }}\n[[workload]]\nworkload = \"64/16\"\n\
             [[load]]\nusers = [1]\nrequests = 1\n",
            lists.join(", ")
        )
    };
    assert_eq!(read(&plan(2, 4, "a")).expect("a small one"), 32);
    for text in [plan(u32::MAX, 1, "a"), plan(1, 60, "a"), plan(1, 10, &"x".repeat(1 << 20))] {
        let error = read(&text).expect_err("too many").to_string();
        assert!(error.contains("more than 250000 combinations"), "{error}");
    }
}

#[test]
fn seeds_of_plans_are_read_or_refused_in_a_sentence() {
    let outcome = replay("plan", |bytes| {
        let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
        read(text).map(drop)
    });
    assert!(outcome.read > 0 && outcome.refused > 0, "{outcome:?}");
}
