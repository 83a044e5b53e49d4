//! Lines of poems: natural text of an exact number of tokens, in any amount.
//!
//! vLLM's older `sonnet` data set did this with a file of Shakespeare's sonnets: an
//! instruction, some lines that all prompts share, and lines drawn for each prompt. A
//! dozen sonnets are in the program; any other text takes their place.
//!
//! Not here: random words (`random`).

use std::{collections::HashSet, io::Read as _, path::Path};

use ifm_core::{Prompt, regular::open_regular};
use ifm_made::{Draws, Rng, Stream};
use ifm_tokenizer::{Tokenizer, TokenizerError};

use super::{Dataset, DatasetKind, WorkItem};
use crate::{
    error::{WorkloadError, file_name},
    lengths::{LengthPair, Lengths},
    opening::Opening,
    scale::LengthScale,
    source,
};

/// The data set's entry in the registry.
pub const KIND: DatasetKind = DatasetKind {
    name: "sonnet",
    aliases: &[],
    usage: "sonnet:PROMPT/OUTPUT",
    summary: "lines of poems, or of a text with text=FILE, of exact token length",
    ignore_eos: true,
    hub: &[],
    open,
};

/// Shakespeare's sonnets 1, 2, 12, 18, 29, 30, 55, 60, 73, 116, 130 and 138 (1609).
const SONNETS: &str = include_str!("../../text/sonnets.txt");
/// vLLM's defaults.
const LENGTHS_DEFAULT: &str = "550/150";
/// Tokens that all prompts share, if nothing else is said: vLLM's default.
const PREFIX_TOKENS: u32 = 200;
/// What is asked of the lines: vLLM's wording.
const INSTRUCTION: &str = "Pick as many lines as you can from these poem lines:\n";
/// The largest text in bytes.
const TEXT_BYTES_MAX: u64 = 256 << 20;
/// Texts that are encoded for one prompt at most.
const ATTEMPTS_MAX: u32 = 64;

/// The data set.
struct Lines {
    tokenizer: Tokenizer,
    /// Each line with the tokens of it and of the break after it.
    lines: Vec<(Box<str>, u32)>,
    /// Whether tokens end where lines end, so that the counts of lines add up.
    adds_up: bool,
    /// What every prompt begins with.
    prefix: String,
    prompt: Lengths,
    output: Lengths,
    streams: [Stream; 3],
    scale: LengthScale,
}

fn open(opening: &mut Opening<'_>) -> Result<Box<dyn Dataset>, WorkloadError> {
    let body = if opening.body.is_empty() { LENGTHS_DEFAULT } else { &opening.body };
    let mut pair = body.parse::<LengthPair>()?;
    if let Some(lengths) = opening.request.prompt_tokens.clone() {
        pair.prompt = lengths;
    }
    if let Some(lengths) = opening.output_override() {
        pair.output = lengths;
    }
    let text = match opening.options.text("text") {
        Some(path) => read(opening, Path::new(&path))?,
        None => SONNETS.to_owned(),
    };
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines = lines.map(Box::from).collect::<Vec<Box<str>>>();
    let shared = opening.options.value::<u32>("prefix", "a number of tokens")?;
    let shared = shared.unwrap_or(PREFIX_TOKENS.min(pair.prompt.min() / 2));
    if shared > pair.prompt.min() {
        let (shared_prefix_tokens, prompt_tokens_min) = (shared, pair.prompt.min());
        return Err(WorkloadError::Prefix { shared_prefix_tokens, prompt_tokens_min });
    }
    let prefix = prefix(opening.tokenizer, &lines, opening.request.scale.inner_tokens(shared))?;
    let (prompt, output) = (&pair.prompt, &pair.output);
    let facts = &mut opening.facts;
    facts.prompt_tokens_max = Some(prompt.max());
    facts.output_tokens_max = Some(output.max());
    facts.total_tokens_max = Some(u64::from(prompt.max()) + u64::from(output.max()));
    facts.prompt_tokens = Some(prompt.to_string());
    facts.output_tokens = Some(output.to_string());
    opening.name(|| format!("sonnet:{}/{}", pair.prompt, pair.output));
    opening.rule(format!(
        "lines drawn from {}, the first {shared} tokens shared",
        if facts_have_file(opening) { "the text" } else { "twelve sonnets of Shakespeare" }
    ));
    let rng = Rng::new(opening.request.seed);
    let streams = ["prompt_length", "output_length", "line"].map(|name| rng.stream(name));
    let LengthPair { prompt, output, .. } = pair;
    let tokenizer = opening.tokenizer.clone();
    let scale = opening.request.scale;
    let adds_up = ends_at_breaks(&tokenizer, &lines)?;
    let count = |line: Box<str>| {
        let tokens = tokenizer.encode(&format!("{line}\n"))?.len() as u32;
        Ok::<_, TokenizerError>((line, tokens))
    };
    let lines = lines.into_iter().map(count).collect::<Result<Vec<_>, _>>()?;
    Ok(Box::new(Lines { tokenizer, lines, adds_up, prefix, prompt, output, streams, scale }))
}

fn facts_have_file(opening: &Opening<'_>) -> bool {
    !opening.facts.files.is_empty()
}

fn read(opening: &mut Opening<'_>, path: &Path) -> Result<String, WorkloadError> {
    let read_error = |source| WorkloadError::Read { path: path.to_owned(), source };
    let file = file_name(path);
    let mut bytes = Vec::new();
    let whole = open_regular(path).map_err(read_error)?;
    whole.take(TEXT_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(read_error)?;
    if bytes.len() as u64 > TEXT_BYTES_MAX {
        let reason = "is a text of more than 256 MiB; take a part of it".to_owned();
        return Err(WorkloadError::File { file, reason });
    }
    let text = String::from_utf8(bytes);
    let text = text.map_err(|error| {
        let start = error.utf8_error().valid_up_to();
        let before = error.as_bytes().get(..start).unwrap_or_default();
        let line = before.iter().filter(|&&byte| byte == b'\n').count() as u64 + 1;
        WorkloadError::BadRow { file: file.clone(), line, reason: "not UTF-8".to_owned() }
    })?;
    if text.trim().is_empty() {
        let reasons = "there is no line with text".to_owned();
        return Err(WorkloadError::NoRows { file, read: 0, reasons });
    }
    opening.facts.files = source::describe(&[path.to_owned()])?;
    Ok(text)
}

/// Whether no token crosses the end of a line. Tokenizers split by kinds of characters, so
/// the lines in one order tell for all.
fn ends_at_breaks(tokenizer: &Tokenizer, lines: &[Box<str>]) -> Result<bool, TokenizerError> {
    /// Lines that are looked at.
    const LINES: usize = 1000;
    let text = lines.iter().take(LINES).map(|line| format!("{line}\n")).collect::<String>();
    let ends = tokenizer.pieces(&text)?.into_iter().map(|piece| piece.end);
    let ends = ends.collect::<HashSet<_>>();
    let mut breaks = text.match_indices('\n');
    Ok(breaks.all(|(place, _)| ends.contains(&(place + 1))))
}

/// The instruction and the first lines, of about `tokens` tokens and not more.
fn prefix(tokenizer: &Tokenizer, lines: &[Box<str>], tokens: u32) -> Result<String, WorkloadError> {
    let mut text = String::new();
    for part in std::iter::once(INSTRUCTION.trim_end()).chain(lines.iter().map(AsRef::as_ref)) {
        let longer = format!("{text}{part}\n");
        if tokenizer.encode(&longer)?.len() > tokens as usize {
            break;
        }
        text = longer;
    }
    Ok(text)
}

impl Lines {
    /// The shared beginning and drawn lines, cut to exactly the tokens asked for.
    fn text(&self, asked: u32, mut draws: Draws) -> Result<String, WorkloadError> {
        let tokens = self.scale.text_tokens(asked);
        let mut text = self.prefix.clone();
        let mut have = self.tokenizer.encode(&text)?.len() as u32;
        while have < tokens {
            let line = draws.below(self.lines.len() as u32) as usize;
            let Some((line, count)) = self.lines.get(line) else { break };
            if self.adds_up && have + count > tokens {
                let ids = self.tokenizer.encode(&format!("{line}\n"))?;
                return Ok(text + &self.cut(&ids, tokens - have)?);
            }
            text.push_str(line);
            text.push('\n');
            have += count;
            if !self.adds_up && have >= tokens {
                have = self.tokenizer.encode(&text)?.len() as u32;
            }
        }
        match self.adds_up {
            true => Ok(text),
            false => self.cut(&self.tokenizer.encode(&text)?, tokens),
        }
    }

    /// Cuts a text after a number of tokens, and repairs its end where pieces of words
    /// have become other tokens.
    fn cut(&self, ids: &[u32], tokens: u32) -> Result<String, WorkloadError> {
        let mut keep = tokens as usize;
        let mut filler = 0;
        for _ in 0..ATTEMPTS_MAX {
            let mut text = self.tokenizer.decode(ids.get(..keep).unwrap_or(ids))?;
            text.truncate(text.trim_end_matches('\u{fffd}').len());
            text.push_str(&" a".repeat(filler));
            let have = self.tokenizer.encode(&text)?.len();
            match have.cmp(&(tokens as usize)) {
                std::cmp::Ordering::Equal => return Ok(text),
                std::cmp::Ordering::Less => filler += tokens as usize - have,
                std::cmp::Ordering::Greater => {
                    keep = keep.saturating_sub(1);
                    filler = 0;
                }
            }
        }
        Err(WorkloadError::Unreachable {
            prompt_tokens: tokens,
            tokenizer: self.tokenizer.name().to_owned(),
            attempts: ATTEMPTS_MAX,
        })
    }
}

impl Dataset for Lines {
    fn item(&self, id: u32) -> Result<WorkItem, WorkloadError> {
        let [prompts, outputs, lines] = &self.streams;
        let number = u64::from(id);
        let tokens = self.prompt.draw(&mut prompts.item(number));
        let output = self.output.draw(&mut outputs.item(number));
        let text = self.text(tokens, lines.item(number))?;
        Ok(WorkItem::single(id, Prompt::Text(text), Some(tokens), Some(output)))
    }

    fn are_items_alike(&self) -> bool {
        true
    }

    /// Lines are drawn, so two prompts may begin with the same one by chance.
    fn distinct_items(&self) -> u64 {
        self.lines.len() as u64
    }
}
