//! Made-up agents: sessions of many turns with tools, growing contexts and sub-agents, from a seed.
//!
//! A session's first prompt begins with what all sessions share (a system prompt and its tools). Each
//! turn then adds what a tool said, after the time that the tool took. Some turns start sub-agents,
//! for which the next turn waits; each begins with the same shared part and has turns of its own.
//!
//! Not here: recorded sessions (`weka`, `otel`, `mlperf_agent`), the text (`script`).

use ifm_made::{Draws, Rng, Stream};

use super::{Dataset, DatasetKind, WorkItem};
use crate::{
    error::WorkloadError,
    lengths::{LengthPair, Lengths},
    opening::Opening,
    playing::{AGENTS_MAX, Playing, TURNS_MAX},
    request::Answers,
    script::{Script, ScriptAgent, ScriptTurn, Writer},
    think::Think,
};

/// The data set's entry in the registry.
pub const KIND: DatasetKind = DatasetKind {
    name: "agents",
    aliases: &["made-up-agents", "synthetic-agents"],
    usage: "agents:PROMPT/OUTPUT",
    summary: "made-up work of agents: turns, tools, growing contexts, sub-agents, from a seed",
    ignore_eos: true,
    hub: &[],
    open,
};

/// The laws of sessions.
struct Laws {
    /// Tokens of the first prompt, what is shared included.
    prompt: Lengths,
    output: Lengths,
    turns: Lengths,
    /// Tokens that a later turn adds.
    grow: Lengths,
    tool_time: Think,
    /// Share of turns that start sub-agents.
    spawn: f64,
    agents: Lengths,
    agent_turns: Lengths,
    /// Tokens of a sub-agent's first prompt behind what is shared.
    agent_prompt: Lengths,
    shared: u32,
}

/// The data set.
struct Agents {
    laws: Laws,
    shapes: Stream,
    writer: Writer,
    has_marks: bool,
}

fn open(opening: &mut Opening<'_>) -> Result<Box<dyn Dataset>, WorkloadError> {
    let pair = opening.body.parse::<LengthPair>()?;
    let output = opening.output_override().unwrap_or(pair.output);
    let prompt = opening.request.prompt_tokens.clone().unwrap_or(pair.prompt);
    let law = |opening: &mut Opening<'_>, name, default: &str| {
        let given =
            opening.options.value::<Lengths>(name, "a number, such as 5, 2-8 or N(20,5)")?;
        given.map_or_else(|| default.parse::<Lengths>(), Ok)
    };
    let turns = law(opening, "turns", "10-30")?;
    let grow = law(opening, "grow", "200-1500")?;
    let agents = law(opening, "agents", "1-3")?;
    let agent_turns = law(opening, "agent_turns", "2-8")?;
    let agent_prompt = law(opening, "agent_prompt", "500-2000")?;
    let tool_time =
        opening.options.value::<Think>("tool_time", "a pause, such as 2s or exp(2s)")?;
    let tool_time = tool_time.unwrap_or_default();
    let spawn = opening.options.value::<f64>("spawn", "a share from 0 to 1")?.unwrap_or(0.0);
    let shared = opening.options.value::<u32>("shared", "a number of tokens")?;
    let shared = shared.unwrap_or(opening.request.shared_prefix_tokens);
    let shape = |text: String, reason: String| Err(WorkloadError::Shape { text, reason });
    if !(0.0..=1.0).contains(&spawn) {
        return shape(format!("spawn={spawn}"), "it is a share of turns, from 0 to 1".to_owned());
    }
    for (name, law, most) in [
        ("turns", &turns, TURNS_MAX),
        ("agent_turns", &agent_turns, TURNS_MAX),
        ("agents", &agents, 64),
    ] {
        if law.max() as usize > most {
            return shape(format!("{name}={law}"), format!("at most {most}"));
        }
    }
    let many = u64::from(turns.max()) * u64::from(agents.max());
    if spawn > 0.0 && many > AGENTS_MAX as u64 {
        let text = format!("turns={turns}&agents={agents}");
        return shape(
            text,
            format!("a session may have {AGENTS_MAX} agents, and {many} are possible"),
        );
    }
    if shared > prompt.min() {
        return Err(WorkloadError::Prefix {
            shared_prefix_tokens: shared,
            prompt_tokens_min: prompt.min(),
        });
    }
    let playing = Playing::take(opening, Answers::Server)?;
    if !playing.is_enough(turns.min() as usize) {
        let reason = "start= lies behind the last turn of the shortest session".to_owned();
        return shape(format!("turns={turns}"), reason);
    }
    let laws = Laws {
        prompt,
        output,
        turns,
        grow,
        tool_time,
        spawn,
        agents,
        agent_turns,
        agent_prompt,
        shared,
    };
    tell(opening, &laws);
    let shapes = Rng::new(opening.request.seed).stream("session_shape");
    let has_marks = playing.has_marks();
    let writer = Writer::new(opening, playing, 1, shared)?;
    Ok(Box::new(Agents { laws, shapes, writer, has_marks }))
}

/// Writes down what the sessions are.
fn tell(opening: &mut Opening<'_>, laws: &Laws) {
    let Laws { prompt, output, turns, grow, agents, agent_turns, agent_prompt, shared, .. } = laws;
    opening.rule(format!(
        "{turns} turns, each of which adds {grow} tokens to a first prompt of {prompt}; {shared} \
         tokens are the same at the start of all"
    ));
    if laws.spawn > 0.0 {
        opening.rule(format!(
            "{} % of turns start {agents} sub-agents of {agent_turns} turns, from {agent_prompt} \
             tokens behind what is shared; the next turn waits for them",
            laws.spawn * 100.0
        ));
    }
    let facts = &mut opening.facts;
    facts.prompt_tokens_max = Some(prompt.max());
    facts.output_tokens_max = Some(output.max());
    facts.turns_max = turns.max().max(agent_turns.max());
    let later = u64::from(turns.max() - 1) * (u64::from(grow.max()) + u64::from(output.max()));
    let root = u64::from(prompt.max()) + u64::from(output.max()) + later;
    let of_agent = u64::from(agent_turns.max().saturating_sub(1))
        * (u64::from(grow.max()) + u64::from(output.max()))
        + u64::from(*shared)
        + u64::from(agent_prompt.max())
        + u64::from(output.max());
    let longest = if laws.spawn > 0.0 { root.max(of_agent) } else { root };
    facts.total_tokens_max = Some(longest);
    facts.prompt_tokens = Some(prompt.to_string());
    facts.output_tokens = Some(output.to_string());
    let name = format!("agents:{prompt}/{output}");
    opening.name(|| name);
}

impl Agents {
    /// What a session is.
    fn script(&self, id: u32) -> Script {
        let laws = &self.laws;
        let mut draws = self.shapes.item(u64::from(id));
        let root =
            self.turns(laws.turns.draw(&mut draws), laws.prompt.draw(&mut draws), &mut draws);
        let last = root.len().saturating_sub(1);
        let begin =
            ScriptAgent { parent: 0, after_turn: 0, before_turn: None, delay_ns: 0, turns: root };
        let mut script = vec![begin];
        for after_turn in 0..last as u16 {
            if draws.unit() >= laws.spawn {
                continue;
            }
            for _ in 0..laws.agents.draw(&mut draws) {
                let count = laws.agent_turns.draw(&mut draws);
                let first = laws.shared.saturating_add(laws.agent_prompt.draw(&mut draws));
                let mut turns = self.turns(count, first, &mut draws);
                if let Some(first) = turns.first_mut() {
                    // The session's own first prompt has said it.
                    first.known = Some(laws.shared);
                }
                let before_turn = Some(after_turn + 1);
                script.push(ScriptAgent { parent: 0, after_turn, before_turn, delay_ns: 0, turns });
            }
        }
        script
    }

    fn turns(&self, count: u32, first: u32, draws: &mut Draws) -> Vec<ScriptTurn> {
        let laws = &self.laws;
        let turn = |number: u32| ScriptTurn {
            tokens: if number == 0 { first } else { laws.grow.draw(draws) },
            output: laws.output.draw(draws),
            think_ns: if number == 0 { 0 } else { laws.tool_time.draw(draws) },
            known: None,
            keeps: None,
            again: None,
            blocks: 0..0,
        };
        (0..count).map(turn).collect()
    }
}

impl Dataset for Agents {
    fn item(&self, id: u32) -> Result<WorkItem, WorkloadError> {
        self.writer.write((id, id), &self.script(id), &[])
    }

    fn distinct_items(&self) -> u64 {
        u64::from(u32::MAX)
    }

    fn has_conversations(&self) -> bool {
        true
    }

    fn parallel(&self) -> u32 {
        if self.laws.spawn > 0.0 { self.laws.agents.max().max(1) } else { 1 }
    }

    fn shared_tokens(&self) -> Option<u32> {
        Some(if self.has_marks { 0 } else { self.laws.shared })
    }
}
