//! Whole repeats against servers that answer by a script.

use super::*;
use crate::interrupts::Interrupts;
use ifm_probe::testing::{Asked, Said, server};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Between two tokens.
const PAUSE: Duration = Duration::from_millis(2);
/// The same, slower and slower until the host no longer matters.
const PAUSES: [u64; 5] = [2, 8, 32, 128, 512];

/// What a scripted server does.
#[derive(Default, Clone)]
struct Script {
    /// llama.cpp, which reports its times, or else a server that reports only `usage`.
    is_llama: bool,
    /// Tokens of the template.
    template: u64,
    /// Tokens of the prefix that it reports as cached; without it nothing is reported.
    cached: Option<u64>,
    /// Most tokens of an answer.
    answer_max: Option<u64>,
    /// Most tokens of a prompt.
    context: Option<u64>,
    /// Between two tokens, where it is not [`PAUSE`].
    pause: Option<Duration>,
    /// Whether it serves one after the other.
    lock: Option<Arc<Mutex<()>>>,
}

/// What it was asked: tokens of the prompt and the rest of the body.
type Log = Arc<Mutex<Vec<(Vec<u64>, Value)>>>;

fn started(script: Script) -> (Server, Log) {
    let log = Log::default();
    let (kept, owner) = (log.clone(), if script.is_llama { "llamacpp" } else { "mine" });
    let endpoint = server(move |asked| match asked.path.as_str() {
        "/v1/models" => Said::Json(200, json!({"data": [{"id": "m", "owned_by": owner}]})),
        "/tokenize" => Said::Json(200, json!({"tokens": (10..200).collect::<Vec<u32>>()})),
        "/completion" | "/v1/completions" => script.say(asked, &kept),
        _ => Said::Json(404, json!({})),
    });
    let setup = Setup { sequences: 1, context: 64, ..Setup::default() };
    let limit = Duration::from_secs(60);
    let interrupts = Interrupts::default();
    let limits = Limits { start: limit, repeat: limit, grace: limit, guard: None, interrupts };
    let server = start(&Target { endpoint }, &setup, &limits).unwrap();
    log.lock().unwrap().clear();
    (server, log)
}

impl Script {
    fn say(&self, asked: &Asked, log: &Log) -> Said {
        let ids = asked.body["prompt"].as_array().cloned().unwrap_or_default();
        let ids: Vec<u64> = ids.iter().filter_map(Value::as_u64).collect();
        let prompt = ids.len() as u64 + self.template;
        if self.context.is_some_and(|most| prompt > most) {
            return Said::Json(400, json!({"error": {"message": "too long for me"}}));
        }
        let asked_for = asked.body[if self.is_llama { "n_predict" } else { "max_tokens" }].as_u64();
        let output = asked_for.unwrap().min(self.answer_max.unwrap_or(u64::MAX));
        // Only what is longer than a prefix can have found it.
        let cached = self.cached.map(|cached| if prompt > cached { cached } else { 0 });
        log.lock().unwrap().push((ids, asked.body.clone()));
        let mut events: Vec<Value> = (1..=output)
            .map(|count| match self.is_llama {
                true => {
                    json!({"index": 0, "content": "a", "stop": false, "tokens_predicted": count,
                    "tokens_evaluated": prompt})
                }
                false => json!({"choices": [{"index": 0, "text": "a"}]}),
            })
            .collect();
        events.push(match self.is_llama {
            true => json!({"index": 0, "content": "", "stop": true, "stop_type": "limit",
                "tokens_predicted": output, "tokens_evaluated": prompt,
                "timings": {"cache_n": cached, "prompt_ms": 0.5, "predicted_ms": 1.0}}),
            false => json!({
                "choices": [{"index": 0, "text": "", "finish_reason": "length"}],
                "usage": {"prompt_tokens": prompt, "completion_tokens": output,
                    "prompt_tokens_details": {"cached_tokens": cached}},
            }),
        });
        Said::Paced(events, self.pause.unwrap_or(PAUSE), self.lock.clone())
    }
}

/// Runs a case with slower and slower tokens until the host keeps up.
fn slower(script: &Script, case: Case, times: u32) -> (Vec<Repeat>, Log) {
    let run = |pause: &u64| {
        let pause = Some(Duration::from_millis(*pause));
        let (mut server, log) = started(Script { pause, ..script.clone() });
        let repeats = server.run(&case, times).ok()?;
        // On a busy host tokens come together, or a batch is repeated.
        let kept_up = |one: &Repeat| {
            one.step_tokens == Some(u64::from(case.steps))
                && one.told.get("attempts").is_none_or(|attempts| *attempts == 1)
        };
        repeats.iter().all(kept_up).then_some((repeats, log))
    };
    PAUSES.iter().find_map(run).unwrap()
}

const PG: Case = Case { batch: 1, depth: 0, prompt: 16, steps: 3 };

#[test]
fn a_prefix_goes_first_and_the_server_times() {
    let script = Script { is_llama: true, cached: Some(32), ..Script::default() };
    let server = started(script.clone()).0;
    assert_eq!(
        (server.about().engine.as_str(), server.about().model.as_deref()),
        ("llama.cpp", Some("m"))
    );
    let (repeats, log) = slower(&script, Case { depth: 32, ..PG }, 2);
    for repeat in &repeats {
        assert_eq!((repeat.prompt_ns, repeat.prompt_tokens), (Some(500_000), Some(16)));
        assert_eq!((repeat.step_tokens, repeat.cached), (Some(3), Some(32)));
        assert_eq!(repeat.told["timed_by"], "server and client");
        assert_eq!(repeat.told["depth_from"], "cache");
        assert!(repeat.remarks.is_empty(), "{:?}", repeat.remarks);
    }
    let log = log.lock().unwrap();
    let [front, whole, other_front, _] = log.as_slice() else { panic!("{} requests", log.len()) };
    assert_eq!((front.0.len(), whole.0.len()), (32, 48));
    assert_eq!(front.0, whole.0[..32]);
    assert_ne!(front.0[..8], other_front.0[..8], "each repeat is new");
    assert_eq!((&front.1["cache_prompt"], &whole.1["cache_prompt"]), (&json!(true), &json!(true)));
    assert_eq!((&front.1["n_predict"], &whole.1["n_predict"]), (&json!(1), &json!(4)));
    assert_eq!((&whole.1["temperature"], &whole.1["ignore_eos"]), (&json!(0.0), &json!(true)));
}

#[test]
fn the_client_times_a_server_that_reports_nothing() {
    let (repeats, log) = slower(&Script::default(), Case { depth: 32, ..PG }, 2);
    let told = &repeats[0].told;
    assert_eq!((&told["timed_by"], &told["depth_from"]), (&json!("client"), &json!("unknown")));
    assert_eq!(repeats[0].prompt_tokens, Some(16));
    assert!(repeats[0].remarks[0].contains("does not tell what came from its cache"));
    assert_eq!(repeats[0].step_tokens, Some(3));
    // Two prefixes, two prompts, and the way once.
    let ones = log.lock().unwrap().iter().filter(|(ids, _)| ids.len() == 1).count();
    assert_eq!((ones, log.lock().unwrap().len()), (overhead::REQUESTS as usize, 9));
}

#[test]
fn what_the_server_counts_is_what_rates_are_of() {
    let script = Script { template: 4, cached: Some(0), ..Script::default() };
    let (repeats, _) = slower(&script, PG, 1);
    assert_eq!(repeats[0].prompt_tokens, Some(20));
    assert!(repeats[0].remarks[0].contains("20 prompt tokens where 16 were requested (+25.0 %)"));
    let script = Script { cached: Some(0), ..Script::default() };
    let (repeats, _) = slower(&script, Case { depth: 32, ..PG }, 1);
    assert_eq!((repeats[0].prompt_tokens, repeats[0].cached), (Some(48), Some(0)));
    assert!(repeats[0].remarks[0].contains("rates are of all 48"));
}

#[test]
fn one_case_fails_and_others_do_not() {
    // It times prompts itself: how long they take here does not matter.
    let script = Script {
        is_llama: true,
        cached: Some(0),
        context: Some(40),
        answer_max: Some(8),
        ..Script::default()
    };
    let (mut server, _) = started(script);
    let why = server.run(&Case { prompt: 64, ..PG }, 1).unwrap_err();
    let text = "a prompt of 64 tokens with 4 to generate got no answer: HTTP 400: too long for me";
    assert_eq!(why, Trouble::Cannot(text.to_owned()));
    let why = server.run(&Case { prompt: 0, steps: 20, ..PG }, 1).unwrap_err();
    let text = "an answer has 8 tokens where 21 were requested (finish reason: limit)";
    assert_eq!(why, Trouble::Cannot(text.to_owned()));
    assert_eq!(server.run(&Case { steps: 0, ..PG }, 1).unwrap().len(), 1);
}

#[test]
fn a_batch_that_is_served_one_after_the_other_is_found() {
    let batch = Case { batch: 2, steps: 7, ..PG };
    let run = |pause: u64, lock: Option<Arc<Mutex<()>>>| {
        let pause = Some(Duration::from_millis(pause));
        let script = Script { is_llama: true, cached: Some(0), pause, lock, ..Script::default() };
        started(script).0.run(&batch, 1)
    };
    let together = PAUSES.iter().find_map(|pause| run(*pause, None).ok()).unwrap();
    assert_eq!(together[0].prompt_tokens, Some(32));
    assert_eq!(together[0].told["timed_by"], "client");
    let queued = PAUSES.iter().any(|pause| {
        let why = run(*pause, Some(Arc::default())).unwrap_err();
        why.why().contains("1 of 2 sequences had no token yet")
    });
    assert!(queued);
}

#[test]
fn what_is_set_here_is_refused() {
    let endpoint = server(|_| Said::Json(500, json!({"error": {"message": "no database"}})));
    let limits = started(Script::default()).0.limits;
    let mut setup = Setup {
        model: "m".to_owned(),
        weights: Some("q8_0".to_owned()),
        sequences: 1,
        context: 64,
        ..Setup::default()
    };
    let target = Target { endpoint };
    let why = |setup: &Setup| start(&target, setup, &limits).err().unwrap();
    assert!(why(&setup).starts_with("--weights cannot be set"));
    setup.weights = None;
    assert!(why(&setup).contains("500: no database"), "{}", why(&setup));
}
