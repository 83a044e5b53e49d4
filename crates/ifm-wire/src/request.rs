//! Requests as bytes: what is the same for every request is rendered once.

mod form;
mod rejected;

pub use crate::ask::{Ask, AskSession, RequestError, TemplateSpec};
pub use crate::header::{is_framing_header, is_secret_field, is_secret_header};

use crate::bytes::RequestBytes;
use crate::dialect::body::{put, put_field, put_name};
use crate::dialect::forms::FormField;
use crate::dialect::{self, Dialect, LengthField, multipart};
use ifm_core::Message;
use ifm_core::manifest::request_id;
use serde_json::{Map, Value};

const CONTENT_TYPE: &str = "Content-Type";

/// The header by which servers find a request in their logs again.
pub const REQUEST_ID: &str = "X-Request-Id";

/// The default header for the session of a turn, for servers and routers.
pub const SESSION_ID: &str = "X-Session-ID";

/// Placeholder for the session in the value of such a header.
pub const SESSION_PLACE: &str = "{session}";

/// The header that carries a router's token for a session, both ways.
const SESSION_TOKEN: &str = "x-session-token";

/// Replacement text for a secret.
pub const MASK: &str = "***";

/// Shortest value that is masked, characters: a shorter one is not a secret, and occurs in texts by
/// chance.
pub const SECRET_CHARS_MIN: usize = 4;

/// The router's token that a request carries.
pub fn session_token_of(request: &[u8]) -> Option<&str> {
    let end = request.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    let head = std::str::from_utf8(request.get(..end)?).ok()?;
    let mut fields = head.split("\r\n").skip(1).filter_map(|line| line.split_once(':'));
    let (_, token) = fields.find(|(name, _)| name.eq_ignore_ascii_case(SESSION_TOKEN))?;
    Some(token.trim())
}

/// A request with gaps: the prompt, the number of output tokens, and fields of its own.
#[derive(Debug, Clone)]
pub struct RequestTemplate {
    dialect: &'static Dialect,
    /// Head up to the value of `Content-Length`.
    head: String,
    /// Fields that are the same for each request, but for the object that holds the length.
    fixed: Map<String, Value>,
    /// The same as bytes: an object that is still open.
    before: Vec<u8>,
    /// What is the same in the object that holds the length, if the API has one.
    options: Map<String, Value>,
    /// The same as bytes: an object that is still open.
    options_before: Vec<u8>,
    /// The length field, if our own output length is sent.
    length: Option<LengthField>,
    /// The length field's name, if the server expects a nonstandard one.
    length_name: Option<String>,
    /// The field for the answer format, with its value as JSON.
    form: Option<FormField>,
    /// The most results that the user lets an answer hold.
    results_max: Option<u32>,
    /// The run whose id is part of each request's id; absent sends none.
    ids_of: Option<String>,
    /// Whose sessions they are, and the headers that tell them.
    sessions: Option<SessionHeaders>,
}

/// The headers that tell the session of a turn.
#[derive(Debug, Clone)]
struct SessionHeaders {
    run_id: String,
    /// Names, and values that may contain [`SESSION_PLACE`] as the placeholder for the session.
    headers: Vec<(String, String)>,
    /// Whether a router's token is sent back: not where the user gives the header.
    with_token: bool,
}

impl SessionHeaders {
    fn write(&self, ask: &AskSession<'_>, out: &mut Vec<u8>) {
        let mut id = format!("{}-{}", self.run_id, ask.session);
        if let Some(agent) = ask.agent {
            id.push_str(&format!("-{agent}"));
        }
        for (name, value) in &self.headers {
            put_header(name, &value.replace(SESSION_PLACE, &id), out);
        }
        let token = ask.token.filter(|token| self.with_token && is_field_value(token));
        token.into_iter().for_each(|token| put_header(SESSION_TOKEN, token, out));
    }
}

fn put_header(name: &str, value: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("\r\n{name}: {value}").as_bytes());
}

/// Reserved width for the value of `Content-Length`. The number is right-aligned, which HTTP allows
/// (RFC 9110, 5.5: white space before a value is not part of it), so that the body can be written
/// before its length is known.
const LENGTH_WIDTH: usize = 12;

impl RequestTemplate {
    /// Renders what is the same for every request.
    ///
    /// # Errors
    /// [`RequestError`] when a header or a body field cannot be sent.
    pub fn new(spec: &TemplateSpec<'_>) -> Result<RequestTemplate, RequestError> {
        let dialect = dialect::of_model(spec.api, spec.model);
        let taken = dialect.prompt_fields().find(|name| spec.extra_body.contains_key(*name));
        if let Some(name) = taken {
            return Err(RequestError::PromptField(name));
        }
        if dialect.is_multipart {
            multipart::check_fields(dialect, spec.extra_body)?;
        }
        let mut fixed = dialect.fixed_fields(spec);
        let within = dialect.length.and_then(|length| length.within);
        merge(&mut fixed, spec.extra_body, within);
        let options = match within.and_then(|name| fixed.remove(name)) {
            Some(Value::Object(options)) => options,
            _ => Map::new(),
        };
        let is_set = |length: &LengthField| {
            let holder = match length.within {
                Some(name) => spec.extra_body.get(name).and_then(Value::as_object),
                None => Some(spec.extra_body),
            };
            holder.is_some_and(|holder| length.names.iter().any(|name| holder.contains_key(*name)))
        };
        Ok(RequestTemplate {
            dialect,
            head: head_of(spec, dialect)?,
            before: opened(&fixed),
            form: None,
            results_max: dialect.results_max(&fixed),
            fixed,
            options_before: opened(&options),
            options,
            length: dialect.length.filter(|length| !is_set(length)),
            length_name: None,
            ids_of: None,
            sessions: None,
        })
    }

    /// Adds headers with the session to each turn of a conversation. [`SESSION_PLACE`] in a value
    /// is replaced with the session. A router's token is sent back too, unless the user has a
    /// header of that name.
    ///
    /// # Errors
    /// [`RequestError::BadHeader`] for a name or a value that HTTP does not allow.
    pub fn with_session_headers(
        mut self,
        run_id: &str,
        headers: &[(String, String)],
    ) -> Result<RequestTemplate, RequestError> {
        let bad =
            |(name, value): &&(String, String)| !is_field_name(name) || !is_field_value(value);
        if let Some((name, _)) = headers.iter().find(bad) {
            return Err(RequestError::BadHeader(name.clone()));
        }
        let head = self.head.to_ascii_lowercase();
        let with_token = !head.contains(&format!("\r\n{SESSION_TOKEN}:"))
            && !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(SESSION_TOKEN));
        let (run_id, headers) = (run_id.to_owned(), headers.to_vec());
        self.sessions = Some(SessionHeaders { run_id, headers, with_token });
        Ok(self)
    }

    /// The name of the field that holds the output length; absent where none is sent.
    fn length_name(&self) -> Option<&str> {
        let length = self.length.as_ref()?;
        self.length_name.as_deref().or(length.names.first().copied())
    }

    /// Has each request carry an id that is made of the run's id and its own number.
    pub fn with_request_ids(mut self, run_id: Option<&str>) -> RequestTemplate {
        self.ids_of = run_id.map(str::to_owned);
        self
    }

    /// Writes one whole request into `out`, which is cleared first. Returns how many results the
    /// answer must hold, for an API that answers with a list of them.
    ///
    /// # Errors
    /// [`RequestError::Prompt`] when the API does not take this kind of prompt.
    pub fn write(
        &self,
        ask: &Ask<'_>,
        request: &mut RequestBytes,
    ) -> Result<Option<u32>, RequestError> {
        request.clear();
        let out = request.own_mut();
        out.extend_from_slice(self.head.as_bytes());
        let length_start = out.len();
        out.resize(length_start + LENGTH_WIDTH, b' ');
        if let (Some(run_id), Some(number)) = (&self.ids_of, ask.number) {
            let id = request_id(run_id, number);
            put_header(REQUEST_ID, &id, out);
        }
        if let (Some(sessions), Some(session)) = (&self.sessions, &ask.session) {
            sessions.write(session, out);
        }
        let file =
            self.dialect.is_multipart.then(|| multipart::file_of(self.dialect, ask)).transpose()?;
        if let Some(file) = file {
            put_header(CONTENT_TYPE, &multipart::content_type(file), out);
        }
        out.extend_from_slice(b"\r\n\r\n");
        let body_start = out.len();
        let fields = ask.fields.filter(|fields| !fields.is_empty());
        let fields = fields.map(|fields| self.dialect.told(fields));
        let fields = fields.as_deref();
        let results = match (file, fields) {
            (Some(file), fields) => {
                multipart::put(&self.own_fields(ask, fields.unwrap_or(&Map::new())), file, out);
                None
            }
            (None, None) => self.write_body(ask, out)?,
            (None, Some(fields)) => self.write_own_body(ask, fields, out)?,
        };
        let media = self.dialect.in_order(ask);
        let shared = media.into_iter().filter_map(|medium| medium.carried.bytes().cloned());
        let filled = request.fill(body_start, shared);
        debug_assert!(
            filled.is_some_and(|end| !request.has_hole(end)),
            "a dialect writes one hole for each medium that it carries"
        );
        let length = format!("{:>LENGTH_WIDTH$}", request.len() - body_start);
        let out = request.own_mut();
        out[length_start..length_start + LENGTH_WIDTH].copy_from_slice(length.as_bytes());
        Ok(results)
    }

    /// Appends one message exactly as every request with it contains it, so that it is serialized
    /// only once. Returns false and appends nothing for an API whose messages depend on each other.
    pub fn put_message(&self, message: &Message, out: &mut Vec<u8>) -> bool {
        self.dialect.put_message(message, out)
    }

    /// The body of a request without fields of its own.
    fn write_body(&self, ask: &Ask<'_>, out: &mut Vec<u8>) -> Result<Option<u32>, RequestError> {
        out.extend_from_slice(&self.before);
        let results = at_most(self.dialect.write_prompt(ask, out)?, self.results_max);
        let tokens = self.length_name().and_then(|name| Some((name, self.tokens(ask)?)));
        match self.within() {
            None => put_length(tokens, out),
            Some(name) if tokens.is_some() || self.has_options() => {
                put_name(name, out);
                out.extend_from_slice(&self.options_before);
                put_length(tokens, out);
                out.push(b'}');
            }
            Some(_) => {}
        }
        out.push(b'}');
        Ok(results)
    }

    /// The fields of a body with its own fields, without the prompt.
    fn own_fields(&self, ask: &Ask<'_>, fields: &Map<String, Value>) -> Map<String, Value> {
        let within = self.within();
        let mut body = self.fixed.clone();
        if let Some(name) = within {
            body.insert(name.to_owned(), Value::Object(self.options.clone()));
        }
        merge(&mut body, fields, within);
        if let (Some(length), Some(tokens)) = (self.length, self.tokens(ask)) {
            let asked = match length.within {
                Some(name) => fields.get(name).and_then(Value::as_object),
                None => Some(fields),
            };
            let holder = match length.within {
                Some(name) => body.get_mut(name).and_then(Value::as_object_mut),
                None => Some(&mut body),
            };
            if let (Some(holder), Some(name)) = (holder, self.length_name())
                && !length.names.iter().any(|name| asked.is_some_and(|it| it.contains_key(*name)))
            {
                holder.insert(name.to_owned(), tokens.into());
            }
        }
        if let Some(form) = &self.form {
            body.remove(form.name);
        }
        body
    }

    /// The body of a request with fields of its own, field by field: no name is written twice,
    /// since strict servers refuse that.
    fn write_own_body(
        &self,
        ask: &Ask<'_>,
        fields: &Map<String, Value>,
        out: &mut Vec<u8>,
    ) -> Result<Option<u32>, RequestError> {
        let mut body = self.own_fields(ask, fields);
        let within = self.within();
        // The object with the length is written last, since it may also contain a form.
        let options = within.and_then(|name| Some((name, body.remove(name)?)));
        out.extend_from_slice(&opened(&body));
        let form_at_top = self.form.iter().filter(|form| !form.is_within);
        form_at_top.for_each(|form| form.put(out));
        if let Some((name, options)) = options {
            self.put_options(name, options, out);
        }
        let results = match self.dialect.has_prompt(fields) {
            false => at_most(self.dialect.write_prompt(ask, out)?, self.dialect.results_max(&body)),
            true => None,
        };
        out.push(b'}');
        Ok(results)
    }

    /// Whether the API generates tokens, so that an output length means something to it.
    pub fn generates(&self) -> bool {
        self.dialect.length.is_some()
    }

    fn within(&self) -> Option<&'static str> {
        self.dialect.length.and_then(|length| length.within)
    }

    fn tokens(&self, ask: &Ask<'_>) -> Option<u32> {
        ask.output_tokens.or(self.length.and_then(|length| length.default))
    }
}

fn at_most(results: Option<u32>, most: Option<u32>) -> Option<u32> {
    results.map(|results| most.map_or(results, |most| results.min(most)))
}

fn put_length(tokens: Option<(&str, u32)>, out: &mut Vec<u8>) {
    if let Some((name, tokens)) = tokens {
        put_field(name, &tokens, out);
    }
}

/// An object as JSON without its closing brace, so that more fields can follow.
fn opened(fields: &Map<String, Value>) -> Vec<u8> {
    let mut bytes = Vec::new();
    put(fields, &mut bytes);
    bytes.pop();
    bytes
}

/// Puts fields over others: they win, and null removes one. The object named `within` is merged
/// likewise rather than replaced.
fn merge(fields: &mut Map<String, Value>, over: &Map<String, Value>, within: Option<&str>) {
    for (name, value) in over {
        match (fields.get_mut(name), value) {
            (_, Value::Null) => {
                fields.remove(name);
            }
            (Some(Value::Object(inner)), Value::Object(more)) if within == Some(name) => {
                merge(inner, more, None);
            }
            _ => {
                fields.insert(name.clone(), value.clone());
            }
        }
    }
}

/// All headers except those that every request has. The user's headers override the API's.
fn headers(spec: &TemplateSpec<'_>, dialect: &Dialect) -> Vec<(String, String)> {
    let is_given = |name: &str| spec.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
    let mut headers: Vec<(String, String)> = dialect
        .headers(spec.authorization)
        .into_iter()
        .filter(|(name, _)| !is_given(name))
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    headers.extend_from_slice(spec.headers);
    headers
}

fn head_of(spec: &TemplateSpec<'_>, dialect: &Dialect) -> Result<String, RequestError> {
    let accepts = dialect.framing.accepts();
    // That of a form differs from one to the next: each has a boundary of its own.
    let content_type = match dialect.is_multipart {
        true => String::new(),
        false => format!("{CONTENT_TYPE}: application/json\r\n"),
    };
    let mut head = format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\n{content_type}\
         Accept: {accepts}, application/json\r\nAccept-Encoding: identity\r\n\
         User-Agent: inferometer\r\n",
        spec.path, spec.host
    );
    for (name, value) in headers(spec, dialect) {
        if !is_field_name(&name) || !is_field_value(&value) {
            return Err(RequestError::BadHeader(name));
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

/// Whether the text can be the value of a header.
fn is_field_value(text: &str) -> bool {
    !text.bytes().any(|byte| byte < 0x20 || byte == 0x7f)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_core::Prompt;
    use ifm_core::spec::Api;

    fn body(spec: &TemplateSpec<'_>, prompt: &str) -> (String, Value) {
        let mut out = RequestBytes::default();
        let prompt = Prompt::Text(prompt.to_owned());
        let ask = Ask {
            prompt: &prompt,
            said: &[],
            said_media: &[],
            output_tokens: Some(16),
            fields: None,
            number: None,
            session: None,
        };
        RequestTemplate::new(spec).unwrap().write(&ask, &mut out).unwrap();
        let text = String::from_utf8(out.to_vec()).unwrap();
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
    fn a_turn_says_its_session_and_gives_back_what_a_router_gave() {
        let none = Map::new();
        let own = [("X-Session-Token".to_owned(), "mine".to_owned())];
        let template = |headers: &[(String, String)]| {
            RequestTemplate::new(&TemplateSpec {
                api: Api::Chat,
                host: "h",
                path: "/",
                model: "m",
                authorization: None,
                headers,
                stream: true,
                ignore_eos: false,
                temperature: None,
                extra_body: &none,
            })
            .unwrap()
        };
        let named = [
            ("X-Session-ID".to_owned(), SESSION_PLACE.to_owned()),
            ("X-Route".to_owned(), "a={session};b".to_owned()),
        ];
        let prompt = Prompt::Text("a".to_owned());
        let head = |template: &RequestTemplate, session: Option<AskSession<'_>>| {
            let ask = Ask {
                prompt: &prompt,
                said: &[],
                said_media: &[],
                output_tokens: None,
                fields: None,
                number: None,
                session,
            };
            let mut out = RequestBytes::default();
            template.write(&ask, &mut out).unwrap();
            String::from_utf8(out.to_vec()).unwrap().split_once("\r\n\r\n").unwrap().0.to_owned()
        };
        let with = |headers: &[(String, String)]| {
            template(headers).with_session_headers("run-1", &named).unwrap()
        };
        let ask = AskSession { session: 7, agent: None, token: Some("t=1") };
        let lines = |head: String| -> Vec<String> {
            head.lines().filter(|line| line.starts_with(['x', 'X'])).map(str::to_owned).collect()
        };
        assert_eq!(
            lines(head(&with(&[]), Some(ask))),
            ["X-Session-ID: run-1-7", "X-Route: a=run-1-7;b", "x-session-token: t=1"]
        );
        let of_agent = AskSession { agent: Some(2), token: Some("a\r\nEvil: 1"), ..ask };
        assert_eq!(
            lines(head(&with(&[]), Some(of_agent))),
            ["X-Session-ID: run-1-7-2", "X-Route: a=run-1-7-2;b"]
        );
        let first = lines(head(&with(&own), Some(ask)));
        assert_eq!(
            first,
            ["X-Session-Token: mine", "X-Session-ID: run-1-7", "X-Route: a=run-1-7;b"]
        );
        assert!(lines(head(&with(&[]), None)).is_empty());
        assert!(lines(head(&template(&[]), Some(ask))).is_empty());
        let bad = [("a b".to_owned(), String::new())];
        assert!(template(&[]).with_session_headers("r", &bad).is_err());
    }

    #[test]
    fn a_request_carries_its_id_where_it_has_a_number() {
        let none = Map::new();
        let template = RequestTemplate::new(&TemplateSpec {
            api: Api::Chat,
            host: "h",
            path: "/",
            model: "m",
            authorization: None,
            headers: &[],
            stream: true,
            ignore_eos: false,
            temperature: None,
            extra_body: &none,
        });
        let template = template.unwrap();
        let prompt = Prompt::Text("a".to_owned());
        let head = |template: &RequestTemplate, number| {
            let ask = Ask {
                prompt: &prompt,
                said: &[],
                said_media: &[],
                output_tokens: None,
                fields: None,
                number,
                session: None,
            };
            let mut out = RequestBytes::default();
            template.write(&ask, &mut out).unwrap();
            let text = String::from_utf8(out.to_vec()).unwrap();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            assert!(serde_json::from_str::<Value>(body).is_ok());
            head.to_owned()
        };
        assert!(!head(&template, Some(7)).contains(REQUEST_ID));
        let template = template.with_request_ids(Some("20261120-121427-7f3a"));
        assert!(!head(&template, None).contains(REQUEST_ID));
        let line = "\r\nX-Request-Id: 20261120-121427-7f3a-4294967295";
        assert!(head(&template, Some(u32::MAX)).ends_with(line));
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
        for name in
            ["Authorization", "X-Api-Key", "my-token", "Cookie", "client-secret", "x-access"]
        {
            assert!(is_secret_header(name), "{name}");
        }
        assert!(!is_secret_header("X-Request-Id") && !is_secret_header("content-type"));
    }
}
