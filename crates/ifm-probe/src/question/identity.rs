//! What the server is: software, model, context, weights.

use super::{Finding, Grade, Inquiry, Section};
use serde_json::json;

/// Reports what the server said about itself before.
pub fn ask(inquiry: &mut Inquiry) -> Vec<Finding> {
    let (server, model) = (&inquiry.server, &inquiry.model);
    let mut findings = vec![software(inquiry)];
    let others = server.models.iter().filter(|name| *name != model).count();
    let text = match others {
        0 => model.clone(),
        others => format!("{model}, and {others} more"),
    };
    let value = json!({"asked": model, "offered": server.models});
    let is_listed = server.models.contains(model);
    let grade = if is_listed { Grade::Good } else { Grade::Caution };
    let means = if is_listed {
        ""
    } else {
        "it is not on the server's list: many servers answer anyway, with the model they have"
    };
    findings.push(
        Finding::known((Section::Server, "model"), grade, value, text)
            .how("GET /models")
            .means(means),
    );
    let id = (Section::Server, "context");
    findings.push(match server.context_tokens {
        Some(tokens) => Finding::known(id, Grade::Good, tokens, format!("{tokens} tokens"))
            .how("GET /models")
            .means("prompt, template and answer together have to fit"),
        None => Finding::unknown(id, "GET /models does not report it"),
    });
    if !server.notes.is_empty() {
        let list: Vec<String> =
            server.notes.iter().map(|(name, value)| format!("{name} {}", short(value))).collect();
        findings.push(
            Finding::known(
                (Section::Server, "facts"),
                Grade::Good,
                json!(server.notes),
                list.join(", "),
            )
            .how("GET /models and what this software reports about itself"),
        );
    }
    findings
}

fn software(inquiry: &Inquiry) -> Finding {
    let id = (Section::Server, "software");
    let server = &inquiry.server;
    let Some(kind) = &server.kind else {
        let header = server.server_header.as_deref().unwrap_or("none");
        return Finding::unknown(id, format!("no known software; its Server header: {header}"));
    };
    let version = server.version.as_deref().unwrap_or("");
    Finding::known(
        id,
        Grade::Good,
        json!({"kind": kind, "version": server.version}),
        format!("{kind} {version}").trim(),
    )
    .how("its list of models, its headers, and answers that are typical of this software")
}

/// A value of which a few characters are enough to distinguish it.
fn short(value: &str) -> String {
    const CHARS_MAX: usize = 40;
    const CHARS_KEPT: usize = 12;
    match value.chars().count() > CHARS_MAX && !value.contains(' ') {
        true => value.chars().take(CHARS_KEPT).chain(['…']).collect(),
        false => value.to_owned(),
    }
}
