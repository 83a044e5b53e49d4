//! The timings that llama.cpp prints after a run or after each answer of its server: the lines
//! `prompt eval time = … ms / … tokens` and their neighbors, in every prefix that they have had.
//!
//! A label says what a line is, not its position: `sampling time` is never a time of the prompt. One
//! row for each block; lines of several slots of a server may be interleaved. Not here:
//! `llama-bench` and `llama-batched-bench` (`llama`).

use super::super::Recognised;
use super::super::llama::bench::ENGINE;
use super::super::text::{Line, Text};
use super::answer::{
    Answer, COMPUTED, GENERATION_TIME, LOAD_TIME, NO_FIRST, different, number, own,
};
use super::{Block, Found};
use ifm_core::Metric;
use ifm_core::sheet::{Definition, RemarkKind, Unit};

pub(super) struct LlamaTimings;

const TOOL: &str = "llama.cpp timings";
/// Lines of something else that may be between two lines of a block: what a server logs meanwhile.
const STRAYS_MAX: u32 = 4;
/// Prefixes of functions that print nothing but such timings.
const FUNCTIONS: [&str; 3] = ["llama_print_timings", "llama_perf_", "common_perf_print"];
/// What lines of llama.cpp's log begin with that may come between.
const LOGGED: [&str; 9] =
    ["slot ", "srv ", "que ", "res ", "llama_", "common_", "ggml_", "main:", "set_"];

const SINCE_RESET: &str = "from the creation or the last reset of the engine's counters until they \
    were printed: loading and idle time may be in it";
const RUNS: &str =
    "decode steps: the first token of an answer, which comes with the prompt, is not in it";
const PER_STEP: &str = "decode time over decode steps; sampling is not in it";
const PREFILL: &str = "computing the prompt, cached tokens apart; tokenizing is not in it";

/// What a line times. The longest name is first: one contains another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Prefill,
    Decode,
    Load,
    Sampling,
    Samplers,
    Total,
    Unaccounted,
}

const LABELS: [(&str, Phase); 9] = [
    ("prompt eval time", Phase::Prefill),
    ("generation eval time", Phase::Decode),
    ("eval time", Phase::Decode),
    ("load time", Phase::Load),
    ("sampling time", Phase::Sampling),
    ("samplers time", Phase::Samplers),
    ("sample time", Phase::Sampling),
    ("total time", Phase::Total),
    ("unaccounted time", Phase::Unaccounted),
];

/// A line of timings.
#[derive(Debug, Clone, Copy)]
struct Timing<'a> {
    prefix: &'a str,
    phase: Phase,
    ms: &'a str,
    /// A number of tokens or decode steps, with its word.
    count: Option<(&'a str, &'a str)>,
    ms_per_token: Option<&'a str>,
    rate: Option<&'a str>,
}

impl Block for LlamaTimings {
    fn about(&self) -> Recognised {
        Recognised { id: "llama-timings", title: "llama.cpp, printed timings" }
    }

    fn read(&self, first: Line<'_>, text: &Text) -> Option<Found> {
        if is_progress(first.text) {
            return Some(Found { parts: Vec::new(), last_line: first.number, remarks: Vec::new() });
        }
        if timing(first.text).is_none() && header(first.text).is_none() {
            return None;
        }
        let mut reader = Reader::default();
        let mut last_line = first.number;
        for line in text.from(first.number) {
            if reader.take(line) {
                last_line = line.number;
            } else if line.number - last_line > STRAYS_MAX || !may_be_between(line.text) {
                break;
            } else {
                reader.is_adjacent = false;
            }
        }
        reader.finish(last_line)
    }
}

/// A block while its lines are read.
struct Timings<'a> {
    /// Slot and task of a server; empty elsewhere.
    owner: &'a str,
    line: u32,
    seen: Vec<Phase>,
    is_known: bool,
    answer: Answer,
}

#[derive(Default)]
struct Reader<'a> {
    blocks: Vec<Timings<'a>>,
    /// Slot and task of the last line that gives nothing else.
    header: Option<&'a str>,
    /// Whether the line before was one of timings too.
    is_adjacent: bool,
}

impl<'a> Reader<'a> {
    /// Takes a line of a block; whether it was one.
    fn take(&mut self, line: Line<'a>) -> bool {
        if let Some(timing) = timing(line.text) {
            self.timing(line.number, &timing);
        } else if let Some(owner) = header(line.text) {
            self.header = Some(owner);
            self.begin(owner, line.number);
        } else if let Some(block) = self.blocks.last_mut().filter(|_| is_extra(line.text)) {
            extra(&mut block.answer, line);
        } else if !is_progress(line.text) {
            return false;
        }
        self.is_adjacent = true;
        true
    }

    fn begin(&mut self, owner: &'a str, line: u32) {
        let answer = Answer::new(line, Some(ENGINE));
        self.blocks.push(Timings { owner, line, seen: Vec::new(), is_known: false, answer });
    }

    fn timing(&mut self, line: u32, timing: &Timing<'a>) {
        let owner = match owner(timing.prefix) {
            "" => self.header.unwrap_or_default(),
            owner => owner,
        };
        let is_adjacent = self.is_adjacent;
        let goes_on = |block: &&mut Timings<'a>| {
            let is_over = block.seen.contains(&Phase::Total);
            // A program may print its sampler after the rest.
            let may_follow = match timing.phase {
                Phase::Unaccounted => true,
                Phase::Sampling | Phase::Samplers => is_adjacent,
                _ => false,
            };
            !block.seen.contains(&timing.phase) && (!is_over || may_follow)
        };
        let found = self.blocks.iter_mut().rev().find(|block| block.owner == owner);
        if found.filter(goes_on).is_none() {
            self.begin(owner, line);
        }
        let found = self.blocks.iter_mut().rev().find(|block| block.owner == owner);
        let Some(block) = found else { return };
        block.seen.push(timing.phase);
        block.is_known |= FUNCTIONS.iter().any(|name| timing.prefix.contains(name))
            || (matches!(timing.phase, Phase::Prefill | Phase::Decode) && timing.count.is_some());
        let is_server = !owner.is_empty();
        figures(&mut block.answer, line, timing, is_server);
    }

    fn finish(self, last_line: u32) -> Option<Found> {
        if !self.blocks.iter().any(|block| block.is_known) {
            return None;
        }
        let mut found = Found { parts: Vec::new(), last_line, remarks: Vec::new() };
        for mut block in self.blocks.into_iter().filter(|block| block.is_known) {
            if let Some((slot, task)) = block.owner.split_once('|') {
                block.answer.keep("slot", slot.trim().trim_start_matches("id").trim());
                block.answer.keep("task", task.trim().trim_start_matches("task").trim());
            }
            let times = [Phase::Prefill, Phase::Decode];
            if !block.seen.iter().any(|phase| times.contains(phase)) {
                let text = "timings break off: neither the prompt nor the generation is in them";
                block.answer.remark(RemarkKind::Skipped, block.line, text);
            }
            found.parts.extend(block.answer.into_part(TOOL, &mut found.remarks));
        }
        Some(found)
    }
}

fn figures(answer: &mut Answer, line: u32, timing: &Timing<'_>, is_server: bool) {
    let (ms, count) = (timing.ms, timing.count);
    let of_steps = count.is_some_and(|(_, word)| word.starts_with("run"));
    let (time, tokens, per_token, rate) = match timing.phase {
        Phase::Prefill => (
            (Metric::Prefill, Definition::Derivable(PREFILL.to_owned())),
            (Metric::InputTokens, different(COMPUTED)),
            (own("prefill_time_per_token"), Definition::Same),
            (Metric::PrefillRate, Definition::Derivable(PREFILL.to_owned())),
        ),
        Phase::Decode => (
            (own(GENERATION_TIME), Definition::Same),
            (Metric::OutputTokens, if of_steps { different(RUNS) } else { Definition::Same }),
            (Metric::Tpot, different(PER_STEP)),
            (Metric::DecodeRate, different(if of_steps { NO_FIRST } else { PER_STEP })),
        ),
        Phase::Sampling => (
            (own("sampling_time"), Definition::Same),
            (own("sampled_tokens"), Definition::Same),
            (own("sampling_time_per_token"), Definition::Same),
            (own("sampling_rate"), Definition::Same),
        ),
        phase => {
            let quantity = match phase {
                Phase::Load => own(LOAD_TIME),
                Phase::Samplers => own("samplers_time"),
                Phase::Unaccounted => own("unaccounted_time"),
                _ => Metric::Duration,
            };
            let is_total = phase == Phase::Total;
            let definition = match is_total && !is_server {
                true => different(SINCE_RESET),
                false => Definition::Same,
            };
            match number(ms) {
                Some(0.0) => answer.keep_unmeasured(quantity, ms),
                _ => answer.add(line, quantity, ms, Unit::Ms, definition),
            }
            if let Some((count, _)) = count.filter(|_| is_total) {
                let total = Metric::TotalTokens;
                answer.add(line, total, count, Unit::Count, Definition::Same);
            }
            return;
        }
    };
    // llama.cpp prints zero where nothing was done or timed, and at least one token with it.
    if number(ms) == Some(0.0) {
        answer.keep_unmeasured(time.0, ms);
        match count {
            Some((count, _)) if number(count).is_none_or(|count| count <= 1.0) => {
                answer.keep_unmeasured(tokens.0, count);
            }
            Some((count, _)) => answer.add(line, tokens.0, count, Unit::Count, tokens.1),
            None => {}
        }
        let text = "0.00 ms is printed where nothing was timed: it has no time and no rate";
        answer.remark(RemarkKind::Missing, line, text);
        return;
    }
    answer.add(line, time.0, ms, Unit::Ms, time.1);
    let others = [
        (count.map(|(count, _)| count), tokens, Unit::Count),
        (timing.ms_per_token, per_token, Unit::Ms),
        (timing.rate, rate, Unit::PerS),
    ];
    for (printed, (quantity, definition), unit) in others {
        if let Some(printed) = printed {
            answer.add(line, quantity, printed, unit, definition);
        }
    }
}

/// A line of timings: a label, a sign of equality, milliseconds.
fn timing(line: &str) -> Option<Timing<'_>> {
    let (label, phase) = LABELS.iter().find(|(label, _)| line.contains(label))?;
    let (prefix, rest) = line.split_once(label)?;
    let rest = rest.trim_start().strip_prefix('=')?;
    let (ms, rest) = word(rest)?;
    let (unit, rest) = word(rest)?;
    let is_number = ms.parse::<f64>().is_ok();
    if !is_number || unit.trim_end_matches(['"', ',']) != "ms" || !is_prefix(prefix) {
        return None;
    }
    let mut timing =
        Timing { prefix, phase: *phase, ms, count: None, ms_per_token: None, rate: None };
    let (counted, in_brackets) = rest.split_once('(').unwrap_or((rest, ""));
    if let Some((count, unit)) = counted.trim_start().strip_prefix('/').and_then(word)
        && let Some((unit, _)) = word(unit).filter(|_| number(count).is_some())
        && (unit.starts_with("token") || unit.starts_with("run"))
    {
        timing.count = Some((count, unit));
    }
    for piece in in_brackets.split([',', ')']) {
        match word(piece) {
            Some((number, unit)) if unit.trim().starts_with("ms per") => {
                timing.ms_per_token = Some(number);
            }
            Some((number, unit)) if unit.trim().ends_with("per second") => {
                timing.rate = Some(number);
            }
            _ => {}
        }
    }
    Some(timing)
}

/// The first word and what follows it.
fn word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// Whether what is before a label is of a logger, not of a sentence: nothing, a function, a time
/// stamp, the name of a container, a mark of Markdown.
fn is_prefix(prefix: &str) -> bool {
    let Some(last) = prefix.split_whitespace().next_back() else { return true };
    let is_level = last.len() == 1 && last.starts_with(|c: char| c.is_ascii_uppercase());
    let is_stamp = last.starts_with(|c: char| c.is_ascii_digit()) && last.contains([':', '.']);
    let marks = [':', '|', ']', '>', '#', '/', '*', '-', '•', '"', '`', '│'];
    last.ends_with(marks) || is_level || is_stamp
}

/// Slot and task of a server's line: `id  0 | task 7`.
fn owner(prefix: &str) -> &str {
    let found = prefix.find("id ").and_then(|start| {
        let rest = prefix.get(start..)?;
        let task = rest.find("| task ")? + "| task ".len();
        let number = rest.get(task..)?;
        let end = number.find(|c: char| !(c.is_ascii_digit() || c == '-' || c == ' '));
        rest.get(..task + end.unwrap_or(number.len()))
    });
    found.unwrap_or_default().trim()
}

/// The line that a server prints before an answer's timings: `slot print_timing: id 0 | task 7 |`.
fn header(line: &str) -> Option<&str> {
    let owner = owner(line);
    let is_header = line.contains("print_timing")
        && !owner.is_empty()
        && line.split_once(owner).is_some_and(|(_, rest)| rest.trim_matches([' ', '|']).is_empty());
    is_header.then_some(owner)
}

/// A line about an answer that is not finished: its numbers are not results.
fn is_progress(line: &str) -> bool {
    line.contains("print_timing")
        && ["prompt processing, n_tokens", "n_decoded =", "n_gen =", "prompt processing progress"]
            .iter()
            .any(|words| line.contains(words))
}

/// A line of a block that times nothing.
fn is_extra(line: &str) -> bool {
    ["graphs reused =", "draft acceptance"].iter().any(|words| line.contains(words))
}

/// `draft acceptance rate = 0.57576 (  171 accepted /   297 generated), mean len = 3.20`.
fn extra(answer: &mut Answer, line: Line<'_>) {
    let value = |name: &str| {
        let (_, rest) = line.text.split_once(name)?;
        let (printed, _) = word(rest.trim_start().strip_prefix('=')?)?;
        let printed = printed.trim_end_matches([',', '.']);
        number(printed).map(|_| printed)
    };
    if let Some(reused) = value("graphs reused") {
        answer.keep("graphs reused", reused);
    }
    let share = value("draft acceptance rate").or_else(|| value("draft acceptance"));
    if let Some(share) = share {
        answer.add(line.number, own("draft_acceptance"), share, Unit::One, Definition::Same);
    }
    if let Some(length) = value("mean len") {
        let quantity = Metric::AcceptanceLength;
        answer.add(line.number, quantity, length, Unit::Count, Definition::Same);
    }
}

/// Whether a block may continue after a line: an empty one, or one of the same log.
fn may_be_between(line: &str) -> bool {
    let text = line.trim();
    let is_logged = |text: &str| LOGGED.iter().any(|start| text.starts_with(start));
    // After a time stamp and a level.
    let message = text.splitn(3, ' ').nth(2).unwrap_or_default();
    text.is_empty() || is_logged(text) || is_logged(message.trim_start())
}
