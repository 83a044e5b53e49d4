//! The arrays of single requests, one array for each field, aggregated while they are read.
//!
//! Of the gaps of a request, their number, sum and maximum are kept. A failed request has zeros in
//! the arrays: it has no times.

use super::super::bounds::REQUESTS_MAX;
use super::super::json::{Fault, Kind, Reader};
use super::Dialect;
use ifm_core::sheet::{Place, Remark, RemarkKind, Row, SheetRequest};

/// Characters of an error that are kept.
const ERROR_CHARACTERS_MAX: usize = 300;

/// Single requests while their arrays come in.
#[derive(Debug, Default)]
pub(crate) struct Details {
    requests: Vec<SheetRequest>,
    end_to_end: bool,
    errors: bool,
    lost: bool,
    /// Values in the current array that are not numbers: the first, and how many others.
    misplaced: Option<(String, usize)>,
}

impl Details {
    /// Reads the value of a field that is such an array. False for any other field; then nothing
    /// has been read.
    pub fn take(
        &mut self,
        field: &str,
        reader: &mut Reader<'_>,
        remarks: &mut Vec<Remark>,
    ) -> Result<bool, Fault> {
        if reader.kind()? != Kind::Array {
            return Ok(false);
        }
        let place = Place { line: Some(reader.line()), pointer: Some(format!("/{field}")) };
        match field {
            "ttfts" => self.numbers(reader, |request, s| request.ttft_ms = Some(s * 1e3))?,
            "latencies" | "e2els" => {
                self.end_to_end = true;
                self.numbers(reader, |request, s| request.e2e_ms = Some(s * 1e3))?;
            }
            "start_times" => self.numbers(reader, |request, s| request.start_s = Some(s))?,
            "input_lens" => self.numbers(reader, |request, n| request.input_tokens = count(n))?,
            "output_lens" => self.numbers(reader, |request, n| request.output_tokens = count(n))?,
            "itls" => {
                let mut misplaced = None;
                self.each(reader, |request, reader| gaps(request, reader, &mut misplaced))?;
                self.misplaced = misplaced;
            }
            "errors" => {
                self.errors = true;
                self.each(reader, error)?;
            }
            "queue_times" => {
                self.numbers(reader, |request, s| request.client_queue_ms = Some(s * 1e3))?;
            }
            "generated_texts" => texts(field, reader, remarks)?,
            _ => return Ok(false),
        }
        if let Some((first, others)) = self.misplaced.take() {
            let text = match others {
                0 => format!("{first} stands where a number belongs: it is not kept"),
                n => {
                    let others = if n == 1 { "other" } else { "others" };
                    format!(
                        "{first} and {n} {others} stand where numbers belong: they are not kept"
                    )
                }
            };
            remarks.push(Remark { kind: RemarkKind::Lost, place, text });
        }
        Ok(true)
    }

    /// Gives the requests to the row, with the tool's habits put right.
    pub fn settle(mut self, dialect: Dialect, row: &mut Row, remarks: &mut Vec<Remark>) {
        // Without arrays of results, what there is says nothing of single requests.
        let measured = |request: &SheetRequest| {
            request.ttft_ms.is_some() || request.e2e_ms.is_some() || request.output_tokens.is_some()
        };
        if !self.requests.iter().any(measured) {
            return;
        }
        let origin = self.requests.iter().filter_map(|request| request.start_s).reduce(f64::min);
        for request in &mut self.requests {
            request.start_s = request.start_s.zip(origin).map(|(start, origin)| start - origin);
            if request.error.is_some() {
                *request = SheetRequest {
                    start_s: request.start_s,
                    input_tokens: request.input_tokens,
                    error: request.error.take(),
                    ..SheetRequest::default()
                };
                continue;
            }
            // Zero means that no first token was received.
            request.ttft_ms = request.ttft_ms.filter(|ttft| *ttft > 0.0);
            request.e2e_ms = request.e2e_ms.filter(|e2e| *e2e > 0.0);
            // vLLM ends a request with its last piece; the others do not.
            if !self.end_to_end && dialect == Dialect::Vllm {
                request.e2e_ms = request.ttft_ms.zip(request.gaps_sum_ms).map(|(a, b)| a + b);
            }
        }
        if self.lost {
            remarks.push(Remark {
                kind: RemarkKind::Lost,
                place: row.place.clone(),
                text: format!("single requests beyond the first {REQUESTS_MAX} are not kept"),
            });
        }
        row.requests = self.requests;
    }

    /// Failed requests, where there is an array of errors.
    pub fn failed(&self) -> Option<usize> {
        self.errors.then(|| self.requests.iter().filter(|request| request.error.is_some()).count())
    }

    fn numbers(
        &mut self,
        reader: &mut Reader<'_>,
        set: impl Fn(&mut SheetRequest, f64),
    ) -> Result<(), Fault> {
        let mut misplaced = None;
        self.each(reader, |request, reader| {
            if let Some(number) = reader.number_or(|other| count_in(&mut misplaced, other))? {
                set(request, number);
            }
            Ok(())
        })?;
        self.misplaced = misplaced;
        Ok(())
    }

    fn each(
        &mut self,
        reader: &mut Reader<'_>,
        mut take: impl FnMut(&mut SheetRequest, &mut Reader<'_>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let mut at = 0;
        reader.array(|reader| {
            if at == REQUESTS_MAX {
                self.lost = true;
                return reader.skip();
            }
            if at == self.requests.len() {
                self.requests.push(SheetRequest::default());
            }
            at += 1;
            match self.requests.get_mut(at - 1) {
                Some(request) => take(request, reader),
                None => reader.skip(),
            }
        })
    }
}

/// Counts a value that is not a number where one is expected.
fn count_in(misplaced: &mut Option<(String, usize)>, other: &str) {
    match misplaced {
        Some((_, others)) => *others += 1,
        None => *misplaced = Some((other.to_owned(), 0)),
    }
}

fn gaps(
    request: &mut SheetRequest,
    reader: &mut Reader<'_>,
    misplaced: &mut Option<(String, usize)>,
) -> Result<(), Fault> {
    if reader.kind()? != Kind::Array {
        return reader.skip();
    }
    let (mut number, mut sum, mut largest) = (0_u32, 0.0, None::<f64>);
    reader.array(|reader| {
        if let Some(gap) = reader.number_or(|other| count_in(misplaced, other))? {
            number = number.saturating_add(1);
            sum += gap;
            largest = Some(largest.map_or(gap, |largest| largest.max(gap)));
        }
        Ok(())
    })?;
    request.gaps = Some(number);
    request.gaps_sum_ms = Some(sum * 1e3);
    request.gap_max_ms = largest.map(|gap| gap * 1e3);
    Ok(())
}

fn error(request: &mut SheetRequest, reader: &mut Reader<'_>) -> Result<(), Fault> {
    if reader.kind()? != Kind::Text {
        return reader.skip();
    }
    let error = reader.text()?;
    if !error.is_empty() {
        request.error = Some(last_line(&error));
    }
    Ok(())
}

fn count(number: f64) -> Option<u64> {
    (number >= 0.0 && number.fract() == 0.0 && number < 9e15).then_some(number as u64)
}

/// Passes over the texts of the answers.
fn texts(field: &str, reader: &mut Reader<'_>, remarks: &mut Vec<Remark>) -> Result<(), Fault> {
    let place = Place { line: Some(reader.line()), pointer: Some(format!("/{field}")) };
    let mut some = false;
    reader.array(|reader| {
        some = true;
        reader.skip()
    })?;
    if some {
        let text = "the texts of the answers are not kept".to_owned();
        remarks.push(Remark { kind: RemarkKind::Lost, place, text });
    }
    Ok(())
}

/// Of a traceback the last line says what happened.
fn last_line(error: &str) -> String {
    let line = error.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or(error);
    line.trim().chars().take(ERROR_CHARACTERS_MAX).collect()
}
