//! Sessions in virtual time, against a schedule that is computed another way: by recursion over what
//! each turn waits for, without a queue, a state or a clock.

use super::conversations::{Carrying, ConversationSource};
use crate::media_token_estimate::{Pairs, Shape, shape};
use ifm_core::order::Order as _;
use ifm_core::spec::Api;
use ifm_core::{
    Carried, EndedSession, Medium, MediumKind, Message, Phase, Placed, Prompt, Reply, Role,
    SessionEnd, ToolCall,
};
use ifm_drive::{Answered, NextAsk, Offer, RequestMeta};
use ifm_wire::request::TemplateSpec;
use ifm_wire::{RequestBytes, RequestTemplate};
use ifm_workload::{Dataset, Keep, Rng, SubAgent, Turn, WorkItem, WorkloadError};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The common part of streamed chat requests.
fn chat_template() -> RequestTemplate {
    RequestTemplate::new(&TemplateSpec {
        api: Api::Chat,
        host: "h",
        path: "/v1/chat/completions",
        model: "m",
        authorization: None,
        headers: &[],
        stream: true,
        ignore_eos: false,
        temperature: None,
        extra_body: &serde_json::Map::new(),
    })
    .unwrap()
}

/// A workload of these items.
struct Made {
    items: Vec<WorkItem>,
    shared_tokens: Option<u32>,
}

impl Dataset for Made {
    fn item(&self, id: u32) -> Result<WorkItem, WorkloadError> {
        let items = self.items.len() as u64;
        self.items.get(id as usize).cloned().ok_or(WorkloadError::Exhausted { items })
    }

    fn distinct_items(&self) -> u64 {
        self.items.len() as u64
    }

    fn has_conversations(&self) -> bool {
        true
    }

    fn shared_tokens(&self) -> Option<u32> {
        self.shared_tokens
    }
}

/// One request as it was sent.
#[derive(Debug)]
struct Sent {
    at_ns: u64,
    meta: RequestMeta,
    body: Value,
}

impl Sent {
    fn messages(&self) -> &[Value] {
        self.body["messages"].as_array().unwrap()
    }

    fn texts(&self) -> Vec<&str> {
        self.messages().iter().map(|message| message["content"].as_str().unwrap()).collect()
    }
}

/// Plays a workload to its end, a nanosecond at a time. `answer` says how long a request takes and
/// what comes back.
fn play(
    made: Made,
    users: u32,
    carrying: Carrying,
    mut answer: impl FnMut(&RequestMeta) -> (u64, Option<Reply>, bool),
) -> (Vec<Sent>, ConversationSource) {
    let mut source = ConversationSource::new(Arc::new(made), chat_template(), carrying);
    source.begin_level(0, users, None);
    let mut flights: Vec<(u64, RequestMeta, Option<Reply>, bool)> = Vec::new();
    let (mut sent, mut buffer) = (Vec::new(), RequestBytes::default());
    for now_ns in 0..1_000_000 {
        flights.order_by_key(|flight| flight.0);
        while flights.first().is_some_and(|flight| flight.0 == now_ns) {
            let (end_ns, meta, reply, is_overflow) = flights.remove(0);
            let turn = meta.turn.unwrap();
            let (session, agent, turn) = (turn.session, turn.agent, turn.turn);
            let session_token = None;
            source.answered(Answered {
                session,
                agent,
                turn,
                end_ns,
                reply,
                is_overflow,
                session_token,
            });
        }
        loop {
            let seq = sent.len() as u32;
            let ask = NextAsk { phase: Phase::Measure, seq, now_ns, is_warm: true };
            match source.next(&ask, &mut buffer).unwrap() {
                Offer::Request(meta) => {
                    let text = String::from_utf8(buffer.to_vec()).unwrap();
                    let (_, body) = text.split_once("\r\n\r\n").unwrap();
                    let body = serde_json::from_str(body).unwrap();
                    sent.push(Sent { at_ns: now_ns, meta, body });
                    let (takes_ns, reply, is_overflow) = answer(&meta);
                    flights.push((now_ns + takes_ns.max(1), meta, reply, is_overflow));
                }
                Offer::Later => break,
                Offer::End => return (sent, source),
            }
        }
    }
    panic!("it never ended");
}

fn said(text: String) -> Option<Reply> {
    Some(Reply { content: text, output_tokens: Some(7), ..Reply::default() })
}

fn user(text: impl Into<String>) -> Turn {
    let prompt = Prompt::Messages(vec![Message::text(Role::User, text)]);
    Turn { prompt_tokens: Some(10), output_tokens: Some(7), ..Turn::new(prompt) }
}

/// How long a request takes in the random sessions.
fn service_ns(item: u32, agent: u16, turn: u16) -> u64 {
    1 + (u64::from(item) * 7 + u64::from(agent) * 13 + u64::from(turn) * 29) % 23
}

/// A session with agents here and there, some of them awaited.
fn random_session(id: u32) -> WorkItem {
    let mut draws = Rng::new(5).stream("session").item(u64::from(id));
    let mut turns = |name: String| -> Vec<Turn> {
        let count = 1 + draws.below(5);
        let pauses = (0..count).map(|_| u64::from(draws.below(30))).collect::<Vec<_>>();
        let numbered = pauses.into_iter().enumerate();
        numbered
            .map(|(turn, think_ns)| Turn { think_ns, ..user(format!("{name} turn {turn}")) })
            .collect()
    };
    let root = turns(format!("{id} agent 0"));
    let agents = (1..=id as u16 % 6).map(|number| turns(format!("{id} agent {number}")));
    let all: Vec<Vec<Turn>> = agents.collect();
    let mut places = Rng::new(6).stream("place").item(u64::from(id));
    let mut agents: Vec<SubAgent> = Vec::new();
    for (number, turns) in (1_u16..).zip(all) {
        let parent = places.below(u32::from(number)) as u16;
        let of_parent = match parent {
            0 => root.len(),
            _ => agents[usize::from(parent) - 1].turns.len(),
        };
        let after_turn = places.below(of_parent as u32) as u16;
        let later = of_parent as u16 - after_turn - 1;
        let waits = later > 0 && places.below(3) > 0;
        let before_turn = waits.then(|| after_turn + 1 + places.below(u32::from(later)) as u16);
        let delay_ns = u64::from(places.below(20));
        agents.push(SubAgent { parent, after_turn, before_turn, delay_ns, turns });
    }
    WorkItem { agents, ..WorkItem::new(id, root) }
}

/// When a turn is sent, by what it waits for.
fn start_ns(item: &WorkItem, begin_ns: u64, agent: u16, turn: u16) -> u64 {
    let end_ns =
        |agent, turn| start_ns(item, begin_ns, agent, turn) + service_ns(item.id, agent, turn);
    let own = agent.checked_sub(1).map(|place| &item.agents[usize::from(place)]);
    if turn == 0 {
        return match own {
            None => begin_ns,
            Some(own) => end_ns(own.parent, own.after_turn) + own.delay_ns,
        };
    }
    let mut from_ns = end_ns(agent, turn - 1);
    for (number, child) in (1..).zip(&item.agents) {
        if child.parent == agent && child.before_turn == Some(turn) {
            from_ns = from_ns.max(end_ns(number, child.turns.len() as u16 - 1));
        }
    }
    from_ns + item.turns_of(agent)[usize::from(turn)].think_ns
}

/// When every turn of a session is sent, and when the session is over.
fn schedule(item: &WorkItem, begin_ns: u64) -> (BTreeMap<(u16, u16), u64>, u64) {
    let agents = 0..=item.agents.len() as u16;
    let turns = agents
        .flat_map(|agent| (0..item.turns_of(agent).len() as u16).map(move |turn| (agent, turn)));
    let all: BTreeMap<(u16, u16), u64> =
        turns.map(|(agent, turn)| ((agent, turn), start_ns(item, begin_ns, agent, turn))).collect();
    let ends = all.iter().map(|(&(agent, turn), at)| at + service_ns(item.id, agent, turn));
    let over = ends.max().unwrap();
    (all, over)
}

/// Users wait for their one answer, so that there is time to make the sessions that follow.
#[test]
fn sessions_are_made_ahead_by_number_and_by_bytes() {
    let ahead = |users: u32, text_bytes: usize| {
        let text = "x".repeat(text_bytes);
        let items = (0..2 * users).map(|id| WorkItem::new(id, vec![user(text.clone())])).collect();
        let made = Made { items, shared_tokens: None };
        let mut source =
            ConversationSource::new(Arc::new(made), chat_template(), Carrying::default());
        source.begin_level(0, users, None);
        let mut buffer = RequestBytes::default();
        for seq in 0..2 * users {
            let ask = NextAsk { phase: Phase::Measure, seq, now_ns: u64::from(seq), is_warm: true };
            source.next(&ask, &mut buffer).unwrap();
        }
        source.made_ahead()
    };
    assert_eq!(ahead(5, 10), (5, 50));
    assert_eq!(ahead(100, 10), (64, 640));
    // Four of 4 MiB are 16 MiB.
    assert_eq!(ahead(6, 4 << 20), (4, 16 << 20));
}

#[test]
fn turns_agents_and_joins_come_when_they_should() {
    const SESSIONS: u32 = 60;
    for users in [1, 3] {
        let items: Vec<WorkItem> = (0..SESSIONS).map(random_session).collect();
        let made = Made { items: items.clone(), shared_tokens: None };
        let (sent, source) = play(made, users as u32, Carrying::default(), |meta| {
            let turn = meta.turn.unwrap();
            let text = format!("answer of {} to {}", turn.agent, turn.turn);
            (service_ns(meta.item, turn.agent, turn.turn), said(text), false)
        });
        // Each session begins when a user is free.
        let mut free_ns = vec![0; users];
        let mut by_session: HashMap<u32, BTreeMap<(u16, u16), u64>> = HashMap::new();
        for one in &sent {
            let turn = one.meta.turn.unwrap();
            assert_eq!(one.meta.item, turn.session);
            let place = (turn.agent, turn.turn);
            let twice = by_session.entry(turn.session).or_default().insert(place, one.at_ns);
            assert_eq!(twice, None);
            assert!(turn.due_ns.is_none_or(|due_ns| due_ns == one.at_ns));
            let item = &items[turn.session as usize];
            assert_eq!(usize::from(turn.turns), item.turns_of(turn.agent).len());
            assert_eq!(turn.has_agents, !item.agents.is_empty());
            // Everything that this agent said and received, and nothing of any other.
            let expected: Vec<String> = (0..=turn.turn)
                .flat_map(|before| {
                    let agent = turn.agent;
                    let answer =
                        (before < turn.turn).then(|| format!("answer of {agent} to {before}"));
                    [Some(format!("{} agent {agent} turn {before}", item.id)), answer]
                })
                .flatten()
                .collect();
            assert_eq!(one.texts(), expected);
            assert_eq!(
                one.meta.known_tokens,
                match turn.turn {
                    0 => None,
                    number => Some(17 * u32::from(number)),
                }
            );
        }
        assert_eq!(by_session.len(), SESSIONS as usize);
        for item in &items {
            free_ns.sort_unstable();
            let (expected, over_ns) = schedule(item, free_ns[0]);
            assert_eq!(by_session[&item.id], expected, "session {}", item.id);
            free_ns[0] = over_ns;
        }
        assert_eq!(source.begun(), SESSIONS);
        assert!(source.ended_early().is_empty());
    }
}

/// What a turn of an agent is answered with, and whether the server says that it is too long.
type Answering = fn(u16, u16) -> (Option<Reply>, bool);

/// Requests that a session of four turns sends, and how it ended where no request shows it.
fn ending(
    agents: Vec<SubAgent>,
    carrying: Carrying,
    answering: Answering,
) -> (usize, Vec<EndedSession>) {
    let item = WorkItem { agents, ..WorkItem::new(0, vec![user("a"); 4]) };
    let made = Made { items: vec![item], shared_tokens: Some(4) };
    let (sent, source) = play(made, 1, carrying, |meta| {
        let turn = meta.turn.unwrap();
        let (reply, is_overflow) = answering(turn.agent, turn.turn);
        (5, reply, is_overflow)
    });
    (sent.len(), source.ended_early().to_vec())
}

fn fine() -> (Option<Reply>, bool) {
    (said("b".to_owned()), false)
}

fn thought() -> (Option<Reply>, bool) {
    (Some(Reply { reasoning: "hm".to_owned(), ..Reply::default() }), false)
}

/// Two users, one turn every 100 ns each, spread over the period. Pauses of the workload do not count; a
/// late answer is waited for, and the user keeps to its times afterwards.
#[test]
fn a_cadence_holds_for_each_user() {
    let carrying = Carrying { cadence_ns: Some(100), ..Carrying::default() };
    let turns = || vec![Turn { think_ns: 7, ..user("a") }; 3];
    let items = (0..4).map(|id| WorkItem::new(id, turns())).collect();
    let (sent, _) = play(Made { items, shared_tokens: None }, 2, carrying, |meta| {
        let is_late = meta.item == 0 && meta.turn.is_some_and(|turn| turn.turn == 1);
        (if is_late { 130 } else { 20 }, said("b".to_owned()), false)
    });
    let times = |item: u32| -> Vec<(u64, Option<u64>)> {
        let own = sent.iter().filter(|sent| sent.meta.item == item);
        own.map(|sent| (sent.at_ns, sent.meta.turn.and_then(|turn| turn.due_ns))).collect()
    };
    let on_time = |times: [u64; 3]| times.map(|at| (at, Some(at)));
    // The turn at 100 takes until 230: the next one goes then, and the session after it at 300.
    assert_eq!(times(0), on_time([0, 100, 230]));
    assert_eq!(times(1), on_time([50, 150, 250]));
    assert_eq!(times(2), on_time([300, 400, 500]));
    assert_eq!(times(3), on_time([350, 450, 550]));
}

/// The schedule begins when the last request that warms up has been answered.
#[test]
fn a_cadence_begins_after_the_warm_up() {
    let carrying = Carrying { cadence_ns: Some(100), ..Carrying::default() };
    let items = (0..2).map(|id| WorkItem::new(id, vec![user("a"); 2])).collect();
    let made = Made { items, shared_tokens: None };
    let mut source = ConversationSource::new(Arc::new(made), chat_template(), carrying);
    source.begin_level(0, 2, None);
    let mut at = |now_ns, is_warm| {
        let ask = NextAsk { phase: Phase::Measure, seq: 0, now_ns, is_warm };
        match source.next(&ask, &mut RequestBytes::default()) {
            Ok(Offer::Request(meta)) => meta.turn.and_then(|turn| turn.due_ns),
            _ => None,
        }
    };
    assert_eq!([at(0, false), at(400, false)], [None, None]);
    assert_eq!([at(500, true), at(549, true), at(550, true)], [Some(500), None, Some(550)]);
}

/// The second turn of each session is too long: the session after it has its time.
#[test]
fn a_turn_that_is_not_sent_costs_its_user_no_beat() {
    let carrying =
        Carrying { cadence_ns: Some(100), max_context_tokens: Some(17), ..Carrying::default() };
    let items = (0..3).map(|id| WorkItem::new(id, vec![user("a"); 2])).collect();
    let (sent, source) = play(Made { items, shared_tokens: None }, 1, carrying, |_| {
        (20, said("b".to_owned()), false)
    });
    assert_eq!(sent.iter().map(|sent| sent.at_ns).collect::<Vec<_>>(), [0, 100, 200]);
    assert_eq!(source.ended_early().len(), 3);
    // Neither does the first turn of a session that is too long.
    let long = || Turn { prompt_tokens: Some(11), ..user("a") };
    let turns = [vec![user("a"); 1], vec![long(); 2], vec![user("a"); 1]];
    let items = (0..).zip(turns).map(|(id, turns)| WorkItem::new(id, turns)).collect();
    let (sent, _) = play(Made { items, shared_tokens: None }, 1, carrying, |_| {
        (20, said("b".to_owned()), false)
    });
    assert_eq!(sent.iter().map(|sent| sent.at_ns).collect::<Vec<_>>(), [0, 100]);
}

/// An answer that a limit cut off is incomplete unless that length was requested.
#[test]
fn a_half_answer_is_not_carried_on() {
    for (length, expect) in [(None, (1, 1)), (Some(7), (3, 0))] {
        let turns = vec![Turn { output_tokens: length, ..user("a") }; 3];
        let made = Made { items: vec![WorkItem::new(0, turns)], shared_tokens: None };
        let (sent, source) = play(made, 1, Carrying::default(), |_| {
            (5, said("b".to_owned()).map(|it| Reply { is_cut: true, ..it }), false)
        });
        assert_eq!((sent.len(), source.ended_early().len()), expect);
    }
}

#[test]
fn a_session_ends_where_it_cannot_go_on() {
    let plain = Carrying::default();
    let early = |end| vec![EndedSession { session: 0, level: 0, end }];
    assert_eq!(ending(vec![], plain, |_, _| fine()), (4, vec![]));
    // An answer without content; the last one may be.
    let empty: Answering = |_, turn| if turn == 1 { thought() } else { fine() };
    assert_eq!(ending(vec![], plain, empty), (2, early(SessionEnd::EmptyAnswer)));
    let echo = Carrying { echo_reasoning: true, ..plain };
    assert_eq!(ending(vec![], echo, empty), (4, vec![]), "what goes back is no less than nothing");
    let empty_last: Answering = |_, turn| if turn == 3 { thought() } else { fine() };
    assert_eq!(ending(vec![], plain, empty_last), (4, vec![]));
    // A request that failed shows itself.
    let failed: Answering = |_, turn| if turn == 2 { (None, false) } else { fine() };
    assert_eq!(ending(vec![], plain, failed), (3, vec![]));
    let refused: Answering = |_, turn| if turn == 2 { (None, true) } else { fine() };
    assert_eq!(ending(vec![], plain, refused), (3, early(SessionEnd::Overflow)));
    // 17 tokens each turn: the third one has 44, and 7 of its answer.
    for (most, sent) in [(51, 3), (50, 2), (17, 1)] {
        let limited = Carrying { max_context_tokens: Some(most), ..plain };
        let overflow = early(SessionEnd::Overflow);
        assert_eq!(ending(vec![], limited, |_, _| fine()), (sent, overflow), "{most}");
    }
    // A child that fails ends the session, and what is in flight finishes.
    let child = |before_turn, delay_ns| SubAgent {
        parent: 0,
        after_turn: 0,
        before_turn,
        delay_ns,
        turns: vec![user("c"); 3],
    };
    let failing: Answering = |agent, _| if agent == 1 { (None, false) } else { fine() };
    assert_eq!(ending(vec![child(Some(1), 0), child(None, 3)], plain, failing), (3, vec![]));
    assert_eq!(ending(vec![child(Some(1), 0), child(None, 9)], plain, failing), (2, vec![]));
}

/// 10 tokens of text, 40 of an image by the server's own count of one of that size, 7 of the answer.
#[test]
fn a_context_holds_media_as_the_server_counts_them() {
    let image = Medium {
        kind: MediumKind::Image,
        mime: "image/png".to_owned(),
        sha256: [1; 32],
        size: Some((64, 64)),
        frames: None,
        duration_ns: None,
        file_bytes: None,
        uuid: None,
        detail: None,
        carried: Carried::Base64(b"AAAA".as_slice().into()),
    };
    let medium = Arc::new(image);
    let is_sent = |most: u32, told: &[(Shape, u32)]| {
        let mut message = Message::text(Role::User, "a");
        message.media.push(Placed { at: 0, medium: medium.clone() });
        let turn = Turn { prompt: Prompt::Messages(vec![message]), ..user("a") };
        let made =
            Made { items: vec![WorkItem::new(0, vec![turn, user("b")])], shared_tokens: None };
        let carrying = Carrying { max_context_tokens: Some(most), ..Carrying::default() };
        let mut source = ConversationSource::new(Arc::new(made), chat_template(), carrying);
        source.with_pairs(Arc::new(Pairs::new(&[], told)));
        source.begin_level(0, 1, None);
        let ask = NextAsk { phase: Phase::Measure, seq: 0, now_ns: 0, is_warm: true };
        let offer = source.next(&ask, &mut RequestBytes::default()).unwrap();
        matches!(offer, Offer::Request(_))
    };
    let told = [(shape(&medium), 40)];
    assert!(is_sent(57, &told) && !is_sent(56, &told));
    assert!(is_sent(17, &[]), "uncounted media are left out");
}

#[test]
fn a_workload_of_prompts_that_are_all_too_long_is_an_error() {
    let item = |id| WorkItem::new(id, vec![user("a"); 2]);
    let made = Made { items: (0..2000).map(item).collect(), shared_tokens: None };
    let carrying = Carrying { max_context_tokens: Some(5), ..Carrying::default() };
    let mut source = ConversationSource::new(Arc::new(made), chat_template(), carrying);
    source.begin_level(0, 4, None);
    let ask = NextAsk { phase: Phase::Measure, seq: 0, now_ns: 0, is_warm: true };
    let error = source.next(&ask, &mut RequestBytes::default()).unwrap_err();
    assert!(error.contains("1000 sessions in a row"), "{error}");
}

#[test]
fn what_was_said_and_what_all_share_is_known() {
    let reply = |reasoning: Option<u32>| Reply {
        content: "b".to_owned(),
        reasoning: "hm".to_owned(),
        output_tokens: Some(7),
        reasoning_tokens: reasoning,
        ..Reply::default()
    };
    let known = |echo_reasoning, reasoning| {
        let item = |id| WorkItem::new(id, vec![user("a"); 2]);
        let made = Made { items: vec![item(0), item(1)], shared_tokens: Some(4) };
        let carrying = Carrying { echo_reasoning, ..Carrying::default() };
        let (sent, _) = play(made, 1, carrying, |_| (1, Some(reply(reasoning)), false));
        let last = sent.last().unwrap().messages()[1].clone();
        (sent.iter().map(|one| one.meta.known_tokens).collect::<Vec<_>>(), last)
    };
    let (tokens, message) = known(false, Some(3));
    assert_eq!(tokens, [Some(0), Some(14), Some(4), Some(14)]);
    assert_eq!(message, serde_json::json!({"role": "assistant", "content": "b"}));
    // The reasoning tokens are not reported, so neither is the rest.
    assert_eq!(known(false, None).0, [Some(0), None, Some(4), None]);
    assert_eq!(known(true, None).0, [Some(0), Some(17), Some(4), Some(17)]);
}

#[test]
fn a_turn_goes_on_from_where_the_workload_says() {
    let back = Some(Keep { turn: 0, messages: 1 });
    let turns = vec![
        user("one"),
        user("two"),
        Turn { keeps: back, known_tokens: Some(3), ..user("three") },
        user("four"),
        Turn { keeps: Some(Keep { turn: 1, messages: 4 }), ..user("five") },
        Turn { keeps: Some(Keep { turn: 0, messages: 0 }), ..user("six") },
    ];
    let item = WorkItem::new(0, turns);
    let made = Made { items: vec![item], shared_tokens: None };
    let (sent, _) = play(made, 1, Carrying::default(), |meta| {
        (1, said(format!("to {}", meta.turn.unwrap().turn)), false)
    });
    let texts: Vec<_> = sent.iter().map(Sent::texts).collect();
    assert_eq!(texts[2], ["one", "three"]);
    assert_eq!(texts[3], ["one", "three", "to 2", "four"]);
    assert_eq!(texts[4], ["one", "to 0", "two", "to 1", "five"]);
    assert_eq!(texts[5], ["six"]);
    let known: Vec<_> = sent.iter().map(|one| one.meta.known_tokens).collect();
    assert_eq!(known, [None, Some(17), Some(3), Some(27), Some(34), None]);
}

#[test]
fn results_of_tools_bear_the_ids_of_the_server() {
    let call = |id: &str| ToolCall {
        id: id.to_owned(),
        name: "ls".to_owned(),
        arguments: "{}".to_owned(),
    };
    let result =
        || Message { tool_call_id: Some("r1".to_owned()), ..Message::text(Role::Tool, "etc") };
    let second = Turn::new(Prompt::Messages(vec![result()]));
    let recorded = Message { tool_calls: vec![call("r1")], ..Message::text(Role::Assistant, "") };
    let ids = |first: Turn, reply: Reply| {
        let item = WorkItem::new(0, vec![first, second.clone()]);
        let made = Made { items: vec![item], shared_tokens: None };
        let (sent, _) = play(made, 1, Carrying::default(), |_| (1, Some(reply.clone()), false));
        let said = sent[1].messages().to_vec();
        let call = said[1]["tool_calls"][0]["id"].as_str().map(str::to_owned);
        let result = said[2]["tool_call_id"].as_str().map(str::to_owned);
        (call, result, said[2]["role"].as_str().unwrap().to_owned())
    };
    let some = |id: &str| Some(id.to_owned());
    let live = Turn { recorded_calls: vec![call("r1")], ..user("list") };
    let calls = Reply { tool_calls: vec![call("live")], ..Reply::default() };
    assert_eq!(ids(live.clone(), calls.clone()), (some("live"), some("live"), "tool".to_owned()));
    let prose = Reply { content: "I will not".to_owned(), ..Reply::default() };
    assert_eq!(ids(live, prose.clone()), (None, None, "user".to_owned()));
    let kept = Turn { recorded_answer: Some(recorded), ..user("list") };
    for reply in [calls, prose] {
        assert_eq!(ids(kept.clone(), reply), (some("r1"), some("r1"), "tool".to_owned()));
    }
}

#[test]
fn the_digest_of_a_turn_is_a_chain_and_one_turn_is_as_ever() {
    let digest = |turns: Vec<Turn>| {
        let items = vec![WorkItem::new(0, turns)];
        let made = Made { items, shared_tokens: None };
        let (_, source) = play(made, 1, Carrying::default(), |_| (1, said("b".to_owned()), false));
        source.ledger().prompts_blake3()
    };
    let mut alone = super::ledger::Ledger::default();
    alone.note(super::ledger::digest(&user("a").prompt), None, None);
    assert_eq!(digest(vec![user("a")]), alone.prompts_blake3());
    let two = digest(vec![user("a"), user("c")]);
    assert_eq!(digest(vec![user("a"), user("c")]), two);
    assert_ne!(digest(vec![user("a"), user("d")]), two);
    assert_ne!(digest(vec![user("x"), user("c")]), two);
}
