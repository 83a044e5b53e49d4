//! Which tokenizer counts the prompts of a workload: the run's, or the server's.
//!
//! Not here: how the server's count is determined (`ifm_probe::prompt_calibration`).

use crate::exit::Failure;
use crate::terminal;
use clap::ValueEnum;
use ifm_core::manifest::ServerInfo;
use ifm_core::spec::{LengthCounter, PromptLengths};
use ifm_probe::preflight::Preflight;
use ifm_probe::prompt_calibration::{
    Calibrated, CalibrationAsk, Fault, calibrate, measure_template,
};
use ifm_tokenizer::Tokenizer;
use ifm_workload::LengthScale;

/// Values of `--prompt-lengths`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LengthsWord {
    /// The tokenizer if given or if the server uses the embedded one, else the server
    Auto,
    /// The tokenizer: exact text, plus the server's chat template
    Tokenizer,
    /// The server: a few requests determine how it counts, chat template included
    Server,
}

/// The note of a server with the name of its tokenizer.
const TOKENIZER_NOTE: &str = "tokenizer_sha256";

/// Whether the server reports that it counts with this tokenizer.
fn has_tokenizer(server: &ServerInfo, tokenizer: &Tokenizer) -> bool {
    server.notes.get(TOKENIZER_NOTE).is_some_and(|sha256| sha256 == tokenizer.sha256())
}

/// What decides the prompt lengths, and what is known about it.
#[derive(Debug, Clone, Copy)]
pub struct LengthsAsk<'ask> {
    /// The requested choice.
    pub word: LengthsWord,
    /// Whether the user gave the tokenizer.
    pub is_given: bool,
    /// Whether the API uses a chat template.
    pub has_template: bool,
    /// What the server reports about itself.
    pub server: &'ask ServerInfo,
    /// Whether to report only problems.
    pub is_quiet: bool,
}

/// Decides how prompts are counted, and asks the server if it should count.
///
/// # Errors
/// The server should count and does not, or prompts would be far from the requested length.
pub fn settle(
    lengths: &LengthsAsk<'_>,
    preflight: &mut Preflight,
    ask: &CalibrationAsk<'_>,
) -> Result<(LengthScale, PromptLengths), Failure> {
    let has_tokenizer = has_tokenizer(lengths.server, ask.tokenizer);
    let asks = match lengths.word {
        LengthsWord::Tokenizer => false,
        LengthsWord::Server => true,
        LengthsWord::Auto => !lengths.is_given && !has_tokenizer,
    };
    if !asks {
        // An explicitly given tokenizer needs no extra requests.
        let is_explicit = lengths.word == LengthsWord::Tokenizer;
        let template_tokens = match lengths.has_template && !has_tokenizer && !is_explicit {
            true => measure_template(preflight, ask).map_err(|failure| *failure)?,
            false => None,
        };
        let facts = PromptLengths { template_tokens, ..PromptLengths::by_tokenizer() };
        return Ok((LengthScale::EXACT, facts));
    }
    let (reason, template_tokens) = match calibrate(preflight, ask) {
        Ok(calibrated) => {
            tell(&calibrated, ask, lengths.is_quiet);
            let facts = PromptLengths {
                counted_by: LengthCounter::ServerCalibrated,
                calibration: Some(calibrated.facts),
                ..PromptLengths::by_tokenizer()
            };
            return Ok((calibrated.scale, facts));
        }
        Err(Fault::Stop(failure)) => return Err(*failure),
        Err(Fault::Far(reason, status)) => return Err(far(&reason, status)),
        Err(Fault::Unknown(reason)) => (reason, None),
        Err(Fault::Template(tokens, shortest)) => {
            let reason = format!(
                "the server adds {tokens} tokens to each prompt, but {shortest} in all were requested"
            );
            (reason, Some(tokens))
        }
    };
    if lengths.word == LengthsWord::Server {
        return Err(Failure::server(format!(
            "cannot size prompts by the server's count: {reason}"
        ))
        .hint("pass the model's tokenizer.json with --tokenizer"));
    }
    terminal::warn(&format!(
        "prompt lengths are by the embedded vocabulary, not by the model's, because {reason}; \
         --tokenizer PATH makes them exact"
    ));
    let failure = Some(reason);
    let facts = PromptLengths { failure, template_tokens, ..PromptLengths::by_tokenizer() };
    Ok((LengthScale::EXACT, facts))
}

/// Why there is no run with prompts that are far from the requested length.
fn far(reason: &str, status: Option<u16>) -> Failure {
    let failure = Failure::server(format!(
        "prompts would not have the requested length by the server's count: {reason}"
    ));
    failure.hint(match status {
        Some(413) => {
            "raise the limit for request bodies of the proxy before the server (nginx: \
             client_max_body_size), or use shorter prompts"
        }
        Some(_) => {
            "use shorter prompts, or start the server with a longer context; if it counts otherwise \
             than assumed, pass the model's tokenizer.json with --tokenizer"
        }
        None => {
            "pass the model's tokenizer.json with --tokenizer, or other lengths; --prompt-lengths \
             tokenizer measures anyway, with lengths by the embedded vocabulary"
        }
    })
}

/// Synthetic prompts of a mix are counted by the tokenizer. The server's count depends on the length,
/// and each class has its own length.
///
/// # Errors
/// The server should count.
pub fn of_classes(word: LengthsWord) -> Result<PromptLengths, Failure> {
    match word {
        LengthsWord::Server => {
            return Err(Failure::usage(
                "--prompt-lengths server: a mix has no single distribution of lengths",
            )
            .hint("pass the model's tokenizer.json with --tokenizer, or measure each class"));
        }
        LengthsWord::Auto => terminal::warn(
            "synthetic prompts of a mix have the requested length by the tokenizer's count, plus the server's \
             chat template; --prompt-lengths tokenizer confirms this",
        ),
        LengthsWord::Tokenizer => {}
    }
    Ok(PromptLengths::by_tokenizer())
}

fn tell(calibrated: &Calibrated, ask: &CalibrationAsk<'_>, quiet: bool) {
    let facts = &calibrated.facts;
    let asked = ask.prompt_tokens.max();
    if let Some(share) = facts.error_share.filter(|_| !calibrated.is_close) {
        terminal::warn(&format!(
            "prompts of {asked} tokens differ by {:+.1} % by the server's count, despite {} \
             calibration requests; --tokenizer PATH makes them exact",
            share * 100.0,
            facts.requests
        ));
    } else if !quiet {
        terminal::say(&format!(
            "prompt lengths by the server's count: {:.3} of its tokens per token of the embedded \
             vocabulary, {} template tokens ({} requests)",
            facts.ratio, facts.template_tokens, facts.requests
        ));
    }
}
