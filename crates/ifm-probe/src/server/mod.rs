//! Identifies a server before any load.

mod kind;
mod page;

pub use page::PageReader;

use crate::http_client::{self, agent};
use crate::url::BaseUrl;
use ifm_core::manifest::ServerInfo;
use ifm_terminal::exit::Failure;
use ifm_terminal::secrets::Secrets;
use ifm_wire::dialect::custom::{Description, ModelList};
use ifm_wire::dialect::without_version;
use serde_json::{Map, Value};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;
use ureq::Agent;

/// Default ports of common servers on loopback: vLLM, llama.cpp, Ollama, SGLang, LM Studio.
const USUAL_PORTS: [u16; 5] = [8000, 8080, 11434, 30000, 1234];
/// Default time limit for one answer.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// Statuses of servers without a list of models. (Triton answers 400 if it has no such path.)
const ABSENT: [u16; 5] = [400, 404, 405, 410, 501];
/// Maximum number of bytes of an answer.
const ANSWER_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Maximum number of facts about a server to keep, and of characters of each.
const NOTES_MAX: usize = 32;
const NOTE_CHARS_MAX: usize = 200;

/// What a server reported about itself, and the model to request.
#[derive(Debug, Clone)]
pub struct Inspection {
    /// Model to request.
    pub model: String,
    /// The rest, for the manifest.
    pub info: ServerInfo,
}

/// Finds a server on loopback at the usual ports, and reports which one it uses.
///
/// # Errors
/// No server listens.
pub fn find_local() -> Result<BaseUrl, Failure> {
    for port in USUAL_PORTS {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        if TcpStream::connect_timeout(&address, Duration::from_millis(200)).is_ok() {
            let (url, _) = BaseUrl::parse(&format!("http://127.0.0.1:{port}"))?;
            ifm_terminal::streams::tell(&format!("no URL given: using {url}"));
            return Ok(url);
        }
    }
    Err(Failure::server("no URL given, and no server listens on this host at the usual ports")
        .hint("pass the URL, or try `inferometer demo`, which starts its own server"))
}

/// Requests the list of models, and what else this kind of server reports.
///
/// # Errors
/// There is no response, the key is refused, the answer is not that of an OpenAI API, or the model is
/// not available.
pub fn inspect(
    url: &BaseUrl,
    insecure: bool,
    authorization: Option<&str>,
    headers: &[(String, String)],
    wanted: Option<&str>,
    patience: Duration,
) -> Result<Inspection, Failure> {
    let client =
        Client { agent: agent(&url.to_string(), insecure, patience, None), authorization, headers };
    client.inspect(url, None, wanted, patience)
}

/// The same for an API from a file: by the file's list of models, or the named model.
///
/// # Errors
/// As [`inspect`]; and a file without a list if no model is named.
pub fn inspect_by_file(
    (url, insecure): (&BaseUrl, bool),
    file: &Description,
    authorization: Option<&str>,
    headers: &[(String, String)],
    wanted: Option<&str>,
) -> Result<Inspection, Failure> {
    match (&file.models, wanted) {
        (Some(list), _) => {
            let client = Client {
                agent: agent(&url.to_string(), insecure, PATIENCE, None),
                authorization,
                headers,
            };
            client.inspect(url, Some(list), wanted, PATIENCE)
        }
        // The first request will show it.
        (None, Some(model)) => {
            Ok(Inspection { model: model.to_owned(), info: ServerInfo::default() })
        }
        (None, None) => Err(Failure::usage("the file of this API has no list of models")
            .hint("name the model with --model, or add a table [models] to the file")),
    }
}

/// The paths at the root of an API from a file, without a version at the end of the base URL.
fn list_url(url: &BaseUrl, list: Option<&ModelList>) -> String {
    match list {
        None => format!("{url}/models"),
        Some(list) => format!("{}{}{}", url.root(), without_version(url.path()), list.path),
    }
}

/// Keeps what the list of models reports about the chosen one (`meta`, in llama.cpp and
/// inferometer's own server), and reports plainly if its weights are random.
fn note_model(json: &Value, model: &str, info: &mut ServerInfo) {
    let list = json.get("data").and_then(Value::as_array);
    let meta = list
        .into_iter()
        .flatten()
        .find(|entry| entry.get("id").and_then(Value::as_str) == Some(model))
        .and_then(|entry| entry.get("meta")?.as_object());
    for (name, value) in meta.into_iter().flatten().take(NOTES_MAX) {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Bool(_) | Value::Number(_) => value.to_string(),
            _ => continue,
        };
        if name == "random_seed" {
            info.notes.insert("weights".to_owned(), format!("random, seed {text}"));
        }
        info.notes.insert(name.clone(), text.chars().take(NOTE_CHARS_MAX).collect());
    }
}

struct Client<'client> {
    agent: Agent,
    authorization: Option<&'client str>,
    headers: &'client [(String, String)],
}

/// The response.
struct Answer {
    status: u16,
    server: Option<String>,
    content_type: String,
    body: String,
    json: Option<Value>,
}

impl Client<'_> {
    /// Requests the list of models, and chooses one.
    fn inspect(
        &self,
        url: &BaseUrl,
        list: Option<&ModelList>,
        wanted: Option<&str>,
        patience: Duration,
    ) -> Result<Inspection, Failure> {
        let secrets = Secrets::new(self.authorization, self.headers, &Map::new());
        let at = list_url(url, list);
        let told = self.get(&at);
        if let Err(error) = &told
            && (wanted.is_none() || http_client::is_unreachable(error))
        {
            return Err(unreachable(url, error, patience));
        }
        let answer = told.as_ref().ok();
        let server_header = answer.and_then(|answer| answer.server.clone());
        let mut info = ServerInfo { server_header, ..ServerInfo::default() };
        let models = answer.and_then(|answer| listed(answer, list));
        if models.is_none() {
            let failure = match &told {
                Err(error) => unreachable(url, error, patience),
                Ok(answer) => self.no_list((url, &at), answer, list, &secrets),
            };
            // The requests of the load do not need the list.
            let Some(model) = wanted else { return Err(failure) };
            let is_absent = answer.is_some_and(|answer| ABSENT.contains(&answer.status));
            if !is_absent {
                ifm_terminal::streams::warn(&format!(
                    "the model list cannot be read ({}); requests ask for \"{model}\"",
                    failure.sentence()
                ));
            }
        }
        if let Some(models) = &models {
            info.models = models.iter().map(|(name, _)| name.clone()).collect();
        }
        let model = choose(url, wanted, &info.models, models.is_some())?;
        info.context_tokens = models
            .iter()
            .flatten()
            .find(|(name, _)| *name == model)
            .and_then(|(_, context)| *context);
        if let (Some(answer), None) = (answer, list) {
            if let Some(json) = &answer.json {
                note_model(json, &model, &mut info);
            }
            kind::recognise(self, url, answer, &mut info);
        }
        secrets.blot_server(&mut info);
        Ok(Inspection { model, info })
    }

    /// Why an answer is not a list of models.
    fn no_list(
        &self,
        (url, at): (&BaseUrl, &str),
        answer: &Answer,
        list: Option<&ModelList>,
        secrets: &Secrets,
    ) -> Failure {
        match answer.status {
            401 | 403 => {
                // A file may send the key in a header with another name.
                let in_header = list.is_some() && !self.headers.is_empty();
                let has_key = self.authorization.is_some() || in_header;
                refused(url, has_key, answer.status, "").hint(match has_key {
                    true => "check the variable that contains the key; with --model the list is not needed",
                    false => {
                        "put the key into OPENAI_API_KEY, or name its variable with --api-key-env; with \
                         --model the list is not needed"
                    }
                })
            }
            _ => no_api(at, answer, list, secrets),
        }
    }

    fn call(&self, url: &str) -> Result<http::Response<ureq::Body>, ureq::Error> {
        let mut request = self.agent.get(url);
        if let Some(value) = self.authorization {
            request = request.header("Authorization", value);
        }
        for (name, value) in self.headers {
            request = request.header(name, value);
        }
        request.call()
    }

    /// Status and body, up to a maximum number of bytes. Bytes that are not UTF-8 are replaced.
    fn get_text(&self, url: &str, bytes_max: u64) -> Result<(u16, String), ureq::Error> {
        let mut response = self.call(url)?;
        let bytes = response.body_mut().with_config().limit(bytes_max).read_to_vec()?;
        Ok((response.status().as_u16(), String::from_utf8_lossy(&bytes).into_owned()))
    }

    fn get(&self, url: &str) -> Result<Answer, ureq::Error> {
        let mut response = self.call(url)?;
        let text = |name: &str| {
            let value = response.headers().get(name)?;
            Some(value.to_str().ok()?.to_owned())
        };
        let (server, content_type) = (text("server"), text("content-type").unwrap_or_default());
        let status = response.status().as_u16();
        let body = response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_string()?;
        let json = serde_json::from_str(&body).ok();
        Ok(Answer { status, server, content_type, body, json })
    }
}

/// Names and context lengths in an answer; absent if it contains no list of models.
fn listed(answer: &Answer, list: Option<&ModelList>) -> Option<Vec<(String, Option<u32>)>> {
    let json = answer.json.as_ref().filter(|_| (200..300).contains(&answer.status))?;
    match list {
        Some(list) => list.read(json),
        None => models(json),
    }
}

/// Names and context lengths in a list of models.
fn models(json: &Value) -> Option<Vec<(String, Option<u32>)>> {
    let list = json.get("data").or_else(|| json.get("models"))?.as_array()?;
    let context = |model: &Value| {
        // The limit of one request takes precedence; llama.cpp also reports the length that the
        // model was made for.
        let known = [
            "/max_model_len",
            "/context_length",
            "/max_context_length",
            "/meta/n_ctx",
            "/meta/n_ctx_train",
        ];
        let length = known.iter().find_map(|key| model.pointer(key)?.as_u64())?;
        u32::try_from(length).ok()
    };
    Some(
        list.iter()
            .filter_map(|model| Some((model.get("id")?.as_str()?.to_owned(), context(model))))
            .collect(),
    )
}

fn choose(
    url: &BaseUrl,
    wanted: Option<&str>,
    offered: &[String],
    has_list: bool,
) -> Result<String, Failure> {
    let list = || {
        if offered.is_empty() {
            return "its list is empty".to_owned();
        }
        let shown: Vec<&str> = offered.iter().take(10).map(String::as_str).collect();
        let more = offered.len().saturating_sub(shown.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("it offers: {}{more}", shown.join(", "))
    };
    match (wanted, offered) {
        (Some(model), _) if !has_list || offered.iter().any(|name| name == model) => {
            Ok(model.to_owned())
        }
        // Servers may list adapters or aliases incompletely, so this only warns, and the first
        // requests decide. If every request is refused, the level ends early with the server's own
        // message.
        (Some(model), _) => {
            ifm_terminal::streams::warn(&format!(
                "{url} does not list the model \"{model}\"; {}",
                list()
            ));
            Ok(model.to_owned())
        }
        (None, [only]) => Ok(only.clone()),
        (None, []) => Err(Failure::server(format!("{url} lists no model"))
            .hint("name the model with --model; the requests of a load do not need the list")),
        (None, _) => Err(Failure::usage(format!("{url} offers {} models", offered.len()))
            .hint(format!("choose one with --model; {}", list()))),
    }
}

fn unreachable(url: &BaseUrl, error: &ureq::Error, patience: Duration) -> Failure {
    const WANTED: &str = "check that the URL is that of an OpenAI-compatible server, http or https";
    http_client::unreachable(&url.to_string(), error, patience, WANTED)
}

/// Why a server that refuses a key, or the lack of one, cannot be measured. `words` is the server's
/// message, without secrets; empty if it gave none.
pub fn refused(url: &BaseUrl, has_key: bool, status: u16, words: &str) -> Failure {
    let words = if words.is_empty() { String::new() } else { format!(" ({words})") };
    match has_key {
        true => Failure::server(format!(
            "{url} answered {status}: it does not accept the API key{words}"
        ))
        .hint("check the variable that contains the key"),
        false => Failure::server(format!("{url} answered {status}: it needs an API key{words}"))
            .hint("put the key into OPENAI_API_KEY, or name its variable with --api-key-env"),
    }
}

fn no_api(at: &str, answer: &Answer, list: Option<&ModelList>, secrets: &Secrets) -> Failure {
    let what = match answer.status {
        200..=299 => format!("answered with {} instead of a list of models", content(answer)),
        status => format!("answered {status}"),
    };
    let says = ifm_wire::dialect::error_sentence(answer.body.as_bytes());
    let says = secrets.blot(&says);
    let says = if says.is_empty() { String::new() } else { format!(": {says}") };
    Failure::server(format!("{at} {what}{says}")).hint(match list {
        Some(_) => {
            "the file of this API says in [models] that the list is there; name the model with --model, \
             or fix the path"
        }
        None => {
            "check that the URL is that of an OpenAI-compatible server (it usually ends with /v1); if \
             only the model list fails, name the model with --model"
        }
    })
}

fn content(answer: &Answer) -> &str {
    match answer.content_type.split(';').next() {
        Some(kind) if !kind.is_empty() && answer.json.is_none() => kind,
        _ => "something else",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_models_are_read() {
        let json = serde_json::json!({"data": [
            {"id": "a", "max_model_len": 4096},
            {"id": "b", "meta": {"n_ctx_train": 2048}},
            {"id": "b4", "max_model_len": null, "meta": {"n_ctx": 512, "n_ctx_train": 2048}},
            {"id": "c"},
            {"nonsense": 1},
        ]});
        let expect = vec![
            ("a".to_owned(), Some(4096)),
            ("b".to_owned(), Some(2048)),
            ("b4".to_owned(), Some(512)),
            ("c".to_owned(), None),
        ];
        assert_eq!(models(&json), Some(expect));
        assert_eq!(models(&serde_json::json!({"ok": true})), None);
    }

    #[test]
    fn a_failing_list_of_models_does_not_keep_a_named_model_from_being_measured() {
        use crate::testing::{Said, server};
        let page = "<html>no</html>";
        let html = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{page}", page.len());
        for (said, told) in [
            (Some((500, serde_json::json!({"error": "boom"}))), "answered 500: boom"),
            (Some((401, serde_json::json!({}))), "answered 401"),
            (Some((200, serde_json::json!({"ok": true}))), "instead of a list of models"),
            (Some((200, serde_json::json!({"data": []}))), "lists no model"),
            (None, "instead of a list of models"),
        ] {
            let html = html.clone();
            let endpoint = server(move |_| match &said {
                Some((status, body)) => Said::Json(*status, body.clone()),
                None => Said::Cut(html.clone()),
            });
            let named = inspect(&endpoint.url, false, None, &[], Some("m"), PATIENCE);
            assert_eq!(named.unwrap().model, "m", "{told}");
            let failure = inspect(&endpoint.url, false, None, &[], None, PATIENCE).unwrap_err();
            let failure = failure.to_string();
            assert!(failure.contains(told), "{failure}");
            assert!(failure.contains("--model"), "{failure}");
        }
        let cut = server(|_| Said::Cut(String::new()));
        assert_eq!(inspect(&cut.url, false, None, &[], Some("m"), PATIENCE).unwrap().model, "m");
        let silent = server(|_| Said::Silence);
        let patience = Duration::from_millis(50);
        assert_eq!(inspect(&silent.url, false, None, &[], Some("m"), patience).unwrap().model, "m");
        // No request can reach a port on which no server listens.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let (url, _) = BaseUrl::parse(&format!("http://{address}")).unwrap();
        assert!(inspect(&url, false, None, &[], Some("m"), PATIENCE).is_err());
    }

    #[test]
    fn the_context_of_one_slot_is_what_a_request_may_have() {
        let endpoint = crate::testing::server(|asked| {
            let document = match asked.path.as_str() {
                "/v1/models" => serde_json::json!({"data": [
                    {"id": "m", "owned_by": "llamacpp", "meta": {"n_ctx_train": 131_072}}
                ]}),
                _ => serde_json::json!({
                    "total_slots": 4, "default_generation_settings": {"n_ctx": 2048},
                }),
            };
            crate::testing::Said::Json(200, document)
        });
        let inspection = inspect(&endpoint.url, false, None, &[], None, PATIENCE).unwrap();
        assert_eq!(inspection.info.kind.as_deref(), Some("llama.cpp"));
        assert_eq!(inspection.info.context_tokens, Some(2048));
    }

    #[test]
    fn random_weights_are_said_in_plain_words() {
        let json = serde_json::json!({"data": [
            {"id": "a", "meta": {"random_seed": 7, "threads": 2, "x": null}},
            {"id": "b", "meta": {"random_seed": null}},
        ]});
        let notes = |model: &str| {
            let mut info = ServerInfo::default();
            note_model(&json, model, &mut info);
            info.notes
        };
        assert_eq!(notes("a").get("weights").map(String::as_str), Some("random, seed 7"));
        assert_eq!(notes("a").len(), 3);
        assert!(notes("b").is_empty());
    }

    #[test]
    fn the_model_is_chosen_only_when_there_is_no_choice() {
        let (url, _) = BaseUrl::parse("http://h").unwrap();
        let names = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
        assert_eq!(choose(&url, None, &names(&["a"]), true).unwrap(), "a");
        assert_eq!(choose(&url, Some("x"), &[], false).unwrap(), "x");
        let error = choose(&url, None, &names(&["a", "b"]), true).unwrap_err().to_string();
        assert!(error.contains("--model") && error.contains("a, b"), "{error}");
        assert!(choose(&url, None, &[], true).is_err());
    }

    #[test]
    fn a_server_without_tls_is_told_from_one_that_is_not_there() {
        use std::io::{Read, Write};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let (url, _) =
            BaseUrl::parse(&format!("https://{}", listener.local_addr().unwrap())).unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let received = stream.read(&mut [0; 4096]).unwrap();
            assert!(received > 0);
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        });
        let error = inspect(&url, true, None, &[], None, PATIENCE).unwrap_err().to_string();
        server.join().unwrap();
        assert!(error.contains("does not use TLS") && error.contains("http://"), "{error}");
    }

    #[test]
    fn what_is_no_api_is_told_in_its_own_words() {
        let (url, _) = BaseUrl::parse("http://h").unwrap();
        let told = |status: u16, content_type: &str, body: &str| {
            let answer = Answer {
                status,
                server: None,
                content_type: content_type.to_owned(),
                body: body.to_owned(),
                json: serde_json::from_str(body).ok(),
            };
            no_api(&list_url(&url, None), &answer, None, &Secrets::default())
                .to_string()
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned()
        };
        let json = r#"{"error":{"message":"no database","code":"400"}}"#;
        let start = "error: http://h/v1/models answered";
        assert_eq!(told(400, "application/json", json), format!("{start} 400: no database"));
        assert_eq!(told(404, "text/html", "<h1>Not here</h1>"), format!("{start} 404: Not here"));
        assert_eq!(told(500, "text/plain", ""), format!("{start} 500"));
        assert_eq!(
            told(200, "text/html; charset=utf-8", "<p>Hello"),
            format!("{start} with text/html instead of a list of models: Hello")
        );
    }
}
