//! How an exchange ended: the outcome, and a sentence where it is not ok.

use super::bounds::TOO_LARGE;
use super::facts::{BLANK_CHARS_MAX, Facts};
use super::{Body, EndCause, ExchangeDecoder};
use crate::dialect;
use ifm_core::outcome::Outcome;
use ifm_core::spec::Api;

impl ExchangeDecoder {
    /// The outcome, and a sentence where it is not ok. `says_length`: the response's own framing
    /// told where it ends.
    pub(super) fn judge(&self, cause: EndCause, says_length: bool) -> (Outcome, Option<String>) {
        let facts = &self.facts;
        if let Some(head) = self.reader.head()
            && !head.is_success()
        {
            let mut sentence = match &head.content_encoding {
                Some(coding) => format!("the explanation is encoded as {coding:.40}"),
                None => dialect::error_sentence(&self.document),
            };
            if let Some(place) = &head.location {
                sentence = format!("redirected to {place:.100}; give that URL instead");
            }
            let error = format!("HTTP {}: {sentence}", head.status);
            return (Outcome::HttpError, Some(error));
        }
        let given_up = || {
            let reason = facts.given_up.as_deref()?;
            Some(format!("the server ended the answer with the finish reason \"{reason}\""))
        };
        if let Some(error) = facts.error.clone().or_else(given_up) {
            return (Outcome::InBandError, Some(error));
        }
        if let Some(error) = &self.http_error {
            return (Outcome::TransportError, Some(error.to_string()));
        }
        let ended = match self.body {
            Body::Document => facts.document_ended,
            Body::Sound => self.reader.is_complete() && says_length && !facts.at_ns.is_empty(),
            _ => facts.is_complete(self.reader.is_complete(), says_length),
        };
        let is_over = ended || matches!(cause, EndCause::Complete | EndCause::Closed);
        if is_over && let Some(failure) = self.unanswered(ended) {
            return failure;
        }
        if ended {
            let refused = facts.filtered;
            return (if refused { Outcome::OkFiltered } else { Outcome::Ok }, None);
        }
        match cause {
            EndCause::TimedOut(kind) => (Outcome::Timeout(kind), None),
            EndCause::Cancelled => (Outcome::Cancelled, None),
            EndCause::Broken(error) => (Outcome::TransportError, Some(error)),
            // Only where a bound was not named before, which a refusal does.
            EndCause::Refused => (Outcome::InBandError, Some(TOO_LARGE.to_owned())),
            EndCause::Complete | EndCause::Closed => (Outcome::Truncated, Some(self.truncation())),
        }
    }

    /// The failure of a response that is over and says instead of an answer, or next to a part of
    /// one, what went wrong; or that has an end and nothing before it.
    fn unanswered(&self, ended: bool) -> Option<(Outcome, Option<String>)> {
        if matches!(self.body, Body::Document | Body::Sound) {
            return None;
        }
        let facts = &self.facts;
        let fails = |words: String| Some((Outcome::InBandError, Some(words)));
        if !facts.all_finished()
            && let Some(words) = facts.sentence.clone().or_else(|| self.stray_words())
        {
            return fails(words);
        }
        match ended && !facts.has_answer() {
            false => None,
            true if facts.blank.is_empty() => {
                let said = "the stream holds no choice, no text and no count before its end mark";
                Some((Outcome::Truncated, Some(said.to_owned())))
            }
            true => fails(none_of_api(facts.expect.api, &facts.blank)),
        }
    }

    /// Text in a stream outside of its events: a page of a proxy, a sentence.
    fn stray_words(&self) -> Option<String> {
        let words = dialect::error_sentence(self.events.stray());
        (self.body == Body::Events && !words.is_empty()).then_some(words)
    }

    fn truncation(&self) -> String {
        let Facts { results, results_asked, expect, at_ns, .. } = &self.facts;
        match (self.body, at_ns.len()) {
            (Body::Document, _) => match (results, results_asked) {
                (Some(0), None) => "the answer holds no results".to_owned(),
                (Some(results), Some(asked)) => {
                    format!("the answer holds {results} results instead of {asked}")
                }
                _ if expect.stream => {
                    "the answer came whole, not as a stream, and has no finish reason".to_owned()
                }
                _ => "the answer has no text and no finish reason".to_owned(),
            },
            (Body::Sound, 0) => "the answer holds no sound".to_owned(),
            (Body::Sound, _) => {
                "the connection closed, and nothing says that the sound was whole".to_owned()
            }
            (_, events) => format!(
                "the stream ended after {events} token events without a finish reason or an end \
                 mark"
            ),
        }
    }
}

/// The sentence for a payload in which the API finds nothing.
pub(super) fn none_of_api(api: Api, payload: &str) -> String {
    let beginning: String = payload.chars().take(BLANK_CHARS_MAX).collect();
    let beginning = dialect::bounded_sentence(&beginning);
    format!("the answer is none of the API \"{}\": {beginning}", api.word())
}
