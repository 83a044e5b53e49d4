//! oha, of whose requests those to an API of a model can be measured.

use super::{number, plain, whole};
use crate::draft::Draft;
use crate::table::Given;
use ifm_core::duration::seconds;
use ifm_wire::dialect;
use serde_json::Value;
use std::hash::{BuildHasher as _, RandomState};

/// Its own defaults.
const REQUESTS: &str = "200";
const CONNECTIONS: &str = "50";

/// What the flags mean together.
pub fn rules(given: &mut Given, draft: &mut Draft) -> Result<(), String> {
    let [url] = given.positional.as_slice() else {
        return Err("oha needs one URL".to_owned());
    };
    let path = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
    let path = path.find('/').map_or("/", |at| &path[at..]);
    if dialect::api_of_path(path).is_none() {
        return Err(format!(
            "{url} is not a supported model API: oha measures any page, and inferometer run \
             answers of models"
        ));
    }
    draft.url = Some(url.clone());
    match given.last("-z") {
        Some(span) => draft.assume("--duration", span_of("-z", span)?),
        None => draft.assume("--requests", count(given.last("-n").unwrap_or(REQUESTS))?),
    }
    if let Some(rate) = number(given, "-q")? {
        draft.assume("--rate", plain(rate));
    } else if let Some(delay) = given.last("--burst-delay") {
        let size = whole(given, "--burst-rate", 1)?;
        draft.assume("--bursts", format!("{size}/{}", span_of("--burst-delay", delay)?));
    }
    draft.assume("--concurrency", CONNECTIONS);
    if draft.has("--bursts") {
        let most = draft.value("--concurrency").unwrap_or(CONNECTIONS).to_owned();
        draft.set("--concurrency", most);
    }
    if let Some(span) = given.last("-t") {
        draft.assume("--timeout", span_of("-t", span)?);
    }
    if let Some(host) = given.last("--host") {
        draft.add("--header", format!("Host: {host}"));
    }
    if given.has("-a") {
        draft
            .leave_out("-a", "a key is that of OPENAI_API_KEY, or a header: -H 'Authorization: …'");
    }
    body(given, draft)?;
    draft.assume("--warmup", "0");
    draft.assume("--temperature", "none");
    if let Some(path) = given.last("-o") {
        draft.add("--out", path);
    }
    match given.last("--output-format") {
        Some("json") => draft.switch("--json"),
        Some("quiet") => draft.switch("--quiet"),
        Some("csv") => draft.leave_out("--output-format", "-o x.csv writes inferometer's table"),
        _ => {}
    }
    if draft.has("--out") || draft.has("--json") {
        draft.differs(
            "the JSON, and what -o names, is inferometer's document and not oha's: inferometer schema result describes it",
        );
    }
    for sentence in [
        "oha measures the latency of a whole answer, from the first byte sent; inferometer also reports the \
         time to first token and the gaps, and streams where the API does",
        "with -z oha cuts off what is in flight at the end, and counts it as aborted; inferometer waits \
         for",
        "the first request of each user opens no connection inside its latency: they are open before",
    ] {
        draft.differs(sentence);
    }
    Ok(())
}

/// The bodies, as a dataset.
fn body(given: &Given, draft: &mut Draft) -> Result<(), String> {
    if draft.has("--workload") || draft.has("-W") {
        return Ok(());
    }
    // One body is sent again and again, and so is a file of them.
    draft.switch("--repeat-prompts");
    draft.differs(
        "the same bodies are sent again and again, as there: a prefix cache knows them after the first",
    );
    if let Some(path) = given.last("-Z") {
        draft.reads("-Z", path);
        draft.set("--workload", format!("openai-batch:{path}"));
        return Ok(());
    }
    let text = match (given.last("-d"), given.last("-D")) {
        (Some(text), _) => text.to_owned(),
        (None, Some(path)) => super::text_of("-D", path)?,
        (None, None) => {
            let why = "an API of a model needs one";
            return Err(format!("oha's line has no body (-d, -D or -Z): {why}"));
        }
    };
    let fields = super::object(if given.has("-d") { "-d" } else { "-D" }, &text)?;
    if let Some(model) = fields.get("model").and_then(Value::as_str) {
        draft.assume("--model", model);
    }
    // A data set is a file: the body becomes one, by a name that others cannot know before.
    let line = format!("{}\n", Value::Object(fields));
    let name = format!("inferometer-oha-{:016x}.jsonl", RandomState::new().hash_one(&line));
    let path = std::env::temp_dir().join(name).display().to_string();
    draft.set("--workload", format!("openai-batch:{path}"));
    draft.writes.push((path, line));
    Ok(())
}

/// `10k`, `1m`.
fn count(text: &str) -> Result<String, String> {
    let (digits, factor) = match text.to_ascii_lowercase() {
        text if text.ends_with('k') => (text[..text.len() - 1].to_owned(), 1e3),
        text if text.ends_with('m') => (text[..text.len() - 1].to_owned(), 1e6),
        text => (text, 1.0),
    };
    match digits.parse::<f64>() {
        Ok(number) if number > 0.0 => Ok(plain(number * factor)),
        _ => Err(format!("-n {text} is not a number of requests")),
    }
}

fn span_of(flag: &str, text: &str) -> Result<String, String> {
    let span = seconds(text).map_err(|error| format!("{flag} {text}: {error}"))?;
    Ok(format!("{}s", plain(span)))
}
