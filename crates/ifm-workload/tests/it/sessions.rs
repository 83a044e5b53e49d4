//! Sessions of agents: recorded ones of every format, and made-up ones.

use std::{fs, path::PathBuf};

use crate::tokenizer;
use ifm_core::{Message, Prompt};
use ifm_workload::{LengthScale, OpenedWorkload, Turn, WorkItem, WorkloadRequest, open, preview};
use serde_json::{Value, json};

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn opened(kind: &str, name: &str, options: &str) -> OpenedWorkload {
    let text = format!("{kind}:{}{options}", data(name).display());
    open(&WorkloadRequest::new(text, 3), &tokenizer()).unwrap_or_else(|error| panic!("{error}"))
}

fn messages(turn: &Turn) -> &[Message] {
    match &turn.prompt {
        Prompt::Messages(messages) => messages,
        other => panic!("{other:?}"),
    }
}

fn ids(text: &str) -> Vec<u32> {
    tokenizer().encode(text).unwrap_or_default()
}

/// Tokens added, asked for, and known; the pause in milliseconds; what it goes on from.
type Brief = (u32, u32, Option<u32>, u64, Option<(u16, u32)>);

fn brief(turns: &[Turn]) -> Vec<Brief> {
    let brief = |turn: &Turn| {
        let keeps = turn.keeps.map(|keep| (keep.turn, keep.messages));
        let pause_ms = turn.think_ns / 1_000_000;
        (
            turn.prompt_tokens.unwrap_or_default(),
            turn.output_tokens.unwrap_or_default(),
            turn.known_tokens,
            pause_ms,
            keeps,
        )
    };
    turns.iter().map(brief).collect()
}

#[test]
fn a_weka_trace_keeps_blocks_times_and_joins() {
    for name in ["weka.jsonl", "weka.json"] {
        let workload = opened("weka", name, "");
        assert!(workload.dataset.has_conversations() && workload.facts.ignore_eos);
        let item = workload.dataset.item(0).unwrap();
        assert_eq!(
            brief(&item.turns),
            [
                (200, 30, Some(0), 0, None),
                // 300 less what was asked and answered; 2 s of work and 1.5 s of pause before it.
                (70, 40, Some(192), 1500, None),
                // It began 1 s after the first sub-agent's end at 10 s; 420 - 300 - 40.
                (80, 50, Some(256), 1000, None),
                // It waited for the second one until 26.5 s.
                (30, 10, Some(384), 13_500, None),
                // Back into the first prompt.
                (210, 10, Some(128), 1000, Some((0, 0))),
            ]
        );
        let agents: Vec<_> = item
            .agents
            .iter()
            .map(|agent| {
                (agent.parent, agent.after_turn, agent.before_turn, agent.delay_ns / 1_000_000)
            })
            .collect();
        assert_eq!(agents, [(0, 1, Some(2), 1000), (0, 1, Some(3), 1500)]);
        assert_eq!(
            brief(&item.agents[0].turns),
            [(150, 20, Some(0), 0, None), (80, 25, Some(128), 500, None)]
        );
        assert_eq!(workload.dataset.parallel(), 2);
        // Exact lengths, and equal text where hashes are equal.
        for turn in item.turns.iter().chain(&item.agents[0].turns) {
            let text = &messages(turn)[0].content;
            assert_eq!(ids(text).len() as u32, turn.prompt_tokens.unwrap());
            let answer = turn.recorded_answer.as_ref().unwrap();
            assert_eq!(ids(&answer.content).len() as u32, turn.output_tokens.unwrap());
        }
        let first = |turn: &Turn| ids(&messages(turn)[0].content);
        assert_eq!(first(&item.turns[0])[..128], first(&item.turns[4])[..128]);
        assert_ne!(first(&item.turns[0])[128..192], first(&item.turns[4])[128..192]);
        let agents = [&item.agents[0].turns[0], &item.agents[1].turns[0]].map(first);
        assert_ne!(agents[0][..64], agents[1][..64], "each agent has hashes of its own");
    }
    let other = opened("weka", "weka.jsonl", "").dataset.item(1).unwrap();
    assert_eq!(brief(&other.turns), [(130, 5, Some(0), 0, None), (65, 6, Some(128), 2000, None)]);
}

#[test]
fn hashes_mean_what_is_said_of_them() {
    let first = |turns: &[Turn]| messages(&turns[0])[0].content.clone();
    for (hashes, agents, sessions) in
        [("agent", false, false), ("session", true, false), ("all", true, true)]
    {
        let workload = opened("weka", "weka.jsonl", &format!("?hashes={hashes}"));
        let items = [0, 1].map(|id| workload.dataset.item(id).unwrap());
        let start = |turns: &[Turn]| ids(&first(turns))[..128].to_vec();
        let root = start(&items[0].turns);
        assert_eq!(start(&items[0].agents[0].turns) == root, agents, "{hashes}");
        assert_eq!(start(&items[1].turns) == root, sessions, "{hashes}");
        let known = items[0].agents[0].turns[0].known_tokens;
        assert_eq!(known, Some(if agents { 128 } else { 0 }));
        let known = items[1].turns[0].known_tokens;
        assert_eq!(known, Some(if sessions { 128 } else { 0 }));
    }
}

#[test]
fn a_session_is_played_as_asked() {
    let capped = opened("weka", "weka.jsonl", "?idle_cap=1200ms").dataset.item(0).unwrap();
    let pauses: Vec<_> = capped.turns.iter().map(|turn| turn.think_ns / 1_000_000).collect();
    assert_eq!(pauses, [0, 1200, 1000, 1200, 1000]);
    let workload = opened("weka", "weka.jsonl", "?start=3");
    assert_eq!(workload.facts.items, Some(1), "the other session is shorter");
    let late = workload.dataset.item(0).unwrap();
    assert_eq!((late.turns.len(), late.agents.len(), late.turns[0].think_ns), (3, 0, 0));
    let roles: Vec<_> = messages(&late.turns[0]).iter().map(|it| it.role.word()).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant", "user"]);
    assert_eq!(late.turns[0].prompt_tokens, Some(200 + 30 + 70 + 40 + 80));
    let server = opened("weka", "weka.jsonl", "?answers=server").dataset.item(0).unwrap();
    assert!(server.turns.iter().all(|turn| turn.recorded_answer.is_none()));
    // A mark of its own for each session, in every prompt that begins anew.
    let marked = opened("weka", "weka.jsonl", "?marker=yes&after=repeat");
    let mark = |item: &WorkItem, turn: usize| {
        messages(&item.turns[turn])[0].content.lines().next().unwrap().to_owned()
    };
    let items = [0, 2].map(|id| marked.dataset.item(id).unwrap());
    assert!(mark(&items[0], 0).starts_with("session "));
    assert_eq!(mark(&items[0], 0), mark(&items[0], 4));
    assert_ne!(mark(&items[0], 0), mark(&items[1], 0), "the same session once more");
    let tokens = ids(&(mark(&items[0], 0) + "\n")).len() as u32;
    assert_eq!(items[0].turns[0].prompt_tokens, Some(200 + tokens));
    assert_eq!(items[0].turns[1].known_tokens, Some(192 + tokens));
    assert_eq!(items[0].turns[0].known_tokens, Some(0));
}

#[test]
fn rows_of_mooncake_become_sessions() {
    let workload = opened("mooncake", "mooncake_sessions.jsonl", "?idle_cap=10s");
    assert!(workload.dataset.has_conversations());
    let items = [0, 1].map(|id| workload.dataset.item(id).unwrap());
    assert_eq!(
        brief(&items[0].turns),
        [(1100, 50, Some(0), 0, None), (550, 60, Some(1024), 3000, None)]
    );
    // Known from the other session; its second prompt is longer by more than the answer.
    assert_eq!(
        brief(&items[1].turns),
        [(1024, 20, Some(512), 0, None), (456, 20, Some(1024), 250, None)]
    );
    let first = |item: &WorkItem| ids(&messages(&item.turns[0])[0].content);
    assert_eq!(first(&items[0])[..512], first(&items[1])[..512]);
    assert_ne!(first(&items[0])[512..600], first(&items[1])[512..600]);
    assert_eq!(workload.facts.rows.as_ref().unwrap().kept, 4);
    let found = preview(workload.dataset.as_ref(), 10).unwrap().sessions.unwrap();
    // 0, 1024, 512 and 1024 of 1100, 1700, 1024 and 1500.
    let share = (1024 + 512 + 1024) as f64 / (1100 + 1700 + 1024 + 1500) as f64;
    assert!((found.ideal_hit_share.unwrap() - share).abs() < 1e-12);
    assert_eq!((found.sessions, found.requests, found.parallel), (2, 4, 1));
}

#[test]
fn mlperf_rows_become_conversations_with_tools() {
    let workload = opened("mlperf-agent", "mlperf_agent.jsonl", "?idle_cap=10s");
    let items = [0, 1].map(|id| workload.dataset.item(id).unwrap());
    let turns = &items[0].turns;
    let roles = |turn: &Turn| messages(turn).iter().map(|it| it.role.word()).collect::<Vec<_>>();
    let all: Vec<_> = turns.iter().map(roles).collect();
    assert_eq!(all, [vec!["system", "user"], vec!["tool", "tool"], vec!["user"]]);
    let pauses: Vec<_> = turns.iter().map(|turn| turn.think_ns / 1_000_000).collect();
    assert_eq!(pauses, [0, 1500, 10_000]);
    assert_eq!((turns[0].output_tokens, turns[2].output_tokens), (Some(64), Some(256)));
    let answer = turns[0].recorded_answer.as_ref().unwrap();
    assert_eq!((answer.tool_calls.len(), &answer.reasoning), (2, &None));
    assert_eq!(messages(&turns[1])[1].tool_call_id.as_deref(), Some("call_2"));
    assert!(turns.iter().all(|turn| turn.fields.as_ref().unwrap().contains_key("tools")));
    assert_eq!(items[1].turns.len(), 1);
    assert_eq!(workload.facts.rows.as_ref().unwrap().kept, 7);
    let server = opened("mlperf-agent", "mlperf_agent.jsonl", "?answers=server");
    let turn = server.dataset.item(0).unwrap().turns.remove(0);
    assert_eq!((turn.recorded_answer, turn.recorded_calls.len()), (None, 2));
}

#[test]
fn spans_become_agents_that_wait_for_one_another() {
    for name in ["otel.jsonl", "otel_flat.jsonl", "otlp.json"] {
        let workload = opened("otel", name, "");
        assert_eq!(workload.facts.items, Some(1), "{name}");
        let item = workload.dataset.item(0).unwrap();
        let said = |turn: &Turn| {
            messages(turn).iter().map(|it| it.role.word()).collect::<Vec<_>>().join(" ")
        };
        let all: Vec<_> = item.turns.iter().map(said).collect();
        assert_eq!(all, ["system user", "tool tool", "user", "user"], "{name}");
        let pauses: Vec<_> = item.turns.iter().map(|turn| turn.think_ns / 1_000_000).collect();
        // From the helper's end at 8 s, not from the agent's own answer at 2 s.
        assert_eq!(pauses, [0, 1500, 1000, 7000], "{name}");
        let keeps = item.turns.iter().map(|it| it.keeps.map(|it| (it.turn, it.messages)));
        let keeps: Vec<_> = keeps.collect();
        assert_eq!(keeps, [None, None, None, Some((2, 2))], "{name}");
        let outputs: Vec<_> = item.turns.iter().map(|turn| turn.output_tokens.unwrap()).collect();
        assert_eq!(outputs, [21, 6, 3, 3]);
        let asked = |turn: &Turn| turn.prompt_tokens.unwrap();
        let known: Vec<_> = item.turns.iter().map(|turn| turn.known_tokens.unwrap()).collect();
        let answer = |turn: usize| item.turns[turn].recorded_tokens.unwrap();
        let second = asked(&item.turns[0]) + answer(0);
        let third = second + asked(&item.turns[1]) + answer(1);
        assert_eq!(known, [0, second, third, asked(&item.turns[0])], "{name}");
        assert_eq!(item.turns[0].recorded_answer.as_ref().unwrap().tool_calls.len(), 2);
        assert_eq!(messages(&item.turns[1])[1].tool_call_id.as_deref(), Some("c2"));
        let tools = item.turns[0].fields.as_ref().unwrap();
        assert_eq!(tools["tools"][0]["function"]["name"], "ls");
        assert_eq!(item.agents.len(), 1);
        let helper = &item.agents[0];
        assert_eq!((helper.parent, helper.after_turn, helper.before_turn), (0, 0, Some(1)));
        assert_eq!(helper.delay_ns / 1_000_000, 500);
        let all: Vec<_> = helper.turns.iter().map(said).collect();
        assert_eq!(all, ["system user", "user"]);
        assert_eq!(helper.turns[1].think_ns / 1_000_000, 1000);
        let rules = workload.facts.rules.join("; ");
        assert!(
            rules.contains("spans whose parent is not in the file, and count as without one: 1"),
            "{rules}"
        );
    }
}

/// One span that calls a model, as a line.
fn span(trace: &str, id: &str, at_s: u32, said: &[(&str, &str)], answer: Option<&str>) -> String {
    let list = |said: &[(&str, &str)]| -> Vec<Value> {
        said.iter().map(|(role, text)| json!({"role": role, "content": text})).collect()
    };
    let mut attributes = json!({"gen_ai.input.messages": list(said)});
    if let Some(answer) = answer {
        attributes["gen_ai.output.messages"] = list(&[("assistant", answer)]).into();
    }
    let (start, end) = (1_700_000_000 + at_s, 1_700_000_001 + at_s);
    json!({"trace_id": trace, "span_id": id, "start_time": start, "end_time": end,
        "attributes": attributes})
    .to_string()
}

fn of_lines(lines: &[String], options: &str) -> OpenedWorkload {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("spans.jsonl");
    fs::write(&file, lines.join("\n")).expect("a file");
    let text = format!("otel:{}{options}", file.display());
    open(&WorkloadRequest::new(text, 3), &tokenizer()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn an_answer_that_was_not_recorded_is_said_once() {
    let both = [("user", "one"), ("assistant", "yes"), ("user", "two")];
    let turns = |answer| {
        let lines = [span("t", "a", 0, &both[..1], answer), span("t", "b", 5, &both, Some("so"))];
        of_lines(&lines, "").dataset.item(0).unwrap().turns
    };
    let said = |turn: &Turn| messages(turn).iter().map(|it| it.content.clone()).collect::<Vec<_>>();
    let recorded = turns(Some("yes"));
    assert_eq!((recorded[1].keeps, said(&recorded[1])), (None, vec!["two".to_owned()]));
    // The next prompt tells what was answered: it stands in the place of the server's own answer.
    let untold = turns(None);
    let keeps = untold[1].keeps.map(|keep| (keep.turn, keep.messages));
    assert_eq!((keeps, said(&untold[1])), (Some((0, 1)), vec!["yes".into(), "two".into()]));
}

#[test]
fn a_malformed_span_takes_its_trace_along_and_rows_are_counted() {
    let one = |trace: &str, id: &str, at_s| {
        span(trace, id, at_s, &[("user", &format!("{trace} {id}"))], Some("so"))
    };
    let whole = |trace: &str| [one(trace, "a", 0), one(trace, "b", 5), one(trace, "c", 9)];
    let counts = |lines: Vec<String>| {
        let workload = of_lines(&lines, "?bad_rows=skip");
        let first = |id| messages(&workload.dataset.item(id).unwrap().turns[0])[0].content.clone();
        let firsts: Vec<_> = (0..workload.facts.items.unwrap()).map(first).collect();
        let rows = workload.facts.rows.clone().unwrap();
        let dropped = rows.dropped.values().sum::<u64>();
        (firsts, (rows.read, rows.kept, dropped, rows.bad, rows.unused))
    };
    let (before, after) = (whole("t1"), whole("t3"));
    let with = |middle: Vec<String>| [before.to_vec(), middle, after.to_vec()].concat();
    let both = vec!["t1 a".to_owned(), "t3 a".to_owned()];
    // A call that is none, and a row that is no JSON, in the midst of a trace.
    let broken = json!({"trace_id": "t2", "span_id": "b", "start_time": "never"}).to_string();
    for bad in [broken.clone(), "no JSON".to_owned()] {
        let middle = vec![one("t2", "a", 0), bad, one("t2", "c", 9)];
        assert_eq!(counts(with(middle)), (both.clone(), (9, 6, 2, 1, 0)));
    }
    // The first span of a trace.
    let middle = vec![broken, one("t2", "c", 9)];
    assert_eq!(counts(with(middle)), (both, (8, 6, 1, 1, 0)));
}

#[test]
fn what_is_context_alone_was_not_said_before() {
    let said = [("user", "one"), ("assistant", "yes"), ("user", "two"), ("assistant", "so")];
    let lines = [
        span("t", "a", 0, &said[..1], Some("yes")),
        span("t", "b", 5, &said[..3], Some("so")),
        span("t", "c", 9, &[&said[..], &[("user", "three")]].concat(), Some("end")),
    ];
    let known = |options| {
        let item = of_lines(&lines, options).dataset.item(0).unwrap();
        item.turns.iter().map(|turn| turn.known_tokens.unwrap()).collect::<Vec<_>>()
    };
    let all = known("");
    assert!(all[0] == 0 && all[1] > 0 && all[2] > all[1], "{all:?}");
    assert_eq!(known("?start=2"), [0, all[2]]);
    assert_eq!(known("?start=3"), [0]);
}

#[test]
fn a_later_pass_was_said_before_unless_marks_keep_it_apart() {
    for (kind, name) in [("otel", "otel_flat.jsonl"), ("mlperf-agent", "mlperf_agent.jsonl")] {
        let again = opened(kind, name, "?after=repeat&answers=recorded");
        let marked = opened(kind, name, "?after=repeat&answers=recorded&marker=yes");
        let count = opened(kind, name, "").facts.items.unwrap();
        let first =
            |workload: &OpenedWorkload, id| workload.dataset.item(id).unwrap().turns.remove(0);
        let (one, two) = (first(&again, 0), first(&again, count));
        assert_eq!(one.prompt, two.prompt);
        assert_eq!(two.known_tokens, two.prompt_tokens, "{kind}");
        assert_ne!(one.known_tokens, two.known_tokens, "{kind}");
        let (one, two) = (first(&marked, 0), first(&marked, count));
        assert_ne!(one.prompt, two.prompt, "{kind}");
        assert_eq!(one.known_tokens, two.known_tokens, "{kind}");
    }
    let again = opened("weka", "weka.jsonl", "?after=repeat");
    let count = opened("weka", "weka.jsonl", "").facts.items.unwrap();
    let later = again.dataset.item(count).unwrap();
    assert_eq!(later.turns[0].known_tokens, later.turns[0].prompt_tokens);
}

#[test]
fn what_all_share_stays_however_short_the_text_becomes() {
    let mut request = WorkloadRequest::new("agents:100/5?shared=90&turns=2&grow=20", 3);
    // A template of 40 tokens: the text of 100 is 60.
    request.scale = LengthScale::new(40, 1, 1).unwrap();
    let workload = open(&request, &tokenizer()).unwrap();
    let text = |id| messages(&workload.dataset.item(id).unwrap().turns[0])[0].content.clone();
    let (one, two) = (ids(&text(0)), ids(&text(1)));
    assert_eq!(one.len(), 90);
    assert_eq!(one, two);
}

#[test]
fn made_up_agents_follow_their_laws() {
    let name = "agents:300-400/5-20?shared=250&turns=4-9&grow=20-60&tool_time=10ms-30ms&spawn=0.5\
                &agents=1-3&agent_turns=2-4&agent_prompt=30-50";
    let make = |seed| open(&WorkloadRequest::new(name, seed), &tokenizer()).unwrap();
    let workload = make(3);
    assert_eq!((workload.dataset.shared_tokens(), workload.dataset.parallel()), (Some(250), 3));
    let (mut agents, mut turns) = (0, 0);
    for id in 0..40 {
        let item = workload.dataset.item(id).unwrap();
        assert!((4..=9).contains(&item.turns.len()));
        agents += item.agents.len();
        turns += item.turns.len() - 1;
        for number in 0..=item.agents.len() as u16 {
            for (place, turn) in item.turns_of(number).iter().enumerate() {
                let tokens = turn.prompt_tokens.unwrap();
                let law = match (number, place) {
                    (0, 0) => 300..=400,
                    (_, 0) => 280..=300,
                    _ => 20..=60,
                };
                assert!(law.contains(&tokens), "{tokens}");
                assert_eq!(ids(&messages(turn)[0].content).len() as u32, tokens);
                assert!(place == 0 || (10_000_000..=30_000_000).contains(&turn.think_ns));
            }
        }
        for agent in &item.agents {
            assert_eq!(agent.before_turn, Some(agent.after_turn + 1));
            assert!(usize::from(agent.after_turn) + 1 < item.turns.len());
        }
    }
    // Half of the turns start two agents in the mean.
    let mean = agents as f64 / turns as f64;
    assert!((0.8..1.2).contains(&mean), "{mean}");
    let text = |workload: &OpenedWorkload, id| {
        messages(&workload.dataset.item(id).unwrap().turns[0])[0].content.clone()
    };
    assert_eq!(text(&workload, 3), text(&make(3), 3));
    assert_ne!(text(&workload, 3), text(&make(4), 3));
    assert_eq!(ids(&text(&workload, 3))[..250], ids(&text(&workload, 4))[..250]);
    assert_ne!(ids(&text(&workload, 3))[250..280], ids(&text(&workload, 4))[250..280]);
}

#[test]
fn what_is_wrong_with_a_trace_is_said_with_its_place() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let error = |kind: &str, rows: &[Value]| {
        let path = folder.path().join("bad.jsonl");
        let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
        fs::write(&path, text).expect("a file");
        let request = WorkloadRequest::new(format!("{kind}:{}", path.display()), 3);
        match open(&request, &tokenizer()) {
            Ok(_) => panic!("{kind} {rows:?}"),
            Err(error) => error.to_string(),
        }
    };
    let request = |t: f64| json!({"t": t, "type": "s", "in": 100, "out": 5, "hash_ids": [1]});
    let sub = |t: f64| json!({"t": t, "type": "subagent", "requests": [request(0.0)]});
    let mut deep = sub(1.0);
    for _ in 0..20 {
        deep = json!({"t": 1.0, "type": "subagent", "requests": [request(0.0), deep]});
    }
    let good = json!({"id": "g", "requests": [request(0.0)]});
    for (requests, part) in [
        (json!([request(5.0), request(1.0)]), "bad.jsonl:2: request 2: its time lies before"),
        (json!([sub(0.0)]), "bad.jsonl:2: request 1: a sub-agent before any request"),
        (
            json!([request(0.0), {"t": 1, "type": "x", "in": 1, "out": 1}]),
            "request 2: a request of the type 'x'",
        ),
        (json!([{"t": -1.0, "in": 1, "out": 1}]), "'t' is -1"),
        (json!([{"t": 0, "in": "many", "out": 1}]), "'in' is not a number of tokens"),
        (json!([{"t": 0, "in": 10, "out": 1, "hash_ids": [1.5]}]), "'hash_ids' holds something"),
        (
            json!([request(0.0), {"t": 1, "in": 1, "out": 1, "think_time": -3}]),
            "'think_time' is -3",
        ),
        (json!([request(0.0), request(9e9)]), "longer than a month"),
        (json!([request(0.0), deep]), "more than 16 sub-agents inside one another"),
        (json!([7]), "request 1: it is no object"),
        (json!([]), "no request of an agent's own"),
        (json!(vec![request(0.0); 70_000]), "an agent with more than 65535 requests"),
        (Value::Null, "no list 'requests'"),
    ] {
        let found = error("weka", &[good.clone(), json!({"id": "x", "requests": requests})]);
        assert!(found.contains(part) && found.contains("bad.jsonl:2"), "{found}");
    }
    let blocks = json!({"block_size": 32, "requests": [request(0.0)]});
    let found = error("weka", &[good, blocks]);
    assert!(found.contains("blocks of 32 tokens, where others have 64"), "{found}");
    let row = |turn: u32, role: &str, more: Value| {
        let mut row = json!({"conversation_id": "c", "turn": turn, "role": role, "content": "a"});
        row.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        row
    };
    let plain = |turn, role| row(turn, role, json!({}));
    let result = json!({"tool_results": [{"tool_call_id": "c9", "content": "x"}]});
    for (rows, part) in [
        (vec![json!({"turn": 1})], "bad.jsonl:1: no 'conversation_id'"),
        (vec![plain(2, "user")], "turn 2 where turn 1 should follow"),
        (vec![plain(1, "user"), plain(1, "user")], "bad.jsonl:2: turn 1 where turn 2"),
        (vec![plain(1, "cat")], "unknown role 'cat'"),
        (vec![plain(1, "assistant")], "an answer without a message before it"),
        (vec![plain(1, "user"), plain(2, "tool")], "a tool without 'tool_results'"),
        (
            vec![plain(1, "user"), plain(2, "assistant"), row(3, "tool", result)],
            "bad.jsonl:3: a result for the call 'c9'",
        ),
        (vec![row(1, "user", json!({"delay_seconds": -1}))], "'delay_seconds' is not a time"),
        (
            vec![
                plain(1, "user"),
                json!({"conversation_id": "d", "turn": 1, "role": "user", "content": "b"}),
                plain(2, "user"),
            ],
            "bad.jsonl:3: rows of the conversation 'c' do not stand together",
        ),
    ] {
        let found = error("mlperf-agent", &rows);
        assert!(found.contains(part), "{found}");
    }
    let fails =
        |text: &str| open(&WorkloadRequest::new(text, 3), &tokenizer()).err().unwrap().to_string();
    for (text, part) in [
        ("agents:100/10?shared=200", "does not fit"),
        ("agents:100/10?spawn=2", "a share of turns"),
        ("agents:100/10?turns=2&start=5", "behind the last turn"),
        ("agents:100/10?agents=1-100", "at most 64"),
        ("agents:100/10?idle_cap=x", "write a time as"),
    ] {
        let found = fails(text);
        assert!(found.contains(part), "{text}: {found}");
    }
}

/// A trace of these rows.
fn trace(kind: &str, rows: &[Value], options: &str) -> OpenedWorkload {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("trace.jsonl");
    let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
    fs::write(&path, text).expect("a file");
    let text = format!("{kind}:{}{options}", path.display());
    open(&WorkloadRequest::new(text, 3), &tokenizer()).unwrap_or_else(|error| panic!("{error}"))
}

fn weka_request(t: f64, tokens: u32, hashes: &[u64]) -> Value {
    json!({"t": t, "type": "s", "in": tokens, "out": 5, "api_time": 1, "hash_ids": hashes})
}

#[test]
fn a_session_that_is_left_out_was_never_sent() {
    let short = json!({"requests": [weka_request(0.0, 200, &[1, 2, 3])]});
    let bad = json!({"requests": [weka_request(0.0, 200, &[1, 2, 3]), 7]});
    let long = json!({"requests": [
        weka_request(0.0, 100, &[1]),
        weka_request(2.0, 200, &[1, 2, 3]),
    ]});
    for (former, hashes) in [(&short, "agent"), (&short, "all"), (&bad, "agent"), (&bad, "all")] {
        let options = format!("?start=2&bad_rows=skip&hashes={hashes}");
        let workload = trace("weka", &[former.clone(), long.clone()], &options);
        let item = workload.dataset.item(0).unwrap();
        assert_eq!(item.turns.len(), 1);
        assert_eq!(item.turns[0].known_tokens, Some(0), "{former} {hashes}");
    }
    // Without a start the short one is sent.
    let workload = trace("weka", &[short, long], "?hashes=all");
    assert_eq!(workload.dataset.item(1).unwrap().turns[0].known_tokens, Some(64));
}

#[test]
fn turns_before_the_start_were_never_sent() {
    let row = |t: u32, tokens: u32, hashes: &[u64]| {
        json!({"session_id": "a", "timestamp": t, "input_length": tokens, "output_length": 5,
               "hash_ids": hashes})
    };
    let rows = [row(0, 600, &[1]), row(9, 1200, &[1, 2]), row(20, 1600, &[1, 2, 3])];
    let known = |workload: OpenedWorkload| -> Vec<_> {
        let item = workload.dataset.item(0).unwrap();
        let agents = item.agents.iter().flat_map(|agent| &agent.turns);
        item.turns.iter().chain(agents).map(|turn| turn.known_tokens).collect()
    };
    assert_eq!(known(trace("mooncake", &rows, "?start=2")), [Some(0), Some(1024)]);
    // Nor were sub-agents that are over.
    let mut child = weka_request(2.0, 64, &[7]);
    child["type"] = "subagent".into();
    child["requests"] = json!([weka_request(0.0, 64, &[7])]);
    let late =
        |t: f64| json!({"t": t, "type": "subagent", "requests": [weka_request(0.0, 64, &[7])]});
    let first = weka_request(0.0, 64, &[1]);
    let second = weka_request(8.0, 130, &[1, 2]);
    let rows = [json!({"requests": [first, child, second, late(10.0), late(20.0)]})];
    let workload = trace("weka", &rows, "?start=2&hashes=session");
    assert_eq!(known(workload), [Some(0), Some(0), Some(64)]);
}

#[test]
fn a_trace_may_go_back_any_number_of_times() {
    let back =
        |number: u32| weka_request(10.0 + f64::from(number), 200, &[1, 2, 100 + u64::from(number)]);
    let mut requests = vec![weka_request(0.0, 64, &[1]), weka_request(5.0, 190, &[1, 2, 3])];
    requests.extend((0..50_000).map(back));
    let workload = trace("weka", &[json!({"requests": requests})], "?answers=server");
    let item = workload.dataset.item(0).unwrap();
    let text = |turn: usize| messages(&item.turns[turn])[0].content.clone();
    let (first, last) = (ids(&text(2)), ids(&text(50_001)));
    // 128 tokens are common, of which the first prompt and its answer have 69.
    assert_eq!(first[..59], last[..59]);
    assert_ne!(first, last);
    assert_eq!(first[..59], ids(&text(1))[..59]);
}

#[test]
fn sessions_that_are_too_short_do_not_count_as_wanted() {
    let row = |session: &str, t: u32| {
        json!({"session_id": session, "timestamp": t, "input_length": 600, "output_length": 5,
               "hash_ids": [t]})
    };
    let rows = [row("short", 0), row("long", 10), row("long", 20)];
    let workload = trace("mooncake", &rows, "?start=2&items=1");
    assert_eq!(workload.facts.items, Some(1));
}

#[test]
fn circles_and_pauses_below_zero_are_said_with_their_place() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("bad.jsonl");
    let error = |kind: &str, rows: &[String]| {
        fs::write(&path, rows.join("\n")).expect("a file");
        let request = WorkloadRequest::new(format!("{kind}:{}", path.display()), 3);
        open(&request, &tokenizer()).err().expect("an error").to_string()
    };
    let agent = |id: &str, parent: &str| {
        json!({"trace_id": "t", "span_id": id, "parent_span_id": parent, "name": "invoke_agent",
            "start_time": "2026-01-01T00:00:00Z", "end_time": "2026-01-01T00:00:09Z",
            "attributes": {"gen_ai.operation.name": "invoke_agent"}})
        .to_string()
    };
    for circle in [vec![agent("a", "a")], vec![agent("a", "b"), agent("b", "a")]] {
        let call = span("t", "1", 0, &[("user", "hi")], Some("yo"));
        let found = error("otel", &[&circle[..], &[call]].concat());
        assert!(found.contains("bad.jsonl:1: span ") && found.contains("above itself"), "{found}");
    }
    let row = |delay: Value| {
        json!({"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [1],
            "session_id": "s", "delay": delay})
        .to_string()
    };
    for delay in [json!(-3), json!("soon")] {
        let found = error("mooncake", &[row(json!(1)), row(delay)]);
        assert!(found.contains("bad.jsonl:2: 'delay' is "), "{found}");
    }
}
