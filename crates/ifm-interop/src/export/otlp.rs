//! A span for each request, as OTLP writes spans in JSON, by OpenTelemetry's conventions for generative AI.
//!
//! A single request is a trace of its own. The turns of a session are one trace, below a span for
//! the session; where several agents work in it, below a span for each agent. Ids are derived from
//! the run, so that sending a run twice produces the same trace. Names under `gen_ai.`, `server.`,
//! `http.` and `error.` follow version 1.41 of the conventions; attributes without a name there are
//! written under `inferometer.`.
//!
//! Not here: sending them (`inferometer`), reading spans as a workload (`ifm-workload`).

use super::{Export, Exported, Writer};
use ifm_core::spec::Api;
use ifm_core::{Counted, Manifest, RequestRecord, RunData, Sheet};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

pub(super) const EXPORT: Export = Export {
    id: "otlp",
    title: "OpenTelemetry spans, OTLP as JSON",
    definitions: None,
    write: Writer::Results(write),
    holds: "requests of a run that inferometer measured",
    lacks: "it is not read as a result; times of single tokens but the first and the last, requests that were never sent, texts, what was sampled beside the requests",
};

/// Version of the conventions, as a resource names it.
const SCHEMA_URL: &str = "https://opentelemetry.io/schemas/1.41.0";
/// `SPAN_KIND_INTERNAL` and `SPAN_KIND_CLIENT` of the protocol.
const INTERNAL: u8 = 1;
const CLIENT: u8 = 3;
/// `STATUS_CODE_ERROR` of the protocol.
const ERROR: u8 = 2;
const NS_PER_S: f64 = 1e9;

fn write(_: &Sheet, run: Option<&RunData>) -> Vec<Exported> {
    let Some(run) = run else { return Vec::new() };
    let spans = spans(run);
    if spans.is_empty() {
        return Vec::new();
    }
    let text = format!("{}\n", document(&run.manifest, &spans));
    vec![Exported { name: None, stem: String::new(), ending: "json", text }]
}

/// The document of a list of spans: what a receiver takes in one request.
pub fn document(manifest: &Manifest, spans: &[Value]) -> Value {
    json!({"resourceSpans": [{
        "resource": {"attributes": resource(manifest)},
        "scopeSpans": [{
            "scope": {"name": manifest.tool.name, "version": manifest.tool.version},
            "spans": spans,
            "schemaUrl": SCHEMA_URL,
        }],
        "schemaUrl": SCHEMA_URL,
    }]})
}

/// All spans of a run: sessions and their agents, each before its requests, then requests without a
/// session.
pub fn spans(run: &RunData) -> Vec<Value> {
    let maker = Maker { manifest: &run.manifest };
    let mut sessions: BTreeMap<u32, Vec<&RequestRecord>> = BTreeMap::new();
    let mut alone = Vec::new();
    for record in run.requests.iter().filter(|record| was_sent(record)) {
        match record.session {
            Some(session) => sessions.entry(session).or_default().push(record),
            None => alone.push(record),
        }
    }
    let mut spans = Vec::new();
    for (session, requests) in &sessions {
        maker.session(*session, requests, &mut spans);
    }
    for record in alone {
        let trace = maker.id("request", u64::from(record.seq));
        spans.push(maker.request(record, &trace, None));
    }
    spans
}

/// How many traces the spans are of.
pub fn traces(spans: &[Value]) -> usize {
    let ids = spans.iter().filter_map(|span| span.get("traceId")?.as_str());
    ids.collect::<std::collections::BTreeSet<_>>().len()
}

/// A request that a limit of ours kept from being sent has no times.
fn was_sent(record: &RequestRecord) -> bool {
    record.outcome != ifm_core::Outcome::Dropped
}

/// What is run: the resource that all spans belong to.
fn resource(manifest: &Manifest) -> Value {
    let mut attributes = Attributes::default();
    attributes.text("service.name", Some(&manifest.tool.name));
    attributes.text("service.version", Some(&manifest.tool.version));
    attributes.text("inferometer.run.id", Some(&manifest.run_id));
    attributes.text("inferometer.run.name", manifest.name.as_ref());
    let predicted = manifest.predicted.as_ref().map(|_| "predicted");
    attributes.text("inferometer.numbers", predicted);
    attributes.text("inferometer.server.kind", manifest.server.kind.as_ref());
    attributes.text("inferometer.server.version", manifest.server.version.as_ref());
    attributes.text("inferometer.workload", manifest.spec.workload.text.as_ref());
    for (name, value) in &manifest.tags {
        attributes.text(&format!("inferometer.tag.{name}"), Some(value));
    }
    attributes.value()
}

struct Maker<'run> {
    manifest: &'run Manifest,
}

impl Maker<'_> {
    /// An id of 32 hex digits, derived from the run, `what` and `number`.
    fn id(&self, what: &str, number: u64) -> String {
        let sum = Sha256::digest(format!("{}\n{what}\n{number}", self.manifest.run_id));
        sum.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }

    /// An id of 16 hex digits for a span of this run.
    fn span_id(&self, what: &str, number: u64) -> String {
        self.id(what, number).chars().skip(16).collect()
    }

    /// Nanoseconds since 1970 as the protocol writes them in JSON: text.
    fn at(&self, since_origin_ns: u64) -> String {
        self.manifest.clock.origin_unix_ns.saturating_add(since_origin_ns).to_string()
    }

    /// A session: the span of all of it, of each of its agents where it has several, and its requests.
    fn session(&self, session: u32, requests: &[&RequestRecord], spans: &mut Vec<Value>) {
        let trace = self.id("session", u64::from(session));
        let root = self.span_id("session", u64::from(session));
        let has_agents = requests.iter().any(|record| record.agent.is_some());
        let mut attributes = self.of_session(session);
        attributes.whole("inferometer.session", Some(session));
        let ended = self.manifest.workload.iter().flat_map(|sent| &sent.ended_sessions);
        let ended = ended.clone().find(|ended| ended.session == session);
        attributes.text("inferometer.session.end", ended.map(|ended| ended.end.word()));
        let name = if has_agents { "invoke_agent" } else { "conversation" };
        if has_agents {
            attributes.text("gen_ai.operation.name", Some("invoke_agent"));
            attributes.text("gen_ai.agent.name", Some(agent_name(0)));
        }
        let title = if has_agents { format!("{name} {}", agent_name(0)) } else { name.to_owned() };
        spans.push(self.around(&title, requests, (&trace, &root, None), attributes));
        let mut agents: BTreeMap<u16, Vec<&RequestRecord>> = BTreeMap::new();
        for record in requests {
            agents.entry(record.agent.unwrap_or(0)).or_default().push(record);
        }
        for (agent, requests) in &agents {
            let parent = match agent {
                0 => root.clone(),
                _ => {
                    let own = self.span_id("agent", u64::from(session) << 16 | u64::from(*agent));
                    let mut attributes = self.of_session(session);
                    attributes.text("gen_ai.operation.name", Some("invoke_agent"));
                    attributes.text("gen_ai.agent.name", Some(agent_name(*agent)));
                    let title = format!("invoke_agent {}", agent_name(*agent));
                    let place = (&*trace, &*own, Some(&*root));
                    spans.push(self.around(&title, requests, place, attributes));
                    own
                }
            };
            for record in requests {
                spans.push(self.request(record, &trace, Some(&parent)));
            }
        }
    }

    fn of_session(&self, session: u32) -> Attributes {
        let mut attributes = Attributes::default();
        let id = format!("{}-{session}", self.manifest.run_id);
        attributes.text("gen_ai.conversation.id", Some(id));
        attributes
    }

    /// A span from the first start to the last end of its requests.
    fn around(
        &self,
        name: &str,
        requests: &[&RequestRecord],
        (trace, id, parent): (&str, &str, Option<&str>),
        attributes: Attributes,
    ) -> Value {
        let start_ns = requests.iter().map(|record| record.start_ns).min().unwrap_or(0);
        let end_ns = requests.iter().map(|record| record.end_ns).max().unwrap_or(start_ns);
        let mut span = json!({
            "traceId": trace,
            "spanId": id,
            "name": name,
            "kind": INTERNAL,
            "startTimeUnixNano": self.at(start_ns),
            "endTimeUnixNano": self.at(end_ns),
            "attributes": attributes.value(),
        });
        if let (Some(parent), Some(fields)) = (parent, span.as_object_mut()) {
            fields.insert("parentSpanId".to_owned(), json!(parent));
        }
        span
    }

    fn request(&self, record: &RequestRecord, trace: &str, parent: Option<&str>) -> Value {
        let class = record
            .class
            .and_then(|class| self.manifest.spec.workload.classes.get(usize::from(class)));
        let model = class.and_then(|class| class.model.as_ref());
        let model = model.unwrap_or(&self.manifest.spec.target.model);
        let operation = operation(self.manifest.spec.target.api);
        let mut attributes = self.asked(record, operation, model);
        attributes.text("inferometer.class", class.map(|class| &class.name));
        answered(record, &mut attributes);
        let mut span = json!({
            "traceId": trace,
            "spanId": self.span_id("request", u64::from(record.seq)),
            "name": format!("{operation} {model}"),
            "kind": CLIENT,
            "startTimeUnixNano": self.at(record.start_ns),
            "endTimeUnixNano": self.at(record.end_ns.max(record.start_ns)),
            "attributes": attributes.value(),
            "events": self.events(record),
        });
        let Some(fields) = span.as_object_mut() else { return span };
        if let Some(parent) = parent {
            fields.insert("parentSpanId".to_owned(), json!(parent));
        }
        if record.outcome.is_failure() {
            let message = record.error.as_deref().unwrap_or(record.outcome.word());
            fields.insert("status".to_owned(), json!({"code": ERROR, "message": message}));
        }
        span
    }

    /// What a request asked for, and where it belongs.
    fn asked(&self, record: &RequestRecord, operation: &str, model: &str) -> Attributes {
        let target = &self.manifest.spec.target;
        let mut attributes = Attributes::default();
        attributes.text("gen_ai.operation.name", Some(operation));
        attributes.text("gen_ai.provider.name", Some(provider(self.manifest)));
        attributes.text("gen_ai.request.model", Some(model));
        attributes.whole("gen_ai.request.max_tokens", record.output_tokens_asked);
        attributes.real("gen_ai.request.temperature", self.manifest.spec.workload.temperature);
        attributes.flag("gen_ai.request.stream", record.streamed);
        let (host, port) = address(&target.base_url);
        attributes.text("server.address", Some(host));
        attributes.whole("server.port", port);
        if let Some(id) = self.manifest.request_id(record.seq) {
            attributes.texts("http.request.header.x-request-id", [id]);
        }
        if let Some(session) = record.session {
            let id = format!("{}-{session}", self.manifest.run_id);
            attributes.text("gen_ai.conversation.id", Some(id));
        }
        attributes.text("gen_ai.agent.name", record.agent.map(agent_name));
        attributes.whole("inferometer.request.seq", Some(record.seq));
        attributes.whole("inferometer.turn", record.turn);
        attributes.text("inferometer.phase", Some(record.phase.word()));
        attributes.whole("inferometer.level", Some(record.level));
        let load = self.manifest.spec.levels.get(usize::from(record.level));
        let rate = load.and_then(|load| load.arrivals.as_ref()?.mean_req_per_s());
        attributes.real("inferometer.level.req_per_s", rate);
        let users = load.filter(|load| load.arrivals.is_none()).map(|load| load.concurrency);
        attributes.whole("inferometer.level.users", users);
        let late_ns = record.start_ns.saturating_sub(record.due_ns);
        attributes.seconds("inferometer.client.late_s", (late_ns > 0).then_some(late_ns));
        attributes.whole("inferometer.usage.known_tokens", record.known_tokens);
        attributes
    }

    /// Moments of a request.
    fn events(&self, record: &RequestRecord) -> Vec<Value> {
        let first = record.first_token_ns();
        // A last token that came with the first one is no moment of its own.
        let last = record.last_token_ns().filter(|_| record.events.len() > 1);
        let answer = record.first_answer_ns.filter(|at| first.is_some_and(|first| *at > first));
        let moments = [
            ("inferometer.request_sent", record.sent_ns),
            ("inferometer.response_head", record.head_ns),
            ("inferometer.first_token", first),
            ("inferometer.first_answer_token", answer),
            ("inferometer.last_token", last),
        ];
        let known = moments.into_iter().filter_map(|(name, at)| Some((name, at?)));
        known.map(|(name, at)| json!({"name": name, "timeUnixNano": self.at(at)})).collect()
    }
}

/// What came of a request.
fn answered(record: &RequestRecord, attributes: &mut Attributes) {
    attributes.whole("http.response.status_code", record.http_status);
    if let Some(reason) = &record.finish_reason {
        attributes.texts("gen_ai.response.finish_reasons", [reason]);
    }
    let since_start = |at: u64| at.saturating_sub(record.start_ns);
    let first = record.first_token_ns().filter(|_| record.streamed).map(since_start);
    attributes.seconds("gen_ai.response.time_to_first_chunk", first);
    let mut counted = |name: &str, count: Option<Counted>| {
        attributes.whole(&format!("gen_ai.usage.{name}"), count.map(|count| count.tokens));
        let from = count.map(|count| count.from.word());
        attributes.text(&format!("inferometer.usage.{name}.counted_by"), from);
    };
    counted("input_tokens", record.prompt_tokens);
    counted("output_tokens", record.output_tokens);
    attributes.whole("gen_ai.usage.cache_read.input_tokens", record.cached_tokens);
    attributes.whole("gen_ai.usage.reasoning.output_tokens", record.reasoning_tokens);
    attributes.seconds("inferometer.server.queue_s", record.server_queue_ns);
    attributes.seconds("inferometer.server.first_token_s", record.server_first_token_ns);
    attributes.seconds("inferometer.server.decode_s", record.server_decode_ns);
    attributes.seconds("inferometer.server.processing_s", record.server_processing_ns);
    attributes.text("inferometer.outcome", Some(record.outcome.word()));
    if record.outcome.is_failure() {
        let status = record.http_status.filter(|status| *status >= 400);
        let kind = status.map_or(record.outcome.word().to_owned(), |status| status.to_string());
        attributes.text("error.type", Some(kind));
    }
}

/// The conventions' word for what is asked of an API.
fn operation(api: Api) -> &'static str {
    match api {
        Api::Chat | Api::Responses | Api::Messages | Api::OllamaChat => "chat",
        Api::Completions
        | Api::Sglang
        | Api::Tgi
        | Api::OllamaGenerate
        | Api::LlamaCpp
        | Api::Triton => "text_completion",
        Api::Embeddings | Api::OllamaEmbed => "embeddings",
        Api::Custom(_) => "generate_content",
        // They have none for these.
        Api::Rerank | Api::Transcriptions | Api::Translations | Api::Speech => api.word(),
    }
}

/// Who answers: the kind of server where it was recognised, else whose API it speaks, as the
/// conventions want it for servers with OpenAI's API.
fn provider(manifest: &Manifest) -> &str {
    match (&manifest.server.kind, manifest.spec.target.api) {
        (Some(kind), _) => kind,
        (None, Api::Messages) => "anthropic",
        (None, Api::Custom(_)) => {
            manifest.spec.target.api_file.as_ref().map_or("custom", |file| &file.name)
        }
        (None, _) => "openai",
    }
}

/// `main` began the session; others work for it.
fn agent_name(agent: u16) -> String {
    match agent {
        0 => "main".to_owned(),
        number => format!("sub-agent {number}"),
    }
}

/// Host and port of a URL that was checked before it was stored.
fn address(url: &str) -> (&str, Option<u16>) {
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let authority = rest.split('/').next().unwrap_or_default();
    let usual = if scheme == "https" { 443 } else { 80 };
    // The address of IPv6 has colons of its own, in brackets.
    match authority.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')) {
        Some((host, port)) => (host, port.parse().ok()),
        None => (authority, Some(usual)),
    }
}

/// A list of attributes; what is not known is not there.
#[derive(Default)]
struct Attributes(Vec<Value>);

impl Attributes {
    fn set(&mut self, key: &str, value: Value) {
        self.0.push(json!({"key": key, "value": value}));
    }

    fn text(&mut self, key: &str, value: Option<impl AsRef<str>>) {
        if let Some(value) = value {
            self.set(key, json!({"stringValue": value.as_ref()}));
        }
    }

    fn texts<T: AsRef<str>>(&mut self, key: &str, values: impl IntoIterator<Item = T>) {
        let values: Vec<Value> =
            values.into_iter().map(|value| json!({"stringValue": value.as_ref()})).collect();
        self.set(key, json!({"arrayValue": {"values": values}}));
    }

    /// Whole numbers are texts in the protocol's JSON.
    fn whole(&mut self, key: &str, value: Option<impl Into<u64>>) {
        if let Some(value) = value {
            self.set(key, json!({"intValue": value.into().to_string()}));
        }
    }

    fn real(&mut self, key: &str, value: Option<f64>) {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            self.set(key, json!({"doubleValue": value}));
        }
    }

    fn flag(&mut self, key: &str, value: bool) {
        self.set(key, json!({"boolValue": value}));
    }

    /// Seconds of a time in nanoseconds.
    fn seconds(&mut self, key: &str, ns: Option<u64>) {
        self.real(key, ns.map(|ns| ns as f64 / NS_PER_S));
    }

    fn value(self) -> Value {
        Value::Array(self.0)
    }
}
