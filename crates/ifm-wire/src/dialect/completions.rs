//! OpenAI's completions, `POST /v1/completions`: texts and token ids, no messages.
//!
//! Ends as [`super::chat`] does.

use super::openai;
use super::{Dialect, Prompts};
use ifm_core::spec::Api;

/// The dialect.
pub(super) static DIALECT: Dialect = Dialect {
    prompts: Prompts { tokens: Some("prompt"), ..Prompts::texts("prompt") },
    form: Some(super::forms::completions),
    ..openai::usual(Api::Completions, "/completions")
};
