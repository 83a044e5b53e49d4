//! Requests to a server before a load: one way to send them, and one meaning for each kind of failure.
//!
//! A request is retried once if its connection was cut, the server was busy, or the server aborted its
//! answer. Fields that the server rejects are omitted, or sent under the name that the server expects, and
//! recorded: the load is sent in the same way. The time limits of the load apply.
//!
//! Not here: how a server's message is parsed (`ifm_wire::dialect::rejected_fields`), and what is
//! requested (`prompt_calibration`, `question`, and callers).

use crate::server;
use crate::traced_client::{Caller, Reply};
use ifm_core::manifest::RejectedField;
use ifm_core::{Outcome, Prompt};
use ifm_terminal::exit::Failure;
use ifm_terminal::streams as terminal;
use ifm_wire::dialect::{Rejection, is_overflow, rejected_fields};
use ifm_wire::request::Ask;
use ifm_wire::{Answer, Expect, RequestBytes, RequestTemplate};
use std::collections::BTreeMap;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Statuses that do not depend on the request.
const BUSY: [u16; 5] = [408, 429, 502, 503, 504];
/// Default pause before a retry to a busy server.
const BUSY_PAUSE: Duration = Duration::from_secs(1);
/// Maximum pause that the server may request.
const BUSY_PAUSE_MAX: Duration = Duration::from_secs(5);
/// Default number of tries of a request for each set of fields.
pub const TRIES: u32 = 2;
/// Maximum number of fields to omit, one after another.
const REJECTED_MAX: usize = 16;
/// Maximum wait for the first answer if no limit is given.
const FIRST_ANSWER_TIME: Duration = Duration::from_secs(30);
/// Time after which the program reports what it is waiting for.
const SILENCE: Duration = Duration::from_secs(5);
/// The flag that adds fields.
pub const EXTRA_BODY: &str = "--extra-body";
/// Prompt of a request that only shows whether the server answers.
const PROMPT: &str = "Say one word.";

/// The response.
pub struct Exchange {
    /// As received.
    pub reply: Reply,
    /// As parsed by a run.
    pub answer: Answer,
    /// Fields that the server rejects and that had to stay.
    pub kept: Vec<Rejection>,
}

/// A request that uses what earlier ones showed.
pub struct Sending<'sending> {
    /// Its fields, before any was omitted.
    pub template: &'sending RequestTemplate,
    /// Its content.
    pub ask: &'sending Ask<'sending>,
    /// How to parse the answer.
    pub expect: Expect,
    /// Time limit for all tries.
    pub limit: Duration,
    /// Tries after a cut connection or a busy server, for each set of fields.
    pub tries: u32,
    /// Whether a field of this name has to stay although the server rejects it.
    pub has_to_stay: &'sending dyn Fn(&str) -> bool,
}

/// Sends a request until it is answered, or fails for a permanent reason. Adds the rejected fields to
/// `rejected`.
///
/// # Errors
/// The part of the request that cannot be sent.
pub fn exchange(
    caller: &mut Caller,
    rejected: &mut Vec<RejectedField>,
    sending: &Sending<'_>,
) -> Result<Exchange, String> {
    let until = Instant::now() + sending.limit;
    loop {
        let left_out = rejected.iter().filter(|known| !(sending.has_to_stay)(&known.field));
        let left_out: Vec<RejectedField> = left_out.cloned().collect();
        let template = sending.template.clone().without_rejected(&left_out);
        let mut bytes = RequestBytes::default();
        template.write(sending.ask, &mut bytes).map_err(|error| error.to_string())?;
        let reply = send(caller, &bytes.to_vec(), sending, until);
        let answer = reply.answer(sending.expect);
        let mut exchange = Exchange { reply, answer, kept: Vec::new() };
        let Some(status @ (400 | 422)) = exchange.reply.status() else { return Ok(exchange) };
        let fields = template.removable_fields();
        let body = exchange.reply.body();
        let before = rejected.len();
        for one in rejected_fields(&body, &fields) {
            let field = fields.iter().find(|field| field.name == one.field);
            let replaced_by = match field {
                Some(field) if field.is_length => {
                    let names: Vec<&str> = template.other_length_names().collect();
                    let tried = |name: &str| rejected.iter().any(|known| known.field == name);
                    let told = one.replacement.clone().filter(|name| !tried(name));
                    told.or(names.into_iter().find(|name| !tried(name)).map(str::to_owned))
                }
                _ => None,
            };
            let stays = field.is_none_or(|field| {
                (sending.has_to_stay)(&field.name) || (field.is_length && replaced_by.is_none())
            });
            match stays || rejected.len() >= REJECTED_MAX {
                true => exchange.kept.push(one),
                false => rejected.push(RejectedField {
                    field: one.field,
                    replaced_by,
                    status,
                    message: caller.endpoint().secrets.blot(&one.message).into_owned(),
                }),
            }
        }
        if rejected.len() == before || !exchange.kept.is_empty() {
            return Ok(exchange);
        }
    }
}

/// Sends a request, and retries once if the connection was cut, the server was busy, or it aborted its
/// answer.
fn send(caller: &mut Caller, request: &[u8], sending: &Sending<'_>, until: Instant) -> Reply {
    let mut tries = 1;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let reply = caller.ask(request, sending.expect, left);
        let is_busy = reply.status().is_some_and(|status| BUSY.contains(&status));
        let has_failed = || reply.answer(sending.expect).outcome == Outcome::InBandError;
        let is_passing = is_busy || reply.is_cut() || has_failed();
        if tries >= sending.tries || reply.is_late() || !is_passing {
            return reply;
        }
        if is_busy {
            let told = reply.header("retry-after").and_then(|text| text.parse().ok());
            let pause = told.map_or(BUSY_PAUSE, Duration::from_secs).min(BUSY_PAUSE_MAX);
            if Instant::now() + pause >= until {
                return reply;
            }
            std::thread::sleep(pause);
        }
        tries += 1;
    }
}

/// Why a request before a load has no valid answer.
#[derive(Debug)]
pub enum Fault {
    /// The load must not start.
    Stop(Box<Failure>),
    /// The server refuses the request for its length, with this status.
    TooLong(u16, String),
    /// The server refuses the request for another reason, with this status.
    Refused(u16, String),
    /// Anything else: time, connection, load of the server.
    Failed(String),
}

/// Which parts of a request the user chose, and the effect of a rejection of the rest.
#[derive(Debug, Clone, Default)]
pub struct FieldRules {
    /// Fields that the user set, each with the flag.
    pub set_by: BTreeMap<String, String>,
    /// Whether any rejection ends the run: `--strict`.
    pub is_strict: bool,
    /// Whether to stay silent during a long wait.
    pub is_quiet: bool,
}

/// Sends the requests before a load.
pub struct Preflight {
    caller: Caller,
    template: RequestTemplate,
    expect: Expect,
    rules: FieldRules,
    rejected: Vec<RejectedField>,
    has_asked: bool,
    has_answer: bool,
}

impl Preflight {
    /// Sends nothing yet. `template` writes the requests as for the load.
    pub fn new(
        caller: Caller,
        template: RequestTemplate,
        expect: Expect,
        rules: FieldRules,
    ) -> Preflight {
        let rejected = Vec::new();
        Preflight { caller, template, expect, rules, rejected, has_asked: false, has_answer: false }
    }

    /// For requests other than for answers.
    pub fn caller(&mut self) -> &mut Caller {
        &mut self.caller
    }

    /// Whether any request was sent.
    pub fn has_asked(&self) -> bool {
        self.has_asked
    }

    /// Whether the server has answered a request, even with an error about the request.
    pub fn has_answer(&self) -> bool {
        self.has_answer
    }

    /// What the server has rejected so far.
    pub fn rejected(&self) -> &[RejectedField] {
        &self.rejected
    }

    /// Sends a request and waits for its answer. The first answer may take as long as the first token of
    /// the load: many servers load the model for it.
    ///
    /// # Errors
    /// Why there is no valid answer.
    pub fn ask(&mut self, ask: &Ask<'_>, limit: Duration) -> Result<Exchange, Fault> {
        let limit = match self.has_answer {
            true => limit,
            false => limit.max(self.first_answer_time()),
        };
        self.has_asked = true;
        let notice = self.notice();
        let (is_strict, set_by) = (self.rules.is_strict, &self.rules.set_by);
        let has_to_stay = |name: &str| is_strict || name == "stream" || set_by.contains_key(name);
        let sending = Sending {
            template: &self.template,
            ask,
            expect: self.expect,
            limit,
            tries: TRIES,
            has_to_stay: &has_to_stay,
        };
        let exchange = exchange(&mut self.caller, &mut self.rejected, &sending);
        drop(notice);
        let exchange = exchange.map_err(Fault::Failed)?;
        let status = exchange.reply.status();
        self.has_answer |= status.is_some_and(|status| status < 500 && !BUSY.contains(&status))
            && !exchange.reply.is_late();
        self.judge(exchange, status)
    }

    /// Requests one token, to learn whether the server accepts the requests of the load.
    ///
    /// # Errors
    /// Why there is no valid answer.
    pub fn ask_once(&mut self) -> Result<Exchange, Fault> {
        let prompt = Prompt::Text(PROMPT.to_owned());
        self.ask(&one_token(&prompt), FIRST_ANSWER_TIME)
    }

    fn judge(&self, exchange: Exchange, status: Option<u16>) -> Result<Exchange, Fault> {
        if let (Some(rejection), Some(status)) = (exchange.kept.first(), status) {
            return Err(Fault::Stop(Box::new(self.field_failure(rejection, status))));
        }
        let reply = &exchange.reply;
        let why = match (&exchange.answer.error, reply.is_success()) {
            (None, true) => return Ok(exchange),
            (Some(error), true) => error.clone(),
            (_, false) => reply.fault(),
        };
        let Some(status) = status.filter(|_| !reply.is_late() && !reply.is_cut()) else {
            return Err(Fault::Failed(why));
        };
        let is_overflow = is_overflow(&reply.body());
        Err(match status {
            401 | 403 => {
                let endpoint = self.caller.endpoint();
                let has_key = endpoint.authorization.is_some();
                Fault::Stop(Box::new(server::refused(&endpoint.url, has_key, status, &why)))
            }
            413 => Fault::TooLong(status, why),
            200 | 400 | 422 | 500 if is_overflow => Fault::TooLong(status, why),
            200..=299 | 400..=501 if !BUSY.contains(&status) => Fault::Refused(status, why),
            _ => Fault::Failed(why),
        })
    }

    /// Why there is no run with a field that the server rejects.
    fn field_failure(&self, rejection: &Rejection, status: u16) -> Failure {
        let Rejection { field, message, .. } = rejection;
        let message = self.caller.endpoint().secrets.blot(message);
        let told = format!("HTTP {status}: {message}");
        if let Some(flag) = self.rules.set_by.get(field) {
            return Failure::server(format!(
                "the server rejects the field \"{field}\", which {flag} sets ({told})"
            ))
            .hint(match way_without(field).filter(|_| flag != EXTRA_BODY) {
                Some(way) => format!("run with {way} to send none"),
                None => format!("remove \"{field}\" from {flag}"),
            });
        }
        if field == "stream" {
            return Failure::server(format!("the server rejects the field \"stream\" ({told})"))
                .hint("run with --no-stream to measure whole answers");
        }
        if self.rules.is_strict {
            return Failure::server(format!(
                "--strict: the server rejects the field \"{field}\" ({told})"
            ))
            .hint(match way_without(field) {
                Some(way) => format!("run without --strict, or with {way}"),
                None => "run without --strict to leave the field out".to_owned(),
            });
        }
        Failure::server(format!(
            "the server rejects the field \"{field}\", and no other name for it is known ({told})"
        ))
        .hint("name the field of the output length with --extra-body '{\"NAME\": N}'")
    }

    /// The time limit for the first answer.
    fn first_answer_time(&self) -> Duration {
        let limits = self.caller.limits();
        limits.first_token.or(limits.total).unwrap_or(FIRST_ANSWER_TIME)
    }

    /// Reports what the program is waiting for, unless the answer arrives soon.
    fn notice(&self) -> Option<std::sync::mpsc::Sender<()>> {
        if self.has_answer || self.rules.is_quiet {
            return None;
        }
        let (url, limit) = (self.caller.endpoint().url.to_string(), self.first_answer_time());
        let (sender, receiver) = channel::<()>();
        std::thread::spawn(move || {
            if receiver.recv_timeout(SILENCE) == Err(RecvTimeoutError::Timeout) {
                terminal::tell(&format!(
                    "waiting up to {} s for the first answer of {url} (--first-token-timeout)",
                    limit.as_secs()
                ));
            }
        });
        Some(sender)
    }
}

/// How a user omits a field manually.
fn way_without(field: &str) -> Option<&'static str> {
    Some(match field {
        "ignore_eos" => "--ignore-eos=false",
        "temperature" => "--temperature none",
        "stream_options" => "--extra-body '{\"stream_options\": null}'",
        "max_tokens" => "--extra-body '{\"max_tokens\": null, \"max_completion_tokens\": N}'",
        _ => return None,
    })
}

/// A request for one token.
pub fn one_token(prompt: &Prompt) -> Ask<'_> {
    Ask {
        prompt,
        said: &[],
        said_media: &[],
        output_tokens: Some(1),
        fields: None,
        number: None,
        session: None,
    }
}

#[cfg(test)]
mod tests;
