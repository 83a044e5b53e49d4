//! What a server counts for a medium if it does not report that: two requests for one token, the
//! same prompt with the medium and without it.
//!
//! The server then knows media that are not created anew for each prompt, and they count as seen.
//!
//! Not here: which requests have these tokens (`ifm-session`), how answers are parsed (`ifm-wire`).

use crate::exit::Failure;
use crate::job::Job;
use crate::terminal;
use ifm_core::manifest::MediaPair;
use ifm_core::{Carried, Medium, MediumKind, Message, Placed, Prompt, Role};
use ifm_probe::preflight::{Fault, Preflight, one_token};
use ifm_session::media_token_estimate::{Shape, shape};
use ifm_wire::{Answer, RequestTemplate};
use ifm_workload::{Dataset, FAR_ITEM};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Maximum number of sizes to measure.
const PAIRS_MAX: usize = 6;
/// Number of items to search for them.
const ITEMS_MAX: u32 = 24;
/// Number of items that show whether a workload has media at all.
const FIRST_ITEMS: u32 = 3;
/// Time limit for everything.
const TIME_MAX: Duration = Duration::from_secs(60);
/// The text next to the medium.
const TEXT: &str = "Describe it.";

/// What to measure.
struct PairsAsk<'ask> {
    /// Whether to measure all sizes even if the server reports them: a context is limited.
    wants_all: bool,
    /// Source of the media.
    dataset: &'ask dyn Dataset,
}

/// The result.
#[derive(Default)]
pub(super) struct Paired {
    pub pairs: Vec<MediaPair>,
    /// Tokens that the server itself reported for one medium of each shape.
    pub told: Vec<(Shape, u32)>,
    /// The media that the server has received meanwhile.
    pub had: Vec<[u8; 32]>,
}

/// The media of a workload that represent all of their size, at most a few.
fn samples(dataset: &dyn Dataset) -> Vec<Arc<Medium>> {
    let media_of = |number| {
        let item = dataset.item(number).ok()?;
        let media = item.turns.iter().flat_map(|turn| turn.prompt.media().cloned());
        Some(media.collect::<Vec<_>>())
    };
    if !(0..FIRST_ITEMS).filter_map(media_of).any(|media| !media.is_empty()) {
        return Vec::new();
    }
    let mut found: Vec<Arc<Medium>> = Vec::new();
    for number in 0..ITEMS_MAX {
        // Far from the items that a run sends: media that are created for each item are new to the
        // server when they are measured. A file that ends has no items so far away.
        let media = media_of(FAR_ITEM + number).or_else(|| media_of(number));
        for medium in media.into_iter().flatten() {
            let is_known = found.iter().any(|other| shape(other) == shape(&medium));
            if !is_known && found.len() < PAIRS_MAX && medium.carried != Carried::Name {
                found.push(medium);
            }
        }
        if found.len() == PAIRS_MAX {
            break;
        }
    }
    found
}

/// The pairs of a job, as reported and stored. None for a simulation.
///
/// # Errors
/// A medium that the server refuses while it answers without it: it would also refuse the load.
pub(super) fn of_job(job: &Job, template: &RequestTemplate) -> Result<Paired, Failure> {
    let (None, Some(mut preflight)) = (&job.deployed, job.preflight(template.clone())) else {
        return Ok(Paired::default());
    };
    let dataset = &*job.dataset;
    let wants_all = job.spec.workload.max_context_tokens.is_some();
    let found = measure(&mut preflight, &PairsAsk { wants_all, dataset })?;
    if !job.quiet {
        found.pairs.iter().for_each(|pair| terminal::say(&sentence(pair)));
    }
    Ok(found)
}

fn sentence(pair: &MediaPair) -> String {
    let size = size(pair.width.zip(pair.height), pair.frames, pair.duration_ns);
    format!(
        "{} tokens by the server's count for {} {size}: {} with it, {} without it",
        pair.tokens().map_or_else(|| "no".to_owned(), |tokens| tokens.to_string()),
        pair.kind,
        pair.tokens_with,
        pair.tokens_without
    )
}

/// The size or duration of a medium.
fn size(size: Option<(u32, u32)>, frames: Option<u32>, duration_ns: Option<u64>) -> String {
    match (size, frames, duration_ns) {
        (Some((width, height)), Some(frames), _) => format!("{frames} frames of {width}x{height}"),
        (Some((width, height)), ..) => format!("{width}x{height}"),
        (.., Some(ns)) => format!("{:.1} s", ns as f64 / 1e9),
        _ => "of its kind".to_owned(),
    }
}

/// Measures the pairs of a workload. None if it has no media, if the server itself reports their
/// tokens, or if it counts no prompts. The failure of a request ends the measurement.
///
/// # Errors
/// The server's message about a refused medium, if it answers the same prompt without it.
fn measure(preflight: &mut Preflight, ask: &PairsAsk<'_>) -> Result<Paired, Failure> {
    let until = Instant::now() + TIME_MAX;
    let mut found = Paired::default();
    let mut without = None;
    for medium in samples(ask.dataset) {
        if shape(&medium) == (medium.kind, None, None, None) {
            // It would be unknown which others are similar to it.
            continue;
        }
        let with = match answer(preflight, Some(&medium), until) {
            Asked::Answered(answer) => *answer,
            Asked::Refused(why) if answer(preflight, None, until).answered().is_some() => {
                return Err(Failure::server(format!(
                    "the server refuses {} {} of the workload, and answers the same prompt without \
                     it: {why}",
                    medium.kind.word(),
                    size(medium.size, medium.frames, medium.duration_ns)
                ))
                .hint("choose a model that accepts it, or a workload without it"));
            }
            Asked::Stopped(failure) => return Err(*failure),
            Asked::Refused(_) | Asked::Failed => break,
        };
        found.had.push(medium.sha256);
        let kinds = with.usage.prompt_kinds;
        let told = match medium.kind {
            MediumKind::Image => kinds.image,
            MediumKind::Audio => kinds.audio,
            MediumKind::Video => kinds.video,
        };
        if let Some(told) = told {
            found.told.push((shape(&medium), told));
            match ask.wants_all {
                true => continue,
                false => break,
            }
        }
        if without.is_none() {
            let answer = answer(preflight, None, until).answered();
            without = answer.and_then(|answer| counted(&answer));
        }
        let (Some(with), Some(without)) = (counted(&with), without) else { break };
        found.pairs.push(MediaPair {
            kind: medium.kind.word().to_owned(),
            width: medium.size.map(|size| size.0),
            height: medium.size.map(|size| size.1),
            frames: medium.frames,
            duration_ns: medium.duration_ns,
            sha256: medium.sha256.iter().map(|byte| format!("{byte:02x}")).collect(),
            tokens_with: with,
            tokens_without: without,
        });
    }
    Ok(found)
}

/// The result of a request.
enum Asked {
    Answered(Box<Answer>),
    /// The server refuses it, with this message.
    Refused(String),
    /// Anything else: no time, no connection, too many requests.
    Failed,
    /// The load must not start.
    Stopped(Box<Failure>),
}

impl Asked {
    fn answered(self) -> Option<Answer> {
        match self {
            Asked::Answered(answer) => Some(*answer),
            Asked::Refused(_) | Asked::Failed | Asked::Stopped(_) => None,
        }
    }
}

fn counted(answer: &Answer) -> Option<u32> {
    answer.prompt_tokens.filter(|counted| !counted.from.is_estimate()).map(|it| it.tokens)
}

fn answer(preflight: &mut Preflight, medium: Option<&Arc<Medium>>, until: Instant) -> Asked {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Asked::Failed;
    }
    let mut message = Message::text(Role::User, TEXT);
    message.media.extend(medium.map(|medium| Placed { at: 0, medium: medium.clone() }));
    let prompt = Prompt::Messages(vec![message]);
    match preflight.ask(&one_token(&prompt), left) {
        Ok(exchange) => Asked::Answered(Box::new(exchange.answer)),
        // llama.cpp returns 500 for a model without images.
        Err(Fault::TooLong(_, why) | Fault::Refused(_, why)) => Asked::Refused(why),
        Err(Fault::Failed(_)) => Asked::Failed,
        Err(Fault::Stop(failure)) => Asked::Stopped(failure),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_probe::testing::{Said, preflight, server};
    use ifm_workload::{Turn, WorkItem, WorkloadError};
    use serde_json::json;
    use std::sync::Mutex;

    /// Items with one image each, of two sizes.
    struct Images(u32);

    impl Dataset for Images {
        fn item(&self, id: u32) -> Result<WorkItem, WorkloadError> {
            let width = 100 * (1 + id % 2);
            let mut message = Message::text(Role::User, "a prompt of the run");
            let medium = Medium {
                kind: MediumKind::Image,
                mime: "image/png".to_owned(),
                sha256: [id as u8; 32],
                size: Some((width, 50)),
                frames: None,
                duration_ns: None,
                file_bytes: None,
                uuid: None,
                detail: None,
                carried: Carried::Base64(vec![b'A'; width as usize].into()),
            };
            message.media.push(Placed { at: 0, medium: Arc::new(medium) });
            let turn = Turn::new(Prompt::Messages(vec![message]));
            match id < self.0 {
                true => Ok(WorkItem::new(id, vec![turn])),
                false => Err(WorkloadError::Exhausted { items: u64::from(self.0) }),
            }
        }

        fn distinct_items(&self) -> u64 {
            u64::from(self.0)
        }
    }

    /// What is measured against a server that counts a token for each byte of an address, and how
    /// many requests it received.
    fn measured(items: u32, reports: bool, wants_all: bool) -> (Paired, usize) {
        let asked_for = Arc::new(Mutex::new(0));
        let count = asked_for.clone();
        let endpoint = server(move |asked| {
            *count.lock().unwrap() += 1;
            assert_eq!(asked.body["max_tokens"], 1);
            let content = &asked.body["messages"][0]["content"];
            let url = content[0]["image_url"]["url"].as_str().unwrap_or_default();
            assert!(!content.to_string().contains("a prompt of the run"));
            let mut usage = json!({"prompt_tokens": 12 + url.len(), "completion_tokens": 1});
            if reports && !url.is_empty() {
                usage["prompt_tokens_details"] = json!({"multimodal_tokens": {"image": 7}});
            }
            let choice = json!({"index": 0, "message": {"role": "assistant", "content": "a"},
                "finish_reason": "length"});
            Said::Json(200, json!({"choices": [choice], "usage": usage}))
        });
        let ask = PairsAsk { wants_all, dataset: &Images(items) };
        let found = measure(&mut preflight(endpoint), &ask).expect("nothing is refused");
        let count = *asked_for.lock().unwrap();
        (found, count)
    }

    #[test]
    fn what_is_refused_beside_a_prompt_that_is_answered_is_told() {
        let refusal = |refuses_all: bool| {
            let endpoint = server(move |asked| {
                let has_image = asked.body["messages"][0]["content"].is_array();
                if has_image || refuses_all {
                    let error = json!({"message": "m is not a multimodal model"});
                    return Said::Json(400, json!({"error": error}));
                }
                let choice = json!({"index": 0, "message": {"role": "assistant", "content": "a"},
                    "finish_reason": "length"});
                let usage = json!({"prompt_tokens": 12, "completion_tokens": 1});
                Said::Json(200, json!({"choices": [choice], "usage": usage}))
            });
            let ask = PairsAsk { wants_all: false, dataset: &Images(4) };
            let refusal = measure(&mut preflight(endpoint), &ask).err();
            refusal.map(|failure| failure.sentence().to_owned())
        };
        let told = refusal(false).expect("the image is refused");
        assert!(told.starts_with("the server refuses image 100x50 of the workload"), "{told}");
        assert!(told.ends_with("m is not a multimodal model"), "{told}");
        // The image is not the problem: the run will show it.
        assert_eq!(refusal(true), None);
    }

    #[test]
    fn each_size_is_asked_about_once_and_what_is_told_is_not_asked() {
        let (Paired { pairs, had, told }, asked) = measured(4, false, false);
        assert_eq!(told, []);
        let url = "data:image/png;base64,".len() as u32;
        let found: Vec<_> = pairs.iter().map(|it| (it.width, it.tokens())).collect();
        assert_eq!(found, [(Some(100), Some(url + 100)), (Some(200), Some(url + 200))]);
        assert_eq!((asked, pairs[0].tokens_without), (3, 12));
        assert_eq!(had, [[0; 32], [1; 32]]);
        // The server has already received the medium whose tokens it reported.
        let (told, asked) = measured(4, true, false);
        assert_eq!((told.pairs, told.had, asked), (Vec::new(), vec![[0; 32]], 1));
        let (told, asked) = measured(4, true, true);
        let tokens: Vec<_> =
            told.told.iter().map(|((_, size, ..), tokens)| (*size, *tokens)).collect();
        assert_eq!(tokens, [(Some((100, 50)), 7), (Some((200, 50)), 7)]);
        assert_eq!((told.pairs, asked), (Vec::new(), 2));
        let (none, asked) = measured(0, false, false);
        assert_eq!((none.had.len(), asked), (0, 0));
    }
}
