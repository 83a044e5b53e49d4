//! Requests to a server before a load: one way to send them, and one meaning for each way in which they
//! fail.
//!
//! A request is sent once more when its connection was cut, the server was busy, or the server gave up its
//! answer. Fields that the server rejects are left out, or sent by the name that the server wants, and
//! noted: the load is sent likewise. The time limits of the load hold.
//!
//! Not here: how words of a server are read (`ifm_wire::dialect::rejected_fields`), and what is asked
//! (`calibration`, `session::pairing`, `probe`, `engine`).

use crate::caller::{Caller, Reply};
use crate::exit::Failure;
use crate::server;
use crate::terminal;
use ifm_core::manifest::RejectedField;
use ifm_core::{Outcome, Prompt};
use ifm_wire::dialect::{Rejection, is_overflow, rejected_fields};
use ifm_wire::request::Ask;
use ifm_wire::{Answer, Expect, RequestBytes, RequestTemplate};
use std::collections::BTreeMap;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Statuses that say nothing about the request.
const BUSY: [u16; 5] = [408, 429, 502, 503, 504];
/// Pause before a busy server is asked again, unless it says how long.
const BUSY_PAUSE: Duration = Duration::from_secs(1);
/// Longest pause that it may ask for.
const BUSY_PAUSE_MAX: Duration = Duration::from_secs(5);
/// Usual tries of one request for each set of fields.
pub const TRIES: u32 = 2;
/// Most fields that are left out, one after another.
const REJECTED_MAX: usize = 16;
/// Longest wait for the first answer where no limit is given.
const FIRST_ANSWER_TIME: Duration = Duration::from_secs(30);
/// Time after which the user learns what the program waits for.
const SILENCE: Duration = Duration::from_secs(5);
/// The flag that adds fields.
pub const EXTRA_BODY: &str = "--extra-body";
/// Prompt of a request that only shows whether the server answers.
const PROMPT: &str = "Say one word.";

/// What came back.
pub struct Exchange {
    /// As it came.
    pub reply: Reply,
    /// As a run reads it.
    pub answer: Answer,
    /// Fields that the server rejects and that had to stay.
    pub kept: Vec<Rejection>,
}

/// A request that is sent with what was learned before.
pub struct Sending<'sending> {
    /// Its fields, before any was left out.
    pub template: &'sending RequestTemplate,
    /// What it asks.
    pub ask: &'sending Ask<'sending>,
    /// What the answer is read as.
    pub expect: Expect,
    /// Longest time for all tries.
    pub limit: Duration,
    /// Tries where the connection is cut or the server is busy, for each set of fields.
    pub tries: u32,
    /// Whether a field of this name has to stay although the server rejects it.
    pub has_to_stay: &'sending dyn Fn(&str) -> bool,
}

/// Sends a request until it is answered, or fails for a reason that another try does not change. Adds to
/// `rejected` what the server rejects.
///
/// # Errors
/// What of the request cannot be sent.
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

/// Sends a request, and once more where the connection was cut, the server was busy, or it gave up its
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

/// Why a request before a load has no good answer.
#[derive(Debug)]
pub enum Fault {
    /// There must be no load.
    Stop(Box<Failure>),
    /// The server refuses the request for its length, with this status.
    TooLong(u16, String),
    /// The server refuses the request for another reason, with this status.
    Refused(u16, String),
    /// Anything else: time, connection, load of the server.
    Failed(String),
}

/// What of a request the user chose, and what a rejection of the rest means.
#[derive(Debug, Clone, Default)]
pub struct FieldRules {
    /// Fields that the user set, each with the flag.
    pub set_by: BTreeMap<String, String>,
    /// Whether any rejection ends the run: `--strict`.
    pub is_strict: bool,
    /// Whether nothing is said of a long wait.
    pub is_quiet: bool,
}

/// Sends the requests of one load that go before it.
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
    /// Nothing is asked yet. `template` writes the requests as those of the load.
    pub fn new(
        caller: Caller,
        template: RequestTemplate,
        expect: Expect,
        rules: FieldRules,
    ) -> Preflight {
        let rejected = Vec::new();
        Preflight { caller, template, expect, rules, rejected, has_asked: false, has_answer: false }
    }

    /// Asks for other things than answers.
    pub fn caller(&mut self) -> &mut Caller {
        &mut self.caller
    }

    /// Whether any request was sent.
    pub fn has_asked(&self) -> bool {
        self.has_asked
    }

    /// Whether the server has answered a request, if only with an error of the request.
    pub fn has_answer(&self) -> bool {
        self.has_answer
    }

    /// What the server rejected so far.
    pub fn rejected(&self) -> &[RejectedField] {
        &self.rejected
    }

    /// Sends a request and waits for its answer. The first answer may take as long as the first token of
    /// the load: many servers load the model for it.
    ///
    /// # Errors
    /// Why there is no good answer.
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

    /// Asks for one token, to learn whether the server takes the requests of the load.
    ///
    /// # Errors
    /// Why there is no good answer.
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
        .hint("name the field that holds the output length with --extra-body '{\"NAME\": N}'")
    }

    /// The longest wait for the first answer.
    fn first_answer_time(&self) -> Duration {
        let limits = self.caller.limits();
        limits.first_token.or(limits.total).unwrap_or(FIRST_ANSWER_TIME)
    }

    /// Says what is waited for, unless the answer comes soon.
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

/// How a user leaves a field out by himself.
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
