//! Conversations: each user holds one session at a time, turn after turn, with pauses to think.
//!
//! A turn is due when the answer to the one before has come and the pause is over. It carries the
//! whole conversation so far: the earlier messages, the answers (the server's own, or the recorded
//! ones), and what the turn adds. Agents of a session send at the same time, so that there may be
//! more requests in flight than users.
//!
//! A session ends before its last turn when a request fails, when an answer holds nothing that could
//! be carried on, or when its next prompt would be longer than the context.
//!
//! Not here: when a turn of one session is due (`inferometer`), its bytes (`said`).

use super::calls::settle;
use super::ledger::{Ledger, digest};
use super::said::{Said, Written};
use super::session::{Due, Heard, Session};
use super::templates::Templates;
use crate::media_token_estimate::Pairs;
use ifm_core::spec::RunSpec;
use ifm_core::{EndedSession, Message, Phase, Prompt, Role, SessionEnd, ToolCall};
use ifm_drive::{Answered, NextAsk, Offer, RequestMeta, TurnMeta};
use ifm_wire::request::{Ask, AskSession};
use ifm_wire::{RequestBytes, RequestTemplate};
use ifm_workload::{Begun, Carried, Dataset, Thread, Turn, WorkItem, WorkloadError};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Sessions in a row whose first prompt is already too long, after which none can be expected that is
/// not.
const TOO_LONG_MAX: u32 = 1000;

/// Sessions made ahead at most, and the memory of their text and their media, bytes. One is always
/// ready, however large.
const AHEAD_MAX: usize = 64;
const AHEAD_BYTES_MAX: u64 = 16 << 20;
/// How long before the next turn is due none is begun to be made, nanoseconds.
const AHEAD_NS: u64 = 20_000_000;

/// How conversations are carried on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Carrying {
    /// Whether reasoning goes back, in its own field.
    pub echo_reasoning: bool,
    /// Tokens of prompt and answer together at which a session ends as too long; absent: the server
    /// alone says so.
    pub max_context_tokens: Option<u32>,
    /// Time from one turn of a user to the next, nanoseconds, instead of the workload's pauses.
    pub cadence_ns: Option<u64>,
}

impl Carrying {
    /// As a run's spec says.
    pub fn of(spec: &RunSpec) -> Carrying {
        Carrying {
            echo_reasoning: spec.target.echo_reasoning,
            max_context_tokens: spec.workload.max_context_tokens,
            cadence_ns: spec.workload.cadence_s.map(|seconds| (seconds * 1e9).max(1.0) as u64),
        }
    }
}

/// The conversation of one agent.
#[derive(Default)]
struct Talk {
    thread: Thread,
    said: Said,
    /// Calls of each answer that is carried, and of the one that was recorded in its place.
    calls: HashMap<u32, (Vec<ToolCall>, Vec<ToolCall>)>,
}

/// A session under way, and the conversations of its agents that have begun.
struct Held {
    session: Session,
    talks: HashMap<u16, Talk>,
    /// The value that a router expects from an agent in its next request, from its last answer.
    tokens: HashMap<u16, String>,
    /// The fixed time of the user's current turn, where there is a cadence.
    timed_ns: Option<u64>,
    /// Whether that turn was sent: one that was not leaves its time to the next.
    is_time_used: bool,
}

/// A user without a session.
#[derive(Clone, Copy)]
struct Free {
    /// Since when, or from when on, nanoseconds on the monotonic clock.
    since_ns: u64,
    /// The fixed time of the next turn, where there is a cadence.
    timed_ns: Option<u64>,
}

impl Held {
    /// A session that has not begun.
    fn new(item: WorkItem) -> Held {
        Held {
            session: Session::new(item),
            talks: HashMap::new(),
            tokens: HashMap::new(),
            timed_ns: None,
            is_time_used: false,
        }
    }
}

/// Makes the turns of conversations, as many sessions at a time as there are users.
pub struct ConversationSource {
    dataset: Arc<dyn Dataset>,
    templates: Templates,
    carrying: Carrying,
    ledger: Ledger,
    next_item: u32,
    /// Sessions made ahead, while nothing else is to be done.
    ahead: VecDeque<WorkItem>,
    ahead_bytes: u64,
    begun: u32,
    held: HashMap<u32, Held>,
    /// Turns that wait for their time, and the session of each.
    due: BinaryHeap<Reverse<(u64, u32, Due)>>,
    /// Levels that have begun, and the index of the last one.
    levels: u16,
    level: u16,
    users: usize,
    /// Users whose session has ended, and with a cadence those that have not begun, by time.
    free: VecDeque<Free>,
    /// Whether the users of the level have got their first times.
    is_timed: bool,
    exhausted: bool,
    /// Sessions that this level may still begin.
    to_begin: u32,
    /// Sessions that have ended, in all levels.
    ended: Arc<AtomicU64>,
    /// Those that ended early for a reason that no request shows.
    ended_early: Vec<EndedSession>,
    /// Sessions in a row whose first prompt was too long.
    too_long: u32,
    /// Whether a prompt was made before, so that what all share has been said.
    has_said: bool,
    /// The conversation before a prompt, as bytes.
    before: Written,
    pairs: Arc<Pairs>,
}

impl ConversationSource {
    /// Reports requests with media to the code that fills in their tokens.
    pub fn with_pairs(&mut self, pairs: Arc<Pairs>) {
        self.pairs = pairs;
    }

    /// Conversations from item 0 on.
    pub fn new(
        dataset: Arc<dyn Dataset>,
        templates: impl Into<Templates>,
        carrying: Carrying,
    ) -> ConversationSource {
        ConversationSource {
            dataset,
            templates: templates.into(),
            carrying,
            ledger: Ledger::default(),
            next_item: 0,
            ahead: VecDeque::new(),
            ahead_bytes: 0,
            begun: 0,
            held: HashMap::new(),
            due: BinaryHeap::new(),
            levels: 0,
            level: 0,
            users: 0,
            free: VecDeque::new(),
            is_timed: false,
            exhausted: false,
            to_begin: 0,
            ended: Arc::default(),
            ended_early: Vec::new(),
            too_long: 0,
            has_said: false,
            before: Written::default(),
            pairs: Arc::default(),
        }
    }

    /// Begins a level of new sessions. Sessions that the previous level left unfinished are dropped:
    /// their next turn would find a cold cache.
    pub fn begin_level(&mut self, sent: u32, users: u32, sessions: Option<u32>) {
        self.ledger.truncate(sent);
        self.held.clear();
        self.due.clear();
        self.free.clear();
        self.is_timed = false;
        self.level = self.levels;
        self.levels = self.levels.saturating_add(1);
        self.users = users as usize;
        self.to_begin = sessions.unwrap_or(u32::MAX);
    }

    /// Prepares the media of this many sessions before they start, as [`Dataset::make_ahead`] does.
    pub fn make_sessions_ahead(&self, needed: u32, go_on: &dyn Fn() -> bool) {
        self.dataset.make_ahead(self.next_item, needed, go_on);
    }

    /// Sessions that are made and not begun, and the bytes that they hold.
    #[cfg(test)]
    pub fn made_ahead(&self) -> (usize, u64) {
        (self.ahead.len(), self.ahead_bytes)
    }

    /// Sessions that were begun so far, warm-up left out.
    pub fn begun(&self) -> u32 {
        self.begun
    }

    /// Sessions that have ended so far, in whatever way, for display.
    pub fn ended(&self) -> Arc<AtomicU64> {
        self.ended.clone()
    }

    /// Sessions that ended before their last turn for a reason that none of their requests shows.
    pub fn ended_early(&self) -> &[EndedSession] {
        &self.ended_early
    }

    /// Maximum number of requests that one session can have in flight at once.
    pub fn parallel(&self) -> u32 {
        self.dataset.parallel()
    }

    /// Whether the workload had no more items.
    pub fn is_exhausted(&self) -> bool {
        self.exhausted
    }

    /// What was made so far.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// What was made so far, to be cut to what was sent.
    pub fn ledger_mut(&mut self) -> &mut Ledger {
        &mut self.ledger
    }

    /// Writes the next turn that is due, or the first one of a new session.
    ///
    /// # Errors
    /// What the workload or the API says about it.
    pub fn next(&mut self, ask: &NextAsk, buffer: &mut RequestBytes) -> Result<Offer, String> {
        if ask.phase == Phase::Warmup {
            return self.warm_up(ask, buffer);
        }
        while let Some(&Reverse((at_ns, session, due))) = self.due.peek()
            && at_ns <= ask.now_ns
        {
            self.due.pop();
            if let Some(offer) = self.write_turn(session, due, Some(at_ns), ask, buffer)? {
                return Ok(offer);
            }
        }
        while self.held.len() < self.users && self.to_begin > 0 && self.has_user(ask) {
            let Some(item) = self.take_item()? else {
                self.to_begin = 0;
                break;
            };
            let session = self.begun;
            self.begun = session.checked_add(1).ok_or("more than 2^32 conversations")?;
            self.to_begin -= 1;
            let user = self.free.pop_front();
            let timed_ns = user.and_then(|user| user.timed_ns);
            self.held.insert(session, Held { timed_ns, ..Held::new(item) });
            let due_ns = user.map(|user| user.since_ns);
            let first = Due { at_ns: due_ns.unwrap_or(ask.now_ns), agent: 0, turn: 0 };
            if let Some(offer) = self.write_turn(session, first, due_ns, ask, buffer)? {
                return Ok(offer);
            }
        }
        if self.held.is_empty() && self.to_begin == 0 {
            return Ok(Offer::End);
        }
        self.make_ahead(ask.now_ns);
        Ok(Offer::Later)
    }

    /// Makes one of the sessions that follow, where there is time: users whose sessions end together
    /// would otherwise wait for the text of all of them.
    fn make_ahead(&mut self, now_ns: u64) {
        let next_ns = self.due.peek().map(|Reverse((at_ns, ..))| *at_ns);
        let has_time = next_ns.is_none_or(|at_ns| at_ns > now_ns.saturating_add(AHEAD_NS));
        let wanted = self.users.min(AHEAD_MAX).min(self.to_begin as usize);
        if has_time && self.ahead.len() < wanted && self.ahead_bytes < AHEAD_BYTES_MAX {
            // An error in an item is reported when its turn comes.
            if let Ok(item) = self.dataset.item(self.next_item)
                && let Some(next) = self.next_item.checked_add(1)
            {
                self.next_item = next;
                self.ahead_bytes += item.held_bytes();
                self.ahead.push_back(item);
            }
        }
    }

    /// Whether a user may begin a session now. With a cadence the first turns of the users are spread
    /// evenly over one period, which begins when the warm-up is over.
    fn has_user(&mut self, &NextAsk { now_ns, is_warm, .. }: &NextAsk) -> bool {
        let Some(cadence_ns) = self.carrying.cadence_ns else { return true };
        if !self.is_timed {
            if !is_warm {
                return false;
            }
            self.is_timed = true;
            let users = self.users.max(1) as u64;
            let at = |user: u64| {
                let ahead = u128::from(cadence_ns) * u128::from(user) / u128::from(users);
                now_ns.saturating_add(u64::try_from(ahead).unwrap_or(u64::MAX))
            };
            self.free = (0..users)
                .map(|user| Free { since_ns: at(user), timed_ns: Some(at(user)) })
                .collect();
        }
        self.free.front().is_some_and(|user| user.since_ns <= now_ns)
    }

    fn take_item(&mut self) -> Result<Option<WorkItem>, String> {
        if let Some(item) = self.ahead.pop_front() {
            self.ahead_bytes = self.ahead.iter().map(WorkItem::held_bytes).sum();
            return Ok(Some(item));
        }
        match self.dataset.item(self.next_item) {
            Ok(item) => {
                self.next_item = self.next_item.checked_add(1).ok_or("more than 2^32 prompts")?;
                Ok(Some(item))
            }
            Err(WorkloadError::Exhausted { .. }) => {
                self.exhausted = true;
                Ok(None)
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// The first turn of a session that is not gone on with.
    fn warm_up(&mut self, ask: &NextAsk, buffer: &mut RequestBytes) -> Result<Offer, String> {
        let Some(item) = self.take_item()? else { return Ok(Offer::End) };
        let id = (item.id, item.class);
        let mut held = Held::new(item);
        let shared_tokens = self.shared_tokens();
        let ready = held.turn((0, 0), &self.templates.free, shared_tokens, &mut self.before)?;
        self.write(id, &ready, None, ask, buffer)
    }

    /// Tokens of a prompt that begins anew which all of them share and one has sent.
    fn shared_tokens(&self) -> Option<u32> {
        self.dataset.shared_tokens().map(|tokens| if self.has_said { tokens } else { 0 })
    }

    /// Writes a turn; nothing where its session has ended, or ends because it would be too long.
    fn write_turn(
        &mut self,
        session: u32,
        Due { agent, turn, .. }: Due,
        due_ns: Option<u64>,
        ask: &NextAsk,
        buffer: &mut RequestBytes,
    ) -> Result<Option<Offer>, String> {
        let shared_tokens = self.shared_tokens();
        let Some(held) = self.held.get_mut(&session) else { return Ok(None) };
        if held.session.ended().is_some() {
            return Ok(None);
        }
        let ready =
            held.turn((agent, turn), &self.templates.free, shared_tokens, &mut self.before)?;
        let output = ready.turn.output_tokens.map_or(0, u64::from);
        let most = self.carrying.max_context_tokens.map(u64::from);
        let whole = ready.begun.prompt_tokens.filter(|_| most.is_some()).map(|text| {
            let media = self.before.media.iter().chain(ready.prompt.media());
            text + output + self.pairs.in_context(media)
        });
        if whole.zip(most).is_some_and(|(whole, most)| whole > most) {
            held.session.end(SessionEnd::Overflow);
            self.close(session, ask.now_ns);
            self.too_long += u32::from((agent, turn) == (0, 0));
            return match self.too_long < TOO_LONG_MAX {
                true => Ok(None),
                false => Err(format!(
                    "the first prompts of {TOO_LONG_MAX} sessions in a row are longer than \
                     --max-context: give more, or another workload"
                )),
            };
        }
        held.session.sent();
        held.is_time_used |= agent == 0;
        self.too_long = 0;
        let item = &held.session.item;
        let turns = u16::try_from(item.turns_of(agent).len()).unwrap_or(u16::MAX);
        let has_agents = !item.agents.is_empty();
        let id = (item.id, item.class);
        let place = TurnMeta { session, agent, has_agents, turn, turns, due_ns };
        self.write(id, &ready, Some(place), ask, buffer).map(Some)
    }

    fn write(
        &mut self,
        (item, class): (u32, Option<u16>),
        ready: &Ready,
        place: Option<TurnMeta>,
        ask: &NextAsk,
        buffer: &mut RequestBytes,
    ) -> Result<Offer, String> {
        let Ready { turn, begun, prompt, digest } = ready;
        self.has_said = true;
        self.pairs.note(ask.seq, self.before.media.iter().chain(prompt.media()));
        let media = self.ledger.media(self.before.media.iter().chain(prompt.media()));
        self.ledger.note(*digest, turn.prompt_tokens, turn.output_tokens);
        let session = place.map(|at| AskSession {
            session: at.session,
            agent: Some(at.agent).filter(|_| at.has_agents),
            token: self
                .held
                .get(&at.session)
                .and_then(|held| held.tokens.get(&at.agent))
                .map(|it| &**it),
        });
        let ask = Ask {
            prompt,
            said: &self.before.bytes,
            said_media: &self.before.media,
            output_tokens: turn.output_tokens,
            fields: turn.fields.as_deref(),
            number: Some(ask.seq),
            session,
        };
        let (results_asked, form) = self.templates.write((item, place), &ask, buffer)?;
        // How long a prompt will be that carries answers of the server, only the server knows.
        let is_first = begun.base.is_none();
        Ok(Offer::Request(RequestMeta {
            item,
            due_ns: None,
            turn: place,
            class,
            known_tokens: begun.known_tokens,
            prompt_tokens_asked: turn.prompt_tokens.filter(|_| is_first),
            output_tokens_asked: turn.output_tokens,
            results_asked,
            media,
            form,
        }))
    }

    /// Goes on with a session, or ends it.
    pub fn answered(&mut self, answered: Answered) {
        let Answered { session, agent, turn, end_ns, reply, is_overflow, session_token } = answered;
        // An answer that came after its level was over.
        let Some(held) = self.held.get_mut(&session) else { return };
        if let Some(token) = session_token {
            held.tokens.insert(agent, token);
        }
        let place = (agent, turn);
        let echo = self.carrying.echo_reasoning;
        if let Heard::Said(message, carried) = held.session.hear(place, reply, is_overflow, echo) {
            if usize::from(turn) + 1 < held.session.item.turns_of(agent).len() {
                held.carry(place, message, carried, &self.templates.free);
            } else {
                // Nothing that it said is needed any more.
                held.talks.remove(&agent);
            }
            for mut due in held.session.follow(place, end_ns) {
                // Sub-agents keep their own pauses: the cadence is that of a user.
                if let (0, Some(timed), Some(cadence)) =
                    (due.agent, &mut held.timed_ns, self.carrying.cadence_ns)
                {
                    *timed = timed.saturating_add(cadence);
                    held.is_time_used = false;
                    due.at_ns = end_ns.max(*timed);
                }
                self.due.push(Reverse((due.at_ns, session, due)));
            }
        }
        self.close(session, end_ns);
    }

    /// Lets a session go that has nothing left in flight.
    fn close(&mut self, session: u32, at_ns: u64) {
        let Some(held) = self.held.get(&session).filter(|held| held.session.is_over()) else {
            return;
        };
        if let Some(end @ (SessionEnd::Overflow | SessionEnd::EmptyAnswer)) = held.session.ended() {
            self.ended_early.push(EndedSession { session, level: self.level, end });
        }
        let timed_ns = held.timed_ns.zip(self.carrying.cadence_ns);
        let is_time_used = held.is_time_used;
        self.held.remove(&session);
        self.ended.fetch_add(1, Ordering::Relaxed);
        let timed_ns = timed_ns.map(|(timed, cadence)| match is_time_used {
            true => timed.saturating_add(cadence),
            false => timed,
        });
        let since_ns = timed_ns.unwrap_or(at_ns).max(at_ns);
        let place = self.free.partition_point(|other| other.since_ns <= since_ns);
        self.free.insert(place, Free { since_ns, timed_ns });
    }
}

/// A turn that can be sent.
struct Ready {
    turn: Turn,
    begun: Begun,
    /// Its question, after the earlier messages.
    prompt: Prompt,
    digest: [u8; 32],
}

impl Held {
    /// Adds a turn to what its agent has said. What was said before goes to `said` as bytes. The
    /// prompt of an agent with one turn stays as the workload made it.
    fn turn(
        &mut self,
        (agent, number): (u16, u16),
        template: &RequestTemplate,
        shared_tokens: Option<u32>,
        said: &mut Written,
    ) -> Result<Ready, String> {
        let is_alone = self.session.item.turns_of(agent).len() == 1;
        let turn = self.session.take_turn(agent, number);
        let mut turn = turn.ok_or("the workload made an item without a turn")?;
        let empty = Prompt::Messages(Vec::new());
        let talk = self.talks.entry(agent).or_default();
        if is_alone {
            let begun = talk.thread.begin(&turn, 1, shared_tokens);
            let prompt = std::mem::replace(&mut turn.prompt, empty);
            said.clear();
            let digest = digest(&prompt);
            return Ok(Ready { turn, begun, prompt, digest });
        }
        let messages = match std::mem::replace(&mut turn.prompt, empty) {
            Prompt::Text(text) => vec![Message::text(Role::User, text)],
            Prompt::Messages(messages) => messages,
            Prompt::Tokens(_) => return Err("token ids cannot be a conversation".to_owned()),
        };
        let begun = talk.thread.begin(&turn, messages.len(), shared_tokens);
        let settled = match begun.base.and_then(|base| talk.calls.get(&base)) {
            Some((calls, recorded)) => settle(calls, recorded, messages),
            None => messages.into_iter().map(|message| (Vec::new(), message)).collect(),
        };
        let mut follows = begun.base;
        for (number, (before, message)) in (begun.first..).zip(settled) {
            talk.said.push(template, follows, before, message);
            follows = Some(number);
        }
        let prompt = talk.said.prompt(&talk.thread.path(begun.tip), said);
        let digest = talk.said.digest(begun.tip);
        Ok(Ready { turn, begun, prompt, digest })
    }

    /// Adds an answer.
    fn carry(
        &mut self,
        (agent, turn): (u16, u16),
        message: Message,
        carried: Carried,
        template: &RequestTemplate,
    ) {
        let recorded = self.session.take_calls(agent, turn);
        let Some(talk) = self.talks.get_mut(&agent) else { return };
        let prompt = talk.thread.prompt_of(usize::from(turn));
        let node = talk.thread.answer(usize::from(turn), carried);
        talk.calls.insert(node, (message.tool_calls.clone(), recorded));
        talk.said.push(template, prompt, Vec::new(), message);
    }
}
