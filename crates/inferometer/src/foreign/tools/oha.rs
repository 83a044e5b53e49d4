//! oha, of whose requests those to an API of a model can be measured.

use super::super::draft::Draft;
use super::super::table::Given;
use super::{number, plain, whole};
use ifm_core::duration::seconds;
use ifm_wire::dialect;

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
            "{url} is no API of a model that is known: oha measures any page, and inferometer run \
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
        Some("csv") => draft.leave_out("--output-format", "-o x.csv writes a table of ours"),
        _ => {}
    }
    for sentence in [
        "oha's latency is that of a whole answer, from the first byte sent; ours has the time to its \
         first token and the gaps beside that, and streams where the API does",
        "with -z oha cuts off what is in flight at the end, and counts it as aborted; here it is waited \
         for",
        "the first request of each user opens no connection inside its latency: they are open before",
    ] {
        draft.differs(sentence);
    }
    Ok(())
}

/// The bodies, which are a data set of ours.
fn body(given: &Given, draft: &mut Draft) -> Result<(), String> {
    if draft.has("--workload") || draft.has("-W") {
        return Ok(());
    }
    if let Some(path) = given.last("-Z").or(given.last("-D")) {
        draft.reads(if given.has("-Z") { "-Z" } else { "-D" }, path);
        // One body is sent again and again.
        draft.set("--workload", format!("openai-batch:{path}"));
        draft.switch("--repeat-prompts");
        return Ok(());
    }
    let Some(text) = given.last("-d") else {
        return Err("oha's line has no body (-d, -D or -Z): an API of a model needs one".to_owned());
    };
    let mut fields = super::object("-d", text)?;
    for (field, flag) in [("model", "--model"), ("temperature", "--temperature")] {
        if let Some(value) = fields.remove(field) {
            draft.assume(flag, value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        }
    }
    fields.remove("stream");
    let tokens =
        ["max_tokens", "max_completion_tokens"].iter().find_map(|name| fields.get(*name)?.as_u64());
    // The body itself takes the place of the prompt that is made up, which has one token.
    draft.set("--workload", format!("random:8/{}", tokens.unwrap_or(16)));
    draft.assume("--ignore-eos", "false");
    draft.body = fields;
    draft.differs(
        "the body of -d is sent with every request: prompts are as long as the server counts them, and \
         a prefix cache knows them after the first",
    );
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
