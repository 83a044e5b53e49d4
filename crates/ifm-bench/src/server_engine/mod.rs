//! A server as an engine: batches of requests that begin together, with prompts that it has never seen,
//! timed by the server where it reports times and by the client elsewhere.
//!
//! Not here: a queue and users (`inferometer run`), the course of the repeats (`ifm-bench`).

mod asker;
mod batch;
mod overhead;
mod prompts;
mod repeat;
mod together;
mod told;

#[cfg(test)]
mod tests;

use crate::engine::{About, Case, Engine, Repeat, ServerEngine, Setup, Trouble};
use crate::program::Limits;
use asker::Asker;
use batch::Sent;
use ifm_core::Prompt;
use ifm_probe::server::{Inspection, PATIENCE, inspect};
use ifm_probe::traced_client::{Caller, Endpoint};
use overhead::Overhead;
use prompts::Prompts;
use repeat::Seen;
use std::time::Duration;
use together::began_together;
use told::Heard;

/// Which server.
#[derive(Clone)]
pub struct Target {
    /// Where it is.
    pub endpoint: Endpoint,
}

impl std::fmt::Debug for Target {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}", self.endpoint.url)
    }
}

impl ServerEngine for Target {
    fn start(&self, setup: &Setup, limits: &Limits) -> Result<Box<dyn Engine>, String> {
        start(self, setup, limits).map(|server| Box::new(server) as Box<dyn Engine>)
    }
}

/// A server that was asked what it is.
pub struct Server {
    about: About,
    asker: Asker,
    prompts: Prompts,
    limits: Limits,
    /// Connections that are kept open.
    callers: Vec<Caller>,
    /// Of the prompts; each has another.
    seed: u64,
    /// The network overhead, and the case for which it was measured.
    overhead: Option<(Case, Option<Overhead>)>,
}

/// Asks a server what it is, and how prompts reach it.
///
/// # Errors
/// It does not answer, serves no such model, or takes no prompt; or it was to be set from here.
fn start(target: &Target, setup: &Setup, limits: &Limits) -> Result<Server, String> {
    for (flag, is_given) in
        [("--weights", setup.weights.is_some()), ("--threads", setup.threads.is_some())]
    {
        if is_given {
            return Err(format!("{flag} cannot be set on a server that runs already"));
        }
    }
    let endpoint = &target.endpoint;
    let Inspection { model, info } = inspect(
        &endpoint.url,
        false,
        endpoint.authorization.as_deref(),
        &endpoint.headers,
        Some(setup.model.as_str()).filter(|model| !model.is_empty()),
        PATIENCE,
    )
    .map_err(|failure| failure.sentence().to_owned())?;
    // No cache may know a prompt, not even from the time before this process.
    let seed = ifm_sys::real_ns() ^ u64::from(std::process::id()).rotate_left(32);
    let mut caller = Caller::new(endpoint.clone());
    let (mut asker, prompts) = way(&mut caller, &model, info.kind.as_deref(), (seed, limits))?;
    let mut preflight = asker.preflight(limits.repeat)?;
    let prompts = prompts.calibrated(&mut preflight, &asker, info.context_tokens, seed)?;
    asker.rejected.extend_from_slice(preflight.rejected());
    for field in &asker.rejected {
        ifm_terminal::streams::warn(&ifm_metrics::warning::rejection_sentence(field));
    }
    let note = |names: &[&str]| names.iter().find_map(|name| info.notes.get(*name)).cloned();
    asker.keeps_nothing = note(&["prefix_cache"]).is_some_and(|word| word == "false")
        || note(&["disable_radix_cache"]).is_some_and(|word| word == "true");
    let number = |names: &[&str]| note(names).and_then(|text| text.parse().ok());
    let about = About {
        engine: info.kind.clone().unwrap_or_else(|| "server".to_owned()),
        engine_version: info.version.clone(),
        parameters: number(&["n_params", "parameters"]),
        weight_bytes: number(&["size"]),
        stored: note(&["model_ftype", "ftype", "stored_dtype", "quantization"]),
        threads: number(&["threads"]).and_then(|threads| u32::try_from(threads).ok()),
        model: Some(model),
        ..About::default()
    };
    let (limits, callers) = (limits.clone(), vec![caller]);
    Ok(Server { about, asker, prompts, limits, callers, seed, overhead: None })
}

/// The API and the kind of prompt that the server takes: the first that answers, by one request for a
/// token each.
fn way(
    caller: &mut Caller,
    model: &str,
    kind: Option<&str>,
    (seed, limits): (u64, &Limits),
) -> Result<(Asker, Prompts), String> {
    let mut asker = Asker {
        endpoint: caller.endpoint().clone(),
        model: model.to_owned(),
        kind: kind.map(str::to_owned),
        api: ifm_core::spec::Api::Completions,
        ignores_end: true,
        rejected: Vec::new(),
        keeps_nothing: false,
    };
    let mut all = vec![Prompts::of_words()?];
    if let Some(ids) = Prompts::of_ids(caller, &asker.tokenizer()) {
        all.insert(0, ids);
    }
    let mut why = None;
    for api in Asker::apis(kind) {
        asker.api = *api;
        for index in 0..all.len() {
            let Ok(prompt) = all[index].whole(seed, 8) else { continue };
            for ignores_end in [true, false] {
                asker.ignores_end = ignores_end;
                asker.rejected.clear();
                let said = ("a first request", limits.repeat);
                match asker.ask_first(caller, &prompt, said) {
                    Ok(_) => return Ok((asker, all.swap_remove(index))),
                    Err(Trouble::Lost(lost)) => return Err(lost),
                    Err(trouble) => why = why.or(Some(trouble.why().to_owned())),
                }
            }
        }
    }
    Err(why.unwrap_or_else(|| "it has no supported API for prompts".to_owned()))
}

impl Engine for Server {
    fn about(&self) -> &About {
        &self.about
    }

    fn run(&mut self, case: &Case, times: u32) -> Result<Vec<Repeat>, Trouble> {
        (0..times).map(|_| self.once(case)).collect()
    }
}

/// Attempts at a batch whose requests this machine did not send at once, or whose tokens it read at once.
const BEGINS_MAX: u32 = 4;
/// Pause before another attempt at a batch whose tokens came in one read, times the attempt.
const ONE_READ_PAUSE: Duration = Duration::from_millis(100);

impl Server {
    fn next_seed(&mut self) -> u64 {
        self.seed = self.seed.wrapping_add(1);
        self.seed
    }

    /// One repeat. A batch that this machine did not begin together, or read at once, is repeated, which is
    /// noted.
    fn once(&mut self, case: &Case) -> Result<Repeat, Trouble> {
        let mut attempt = 1;
        loop {
            let seed = self.seed;
            let (batch, prefix_tokens, sent) = self.batch(case)?;
            if let Err(why) = began_together(&batch) {
                if attempt == BEGINS_MAX {
                    return Err(Trouble::Cannot(format!("{why} (attempt {attempt})")));
                }
                attempt += 1;
                continue;
            }
            let seen = Seen { case: *case, batch: &batch, prefix_tokens };
            if seen.came_in_one_read() {
                if attempt == BEGINS_MAX {
                    return Err(Trouble::Cannot(format!(
                        "all tokens came in one read in each of {attempt} attempts: the server does not \
                         stream, or a proxy collects the stream"
                    )));
                }
                std::thread::sleep(ONE_READ_PAUSE * attempt);
                attempt += 1;
                continue;
            }
            let overhead = match seen.needs_overhead() {
                true => self.overhead(case)?,
                false => None,
            };
            let mut repeat = seen.repeat(overhead)?;
            repeat.wall_ns = Some(sent.wall_ns);
            repeat.disturbance = sent.disturbance;
            repeat.told.insert("seed".to_owned(), seed.into());
            if !self.asker.rejected.is_empty() {
                let names = self.asker.rejected.iter().map(|one| one.field.clone());
                let names: Vec<String> = names.collect();
                repeat.told.insert("rejected_fields".to_owned(), names.join(" ").into());
            }
            if attempt > 1 {
                repeat.told.insert("attempts".to_owned(), attempt.into());
            }
            return Ok(repeat);
        }
    }

    /// Sends the prompts of a case, each new, behind their prefixes: the answers, the prompt tokens of
    /// the prefixes by the server's count, and what was seen meanwhile.
    fn batch(&mut self, case: &Case) -> Result<(Vec<Heard>, Option<u64>, Sent), Trouble> {
        let has_prefix = case.depth > 0 && case.prompt > 0;
        let (mut prompts, mut prefix_tokens) = (Vec::new(), Some(0_u64).filter(|_| has_prefix));
        for _ in 0..case.batch {
            let seed = self.next_seed();
            if !has_prefix {
                let tokens = case.depth + case.prompt.max(1);
                prompts.push(self.prompts.whole(seed, tokens).map_err(Trouble::Cannot)?);
                continue;
            }
            let front = self.prompts.whole(seed, case.depth).map_err(Trouble::Cannot)?;
            let seed = self.next_seed();
            let whole = self.prompts.behind(&front, seed, case.prompt).map_err(Trouble::Cannot)?;
            let of = format!("a prompt of {} tokens", case.depth);
            let heard = self.ask((&front, 1, true), &of)?;
            prefix_tokens =
                prefix_tokens.zip(heard.prompt).map(|(sum, tokens)| sum + u64::from(tokens));
            prompts.push(whole);
        }
        let requests: Result<Vec<Vec<u8>>, String> = prompts
            .iter()
            .map(|prompt: &Prompt| self.asker.request(prompt, case.steps + 1, has_prefix))
            .collect();
        let endpoint = self.asker.endpoint.clone();
        let sent = batch::send(
            &mut self.callers,
            requests.map_err(Trouble::Cannot)?,
            &self.limits,
            || Caller::new(endpoint.clone()),
        )?;
        let of = format!(
            "a prompt of {} tokens with {} to generate",
            case.depth + case.prompt.max(1),
            case.steps + 1
        );
        let heard: Result<Vec<Heard>, Trouble> =
            sent.replies.iter().map(|reply| self.asker.heard(reply, &of)).collect();
        Ok((heard?, prefix_tokens, sent))
    }

    fn ask(&mut self, what: (&Prompt, u32, bool), of: &str) -> Result<Heard, Trouble> {
        if self.callers.is_empty() {
            self.callers.push(Caller::new(self.asker.endpoint.clone()));
        }
        self.asker.ask(&mut self.callers[0], what, (of, self.limits.repeat))
    }

    /// The network overhead, measured once for each case.
    fn overhead(&mut self, case: &Case) -> Result<Option<Overhead>, Trouble> {
        if let Some((_, overhead)) = self.overhead.filter(|(known, _)| known == case) {
            return Ok(overhead);
        }
        let mut requests = Vec::new();
        for _ in 0..overhead::REQUESTS {
            let seed = self.next_seed();
            let prompt = self.prompts.whole(seed, 1).map_err(Trouble::Cannot)?;
            requests.push(self.ask((&prompt, overhead::TOKENS, false), "a prompt of one token")?);
        }
        let overhead = Overhead::of(&requests);
        self.overhead = Some((*case, overhead));
        Ok(overhead)
    }
}
