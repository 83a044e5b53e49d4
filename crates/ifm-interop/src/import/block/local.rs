//! The one or few lines that other local engines print after an answer: LM Studio, KoboldCpp, MLX,
//! tabbyAPI, and the interactive mode of llama.cpp.
//!
//! Each has a function of its own, and each answer is a row. Not here: Ollama (`ollama`), the
//! timings of llama.cpp (`llama_timings`).

use super::super::Recognised;
use super::super::text::{Line, Text};
use super::answer::{Answer, COMPUTED, GENERATION_TIME, different, number, own};
use super::{Block, Found};
use ifm_core::Metric;
use ifm_core::sheet::{Definition, Unit};

pub(super) struct LocalEngines;

/// Lines that one answer's statistics take at most, empty ones included.
const LINES_MAX: usize = 14;
const UNKNOWN_SPAN: &str = "as the program displays it; it does not say over which time";
const OF_ENGINE: &str = "measured by the program that runs the engine, without a network";
const PROMPT_AND_FIRST: &str = "prompt tokens over the time to the first token";

impl Block for LocalEngines {
    fn about(&self) -> Recognised {
        Recognised {
            id: "local-engine-lines",
            title: "LM Studio, KoboldCpp, MLX, tabbyAPI or llama-cli, printed statistics",
        }
    }

    fn read(&self, first: Line<'_>, text: &Text) -> Option<Found> {
        koboldcpp(first)
            .or_else(|| tabby(first, text))
            .or_else(|| mlx(first, text))
            .or_else(|| llama_cli(first))
            .or_else(|| lm_studio(first, text))
            .or_else(|| prediction_stats(first, text))
    }
}

/// A line without marks of comments, quotes and lists.
fn bare(line: &str) -> &str {
    line.trim().trim_start_matches(['/', '#', '>', '-', '*', '`', ' ']).trim_end_matches(['`', '*'])
}

/// A number directly before a unit: `68.69s`, `563.34T/s`.
fn before<'a>(text: &'a str, unit: &str) -> Option<&'a str> {
    let printed = text.trim().strip_suffix(unit)?.trim();
    number(printed).map(|_| printed)
}

fn add_rate(answer: &mut Answer, line: u32, quantity: Metric, printed: &str, meaning: &str) {
    answer.add(line, quantity, printed, Unit::PerS, different(meaning));
}

/// Adds a time. Zero is printed for one that was too short or not measured.
fn add_time(answer: &mut Answer, line: u32, quantity: Metric, printed: &str) {
    match number(printed) {
        Some(0.0) => answer.keep_unmeasured(quantity, printed),
        _ => answer.add(line, quantity, printed, Unit::S, Definition::Same),
    }
}

/// `CtxLimit:39294/40960, Amt:597/2048, Process:68.69s (563.34T/s), Generate:56.27s (10.61T/s)`.
fn koboldcpp(line: Line<'_>) -> Option<Found> {
    let start = ["CtxLimit:", "ContextLimit:"].iter().find_map(|name| line.text.find(name))?;
    let at = line.number;
    let mut answer = Answer::new(at, Some("koboldcpp"));
    let mut is_timed = false;
    for field in line.text.get(start..)?.split(", ") {
        let Some((name, value)) = field.split_once(':') else { continue };
        let value = value.trim().trim_end_matches(['`', '*', '|', '.', ' ']);
        // The line may be quoted between brackets.
        let value = if value.contains('(') { value } else { value.trim_end_matches([')', '`']) };
        let (main, inside) = value.split_once('(').unwrap_or((value, ""));
        let inside = inside.trim_end_matches(')');
        // `11.0ms/T = 91.03T/s`.
        let rate = inside.rsplit('=').next().and_then(|text| before(text, "T/s"));
        let (count, time) = match main.split_once(" in ") {
            Some((count, time)) => (Some(count.split('/').next().unwrap_or_default()), time),
            None => (None, main),
        };
        let time = before(time, "s");
        let (time_of, tokens_of, rate_of) = match name.trim() {
            "CtxLimit" | "ContextLimit" => {
                let used = value.split('/').next().unwrap_or_default();
                let quantity = own("context_tokens");
                answer.add(at, quantity, used.trim(), Unit::Count, Definition::Same);
                continue;
            }
            "Amt" => {
                let made = value.split('/').next().unwrap_or_default();
                let quantity = Metric::OutputTokens;
                answer.add(at, quantity, made.trim(), Unit::Count, Definition::Same);
                continue;
            }
            "Process" | "Processed" | "Processing" => {
                (Metric::Prefill, Metric::InputTokens, Metric::PrefillRate)
            }
            "Generate" | "Generated" | "Generation" => {
                (own(GENERATION_TIME), Metric::OutputTokens, Metric::DecodeRate)
            }
            "Total" => {
                if let Some(time) = time {
                    add_time(&mut answer, at, Metric::Duration, time);
                }
                continue;
            }
            _ => {
                answer.keep(name.trim(), value);
                continue;
            }
        };
        is_timed |= time.is_some();
        let is_prompt = tokens_of == Metric::InputTokens;
        if let Some(count) = count {
            let meaning = if is_prompt { different(COMPUTED) } else { Definition::Same };
            answer.add(at, tokens_of, count.trim(), Unit::Count, meaning);
        }
        if let Some(time) = time {
            add_time(&mut answer, at, time_of, time);
        }
        if let Some(rate) = rate.filter(|_| time.and_then(number) != Some(0.0)) {
            answer.add(at, rate_of, rate, Unit::PerS, Definition::Same);
        }
    }
    is_timed.then(|| answer.into_block("KoboldCpp", at))
}

/// `Metrics (ID: …): 76 tokens generated in 1.5 seconds (Queue: 0.0 s, Process: 0 cached tokens and
/// 64 new tokens at 1066.67 T/s, Generate: 193.93 T/s, Context: 64 tokens)`, wrapped or not.
fn tabby(first: Line<'_>, text: &Text) -> Option<Found> {
    let start = first.text.find("Metrics")?;
    if !first.text.contains("tokens generated in") {
        return None;
    }
    let (at, mut last_line) = (first.number, first.number);
    let mut whole = first.text.get(start..)?.trim().to_owned();
    for line in text.from(at + 1).take(4) {
        let is_whole = whole.contains("Generate:") && whole.ends_with(')');
        if is_whole || line.text.trim().is_empty() || line.text.contains("Metrics") {
            break;
        }
        if !whole.contains('(') && !line.text.trim_start().starts_with('(') {
            break;
        }
        whole = format!("{whole} {}", line.text.trim());
        last_line = line.number;
    }
    let (head, tail) = whole.split_once(" tokens generated in ")?;
    let made = head.rsplit([' ', ':']).next()?;
    let (total, rest) = tail.split_once(" seconds")?;
    let mut answer = Answer::new(at, Some("tabbyAPI"));
    answer.add(at, Metric::OutputTokens, made, Unit::Count, Definition::Same);
    add_time(&mut answer, at, Metric::Duration, total.trim());
    for field in rest.trim().trim_matches(['(', ')']).split(", ") {
        let Some((name, value)) = field.split_once(':') else { continue };
        let value = value.trim().trim_end_matches(')');
        match name.trim() {
            "Process" => {
                let (tokens, rate) = value.split_once(" at ").unwrap_or(("", value));
                for piece in tokens.split(" and ") {
                    if let Some(cached) = before(piece, "cached tokens") {
                        let quantity = Metric::CachedTokens;
                        answer.add(at, quantity, cached, Unit::Count, Definition::Same);
                    } else if let Some(new) = before(piece, "new tokens") {
                        let quantity = Metric::InputTokens;
                        answer.add(at, quantity, new, Unit::Count, different(COMPUTED));
                    }
                }
                if let Some(rate) = before(rate, "T/s") {
                    answer.add(at, Metric::PrefillRate, rate, Unit::PerS, Definition::Same);
                }
            }
            "Generate" => {
                if let Some(rate) = before(value, "T/s") {
                    answer.add(at, Metric::DecodeRate, rate, Unit::PerS, Definition::Same);
                }
            }
            name => answer.keep(name, value),
        }
    }
    Some(answer.into_block("tabbyAPI", last_line))
}

/// `Prompt: 32 tokens, 160.0 tokens-per-sec`, then `Generation: …` and `Peak memory: 4.567 GB`.
fn mlx(first: Line<'_>, text: &Text) -> Option<Found> {
    let entry = |line: &str| {
        let line = bare(line);
        let (name, value) = line.split_once(':')?;
        let (count, rate) = match value.split_once(',') {
            Some((count, rate)) => (before(count, "tokens"), rate),
            None => (None, value),
        };
        let known = match name.trim() {
            name @ ("Prompt" | "Generation") => (name, count, before(rate, "tokens-per-sec")?),
            name @ "Peak memory" => (name, None, before(value, "GB")?),
            _ => return None,
        };
        Some((known.0.to_owned(), known.1.map(str::to_owned), known.2.to_owned()))
    };
    entry(first.text).filter(|(name, ..)| name == "Prompt")?;
    let mut answer = Answer::new(first.number, Some("mlx"));
    let mut last_line = first.number;
    for line in text.from(first.number).take(LINES_MAX) {
        let Some((name, count, printed)) = entry(line.text) else { break };
        let at = line.number;
        let (tokens, rate, meaning) = match name.as_str() {
            "Peak memory" => {
                let quantity = Metric::Memory;
                answer.add(at, quantity, &printed, Unit::Gb, different("peak of the process"));
                last_line = at;
                continue;
            }
            "Prompt" => (
                Metric::InputTokens,
                Metric::PrefillRate,
                Definition::Derivable(PROMPT_AND_FIRST.to_owned()),
            ),
            _ => (Metric::OutputTokens, Metric::DecodeRate, Definition::Same),
        };
        if answer.has(rate) {
            break;
        }
        if let Some(count) = count {
            answer.add(at, tokens, &count, Unit::Count, Definition::Same);
        }
        answer.add(at, rate, &printed, Unit::PerS, meaning);
        last_line = at;
    }
    Some(answer.into_block("mlx", last_line))
}

/// `[ Prompt: 890.0 t/s | Generation: 311.6 t/s ]`.
fn llama_cli(line: Line<'_>) -> Option<Found> {
    let inner = bare(line.text).strip_prefix('[')?.trim_end().strip_suffix(']')?;
    let (prompt, generation) = inner.split_once('|')?;
    let prompt = before(prompt.trim().strip_prefix("Prompt:")?, "t/s")?;
    let generation = before(generation.trim().strip_prefix("Generation:")?, "t/s")?;
    let at = line.number;
    let mut answer = Answer::new(at, Some(super::super::llama::bench::ENGINE));
    answer.add(at, Metric::PrefillRate, prompt, Unit::PerS, Definition::Same);
    answer.add(at, Metric::DecodeRate, generation, Unit::PerS, Definition::Same);
    Some(answer.into_block("llama-cli", at))
}

/// `28.04 tok/sec • 2188 tokens • 0.06s to first token • Stop reason: …`, in one line or several.
fn lm_studio(first: Line<'_>, text: &Text) -> Option<Found> {
    if !first.text.contains("tok/sec") {
        return None;
    }
    let mut answer = Answer::new(first.number, Some("LM Studio"));
    let mut last_line = first.number;
    for line in text.from(first.number).take(LINES_MAX) {
        let pieces: Vec<&str> = bare(line.text).split(['•', '·']).map(str::trim).collect();
        let is_empty = pieces.iter().all(|piece| piece.is_empty());
        let begins_again = line.number > last_line && line.text.contains("tok/sec");
        if begins_again || (!is_empty && !pieces.iter().all(|piece| is_piece(piece))) {
            break;
        }
        if !is_empty {
            pieces.iter().for_each(|piece| add_piece(&mut answer, line.number, piece));
            last_line = line.number;
        }
    }
    let is_answer = answer.has(Metric::DecodeRate)
        && (answer.has(Metric::OutputTokens) || answer.has(Metric::Ttft));
    is_answer.then(|| answer.into_block("LM Studio", last_line))
}

/// The numbers of a piece with the words after each: `1681 tokens 0.63s to first token`.
fn measures(piece: &str) -> Option<Vec<(&str, String)>> {
    let mut found: Vec<(&str, String)> = Vec::new();
    for word in piece.split_whitespace() {
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            let end = word.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',')));
            let (digits, unit) = word.split_at(end.unwrap_or(word.len()));
            found.push((digits, unit.to_owned()));
        } else {
            let (_, words) = found.last_mut()?;
            if !words.is_empty() {
                words.push(' ');
            }
            words.push_str(word);
        }
    }
    Some(found)
}

fn is_stop(piece: &str) -> bool {
    piece.to_ascii_lowercase().starts_with("stop") && piece.contains(':')
}

fn is_piece(piece: &str) -> bool {
    let is_known = |(_, words): &(&str, String)| {
        matches!(words.as_str(), "tok/sec" | "tokens" | "s to first token" | "s")
    };
    piece.is_empty()
        || is_stop(piece)
        || measures(piece).is_some_and(|all| !all.is_empty() && all.iter().all(is_known))
}

fn add_piece(answer: &mut Answer, line: u32, piece: &str) {
    if is_stop(piece) {
        if let Some((name, value)) = piece.split_once(':') {
            answer.keep(name.trim(), value.trim());
        }
        return;
    }
    for (digits, words) in measures(piece).unwrap_or_default() {
        match words.as_str() {
            "tok/sec" => add_rate(answer, line, Metric::DecodeRate, digits, UNKNOWN_SPAN),
            "tokens" => {
                let quantity = Metric::OutputTokens;
                answer.add(line, quantity, digits, Unit::Count, Definition::Same);
            }
            "s to first token" => {
                answer.add(line, Metric::Ttft, digits, Unit::S, different(OF_ENGINE));
            }
            _ => answer.keep("time", &format!("{digits} {words}")),
        }
    }
}

/// What `lms chat --stats` prints: a title, then one label to a line.
fn prediction_stats(first: Line<'_>, text: &Text) -> Option<Found> {
    if !bare(first.text).eq_ignore_ascii_case("prediction stats:") {
        return None;
    }
    let mut answer = Answer::new(first.number, Some("LM Studio"));
    let mut last_line = first.number;
    for line in text.from(first.number + 1).take(LINES_MAX) {
        let Some((name, value)) = bare(line.text).split_once(':') else { break };
        let (at, value) = (line.number, value.trim());
        let count = match name.trim() {
            "Stop Reason" => {
                answer.keep(name.trim(), value);
                last_line = at;
                continue;
            }
            "Tokens/Second" => {
                add_rate(&mut answer, at, Metric::DecodeRate, value, UNKNOWN_SPAN);
                last_line = at;
                continue;
            }
            "Time to First Token" => {
                let printed = before(value, "s")?;
                answer.add(at, Metric::Ttft, printed, Unit::S, different(OF_ENGINE));
                last_line = at;
                continue;
            }
            "Prompt Tokens" => Metric::InputTokens,
            "Predicted Tokens" => Metric::OutputTokens,
            "Total Tokens" => Metric::TotalTokens,
            _ => break,
        };
        answer.add(at, count, value, Unit::Count, Definition::Same);
        last_line = at;
    }
    answer.has(Metric::DecodeRate).then(|| answer.into_block("LM Studio", last_line))
}
