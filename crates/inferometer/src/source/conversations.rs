//! Conversations: each user holds one at a time, turn after turn, with pauses to think.
//!
//! A turn is due when the answer to the one before has come and the pause is over. It carries the
//! whole conversation so far: what was said before, the answers (the server's own, or those that
//! were recorded), and what the turn adds. A conversation of which a request fails ends there.

use super::ledger::Ledger;
use ifm_core::{Message, Phase, Prompt, Role};
use ifm_drive::{Answered, NextAsk, Offer, RequestMeta, TurnMeta};
use ifm_wire::RequestTemplate;
use ifm_wire::request::{Ask, AskSession};
use ifm_workload::{Dataset, Turn, WorkItem, WorkloadError};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A conversation under way.
struct Talk {
    item: WorkItem,
    /// What has been said, oldest first.
    messages: Vec<Message>,
    /// What a router wants to see again, as its last answer said.
    token: Option<String>,
}

/// Makes the turns of conversations, as many at a time as there are users.
pub struct ConversationSource {
    dataset: Arc<dyn Dataset>,
    template: RequestTemplate,
    ledger: Ledger,
    next_item: u32,
    begun: u32,
    talks: HashMap<u32, Talk>,
    /// Later turns that wait: when they are due, of which conversation, which turn.
    due: BinaryHeap<Reverse<(u64, u32, u16)>>,
    users: usize,
    /// When users whose conversation has ended became free, nanoseconds on the monotonic clock.
    free_since_ns: VecDeque<u64>,
    exhausted: bool,
    /// Conversations that this level may still begin.
    to_begin: u32,
    /// Conversations that have ended, in all levels.
    ended: Arc<AtomicU64>,
}

impl ConversationSource {
    /// Conversations from item 0 on.
    pub fn new(dataset: Arc<dyn Dataset>, template: RequestTemplate) -> ConversationSource {
        ConversationSource {
            dataset,
            template,
            ledger: Ledger::default(),
            next_item: 0,
            begun: 0,
            talks: HashMap::new(),
            due: BinaryHeap::new(),
            users: 0,
            free_since_ns: VecDeque::new(),
            exhausted: false,
            to_begin: 0,
            ended: Arc::default(),
        }
    }

    /// Begins a level of new conversations. Those that the former level left unfinished are
    /// dropped: their next turn would find a cache that has gone cold.
    pub fn begin_level(&mut self, sent: u32, users: u32, sessions: Option<u32>) {
        self.ledger.truncate(sent);
        self.talks.clear();
        self.due.clear();
        self.free_since_ns.clear();
        self.users = users as usize;
        self.to_begin = sessions.unwrap_or(u32::MAX);
    }

    /// Conversations that were begun so far, warm-up left out.
    pub fn begun(&self) -> u32 {
        self.begun
    }

    /// Conversations that have ended so far, in whatever way, for whoever shows them.
    pub fn ended(&self) -> Arc<AtomicU64> {
        self.ended.clone()
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

    /// Writes the next turn that is due, or the first one of a new conversation.
    ///
    /// # Errors
    /// What the workload or the API says about it.
    pub fn next(&mut self, ask: &NextAsk, buffer: &mut Vec<u8>) -> Result<Offer, String> {
        if ask.phase == Phase::Warmup {
            return self.warm_up(ask, buffer);
        }
        if let Some(&Reverse((due_ns, session, turn))) = self.due.peek()
            && due_ns <= ask.now_ns
        {
            self.due.pop();
            return self.write_turn((session, turn), Some(due_ns), ask, buffer);
        }
        if self.talks.len() < self.users && self.to_begin > 0 {
            let Some(item) = self.take_item()? else {
                self.to_begin = 0;
                return Ok(self.nothing_new());
            };
            let session = self.begun;
            self.begun = session.checked_add(1).ok_or("more than 2^32 conversations")?;
            self.to_begin -= 1;
            self.talks.insert(session, Talk { item, messages: Vec::new(), token: None });
            let due_ns = self.free_since_ns.pop_front();
            return self.write_turn((session, 0), due_ns, ask, buffer);
        }
        Ok(self.nothing_new())
    }

    fn nothing_new(&self) -> Offer {
        if self.talks.is_empty() && self.to_begin == 0 { Offer::End } else { Offer::Later }
    }

    fn take_item(&mut self) -> Result<Option<WorkItem>, String> {
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

    /// The first turn of a conversation that is not gone on with.
    fn warm_up(&mut self, ask: &NextAsk, buffer: &mut Vec<u8>) -> Result<Offer, String> {
        let Some(item) = self.take_item()? else { return Ok(Offer::End) };
        let mut talk = Talk { item, messages: Vec::new(), token: None };
        let (prompt, turn) = talk.prompt_of(0)?;
        self.ledger.note(&prompt, turn.prompt_tokens, turn.output_tokens);
        let results_asked = write(&self.template, ask.seq, (&prompt, &turn), None, buffer)?;
        let meta = meta(&talk.item, &turn, 0, None);
        Ok(Offer::Request(RequestMeta { results_asked, ..meta }))
    }

    fn write_turn(
        &mut self,
        (session, number): (u32, u16),
        due_ns: Option<u64>,
        ask: &NextAsk,
        buffer: &mut Vec<u8>,
    ) -> Result<Offer, String> {
        let talk = self.talks.get_mut(&session).ok_or("a turn of a conversation that is over")?;
        let (prompt, turn) = talk.prompt_of(number)?;
        self.ledger.note(&prompt, turn.prompt_tokens, turn.output_tokens);
        let asks = AskSession { session, agent: None, token: talk.token.as_deref() };
        let results_asked = write(&self.template, ask.seq, (&prompt, &turn), Some(asks), buffer)?;
        let turns = u16::try_from(talk.item.turns.len()).unwrap_or(u16::MAX);
        let place = TurnMeta { session, agent: 0, has_agents: false, turn: number, turns, due_ns };
        let meta = meta(&talk.item, &turn, number, Some(place));
        Ok(Offer::Request(RequestMeta { results_asked, ..meta }))
    }

    /// Goes on with a conversation, or ends it.
    pub fn answered(&mut self, answered: Answered) {
        let Answered { session, turn, end_ns, reply, session_token, .. } = answered;
        // An answer that came after its level was over.
        let Some(talk) = self.talks.get_mut(&session) else { return };
        talk.token = session_token.or(talk.token.take());
        let following = turn.checked_add(1);
        let next = following.and_then(|next| talk.item.turns.get(usize::from(next)));
        match (reply, following, next.map(|next| next.think_ns)) {
            (Some(reply), Some(following), Some(think_ns)) => {
                let recorded = talk.item.turns.get(usize::from(turn));
                let recorded = recorded.and_then(|turn| turn.recorded_answer.clone());
                let said = recorded.unwrap_or_else(|| reply.into_message(false));
                talk.messages.push(said);
                self.due.push(Reverse((end_ns.saturating_add(think_ns), session, following)));
            }
            _ => {
                self.talks.remove(&session);
                self.ended.fetch_add(1, Ordering::Relaxed);
                self.free_since_ns.push_back(end_ns);
            }
        }
    }
}

impl Talk {
    /// What a turn sends, after adding it to what has been said.
    fn prompt_of(&mut self, number: u16) -> Result<(Prompt, Turn), String> {
        let turn = self.item.turns.get(usize::from(number)).cloned();
        let turn = turn.ok_or("the workload made an item without a turn")?;
        if self.item.turns.len() == 1 {
            return Ok((turn.prompt.clone(), turn));
        }
        match &turn.prompt {
            Prompt::Text(text) => self.messages.push(Message::text(Role::User, text.clone())),
            Prompt::Messages(messages) => self.messages.extend(messages.iter().cloned()),
            Prompt::Tokens(_) => return Err("token ids cannot be a conversation".to_owned()),
        }
        Ok((Prompt::Messages(self.messages.clone()), turn))
    }
}

/// Returns how many results the answer must hold, for an API that answers with a list of them.
fn write(
    template: &RequestTemplate,
    number: u32,
    (prompt, turn): (&Prompt, &Turn),
    session: Option<AskSession<'_>>,
    buffer: &mut Vec<u8>,
) -> Result<Option<u32>, String> {
    let fields = turn.fields.as_deref();
    let output_tokens = turn.output_tokens;
    let ask = Ask { prompt, output_tokens, fields, number: Some(number), session };
    template.write(&ask, buffer).map_err(|error| error.to_string())
}

/// The length of a later turn's prompt is not known before: the answers are the server's.
fn meta(item: &WorkItem, turn: &Turn, number: u16, place: Option<TurnMeta>) -> RequestMeta {
    RequestMeta {
        item: item.id,
        due_ns: None,
        turn: place,
        class: item.class,
        known_tokens: turn.known_tokens,
        prompt_tokens_asked: turn.prompt_tokens.filter(|_| number == 0),
        output_tokens_asked: turn.output_tokens,
        results_asked: None,
    }
}
