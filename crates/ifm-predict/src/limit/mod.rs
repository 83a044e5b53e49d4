//! The result of `inferometer limit`: bounds for a list of users, as text, JSON and a page.
//!
//! Not here: where a bound comes from (`ifm-roofline`), and what the flags mean (`cli/limit`).

mod json;
mod list;
mod measured;
mod page;
mod text;

pub use json::{LimitDocument, LimitList};
pub use list::list_text;
pub use measured::{Held, Measured};
pub use page::page;
pub use text::text;

use ifm_roofline::{Bound, Capacity, Setup};
use serde::Serialize;

/// Where the format of the weights comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum FormatOrigin {
    /// A flag.
    #[serde(rename = "flag")]
    Asked,
    /// The model's name.
    #[serde(rename = "name")]
    Name,
    /// The table or the configuration: the model is published in it.
    #[serde(rename = "published")]
    Published,
}

/// Lengths of a request, tokens.
#[derive(Debug, Clone, Copy)]
pub struct Request {
    /// Prompt.
    pub input: f64,
    /// Answer.
    pub output: f64,
}

/// Bounds at one number of users.
#[derive(Debug)]
pub struct Level {
    /// Users.
    pub users: u32,
    /// One decode step of all of them, halfway through their answers.
    pub step: Bound,
    /// Requests one after another.
    pub closed_loop: Bound,
}

/// The whole result.
#[derive(Debug)]
pub struct Answer {
    pub setup: Setup,
    pub origin: FormatOrigin,
    pub request: Request,
    pub capacity: Capacity,
    pub ridge_tokens: Option<f64>,
    /// One prompt alone.
    pub prefill: Bound,
    pub levels: Vec<Level>,
    pub held: Vec<Held>,
}

impl Answer {
    /// Computes every bound.
    pub fn new(
        setup: Setup,
        origin: FormatOrigin,
        request: Request,
        users: &[u32],
        measured: &[Measured],
    ) -> Answer {
        let context = request.input + request.output / 2.0;
        let levels = users
            .iter()
            .map(|&users| Level {
                users,
                step: setup.decode(f64::from(users), context),
                closed_loop: setup.closed_loop(f64::from(users), request.input, request.output),
            })
            .collect();
        let held = measured.iter().filter_map(|value| value.hold(&setup, request)).collect();
        Answer {
            origin,
            request,
            capacity: setup.capacity(request.input + request.output),
            ridge_tokens: setup.ridge_tokens(),
            prefill: setup.prefill(1.0, request.input),
            levels,
            held,
            setup,
        }
    }
}
