//! What all requests share.
//!
//! Not here: which path leads where (`router`), sockets (`server`).

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use ifm_core::contained::contained;

use crate::{
    backend::Backend,
    browser::Guard,
    error::ApiError,
    fault::Faults,
    fields::Fields,
    form::Grammars,
    frames::{Api, Identity},
    media::{Media, Taken},
    metrics::Metrics,
    options::ServeOptions,
    template::{ChatTemplate, MEDIUM},
};

/// Texts from this length on are turned into tokens beside the server's thread, which
/// would otherwise stall every stream for the time it takes.
const LONG_TEXT_BYTES: usize = 16 << 10;

/// What all requests share.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) backend: Backend,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) template: ChatTemplate,
    pub(crate) model_name: String,
    pub(crate) api_key: Option<String>,
    pub(crate) guard: Guard,
    pub(crate) created_s: u64,
    pub(crate) version: String,
    pub(crate) faults: Faults,
    pub(crate) grammars: Grammars,
    /// Answers tell their times.
    pub(crate) tells_times: bool,
    pub(crate) media: Media,
    /// Longest text that the context may hold, bytes.
    text_bytes_max: usize,
    requests: AtomicU64,
}

impl App {
    pub(crate) fn new(options: ServeOptions) -> Self {
        let ServeOptions { backend, model_name, api_key, version, faults, media, .. } = options;
        let longest = backend.tokenizer().longest_token_bytes();
        Self {
            text_bytes_max: (backend.facts().context + 1).saturating_mul(longest),
            template: ChatTemplate::find(backend.tokenizer()),
            metrics: Arc::new(Metrics::new()),
            guard: Guard::new(options.browsers, options.listen.ip(), api_key.is_some()),
            backend,
            model_name,
            api_key,
            version,
            faults,
            grammars: Grammars::new(options.form_compile),
            tells_times: options.per_request_metrics,
            media: Media::new(media),
            created_s: unix_seconds(),
            requests: AtomicU64::new(0),
        }
    }

    /// Most tokens of a prompt and its answer.
    pub(crate) fn context(&self) -> usize {
        self.backend.facts().context
    }

    /// A name for the next answer.
    pub(crate) fn identify(&self, api: Api) -> Identity {
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        Identity {
            api,
            id: format!("{}{:x}-{number}", api.id_prefix(), self.created_s),
            number,
            created_s: unix_seconds(),
            model: self.model_name.clone(),
            media: None,
        }
    }

    /// Refuses requests for another model. A request that names none gets this one.
    pub(crate) fn check_model(&self, fields: &Fields) -> Result<(), ApiError> {
        match fields.text("model")? {
            Some(name) if name != self.model_name => Err(ApiError::unknown_model(name)),
            _ => Ok(()),
        }
    }

    /// Tokens of the prompt of a chat, with those of each medium in its place.
    pub(crate) async fn encode_with(
        self: &Arc<Self>,
        text: String,
        media: &Taken,
    ) -> Result<Vec<u32>, ApiError> {
        let mut tokens = Vec::new();
        let mut of_media = media.ids(self.backend.tokenizer().vocab_size());
        for (place, piece) in text.split(MEDIUM).enumerate() {
            if place > 0 {
                tokens.extend(of_media.next().unwrap_or_default());
            }
            if place == 0 || !piece.is_empty() {
                tokens.extend(self.encode(piece.to_owned(), place == 0).await?);
            }
        }
        Ok(tokens)
    }

    /// Tokens of a text; with `is_start`, behind the token that starts a text, if the
    /// model wants one and the text does not have it already.
    pub(crate) async fn encode(
        self: &Arc<Self>,
        text: String,
        is_start: bool,
    ) -> Result<Vec<u32>, ApiError> {
        // More text than this has more tokens than the context, whatever it says; counting them could take
        // minutes.
        if text.len() > self.text_bytes_max {
            return Err(ApiError::text_too_long(text.len(), self.context(), self.text_bytes_max));
        }
        let app = Arc::clone(self);
        let is_long = text.len() >= LONG_TEXT_BYTES;
        let encode = move || -> Result<Vec<u32>, ApiError> {
            let tokenizer = app.backend.tokenizer();
            let mut ids =
                tokenizer.encode(&text).map_err(|error| ApiError::invalid(error.to_string()))?;
            let bos_id = app.backend.facts().bos_id.filter(|_| is_start);
            if let Some(bos_id) = bos_id.filter(|id| ids.first() != Some(id)) {
                ids.insert(0, bos_id);
            }
            Ok(ids)
        };
        let encode =
            || contained(encode).unwrap_or_else(|error| Err(ApiError::internal(error.to_string())));
        if !is_long {
            return encode();
        }
        let encoded = tokio::task::spawn_blocking(encode).await;
        encoded.unwrap_or_else(|error| Err(ApiError::internal(error.to_string())))
    }
}

fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |duration| duration.as_secs())
}
