//! How answers arrive: which API answers, whether it streams, who counts tokens, and whether the
//! requested length is honored.

use super::inquiry::{Heard, TOKENS, Wish, counted};
use super::{Finding, Grade, Inquiry, Section};
use ifm_core::spec::Api;
use ifm_core::words;
use ifm_core::{CountSource, Prompt};
use ifm_wire::{Answer, dialect};
use serde_json::{Value, json};

/// A prompt with a short answer.
pub const SHORT_ANSWER: &str = "Reply with the single word OK.";
/// Lengths of the additional answers that must all arrive at once before that is reported.
const AT_ONCE_TRIES: [u32; 2] = [TOKENS, 4 * TOKENS];
/// Number of events that makes it unlikely that a stream arrived at once by chance.
const EVENTS_MIN: usize = 4;

/// Requests an answer without options, one that must not end, and one with counts in each event.
pub fn ask(inquiry: &mut Inquiry) -> Vec<Finding> {
    if let Err(findings) = first_answer(inquiry) {
        return findings;
    }
    let mut findings = Vec::new();
    let streamed = forced(inquiry, &mut findings);
    let unknown = |id, why: &String| Finding::unknown((Section::Answers, id), why.clone());
    match &streamed {
        Ok(heard) => {
            findings.push(streaming(heard));
            findings.push(usage(heard));
            findings.push(per_event(heard));
        }
        Err(why) => {
            findings.extend(["streaming", "usage", "tokens_per_event"].map(|id| unknown(id, why)));
        }
    }
    findings.push(chunk_usage(inquiry));
    findings.extend(min_tokens(inquiry));
    findings
}

/// Finds the API that answers, and how the model answers without options.
fn first_answer(inquiry: &mut Inquiry) -> Result<(), Vec<Finding>> {
    let prompt = Prompt::Text(SHORT_ANSWER.to_owned());
    let mut why = String::new();
    for api in Api::ALL {
        if !is_text_api(api) {
            continue;
        }
        for stream in [false, true] {
            let wish = Wish {
                api,
                prompt: &prompt,
                tokens: TOKENS,
                stream,
                ignore_eos: false,
                fields: Value::Null,
            };
            match inquiry.ask(&wish) {
                Ok(heard) => {
                    inquiry.api = Some(api);
                    inquiry.only_streams = stream;
                    inquiry.natural = Some(heard.answer);
                    note_proxy(inquiry, &heard.reply);
                    return Ok(());
                }
                Err(error) if why.is_empty() => why = format!("{}: {error}", api.word()),
                Err(_) => {}
            }
            if inquiry.patience().is_err() {
                break;
            }
        }
    }
    let id = (Section::Answers, "answers");
    Err(vec![Finding::known(id, Grade::Caution, false, "no API gives an answer").how(why).means(
        "there is nothing to measure: check the model's name and the key, or give the server \
                 more time with --limit",
    )])
}

/// Whether an API generates text from a prompt.
fn is_text_api(api: Api) -> bool {
    dialect::of(api).endpoint.stream.is_some() && api.generates() && !api.takes_recordings()
}

/// A proxy that identifies itself only in its answers.
fn note_proxy(inquiry: &mut Inquiry, reply: &crate::traced_client::Reply) {
    if let Some(version) = reply.header("x-litellm-version") {
        inquiry.server.kind = Some("LiteLLM".to_owned());
        inquiry.server.version = Some(version);
    }
}

/// The same prompt as a stream that must continue to the requested length.
fn forced(inquiry: &mut Inquiry, findings: &mut Vec<Finding>) -> Result<Heard, String> {
    let api = inquiry.api.ok_or("no API answered")?;
    let prompt = Prompt::Text(SHORT_ANSWER.to_owned());
    let wish = |ignore_eos, tokens| Wish {
        api,
        prompt: &prompt,
        tokens,
        stream: true,
        ignore_eos,
        fields: Value::Null,
    };
    let mut asked = TOKENS;
    let mut heard = inquiry.ask(&wish(true, asked));
    for tokens in AT_ONCE_TRIES {
        // The client itself may have been paused for a moment.
        if !heard.as_ref().is_ok_and(is_at_once) {
            break;
        }
        asked = tokens;
        heard = inquiry.ask(&wish(true, asked));
    }
    match heard {
        Ok(heard) => {
            findings.push(ignore_eos(inquiry, &heard));
            inquiry.forced = Some((heard.answer.clone(), asked));
            Ok(heard)
        }
        Err(refusal) => {
            // The unknown field may be the only problem.
            let heard = inquiry.ask(&wish(false, TOKENS));
            let id = (Section::Wishes, "ignore_eos");
            findings.push(match &heard {
                Ok(_) => Finding::known(id, Grade::Caution, false, "refused")
                    .how(refusal)
                    .means("run with --ignore-eos=false; answers end where the model ends them"),
                Err(_) => Finding::unknown(id, refusal),
            });
            heard
        }
    }
}

/// Tokens of the answer without options, if the model ended it.
fn ended_by_itself(inquiry: &Inquiry) -> Option<u32> {
    let natural = inquiry.natural.as_ref()?;
    counted(natural).filter(|tokens| *tokens < TOKENS && !is_cut(natural))
}

/// Whether the server reports that the length ended the answer.
fn is_cut(answer: &Answer) -> bool {
    answer.finish_reason.as_deref() == Some("length")
}

fn ignore_eos(inquiry: &Inquiry, heard: &Heard) -> Finding {
    let id = (Section::Wishes, "ignore_eos");
    let Some(tokens) = heard.tokens() else {
        return Finding::unknown(id, "the server does not count its answers");
    };
    match ended_by_itself(inquiry) {
        Some(natural) => {
            let is_honored = is_cut(&heard.answer);
            let (grade, text, means) = match is_honored {
                true => (Grade::Good, "honored", "answers have the requested length"),
                false => (
                    Grade::Caution,
                    "not honored",
                    "answers end where the model ends them: lengths differ between runs",
                ),
            };
            Finding::known(id, grade, is_honored, text)
                .how(format!("{natural} tokens without it, {tokens} with it"))
                .means(means)
        }
        None => Finding::unknown(
            id,
            format!("can't tell: the model does not stop by itself within {TOKENS} tokens"),
        ),
    }
}

fn streaming(heard: &Heard) -> Finding {
    let id = (Section::Answers, "streaming");
    let answer = &heard.answer;
    let stamps = &answer.events.at_ns;
    let ms = |ns: u64| ns as f64 / 1e6;
    let (Some(&first), Some(&last)) = (stamps.first(), stamps.last()) else {
        return Finding::known(id, Grade::Caution, false, "no token in the stream")
            .how("a streamed answer was requested");
    };
    if !answer.streamed {
        return Finding::known(id, Grade::Caution, false, "the answer arrives whole")
            .how("a streamed answer was requested")
            .means("TTFT and ITL cannot be measured");
    }
    let ttft = ms(first.saturating_sub(heard.reply.start_ns));
    let events = stamps.len();
    let is_at_once = is_at_once(heard);
    let value = json!({"ttft_ms": ttft, "events": events, "at_once": is_at_once});
    if is_at_once {
        return Finding::known(
            id,
            Grade::Caution,
            value,
            format!("all {events} events arrive at once"),
        )
        .how(format!("after {ttft:.1} ms, in one read, and so did others before"))
        .means(
            "something buffers the stream: TTFT, ITL and TPOT are not the model's. HAProxy needs \
             `option http-no-delay`, nginx `proxy_buffering off`",
        );
    }
    let gap = ms(last - first) / (events.max(2) - 1) as f64;
    let text = format!("yes: first token after {ttft:.1} ms, then {gap:.2} ms apart");
    Finding::known(id, Grade::Good, value, text).how(format!("{events} events, one request alone"))
}

/// Whether a whole stream of some length arrived in one read.
fn is_at_once(heard: &Heard) -> bool {
    let stamps = &heard.answer.events.at_ns;
    stamps.len() >= EVENTS_MIN && stamps.first() == stamps.last()
}

fn usage(heard: &Heard) -> Finding {
    let id = (Section::Answers, "usage");
    let from = heard.answer.output_tokens.map(|counted| counted.from);
    let how = "stream_options.include_usage in a stream";
    match from {
        Some(CountSource::FinalUsage) => {
            Finding::known(id, Grade::Good, "final", "the server counts, at the end of a stream")
                .how(how)
        }
        Some(CountSource::ChunkUsage) => {
            Finding::known(id, Grade::Good, "chunks", "the server counts, in each event").how(how)
        }
        _ => Finding::known(id, Grade::Caution, "none", "the tokens of a stream are not counted")
            .how(how)
            .means("output tokens are estimated from events"),
    }
}

fn per_event(heard: &Heard) -> Finding {
    let id = (Section::Answers, "tokens_per_event");
    let events = heard.answer.events.len();
    let Some(tokens) = heard.tokens().filter(|_| events > 0) else {
        return Finding::unknown(id, "the server does not count its answers");
    };
    let share = f64::from(tokens) / events as f64;
    let how = format!(
        "{} in {}",
        words::counted(tokens.into(), "token"),
        words::counted(events as u64, "event")
    );
    let finding = match (share - 1.0).abs() <= 0.1 {
        true => Finding::known(id, Grade::Good, share, format!("{share:.2}")),
        false => Finding::known(id, Grade::Note, share, format!("{share:.2}")).means(
            "gaps between events are not gaps between tokens: IEL is reported instead of ITL",
        ),
    };
    finding.how(how)
}

/// Counts in each event, if a server supports them.
fn chunk_usage(inquiry: &mut Inquiry) -> Finding {
    let id = (Section::Answers, "usage_in_chunks");
    let Some(api @ (Api::Chat | Api::Completions)) = inquiry.api else {
        return Finding::unknown(id, "only chat and completions have it");
    };
    let prompt = Prompt::Text(SHORT_ANSWER.to_owned());
    let options = json!({"include_usage": true, "continuous_usage_stats": true});
    let fields = json!({"stream_options": options});
    let wish = Wish { api, prompt: &prompt, tokens: 8, stream: true, ignore_eos: false, fields };
    match inquiry.ask(&wish) {
        Err(why) => Finding::known(id, Grade::Note, false, "refused").how(why),
        Ok(heard) => {
            let from = heard.answer.output_tokens.map(|counted| counted.from);
            let how = "stream_options.continuous_usage_stats in a stream";
            match from {
                Some(CountSource::ChunkUsage) => {
                    Finding::known(id, Grade::Good, true, "if requested").how(how).means(
                        "--extra-body '{\"stream_options\": {\"include_usage\": true, \
                         \"continuous_usage_stats\": true}}' reports the tokens of each event",
                    )
                }
                _ => Finding::known(id, Grade::Good, false, "no").how(how),
            }
        }
    }
}

fn min_tokens(inquiry: &mut Inquiry) -> Option<Finding> {
    let id = (Section::Wishes, "min_tokens");
    let Some(natural) = ended_by_itself(inquiry) else {
        let why = format!("can't tell: the model does not stop by itself within {TOKENS} tokens");
        return Some(Finding::unknown(id, why));
    };
    let heard = inquiry.say(SHORT_ANSWER, TOKENS, false, json!({"min_tokens": TOKENS}));
    Some(match heard.map(|heard| heard.tokens()) {
        Err(why) => Finding::known(id, Grade::Note, false, "refused").how(why),
        Ok(None) => Finding::unknown(id, "the server does not count its answers"),
        Ok(Some(tokens)) => {
            let how = format!("{natural} tokens without it, {tokens} of {TOKENS} with it");
            match tokens >= TOKENS {
                true => Finding::known(id, Grade::Good, true, "honored").how(how),
                false => Finding::known(id, Grade::Note, false, "not honored").how(how),
            }
        }
    })
}
