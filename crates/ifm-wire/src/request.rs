//! Requests as bytes: what is the same for every request is rendered once.

use ifm_core::Prompt;
use ifm_core::spec::Api;
use serde_json::{Map, Value};

/// Names of headers whose values must never be shown or stored.
const SECRET_HEADERS: [&str; 6] =
    ["authorization", "api-key", "x-api-key", "cookie", "proxy-authorization", "x-auth-token"];

/// Whether a header's value must never be shown or stored: a known name, or one that speaks of a
/// key, a token or a secret.
pub fn is_secret_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let words = ["key", "token", "secret", "password", "auth", "cookie", "credential"];
    SECRET_HEADERS.contains(&name.as_str()) || words.iter().any(|word| name.contains(word))
}

/// Whether a text under this name in a body must never be shown or stored. Narrower than for
/// headers: bodies speak of tokens that are no secrets.
pub fn is_secret_field(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["apikey", "secret", "password", "authorization", "credential", "bearer"]
        .iter()
        .any(|word| name.contains(word))
        || ["key", "access_token", "auth_token"].iter().any(|end| name.ends_with(end))
}

/// What cannot become a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// A header name or value holds characters that HTTP does not allow.
    #[error("header \"{0}\" holds characters that HTTP does not allow")]
    BadHeader(String),
    /// The extra body fields hold the prompt's own field.
    #[error("the extra body may not set \"{0}\": the workload writes it")]
    PromptField(&'static str),
    /// The API does not take this kind of prompt.
    #[error(
        "the API \"{0}\" takes no such prompt: chat takes texts and messages, completions texts and token ids"
    )]
    Prompt(&'static str),
}

/// What one request asks.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'ask> {
    /// The prompt.
    pub prompt: &'ask Prompt,
    /// Tokens to generate at most; absent leaves it to the server.
    pub output_tokens: Option<u32>,
    /// Fields of the body that this request alone has.
    pub fields: Option<&'ask Map<String, Value>>,
}

/// Everything that is the same for each request of a level.
#[derive(Debug, Clone, PartialEq)]
pub struct TemplateSpec<'spec> {
    /// Which API.
    pub api: Api,
    /// Value of the `Host` header.
    pub host: &'spec str,
    /// Path of the endpoint: `/v1/chat/completions`.
    pub path: &'spec str,
    /// Model name.
    pub model: &'spec str,
    /// Value of the `Authorization` header, if any.
    pub authorization: Option<&'spec str>,
    /// More headers.
    pub headers: &'spec [(String, String)],
    /// Whether to ask for a stream.
    pub stream: bool,
    /// Whether to tell the server to ignore its end-of-text token.
    pub ignore_eos: bool,
    /// Sampling temperature, if it is to be sent.
    pub temperature: Option<f64>,
    /// Fields merged into the body last: they win, and null removes a field.
    pub extra_body: &'spec Map<String, Value>,
}

/// A request with gaps: the prompt, the number of output tokens, and fields of its own.
#[derive(Debug, Clone)]
pub struct RequestTemplate {
    api: Api,
    /// Head up to the value of `Content-Length`.
    head: String,
    /// Body up to the prompt.
    before: String,
    /// Whether our own output length is sent.
    sends_length: bool,
}

/// Room for the value of `Content-Length`: the number stands right-aligned in it, which HTTP
/// allows (RFC 9110, 5.5: white space before a value is not part of it), so that the body can be
/// written before its length is known.
const LENGTH_WIDTH: usize = 12;
/// The fields that say how many tokens to generate.
const LENGTH_FIELDS: [&str; 2] = ["max_tokens", "max_completion_tokens"];

impl RequestTemplate {
    /// Renders what is the same for every request.
    ///
    /// # Errors
    /// [`RequestError`] when a header or a body field cannot be sent.
    pub fn new(spec: &TemplateSpec<'_>) -> Result<RequestTemplate, RequestError> {
        let prompt_field = match spec.api {
            Api::Chat => "messages",
            Api::Completions => "prompt",
        };
        if spec.extra_body.contains_key(prompt_field) {
            return Err(RequestError::PromptField(prompt_field));
        }
        let sends_length = !LENGTH_FIELDS.iter().any(|name| spec.extra_body.contains_key(*name));
        let mut before = Value::Object(fixed_fields(spec)).to_string();
        before.pop(); // The closing brace: more fields follow.
        if before.len() > 1 {
            before.push(',');
        }
        before.push_str(&format!("\"{prompt_field}\":"));
        Ok(RequestTemplate { api: spec.api, head: head_of(spec)?, before, sends_length })
    }

    /// Writes one whole request into `out`, which is cleared first.
    ///
    /// # Errors
    /// [`RequestError::Prompt`] when the API does not take this kind of prompt.
    pub fn write(&self, ask: &Ask<'_>, out: &mut Vec<u8>) -> Result<(), RequestError> {
        out.clear();
        out.extend_from_slice(self.head.as_bytes());
        let length_start = out.len();
        out.resize(length_start + LENGTH_WIDTH, b' ');
        out.extend_from_slice(b"\r\n\r\n");
        let body_start = out.len();
        out.extend_from_slice(self.before.as_bytes());
        match (self.api, ask.prompt) {
            (Api::Chat, Prompt::Text(text)) => {
                out.extend_from_slice(br#"[{"role":"user","content":"#);
                put_json(text, out);
                out.extend_from_slice(b"}]");
            }
            (Api::Chat, Prompt::Messages(messages)) => put_json(messages, out),
            (Api::Completions, Prompt::Text(text)) => put_json(text, out),
            (Api::Completions, Prompt::Tokens(ids)) => put_json(ids, out),
            (api, _) => return Err(RequestError::Prompt(api.word())),
        }
        if self.sends_length
            && let Some(tokens) = ask.output_tokens
        {
            out.extend_from_slice(format!(",\"{}\":{tokens}", LENGTH_FIELDS[0]).as_bytes());
        }
        for (name, value) in ask.fields.into_iter().flatten() {
            out.push(b',');
            put_json(name, out);
            out.push(b':');
            put_json(value, out);
        }
        out.push(b'}');
        let length = format!("{:>LENGTH_WIDTH$}", out.len() - body_start);
        out[length_start..length_start + LENGTH_WIDTH].copy_from_slice(length.as_bytes());
        Ok(())
    }
}

/// Appends a value as JSON.
fn put_json(value: &(impl serde::Serialize + ?Sized), out: &mut Vec<u8>) {
    serde_json::to_writer(out, value)
        .expect("invariant: texts, lists and numbers always serialise into a vector");
}

fn head_of(spec: &TemplateSpec<'_>) -> Result<String, RequestError> {
    let mut head = format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
         Accept: text/event-stream, application/json\r\nAccept-Encoding: identity\r\n\
         User-Agent: inferometer\r\n",
        spec.path, spec.host
    );
    let authorization = spec.authorization.map(|value| ("Authorization", value));
    let extra = spec.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    for (name, value) in authorization.into_iter().chain(extra) {
        if !is_field_name(name) || value.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
            return Err(RequestError::BadHeader(name.to_owned()));
        }
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("Content-Length: ");
    Ok(head)
}

/// Whether the text is a token in the sense of RFC 9110, 5.6.2.
fn is_field_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(allowed)
}

/// All fields of the body but the prompt and our output length.
fn fixed_fields(spec: &TemplateSpec<'_>) -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert("model".to_owned(), spec.model.into());
    fields.insert("stream".to_owned(), spec.stream.into());
    if spec.stream {
        let options = serde_json::json!({ "include_usage": true });
        fields.insert("stream_options".to_owned(), options);
    }
    if spec.ignore_eos {
        fields.insert("ignore_eos".to_owned(), true.into());
    }
    if let Some(temperature) = spec.temperature {
        fields.insert("temperature".to_owned(), temperature.into());
    }
    for (name, value) in spec.extra_body {
        fields.remove(name);
        if !value.is_null() {
            fields.insert(name.clone(), value.clone());
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(spec: &TemplateSpec<'_>, prompt: &str) -> (String, Value) {
        let mut out = Vec::new();
        let prompt = Prompt::Text(prompt.to_owned());
        let ask = Ask { prompt: &prompt, output_tokens: Some(16), fields: None };
        RequestTemplate::new(spec).unwrap().write(&ask, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length:")).unwrap();
        assert_eq!(length.trim().parse::<usize>().unwrap(), body.len());
        (head.to_owned(), serde_json::from_str(body).unwrap())
    }

    fn with(extra: Value, check: impl FnOnce(&mut TemplateSpec<'_>)) -> Map<String, Value> {
        let extra = extra.as_object().unwrap().clone();
        let mut spec = TemplateSpec {
            api: Api::Chat,
            host: "h:1",
            path: "/v1/chat/completions",
            model: "m",
            authorization: None,
            headers: &[],
            stream: true,
            ignore_eos: true,
            temperature: Some(0.0),
            extra_body: &extra,
        };
        check(&mut spec);
        body(&spec, "say \"hi\"\n\u{1}é").1.as_object().unwrap().clone()
    }

    #[test]
    fn the_body_is_what_the_api_wants() {
        let chat = with(serde_json::json!({}), |_| {});
        let expect = serde_json::json!({
            "model": "m", "stream": true, "stream_options": {"include_usage": true},
            "ignore_eos": true, "temperature": 0.0, "max_tokens": 16,
            "messages": [{"role": "user", "content": "say \"hi\"\n\u{1}é"}],
        });
        assert_eq!(Value::Object(chat), expect);
        let plain = with(serde_json::json!({}), |spec| {
            spec.api = Api::Completions;
            spec.stream = false;
            spec.ignore_eos = false;
            spec.temperature = None;
        });
        let expect = serde_json::json!({
            "model": "m", "stream": false, "max_tokens": 16, "prompt": "say \"hi\"\n\u{1}é",
        });
        assert_eq!(Value::Object(plain), expect);
    }

    #[test]
    fn extra_fields_win_and_null_removes() {
        let body = with(
            serde_json::json!({"temperature": 1, "stream_options": null, "max_completion_tokens": 7}),
            |_| {},
        );
        assert_eq!(body["temperature"], 1);
        assert_eq!(body["max_completion_tokens"], 7);
        assert!(!body.contains_key("stream_options") && !body.contains_key("max_tokens"));
    }

    #[test]
    fn what_would_break_the_request_is_refused() {
        let extra = serde_json::json!({"messages": []}).as_object().unwrap().clone();
        let none = Map::new();
        let header = |name: &str, value: &str| [(name.to_owned(), value.to_owned())];
        for (headers, extra, expect) in [
            (header("x-a", "ok"), &extra, RequestError::PromptField("messages")),
            (header("x a", "ok"), &none, RequestError::BadHeader("x a".to_owned())),
            (header("x-a", "no\r\nx-b: 1"), &none, RequestError::BadHeader("x-a".to_owned())),
        ] {
            let spec = TemplateSpec {
                api: Api::Chat,
                host: "h",
                path: "/",
                model: "m",
                authorization: None,
                headers: &headers,
                stream: true,
                ignore_eos: false,
                temperature: None,
                extra_body: extra,
            };
            assert_eq!(RequestTemplate::new(&spec).unwrap_err(), expect);
        }
    }

    #[test]
    fn secrets_are_known_by_name() {
        for name in ["Authorization", "X-Api-Key", "my-token", "Cookie", "client-secret"] {
            assert!(is_secret_header(name), "{name}");
        }
        assert!(!is_secret_header("x-request-id"));
    }
}
