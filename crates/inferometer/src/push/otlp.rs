//! Sends spans to an OpenTelemetry collector, by OTLP over HTTP with JSON.

use super::target::Parcel;
use super::{Push, Results, Target, nothing, number};
use crate::exit::Failure;
use ifm_interop::export::otlp::{document, spans, traces};
use serde_json::Value;

pub(super) const PUSH: Push =
    Push { format: "otlp", example: "http://localhost:4318", has_report: false, send };

/// Path of receivers for spans.
const PATH: &str = "/v1/traces";
/// Spans per request, as in OpenTelemetry's own exporters.
const SPANS_MAX: usize = 512;
const WANTED: &str = "check that the URL is that of an OTLP receiver over HTTP: of a collector usually port 4318 \
                      (4317 is gRPC)";

fn send(target: &Target, results: &Results) -> Result<String, Failure> {
    let run = results.run.as_ref();
    let run = run.ok_or_else(|| nothing(results, "request that inferometer measured"))?;
    let spans = spans(run);
    if spans.is_empty() {
        return Err(nothing(results, "request that was sent"));
    }
    let path = target.path();
    let path = if path.ends_with(PATH) { path.to_owned() } else { format!("{path}{PATH}") };
    let url = target.at(&path);
    let mut sent = 0;
    for part in spans.chunks(SPANS_MAX) {
        let body = document(&run.manifest, part).to_string();
        let parcel = Parcel {
            method: "POST",
            media: "application/json",
            body: body.as_bytes(),
            headers: &[],
        };
        let reply = target.send(&url, parcel, WANTED).map_err(|failure| told(failure, sent))?;
        let rejected = rejected(&reply.json());
        if rejected > 0 {
            let of = number(part.len(), "span");
            let failure = Failure::server(format!("the collector left out {rejected} of {of}"));
            return Err(told(failure, sent));
        }
        sent += part.len();
    }
    let traces = number(traces(&spans), "trace");
    Ok(format!("{} in {traces}", number(sent, "span")))
}

/// How many spans a receiver reports as rejected.
fn rejected(reply: &Value) -> u64 {
    let count = &reply["partialSuccess"]["rejectedSpans"];
    count.as_u64().or_else(|| count.as_str()?.parse().ok()).unwrap_or(0)
}

/// A failure after a part had been accepted.
fn told(failure: Failure, sent: usize) -> Failure {
    match sent {
        0 => failure,
        sent => failure.also(&format!("{} had been accepted before", number(sent, "span"))),
    }
}
