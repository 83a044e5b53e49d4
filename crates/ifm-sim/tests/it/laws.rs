//! Laws of queues and of work.

use crate::support::{ask, closed, last_ns, llama, means, open, setup};
use ifm_sim::{
    Ask, Constants, Deployment, Disaggregation, Finished, Kind, Policy, Router, Settings,
    Simulation, Speculation, steady,
};
use proptest::prelude::*;
use rand::SeedableRng as _;
use rand::rngs::ChaCha8Rng;

/// A server that reads one prompt a step and nothing else: each takes the same time.
fn one_at_a_time(servers: u32) -> (Deployment, f64) {
    let setup = setup("l40s", "llama-3.1-8b", "bf16");
    let constants = Constants { frontend_s: 0.0, ..Constants::defaults(Kind::Vllm, &setup) };
    let settings = Settings {
        sequences: 1,
        replicas: servers,
        router: Router::LeastLoaded,
        prefix_cache: false,
        ..Settings::defaults(Kind::Vllm, &setup)
    };
    let deployment = Deployment::new(setup, constants, settings).expect("a deployment");
    let service_s = deployment.step.prompt_s(500.0, 2048.0);
    (deployment, service_s)
}

fn poisson(rate: f64, count: usize, seed: u64) -> Vec<u64> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut at_s = 0.0;
    (0..count)
        .map(|_| {
            at_s -= (1.0 - ((random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64)).ln() / rate;
            (at_s * 1e9) as u64
        })
        .collect()
}

/// M/D/1: the mean wait is load / (2 (1 - load)) services (F. Pollaczek, A. Khinchine).
#[test]
fn a_queue_of_equal_services_waits_as_long_as_the_formula_says() {
    let (deployment, service_s) = one_at_a_time(1);
    for load in [0.3, 0.6, 0.8] {
        let times = poisson(load / service_s, 60_000, 7);
        let finished = open(deployment.clone(), times.into_iter().map(|at| (at, ask(500, 1))));
        let (ttft_s, _) = means(&finished);
        let waited = ttft_s / service_s - 1.0;
        let formula = load / (2.0 * (1.0 - load));
        assert!((waited / formula - 1.0).abs() < 0.08, "load {load}: {waited} for {formula}");
    }
}

/// Two servers with one request each wait less than one of the double speed, and more than the
/// M/D/2 that shares one queue: here each has a queue of its own.
#[test]
fn several_servers_lie_between_their_bounds() {
    let (deployment, service_s) = one_at_a_time(2);
    let load = 0.7;
    let times = poisson(2.0 * load / service_s, 60_000, 3);
    let finished = open(deployment, times.into_iter().map(|at| (at, ask(500, 1))));
    let waited = means(&finished).0 / service_s - 1.0;
    // M/D/2 at 0.7 (G. P. Cosmetatos, 1975): half of M/M/2's 0.9608 times 1.02.
    let shared_queue = 0.9608 / 2.0 * 1.02;
    let own_queues = load / (2.0 * (1.0 - load));
    assert!(
        waited > 0.95 * shared_queue && waited < own_queues,
        "{shared_queue} {waited} {own_queues}"
    );
}

/// As many are under way on average as arrive in a second times the seconds that each stays: an
/// identity, not an estimate.
#[test]
fn as_many_are_under_way_as_arrive_while_one_stays() {
    let mut simulation = Simulation::new(llama(|_| ()));
    let finished = closed(&mut simulation, 24, (0..300).map(|n| ask(100 + n * 3, 20 + n % 70)));
    let mut edges: Vec<(u64, i64)> =
        finished.iter().flat_map(|one| [(one.sent_ns, 1), (last_ns(one), -1)]).collect();
    edges.sort_unstable();
    let (mut under_way, mut area, mut before) = (0_i64, 0_u128, 0_u64);
    for (at, step) in edges {
        area += (under_way as u128) * u128::from(at - before);
        (under_way, before) = (under_way + step, at);
    }
    let stays: u128 = finished.iter().map(|one| u128::from(last_ns(one) - one.sent_ns)).sum();
    assert_eq!(area, stays);
}

#[test]
fn a_prefix_that_is_held_is_not_read_again_and_one_that_was_dropped_is() {
    let blocks: Vec<u64> = (1..200).collect();
    let prompt = || Ask { prompt_tokens: 3000, output_tokens: 4, blocks: blocks.clone() };
    let first_two = |kv_tokens| {
        let mut simulation =
            Simulation::new(llama(|settings| settings.kv_tokens = Some(kv_tokens)));
        let others = (0..3).map(|n| Ask {
            prompt_tokens: 3000,
            output_tokens: 4,
            blocks: (1000 * (n + 1)..).take(180).collect(),
        });
        let asks = std::iter::once(prompt()).chain(others).chain([prompt()]);
        closed(&mut simulation, 1, asks)
    };
    let kept = first_two(20_000);
    assert_eq!(kept[4].cached_tokens, 2992, "all but the last token, in whole blocks");
    let dropped = first_two(9_000);
    assert_eq!(dropped[4].cached_tokens, 0);
    let ttft = |one: &Finished| one.stamps[0] - one.sent_ns;
    assert!(ttft(&kept[4]) * 3 < ttft(&kept[0]));
    assert!(ttft(&dropped[4]).abs_diff(ttft(&dropped[0])) < 1_000);
}

#[test]
fn where_there_is_no_room_the_last_gives_way_and_nothing_is_lost() {
    let mut simulation = Simulation::new(llama(|settings| {
        settings.kv_tokens = Some(4096);
        settings.prefix_cache = false;
    }));
    let finished = closed(&mut simulation, 16, (0..64).map(|_| ask(200, 400)));
    assert_eq!(finished.len(), 64);
    assert!(finished.iter().all(|one| one.stamps.len() == 400));
    assert!(simulation.stats().preemptions > 0);
    assert_eq!(simulation.gauges().blocks_used, 0);
    assert!(simulation.submit(0, ask(4000, 200)).is_err(), "what never fits is refused");
}

#[test]
fn policies_differ_in_who_waits() {
    let run = |policy| {
        let deployment = llama(|settings| settings.policy = policy);
        let quiet_ns = (deployment.step.decode_s(32.0, 1600.0) * 1.2e9) as u64;
        let finished = closed(
            &mut Simulation::new(deployment),
            32,
            (0..256).map(|n| ask(1500, 60 + n * 37 % 80)),
        );
        let stalls = |one: &Finished| {
            one.stamps.windows(2).filter(|pair| pair[1] - pair[0] > quiet_ns).count()
        };
        let most = finished.iter().map(stalls).max().expect("requests");
        (means(&finished).0, most)
    };
    let (mixed, prompts, batches) =
        (run(Policy::Mixed), run(Policy::PrefillFirst), run(Policy::DecodeFirst));
    assert!(prompts.0 < mixed.0 && mixed.0 < batches.0, "{prompts:?} {mixed:?} {batches:?}");
    // In a batch only the prompts of the same batch come between: all before the second token.
    assert_eq!(batches.1, 1);
    assert!(prompts.1 > 1 && mixed.1 > 1, "{prompts:?} {mixed:?}");
}

#[test]
fn a_draft_that_is_accepted_saves_steps() {
    let run = |acceptance| {
        let speculation = Some(Speculation { drafts: 3, acceptance, draft_share: 0.0 });
        let mut simulation = Simulation::new(llama(|settings| settings.speculation = speculation));
        let finished = closed(&mut simulation, 4, (0..400).map(|_| ask(64, 301)));
        let tokens: u32 = finished.iter().flat_map(|one| &one.counts).sum();
        assert_eq!(tokens, 400 * 301);
        let steps: usize = finished.iter().map(|one| one.counts.len() - 1).sum();
        400.0 * 300.0 / steps as f64
    };
    // (1 - a^4) / (1 - a) tokens a step (Y. Leviathan and others, 2023); the last step of an answer
    // may be cut short.
    for (acceptance, tokens) in [(0.0, 1.0), (0.6, 2.176), (1.0, 4.0)] {
        let got = run(acceptance);
        assert!((got / tokens - 1.0).abs() < 0.01, "{acceptance}: {got}");
    }
}

#[test]
fn prompts_read_elsewhere_do_not_disturb_answers() {
    let run = |apart| {
        let deployment = llama(|settings| settings.disaggregation = apart);
        let finished =
            closed(&mut Simulation::new(deployment), 16, (0..128).map(|_| ask(2000, 100)));
        assert!(finished.iter().all(|one| one.stamps.len() == 100));
        means(&finished)
    };
    let fast = Disaggregation { prefill_replicas: 1, transfer_gb_s: 50.0 };
    let (together, apart) = (run(None), run(Some(fast)));
    assert!(apart.1 < 0.7 * together.1, "{together:?} {apart:?}");
    // 2 000 tokens of 131 072 bytes at 1 GB/s take 0.262 s, all of it before the second token.
    let slow = run(Some(Disaggregation { transfer_gb_s: 1.0, ..fast }));
    let longer_s = (slow.1 - apart.1) * 99.0;
    assert!((longer_s - 0.26).abs() < 0.1, "{longer_s}");
}

#[test]
fn a_router_that_knows_prefixes_finds_them_and_one_in_turn_spreads_them() {
    let run = |router| {
        let deployment = llama(|settings| (settings.replicas, settings.router) = (3, router));
        let asks = (0..300_u64).map(|n| Ask {
            prompt_tokens: 1600,
            output_tokens: 8,
            blocks: (0..100).map(|block| (n % 5) * 1000 + block).collect(),
        });
        let mut simulation = Simulation::new(deployment);
        closed(&mut simulation, 6, asks);
        let stats = simulation.stats();
        stats.cached_tokens as f64 / stats.prompt_tokens as f64
    };
    let (aware, in_turn) = (run(Router::PrefixAware), run(Router::RoundRobin));
    assert!(aware > in_turn, "{aware} {in_turn}");
    assert!(aware > 0.95, "{aware}");
}

#[test]
fn the_closed_form_is_near_the_simulation() {
    for (users, prompt, output) in [(1, 1000, 200), (8, 500, 200), (32, 1000, 300), (64, 200, 400)]
    {
        let deployment = llama(|settings| settings.prefix_cache = false);
        let lengths = steady::Lengths { prompt: f64::from(prompt), output: f64::from(output) };
        let form = steady::closed_loop(&deployment, f64::from(users), lengths);
        // Users who began together are spread by lengths that differ a little.
        let asks =
            (0..users * 12).map(|n| ask(prompt, output - output / 8 + (n * 37) % (output / 4)));
        let finished = closed(&mut Simulation::new(deployment), users as usize, asks);
        let (ttft_s, itl_s) = means(&finished[finished.len() / 4..]);
        assert!((form.itl_s / itl_s - 1.0).abs() < 0.06, "{users}: {} {itl_s}", form.itl_s);
        assert!((form.ttft_s / ttft_s - 1.0).abs() < 0.3, "{users}: {} {ttft_s}", form.ttft_s);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Every request gets all its tokens, in order, whatever the server is.
    #[test]
    fn work_is_conserved(
        lengths in proptest::collection::vec((1_u32..900, 1_u32..120, 0_u64..4), 1..60),
        users in 1_usize..20,
        policy in 0_usize..3,
        kv_blocks in 70_u64..600,
        drafts in 0_u32..4,
        replicas in 1_u32..4,
        jitter_share in prop_oneof![Just(0.0), Just(0.1)],
    ) {
        let mut simulation = Simulation::new(llama(|settings| {
            settings.policy = Policy::ALL[policy];
            settings.kv_tokens = Some(kv_blocks * 16);
            settings.speculation = (drafts > 0)
                .then_some(Speculation { drafts, acceptance: 0.7, draft_share: 0.1 });
            settings.replicas = replicas;
            settings.jitter_share = jitter_share;
            settings.step_tokens = 256;
        }));
        let asks: Vec<Ask> = lengths
            .iter()
            .map(|&(prompt_tokens, output_tokens, kind)| Ask {
                prompt_tokens,
                output_tokens,
                blocks: (0..u64::from(prompt_tokens + output_tokens) / 16).map(|n| kind << 32 | n).collect(),
            })
            .collect();
        let finished = closed(&mut simulation, users, asks.iter().cloned());
        prop_assert_eq!(finished.len(), asks.len());
        for one in &finished {
            let tokens = match one.counts.is_empty() {
                true => one.stamps.len() as u32,
                false => one.counts.iter().sum(),
            };
            prop_assert_eq!(tokens, asks[one.ticket as usize].output_tokens);
            prop_assert!(one.stamps.is_sorted());
            prop_assert!(one.stamps[0] > one.sent_ns);
        }
        prop_assert_eq!(simulation.gauges().blocks_used, 0);
        let stats = simulation.stats();
        prop_assert_eq!(stats.generated_tokens, asks.iter().map(|ask| u64::from(ask.output_tokens)).sum::<u64>());
    }

    /// A faster machine finishes no later, where nothing is put back.
    #[test]
    fn more_speed_is_never_slower(
        lengths in proptest::collection::vec((1_u32..900, 1_u32..80), 1..40),
        users in 1_usize..16,
        faster in 1.01_f64..3.0,
    ) {
        let end = |speed: f64| {
            let setup = setup(&format!("bw={},bf16={},mem=45", 864.0 * speed, 362.0 * speed), "llama-3.1-8b", "bf16");
            let mut constants = Constants::defaults(Kind::Vllm, &setup);
            for host in [&mut constants.step_host_s, &mut constants.layer_host_s, &mut constants.sequence_host_s, &mut constants.frontend_s] {
                *host /= speed;
            }
            let settings = Settings { prefix_cache: false, ..Settings::defaults(Kind::Vllm, &setup) };
            let deployment = Deployment::new(setup, constants, settings).expect("a deployment");
            let finished = closed(&mut Simulation::new(deployment), users, lengths.iter().map(|&(prompt, output)| ask(prompt, output)));
            finished.iter().map(last_ns).max()
        };
        prop_assert!(end(faster) <= end(1.0));
    }
}
