//! `POST /v1/chat/completions`.

use std::{sync::Arc, time::Instant};

use axum::{
    body::Bytes,
    extract::{ConnectInfo, State, rejection::BytesRejection},
    response::Response,
};

use crate::{
    app::App,
    body::read_fields,
    error::ApiError,
    fields::Fields,
    frames::Api,
    generate::{Generation, generate},
    media::Taken,
    params::Params,
    socket::Connection,
    template::read_messages,
};

/// Answers a chat.
pub(crate) async fn handle(
    State(app): State<Arc<App>>,
    connection: ConnectInfo<Connection>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let arrival = connection.0.arrival();
    answer(Api::Chat, app, connection, arrival, read_fields(body)?).await
}

/// Answers a chat in the words of an API.
pub(crate) async fn answer(
    api: Api,
    app: Arc<App>,
    connection: ConnectInfo<Connection>,
    arrival: Instant,
    fields: Fields,
) -> Result<Response, ApiError> {
    app.check_model(&fields)?;
    let params = Params::read(&fields)?;
    let mut media = Taken::default();
    let messages = read_messages(&fields, &mut |part| app.media.take(part, &mut media))?;
    let prompt = app.encode_with(app.template.render(&messages, true), &media).await?;
    let generation =
        Generation { api, params, prompt, media, max_tokens_default: None, arrival, connection };
    generate(app, generation).await
}
