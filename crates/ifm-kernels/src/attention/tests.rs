//! Kernels against the reference.

use super::{
    reference::{Errors, Given, Inputs, Reference, WORK, tolerance},
    *,
};
use crate::{
    Isa, Pool,
    mask::{Mask, PlacedMask},
};

/// Fresh inputs in every run; a failure names the seed.
fn fresh_seed() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(1, |now| now.as_nanos() as u64)
}

fn place(name: &str, shape: &Shape) -> PlacedMask {
    let mask = Mask::parse(name).expect(name);
    mask.place(shape.queries as u64, shape.keys as u64, 5).expect(name)
}

/// References of all heads of keys, for the inputs that an attention has.
fn references(attention: &Attention, mask: &PlacedMask) -> Vec<Reference> {
    let shape = *attention.shape();
    let heads = (0..shape.batch * shape.kv_heads).map(|head| {
        let kv_head = head % shape.kv_heads;
        let head = attention.head(head / shape.kv_heads, kv_head);
        let inputs = Inputs {
            q: &head.q,
            k: &head.k,
            v: &head.v,
            dout: Some(&head.dout),
            width: shape.width,
            first_head: kv_head * shape.group(),
            query_heads: shape.query_heads,
        };
        Reference::new(mask, &inputs, WORK, 1).expect("sizes")
    });
    heads.collect()
}

/// The worst errors of all heads.
fn errors(attention: &Attention, references: &[Reference]) -> Errors {
    let shape = *attention.shape();
    let mut worst = Errors { out: 0.0, dq: None, dk: None, dv: None };
    for (head, reference) in references.iter().enumerate() {
        let head = attention.head(head / shape.kv_heads, head % shape.kv_heads);
        let (out, dq) = (&head.out, Some(&head.dq[..]));
        let given = Given { out, dq, dk: Some(&head.dk), dv: Some(&head.dv) };
        let errors = reference.check(&given).expect("sizes");
        assert!(errors.dq.is_some() && errors.dk.is_some() && errors.dv.is_some());
        let more = |worst: Option<f64>, error: Option<f64>| {
            worst.into_iter().chain(error).reduce(f64::max)
        };
        worst = Errors {
            out: worst.out.max(errors.out),
            dq: more(worst.dq, errors.dq),
            dk: more(worst.dk, errors.dk),
            dv: more(worst.dv, errors.dv),
        };
    }
    worst
}

fn errors_against(attention: &Attention, mask: &PlacedMask) -> Errors {
    errors(attention, &references(attention, mask))
}

fn run(setup: &Setup<'_>, threads: usize) -> Attention {
    let mut attention = Attention::new(setup).expect("a setup");
    let pool = Pool::new(threads);
    attention.forward(&pool);
    attention.backward(&pool);
    attention
}

const SHAPES: [Shape; 6] = [
    Shape { batch: 1, query_heads: 1, kv_heads: 1, queries: 130, keys: 130, width: 64 },
    Shape { batch: 2, query_heads: 4, kv_heads: 2, queries: 67, keys: 150, width: 40 },
    Shape { batch: 1, query_heads: 3, kv_heads: 1, queries: 141, keys: 90, width: 80 },
    // One number, whose gradient may happen to be near 0, is not a measure: 50 are.
    Shape { batch: 1, query_heads: 2, kv_heads: 2, queries: 50, keys: 77, width: 1 },
    Shape { batch: 1, query_heads: 4, kv_heads: 1, queries: 1, keys: 77, width: 16 },
    Shape { batch: 1, query_heads: 1, kv_heads: 1, queries: 33, keys: 65, width: 256 },
];

const MASKS: [&str; 14] = [
    "full",
    "causal",
    "alibi",
    "alibi & causal",
    "sliding:64",
    "sliding:0",
    "prefix:20",
    "document:12",
    "softcap:30",
    "softcap:1",
    "softcap-approx:30",
    "softcap:2 & sliding:31",
    "expr:q >= k && (q - k) % 4 == 0",
    "expr:(q + k + h) % 3 == 0 && q % 5 != 0",
];

#[test]
fn every_method_computes_what_the_definition_says() {
    let seed = fresh_seed();
    let mut greatest = 0.0_f64;
    for shape in SHAPES {
        for name in MASKS {
            let mask = place(name, &shape);
            let mut expected = None;
            for method in Method::ALL {
                for (isa, threads, block) in
                    [(Isa::Baseline, 1, 32), (Isa::Avx2, 3, 100), (Isa::best(), 2, 128)]
                {
                    // Plain floats are slow: narrow heads have all that is special to them.
                    let slow = isa == Isa::Baseline && shape.width > 40;
                    if !isa.is_here() || if method == Method::Naive { block != 32 } else { slow } {
                        continue;
                    }
                    let element = Element::F32;
                    let setup = Setup { shape, mask: &mask, method, element, isa, block, seed };
                    let attention = run(&setup, threads);
                    let expected = expected.get_or_insert_with(|| references(&attention, &mask));
                    let errors = errors(&attention, expected);
                    let allowed = tolerance(element, mask.mask().score());
                    let what = format!("{name} {method} {isa} {shape:?} seed {seed}: {errors:?}");
                    assert!(errors.out < allowed, "{what}");
                    // A single query may see hardly more than one key, and its gradients are then a small
                    // difference of large numbers; the same may hold for heads of one number.
                    let alone = shape.queries == 1 || shape.width == 1;
                    let factor = if alone { 100.0 } else { 1.0 };
                    assert!(errors.greatest() < allowed * factor, "{what}");
                    if allowed < 1e-4 && !alone {
                        greatest = greatest.max(errors.greatest());
                    }
                }
            }
        }
    }
    println!("greatest error in 32 bits: {greatest:e}");
}

#[test]
fn types_of_16_bits_are_right_to_their_rounding() {
    let seed = fresh_seed();
    for element in [Element::F16, Element::BF16] {
        let mut greatest = 0.0_f64;
        // A query alone may see hardly more than one key: see `tolerance`.
        for shape in SHAPES.into_iter().filter(|shape| shape.queries > 1) {
            for name in ["full", "causal", "alibi", "softcap:30", "document:7"] {
                let mask = place(name, &shape);
                let mut expected = None;
                for method in Method::ALL {
                    let isa = Isa::best();
                    let setup = Setup { shape, mask: &mask, method, element, isa, block: 64, seed };
                    let attention = run(&setup, 2);
                    let expected = expected.get_or_insert_with(|| references(&attention, &mask));
                    let errors = errors(&attention, expected);
                    let allowed = tolerance(element, mask.mask().score());
                    assert!(errors.greatest() < allowed, "{name} {element} {errors:?}");
                    greatest = greatest.max(errors.greatest());
                }
            }
        }
        // Outputs that are not rounded would be nearer.
        assert!(greatest > 1e-5, "{element}: {greatest}");
        println!("greatest error of {element}: {greatest:e}");
    }
}

/// A mask that is off by one pair a row is found, in every type.
#[test]
fn a_mask_that_is_off_by_one_is_found() {
    let shape = Shape { batch: 1, query_heads: 2, kv_heads: 1, queries: 300, keys: 300, width: 64 };
    let seed = fresh_seed();
    for (computed, meant) in [
        ("sliding:64", "sliding:65"),
        ("sliding:65", "sliding:64"),
        ("causal", "expr:q > k"),
        ("expr:q > k", "causal"),
        ("prefix:100", "prefix:101"),
        ("prefix:100", "prefix:99"),
        ("document:100+100+100", "document:101+99+100"),
        ("alibi", "full"),
        ("softcap:30", "softcap:20"),
        ("expr:q >= k", "expr:q >= k && !(q == 299 && k == 7)"),
    ] {
        for element in Element::ALL {
            let (mask, other) = (place(computed, &shape), place(meant, &shape));
            let (method, isa) = (Method::Sparse, Isa::best());
            let setup = Setup { shape, mask: &mask, method, element, isa, block: 128, seed };
            let attention = run(&setup, 1);
            let errors = errors_against(&attention, &other);
            let allowed = tolerance(element, other.mask().score());
            // One pair of many, or a cap that hardly caps, is below what 16 bits can show.
            let small = computed.starts_with("softcap") || computed == "expr:q >= k";
            if !small || element == Element::F32 {
                assert!(
                    errors.greatest() > allowed,
                    "{computed} for {meant} {element}: {errors:?}"
                );
            }
            assert!(errors_against(&attention, &mask).greatest() < allowed, "{computed} {element}");
        }
    }
}

#[test]
fn queries_without_keys_give_nothing_and_sums_are_those_of_the_definition() {
    let shape = Shape { batch: 1, query_heads: 2, kv_heads: 1, queries: 90, keys: 60, width: 16 };
    for (name, method) in ["causal", "alibi & causal", "softcap:5 & causal"]
        .into_iter()
        .flat_map(|name| Method::ALL.into_iter().map(move |method| (name, method)))
    {
        let mask = place(name, &shape);
        let (element, isa) = (Element::F32, Isa::best());
        let setup = Setup { shape, mask: &mask, method, element, isa, block: 32, seed: 3 };
        let attention = run(&setup, 1);
        let (head, sums) = (attention.head(0, 0), attention.log_sum_exp());
        let none = 30 * shape.width;
        assert!(head.out[..none].iter().all(|value| *value == 0.0), "{name} {method}");
        assert!(head.dq[..none].iter().all(|value| *value == 0.0), "{name} {method}");
        assert!(sums[..30].iter().all(|sum| *sum == f32::NEG_INFINITY), "{name} {method}");
        // The first query that sees a key sees one.
        for row in [30, 90 + 30] {
            let dot = |row: usize| -> f64 {
                let row = &head.q[row * 16..][..16];
                row.iter().zip(&head.k).map(|(q, k)| f64::from(*q) * f64::from(*k)).sum::<f64>()
            };
            let plain = dot(row) / 4.0;
            let expected =
                if name.contains("softcap") { 5.0 * (plain / 5.0).tanh() } else { plain };
            assert!((f64::from(sums[row]) - expected).abs() < 1e-5, "{name} {method}: {row}");
        }
        // The last sees all; the definition of ALiBi with its distances.
        let row = 89;
        let mut total = 0.0;
        for key in 0..60 {
            let product: f64 = (0..16)
                .map(|d| f64::from(head.q[row * 16 + d]) * f64::from(head.k[key * 16 + d]))
                .sum();
            let plain = product / 4.0;
            total += match name {
                "causal" => plain,
                "alibi & causal" => plain + (key as f64 - 59.0) * 2.0_f64.powi(-4),
                _ => 5.0 * (plain / 5.0).tanh(),
            }
            .exp();
        }
        assert!((f64::from(sums[row]) - total.ln()).abs() < 1e-5, "{name} {method}");
    }
}

/// Long rows of ALiBi have distances whose rounding would show, were they counted from the query.
#[test]
fn distances_of_long_rows_are_accurate() {
    let shape = Shape { batch: 1, query_heads: 2, kv_heads: 1, queries: 3, keys: 5000, width: 8 };
    let mask = place("alibi", &shape);
    let (element, isa) = (Element::F32, Isa::best());
    for method in Method::ALL {
        let setup = Setup { shape, mask: &mask, method, element, isa, block: 128, seed: 3 };
        let errors = errors_against(&run(&setup, 1), &mask);
        assert!(errors.greatest() < 2e-6, "{method}: {errors:?}");
    }
}

#[test]
fn runs_again_give_the_same_and_seeds_other_inputs() {
    let shape = SHAPES[1];
    let mask = place("causal", &shape);
    let (element, isa, method) = (Element::F32, Isa::best(), Method::Sparse);
    let setup = Setup { shape, mask: &mask, method, element, isa, block: 64, seed: 1 };
    let pool = Pool::new(2);
    let mut attention = run(&setup, 2);
    let (first, bytes) = (attention.head(1, 1), attention.bytes());
    for _ in 0..3 {
        attention.forward(&pool);
        attention.backward(&pool);
        assert_eq!(attention.head(1, 1), first);
        assert_eq!(attention.bytes(), bytes);
    }
    assert_ne!(run(&Setup { seed: 2, ..setup }, 1).head(1, 1).q, first.q);
    let moments = first.q.iter().fold((0.0, 0.0), |(sum, squares), value| {
        (sum + f64::from(*value), squares + f64::from(*value * *value))
    });
    let count = first.q.len() as f64;
    let (mean, variance) = (moments.0 / count, moments.1 / count);
    assert!(mean.abs() < 5.0 / count.sqrt() && (variance - 1.0).abs() < 8.0 / count.sqrt());
}

#[test]
fn references_that_are_too_much_work_are_sampled() {
    let shape = Shape { batch: 1, query_heads: 2, kv_heads: 1, queries: 700, keys: 700, width: 16 };
    let (element, isa, method) = (Element::F32, Isa::best(), Method::Sparse);
    for (name, some_keys) in [("causal", true), ("full", false)] {
        let mask = place(name, &shape);
        let setup = Setup { shape, mask: &mask, method, element, isa, block: 128, seed: 1 };
        let attention = run(&setup, 2);
        let mut head = attention.head(0, 0);
        let inputs = Inputs {
            q: &head.q,
            k: &head.k,
            v: &head.v,
            dout: Some(&head.dout),
            width: 16,
            first_head: 0,
            query_heads: 2,
        };
        let reference = Reference::new(&mask, &inputs, 2e7, 2).expect("sizes");
        let (queries, keys) = reference.compared();
        assert!((100..1400).contains(&queries), "{name}: {queries}");
        assert_eq!(keys > 0 && keys < 700, some_keys, "{name}: {keys}");
        let check = |head: &Head| {
            let (out, dq) = (&head.out, Some(&head.dq[..]));
            let given = Given { out, dq, dk: Some(&head.dk), dv: Some(&head.dv) };
            reference.check(&given).expect("sizes")
        };
        let errors = check(&head);
        assert!(errors.greatest() < 1e-5, "{errors:?}");
        assert_eq!(errors.dk.is_some(), some_keys);
        // The last row is always compared.
        let last = head.out.len() - 1;
        head.out[last] += 0.5;
        assert!(check(&head).out > 1e-2);
        head.out[last] = f32::NAN;
        assert_eq!(check(&head).out, f64::INFINITY);
        let short = Given { out: &head.out[1..], dq: None, dk: None, dv: None };
        assert!(reference.check(&short).is_err());
    }
}

#[test]
fn setups_that_cannot_be_are_told() {
    let shape = SHAPES[0];
    let mask = place("full", &shape);
    let (element, method) = (Element::F32, Method::Tiled);
    let setup =
        Setup { shape, mask: &mask, method, element, isa: Isa::best(), block: 128, seed: 0 };
    let wrong = |setup: Setup<'_>| Attention::new(&setup).expect_err("it cannot be").to_string();
    assert_eq!(wrong(Setup { block: 0, ..setup }), "a block of the mask has a side of at least 1");
    assert_eq!(
        wrong(Setup { shape: SHAPES[1], ..setup }),
        "the mask is for 130 queries and 130 keys, the shape has others"
    );
    let wide = Shape { width: 300, ..shape };
    assert_eq!(wrong(Setup { shape: wide, ..setup }), "heads of width 300 are wider than 256");
    for method in Method::ALL {
        assert_eq!(method.name().parse(), Ok(method));
    }
    for element in Element::ALL {
        assert_eq!(element.name().parse(), Ok(element));
    }
}
