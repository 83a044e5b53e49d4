//! What the flags of a load mean for the requests before it: which fields the user chose, whether one
//! request is sent if no other is, and what to report about fields that the server rejects.
//!
//! Not here: how these requests are sent (`preflight`).

use crate::cli::args::load::LoadArgs;
use crate::exit::Failure;
use crate::terminal;
use ifm_core::manifest::{RejectedField, ServerInfo};
use ifm_metrics::warning::rejection_sentence;
use ifm_probe::preflight::{EXTRA_BODY, Fault, FieldRules, Preflight};
use ifm_wire::RequestTemplate;
use ifm_wire::dialect::Dialect;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Fields that the user chose. They are never dropped silently, since a run without them would answer
/// a different question.
pub fn field_rules(
    args: &LoadArgs,
    dialect: &Dialect,
    template: &RequestTemplate,
    extra_body: &Map<String, Value>,
) -> FieldRules {
    let mut set_by: BTreeMap<String, String> = BTreeMap::new();
    if let Some(file) = dialect.file() {
        let fields = template.removable_fields().into_iter().map(|field| field.name);
        set_by.extend(fields.map(|name| (name, format!("the API file {}", file.stored().name))));
    }
    if args.ignore_eos == Some(true) {
        set_by.insert("ignore_eos".to_owned(), "--ignore-eos".to_owned());
    }
    if args.temperature.is_some() {
        set_by.insert("temperature".to_owned(), "--temperature".to_owned());
    }
    let extra = extra_body.keys().map(|name| (name.clone(), EXTRA_BODY.to_owned()));
    set_by.extend(extra);
    FieldRules { set_by, is_strict: args.strict, is_quiet: args.results.quiet }
}

/// Sends one request if none was sent before: it shows which fields the server rejects. A server of
/// this program accepts them all.
///
/// # Errors
/// Why the load must not start.
pub fn ask_once(
    preflight: &mut Preflight,
    dialect: &Dialect,
    server: &ServerInfo,
) -> Result<(), Failure> {
    let is_known = server.kind.as_deref() == Some("inferometer") || dialect.file().is_some();
    let takes_text = dialect.api.generates() && !dialect.api.takes_recordings();
    if preflight.has_asked() || is_known || !takes_text {
        return Ok(());
    }
    match preflight.ask_once() {
        Ok(_) | Err(Fault::Refused(..) | Fault::TooLong(..)) => Ok(()),
        Err(Fault::Stop(failure)) => Err(*failure),
        Err(Fault::Failed(why)) => {
            terminal::warn(&format!("the request before the load failed: {why}"));
            Ok(())
        }
    }
}

/// Reports which fields the server rejects, once.
pub fn report(rejected: &[RejectedField]) {
    for field in rejected {
        terminal::tell(&format!(
            "{} (HTTP {}: {})",
            rejection_sentence(field),
            field.status,
            field.message
        ));
    }
}
