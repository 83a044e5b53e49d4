//! Who counts the prompts of a workload: the tokenizer of the run, or the server.
//!
//! Not here: how the server's count is found out (`calibration`).

use crate::calibration::{Calibrated, CalibrationAsk, Fault, calibrate};
use crate::caller::Caller;
use crate::exit::Failure;
use crate::terminal;
use clap::ValueEnum;
use ifm_core::manifest::ServerInfo;
use ifm_core::spec::{LengthCounter, PromptLengths};
use ifm_tokenizer::Tokenizer;
use ifm_workload::LengthScale;

/// What `--prompt-lengths` may say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LengthsWord {
    /// By the tokenizer where one is given or the server has the embedded one, else by the server
    Auto,
    /// By the tokenizer: exact text, the server's chat template comes on top
    Tokenizer,
    /// By the server: a few requests find out how it counts; its chat template is included
    Server,
}

/// The note of a server that names its tokenizer.
const TOKENIZER_NOTE: &str = "tokenizer_sha256";

/// Whether the server says that it counts by this tokenizer.
fn has_tokenizer(server: &ServerInfo, tokenizer: &Tokenizer) -> bool {
    server.notes.get(TOKENIZER_NOTE).is_some_and(|sha256| sha256 == tokenizer.sha256())
}

/// Decides who counts, and asks the server where it is to.
///
/// # Errors
/// The server was to count and does not; or prompts would be far from the length asked for.
pub fn settle(
    word: LengthsWord,
    is_given: bool,
    server: &ServerInfo,
    caller: &mut Caller,
    ask: &CalibrationAsk<'_>,
    quiet: bool,
) -> Result<(LengthScale, PromptLengths), Failure> {
    let by_tokenizer = PromptLengths { counted_by: LengthCounter::Tokenizer, calibration: None };
    let asks = match word {
        LengthsWord::Tokenizer => false,
        LengthsWord::Server => true,
        LengthsWord::Auto => !is_given && !has_tokenizer(server, ask.tokenizer),
    };
    if !asks {
        return Ok((LengthScale::EXACT, by_tokenizer));
    }
    match calibrate(caller, ask) {
        Ok(calibrated) => {
            tell(&calibrated, ask, quiet);
            let counted_by = LengthCounter::ServerCalibrated;
            let facts = PromptLengths { counted_by, calibration: Some(calibrated.facts) };
            Ok((calibrated.scale, facts))
        }
        Err(Fault::Far(reason)) => Err(Failure::server(format!(
            "prompts would not have the length asked for by the server's count: {reason}"
        ))
        .hint(
            "give the model's tokenizer.json with --tokenizer, or other lengths; --prompt-lengths \
             tokenizer measures anyway, with lengths by the embedded vocabulary",
        )),
        Err(Fault::Unknown(reason)) if word == LengthsWord::Server => {
            Err(Failure::server(format!("prompts cannot be made by the server's count: {reason}"))
                .hint("give the model's tokenizer.json with --tokenizer"))
        }
        Err(Fault::Unknown(reason)) => {
            terminal::warn(&format!(
                "prompt lengths are by the embedded vocabulary, not by the model's, because {reason}; \
                 --tokenizer PATH makes them exact"
            ));
            Ok((LengthScale::EXACT, by_tokenizer))
        }
    }
}

/// Who counts made-up prompts of a mix: the tokenizer. How the server counts depends on the length, and
/// each class has its own.
///
/// # Errors
/// The server was to count.
pub fn of_classes(word: LengthsWord) -> Result<PromptLengths, Failure> {
    match word {
        LengthsWord::Server => {
            return Err(Failure::usage("--prompt-lengths server: a mix has no one law of lengths")
                .hint("give the model's tokenizer.json with --tokenizer, or measure each class"));
        }
        LengthsWord::Auto => terminal::warn(
            "made-up prompts of a mix are as long as asked by the tokenizer's count: the server's chat \
             template comes on top; --prompt-lengths tokenizer says that this is meant",
        ),
        LengthsWord::Tokenizer => {}
    }
    Ok(PromptLengths { counted_by: LengthCounter::Tokenizer, calibration: None })
}

fn tell(calibrated: &Calibrated, ask: &CalibrationAsk<'_>, quiet: bool) {
    let facts = &calibrated.facts;
    let asked = ask.prompt_tokens.max();
    if let Some(share) = facts.error_share.filter(|_| !calibrated.is_close) {
        terminal::warn(&format!(
            "prompts of {asked} tokens come out {:+.1} % by the server's count, in spite of {} \
             requests to find out how it counts; --tokenizer PATH makes them exact",
            share * 100.0,
            facts.requests
        ));
    } else if !quiet {
        terminal::say(&format!(
            "prompt lengths by the server's count: {:.3} of its tokens to one of ours, {} of its \
             template ({} requests)",
            facts.ratio, facts.template_tokens, facts.requests
        ));
    }
}
