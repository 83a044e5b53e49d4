//! Waiting until a server is ready and warm: it listens, calls itself well, lists its models, and has
//! answered a request with a token. When each happened is a result of its own.

use super::ask::Ask;
use ifm_core::spec::Api;
use ifm_core::{Outcome, Prompt, StartUp};
use ifm_probe::preflight::{Sending, exchange, one_token};
use ifm_probe::question::{Wish, template};
use ifm_probe::server::{self, Inspection};
use ifm_probe::traced_client::{Caller, Endpoint, Reply};
use ifm_wire::Expect;
use ifm_wire::request::Ask as RequestAsk;
use serde_json::Value;
use std::net::TcpStream;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// What the first request asks for.
const PROMPT: &str = "Reply with the single word OK.";
/// Tokens that it asks for.
const TOKENS: u32 = 8;
/// Longest wait for a small answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Shortest and longest time between two looks, and the share of the time so far: a time is known as
/// well as that.
const LOOK: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(250));
const LOOK_SHARE: f64 = 0.01;
/// The requests that are tried as the first one, in order: models without a template know no chat, and
/// strict servers know no `ignore_eos`.
const TRIES: [(Api, bool); 4] =
    [(Api::Chat, true), (Api::Completions, true), (Api::Chat, false), (Api::Completions, false)];

/// Why there is no ready server.
#[derive(Debug)]
pub enum Unready {
    /// Its process has ended, or the wait was canceled; the caller knows why.
    Over,
    /// The time is over; what it still did not do, as a clause after "it".
    Late(String),
    /// It answered with an error: a clause after "it".
    Broken(String),
}

/// A server on its way.
pub struct Wait<'wait> {
    /// What was asked.
    pub ask: &'wait Ask,
    /// Whom to ask.
    pub endpoint: Endpoint,
    /// When its process was started, monotonic nanoseconds.
    pub start_ns: u64,
    /// Whether to go on: false once its process has ended or the wait was canceled.
    pub goes_on: &'wait mut dyn FnMut() -> bool,
}

impl Wait<'_> {
    /// Waits until it is ready and warm. The times are those that were reached, also where it fails.
    ///
    /// # Errors
    /// Why it is not.
    pub fn until_warm(&mut self, start_up: &mut StartUp) -> Result<Inspection, Unready> {
        self.listening()?;
        start_up.listening_s = Some(self.since(ifm_sys::mono_ns()));
        let model = self.ready()?;
        start_up.ready_s = Some(self.since(ifm_sys::mono_ns()));
        let first_ns = self.first_token(&model)?;
        start_up.first_token_s = Some(self.since(first_ns));
        // Anything else that it reports about itself can wait, and must not delay the first
        // request.
        let Endpoint { url, authorization, headers, .. } = &self.endpoint;
        server::inspect(url, false, authorization.as_deref(), headers, Some(&model), PATIENCE)
            .map_err(|failure| Unready::Broken(format!("does not tell its model: {failure}")))
    }

    fn since(&self, at_ns: u64) -> f64 {
        at_ns.saturating_sub(self.start_ns) as f64 / 1e9
    }

    fn left(&self) -> Duration {
        let so_far = Duration::from_secs_f64(self.since(ifm_sys::mono_ns()));
        self.ask.ready_within.saturating_sub(so_far)
    }

    /// Rests until the next look.
    fn rest(&mut self, misses: impl FnOnce() -> String) -> Result<(), Unready> {
        if !(self.goes_on)() {
            return Err(Unready::Over);
        }
        if self.left().is_zero() {
            return Err(Unready::Late(misses()));
        }
        let so_far = Duration::from_secs_f64(self.since(ifm_sys::mono_ns()) * LOOK_SHARE);
        thread::sleep(so_far.clamp(LOOK.0, LOOK.1).min(self.left()));
        Ok(())
    }

    fn listening(&mut self) -> Result<(), Unready> {
        while TcpStream::connect_timeout(&self.endpoint.address, PATIENCE).is_err() {
            self.rest(|| "did not listen".to_owned())?;
        }
        Ok(())
    }

    /// Waits until it calls itself well and lists its models; the one to ask for.
    fn ready(&mut self) -> Result<String, Unready> {
        let mut caller = Caller::new(self.endpoint.clone());
        let models = format!("{}/models", self.endpoint.url.path());
        let mut listed = Value::Null;
        for path in self.ask.kind.health.into_iter().chain([models.as_str()]) {
            let is_optional = path == models && self.ask.model.is_some();
            loop {
                let reply = caller.get(path, &[], PATIENCE.min(self.left()));
                match reply.status() {
                    // A server without such a path may still answer.
                    Some(200..=299 | 404 | 405 | 501) => {
                        listed = serde_json::from_slice(&reply.body()).unwrap_or_default();
                        break;
                    }
                    // Requests of the load do not need the list. A server that is not up yet says so.
                    Some(status) if is_optional && !matches!(status, 429 | 502..=504) => break,
                    Some(401 | 403) => return Err(Unready::Broken(refusal(path, &reply))),
                    _ => self.rest(|| format!("did not get ready ({path}: {})", reply.fault()))?,
                }
            }
        }
        self.model_of(&listed)
            .ok_or_else(|| Unready::Broken("lists no model, and none was named".to_owned()))
    }

    /// The requested model in the list, or the one that the list contains under another name.
    fn model_of(&self, listed: &Value) -> Option<String> {
        let entries = listed.get("data").and_then(Value::as_array).into_iter().flatten();
        let ids: Vec<&str> = entries.filter_map(|entry| entry.get("id")?.as_str()).collect();
        let wanted = self.ask.model.as_deref();
        let is_wanted = |id: &&&str| {
            // Ollama adds a tag.
            let rest = wanted.and_then(|wanted| id.strip_prefix(wanted));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
        };
        let own = ids.first().filter(|_| !self.ask.kind.has_many_models);
        ids.iter().find(is_wanted).or(own).copied().or(wanted).map(str::to_owned)
    }

    /// Asks for a few tokens; when the first came. A server that compiles for its first request is
    /// given the whole time.
    fn first_token(&mut self, model: &str) -> Result<u64, Unready> {
        let mut faults: Vec<String> = Vec::new();
        let mut tries = TRIES.iter();
        let mut attempt = tries.next();
        while let Some((api, ignore_eos)) = attempt {
            let reply = self.send(model, *api, *ignore_eos)?;
            let answer = reply.answer(Expect { api: *api, keep_text: true, stream: true });
            let is_good = matches!(answer.outcome, Outcome::Ok | Outcome::OkFiltered);
            match (answer.events.at_ns.first(), reply.status()) {
                (Some(first_ns), _) if is_good => return Ok(*first_ns),
                // Not yet, it says.
                (_, Some(429 | 503)) => {
                    self.rest(|| format!("did not answer ({})", reply.fault()))?;
                    continue;
                }
                _ if reply.is_late() => {
                    return Err(Unready::Late("did not answer its first request".to_owned()));
                }
                (_, Some(200..=299)) if is_good => faults.push("an answer without a token".into()),
                _ => faults.push(answer.error.unwrap_or_else(|| reply.fault())),
            }
            // Its end may have come between.
            self.rest(String::new)?;
            attempt = tries.next();
        }
        faults.dedup();
        let fault = faults.into_iter().next().unwrap_or_default();
        Err(Unready::Broken(format!("is ready, but its first answer was an error: {fault}")))
    }

    /// Sends one request and watches the process meanwhile.
    fn send(&mut self, model: &str, api: Api, ignore_eos: bool) -> Result<Reply, Unready> {
        let prompt = Prompt::Text(PROMPT.to_owned());
        let fields = Value::Null;
        let wish = Wish { api, prompt: &prompt, tokens: TOKENS, stream: true, ignore_eos, fields };
        let broken = |why: String| Unready::Broken(format!("cannot be asked: {why}"));
        let template = template(&self.endpoint, model, &wish).map_err(broken)?;
        let expect = Expect { api, keep_text: true, stream: true };
        let (tell, told) = channel();
        let (endpoint, left) = (self.endpoint.clone(), self.left());
        thread::spawn(move || {
            let sending = Sending {
                template: &template,
                ask: &RequestAsk { output_tokens: Some(TOKENS), ..one_token(&prompt) },
                expect,
                limit: left,
                // How long it took to get ready is measured: nothing is waited out here.
                tries: 1,
                has_to_stay: &|name| name == "stream",
            };
            let exchange = exchange(&mut Caller::new(endpoint), &mut Vec::new(), &sending);
            // The receiver may have gone.
            let _ = tell.send(exchange.map(|exchange| exchange.reply));
        });
        loop {
            match told.recv_timeout(LOOK.1) {
                Ok(reply) => return reply.map_err(broken),
                Err(RecvTimeoutError::Timeout) if (self.goes_on)() => {}
                Err(_) => return Err(Unready::Over),
            }
        }
    }
}

fn refusal(path: &str, reply: &Reply) -> String {
    format!("does not let us in ({path}: {})", reply.fault())
}
