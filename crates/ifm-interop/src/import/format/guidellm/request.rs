//! Single requests of a GuideLLM file, as they pass by.

use super::super::super::json::pieces::Piece;
use super::super::super::json::{Number, Word};
use super::super::collect::{self, Gathered};
use super::words::TpotMeaning;
use ifm_core::sheet::{Remark, Row, SheetRequest};
use serde::Deserialize;

/// Requests of the benchmark that is being read.
#[derive(Default)]
pub(super) struct Requests {
    requests: Vec<SheetRequest>,
    texts: bool,
    /// Requests whose time per output token fits one meaning alone: start to last token, and first
    /// to last token.
    fits: [u32; 2],
}

/// Share by which a request's own time per output token may differ from its stamps.
const FITS: f64 = 1e-3;

/// A request; names of 0.8 and of what came before.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Wire {
    output: Word,
    info: Info,
    #[serde(alias = "start_time")]
    request_start_time: Number,
    request_latency: Number,
    time_to_first_token_ms: Number,
    time_per_output_token_ms: Number,
    prompt_tokens: Number,
    output_tokens: Number,
    first_token_time: Number,
    last_token_time: Number,
    error: Word,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Info {
    timings: Timings,
    error: Word,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Timings {
    request_start: Number,
    first_token_iteration: Number,
    last_token_iteration: Number,
    token_iterations: Number,
}

impl Requests {
    /// Takes a request of `/benchmarks/i/requests/STATUS/k`.
    pub fn take(&mut self, piece: &Piece<'_>, all: &mut Gathered) {
        let status = piece.path.get(3).map(String::as_str).unwrap_or_default();
        if let Some(wire) = all.value::<Wire>(piece) {
            self.texts |= wire.output.0.as_deref().is_some_and(|text| !text.is_empty());
            match wire.tpot_meaning() {
                Some(TpotMeaning::WithFirst) => self.fits[0] += 1,
                Some(TpotMeaning::ByAll) => self.fits[1] += 1,
                None => {}
            }
            self.requests.push(request(wire, status));
        }
    }

    /// Puts the requests into their benchmark's row, with starts from the first of them.
    pub fn finish(&mut self, mut row: Row) -> Row {
        let mut requests = std::mem::take(&mut self.requests);
        collect::from_first_start(&mut requests);
        row.requests = requests;
        row
    }

    /// What the time per output token of this benchmark's requests is, by their stamps.
    pub fn tpot_meaning(&mut self) -> Option<TpotMeaning> {
        match std::mem::take(&mut self.fits) {
            [with_first, by_all] if with_first > by_all => Some(TpotMeaning::WithFirst),
            [with_first, by_all] if by_all > with_first => Some(TpotMeaning::ByAll),
            _ => None,
        }
    }

    /// What a sheet does not hold of them.
    pub fn remarks(&self) -> Option<Remark> {
        self.texts.then(|| {
            collect::lost("/benchmarks/*/requests", "texts and arguments of requests are not kept")
        })
    }
}

impl Wire {
    /// What its own time per output token was computed as, if one meaning alone fits.
    fn tpot_meaning(&self) -> Option<TpotMeaning> {
        let timings = &self.info.timings;
        let stated = self.time_per_output_token_ms.positive()?;
        let tokens = self.output_tokens.0.filter(|tokens| *tokens >= 1.0)?;
        let last = timings.last_token_iteration.0.or(self.last_token_time.0)?;
        let fits = |from: Option<f64>| {
            from.is_some_and(|from| ((last - from) * 1e3 / tokens / stated - 1.0).abs() <= FITS)
        };
        let start = self.request_start_time.0.or(timings.request_start.0);
        let first = timings.first_token_iteration.0.or(self.first_token_time.0);
        match (fits(start), fits(first)) {
            (true, false) => Some(TpotMeaning::WithFirst),
            (false, true) => Some(TpotMeaning::ByAll),
            _ => None,
        }
    }
}

fn request(wire: Wire, status: &str) -> SheetRequest {
    let timings = &wire.info.timings;
    let error = match status {
        "successful" => None,
        "incomplete" => Some("cut off by the end of the run".to_owned()),
        _ => Some(wire.info.error.0.or(wire.error.0).unwrap_or_else(|| status.to_owned())),
    };
    let start_s = wire.request_start_time.0.or(timings.request_start.0);
    let input_tokens = wire.prompt_tokens.count();
    if error.is_some() {
        return SheetRequest { start_s, input_tokens, error, ..SheetRequest::default() };
    }
    let first = timings.first_token_iteration.0.or(wire.first_token_time.0);
    let last = timings.last_token_iteration.0.or(wire.last_token_time.0);
    let ttft_ms = wire.time_to_first_token_ms.positive();
    let gaps = timings.token_iterations.count().and_then(|pieces| pieces.checked_sub(1));
    SheetRequest {
        start_s,
        client_queue_ms: None,
        ttft_ms,
        e2e_ms: wire.request_latency.positive().map(|seconds| seconds * 1e3),
        gaps: gaps.filter(|_| ttft_ms.is_some()).and_then(|gaps| u32::try_from(gaps).ok()),
        gaps_sum_ms: first.zip(last).filter(|_| ttft_ms.is_some()).map(|(a, b)| (b - a) * 1e3),
        gap_max_ms: None,
        input_tokens,
        output_tokens: wire.output_tokens.count(),
        error: None,
        status: None,
    }
}
