//! Sends figures to Prometheus: through a Pushgateway, which keeps them for its scrapes, or by remote
//! write.
//!
//! The URL decides which of the two: a path with an ending of remote write (`/api/v1/write` of Prometheus,
//! `/api/v1/push` of Mimir, `/api/v1/receive` of Thanos) means remote write. A Pushgateway gets one group
//! per run name, which the next run of that name replaces.
//!
//! Not here: the figures and their labels (`ifm-interop`).

use super::target::Parcel;
use super::{Push, Results, Target, nothing, number};
use crate::exit::{Code, Failure};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;
use ifm_interop::export::openmetrics::{Family, Sample, families, text};

pub(super) const PUSH: Push =
    Push { format: "openmetrics", example: "http://localhost:9091", has_report: false, send };

/// Endings of remote write paths.
const WRITES: [&str; 3] = ["/write", "/push", "/receive"];
/// Path of a group in a Pushgateway, and inferometer's job name.
const GROUPS: &str = "/metrics/job/";
const JOB: &str = "inferometer";
const GATEWAY_WANTED: &str = "check that the URL is that of a Pushgateway (usually port 9091), or ends with /api/v1/write for \
                              Prometheus's remote write, which is switched on with --web.enable-remote-write-receiver";
const MS_PER_S: u64 = 1000;

fn send(target: &Target, results: &Results) -> Result<String, Failure> {
    let families = families(&results.sheet, results.run.as_ref());
    if families.is_empty() {
        return Err(nothing(results, "figure"));
    }
    let samples = families.iter().map(|family| family.samples.len()).sum();
    match WRITES.iter().any(|end| target.path().ends_with(end)) {
        true => write(target, &families)?,
        false => group(target, results, &families)?,
    }
    Ok(format!("{} of {} metrics", number(samples, "sample"), families.len()))
}

/// Replaces a group of a Pushgateway.
fn group(target: &Target, results: &Results, families: &[Family]) -> Result<(), Failure> {
    let path = target.path();
    let path = match path.contains(GROUPS) {
        true => path.to_owned(),
        false => format!("{path}{GROUPS}{JOB}{}", of_name(results)),
    };
    let body = text(families, false);
    let parcel = Parcel {
        method: "PUT",
        media: "text/plain; version=0.0.4; charset=utf-8",
        body: body.as_bytes(),
        headers: &[],
    };
    target.send(&target.at(&path), parcel, GATEWAY_WANTED).map(drop)
}

/// The part of a group's path that distinguishes its runs from others: their name, which is also one of
/// their labels.
fn of_name(results: &Results) -> String {
    let (label, value) = match &results.run {
        Some(run) => ("name", run.manifest.name.as_deref().unwrap_or_default()),
        None => ("document", results.sheet.source.name.as_str()),
    };
    let is_plain =
        |value: &str| value.bytes().all(|c| c.is_ascii_alphanumeric() || b"-_.".contains(&c));
    match value {
        "" => String::new(),
        plain if is_plain(plain) => format!("/{label}/{plain}"),
        other => format!("/{label}@base64/{}", URL_SAFE.encode(other)),
    }
}

/// Writes samples with the times at which their levels ended.
fn write(target: &Target, families: &[Family]) -> Result<(), Failure> {
    let now_s = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now_s = now_s.map_or(0, |since| since.as_secs());
    let mut request = Vec::new();
    for family in families {
        for sample in &family.samples {
            field(&mut request, 1, &series(&family.name, sample, now_s));
        }
    }
    let packed = snap::raw::Encoder::new().compress_vec(&request);
    let packed = packed.map_err(|error| Failure::new(Code::Internal, error.to_string()))?;
    let parcel = Parcel {
        method: "POST",
        media: "application/x-protobuf",
        body: &packed,
        headers: &[("Content-Encoding", "snappy"), ("X-Prometheus-Remote-Write-Version", "0.1.0")],
    };
    target.send(&target.at(target.path()), parcel, GATEWAY_WANTED).map(drop)
}

/// A time series of one sample, in the protocol's binary form (`TimeSeries` of remote write 1.0): labels
/// by name, then the value and its time in milliseconds.
fn series(name: &str, sample: &Sample, now_s: u64) -> Vec<u8> {
    let mut labels = sample.labels.clone();
    labels.insert("__name__".to_owned(), format!("{name}{}", sample.suffix));
    labels.insert("job".to_owned(), JOB.to_owned());
    let mut series = Vec::new();
    for (name, value) in &labels {
        let mut label = Vec::new();
        field(&mut label, 1, name.as_bytes());
        field(&mut label, 2, value.as_bytes());
        field(&mut series, 1, &label);
    }
    // Wire types of the binary form: 1 is eight bytes, 0 a number of variable length.
    let mut point = vec![1 << 3 | 1];
    point.extend(sample.value.to_le_bytes());
    point.push(2 << 3);
    varint(&mut point, sample.unix_s.unwrap_or(now_s) * MS_PER_S);
    field(&mut series, 2, &point);
    series
}

/// Bytes with their length, as a field with this number.
fn field(to: &mut Vec<u8>, number: u8, bytes: &[u8]) {
    to.push(number << 3 | 2);
    varint(to, bytes.len() as u64);
    to.extend(bytes);
}

/// Seven bits per byte, lowest first; the eighth means that more follow.
fn varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_is_what_the_protocol_says() {
        let labels = [("model".to_owned(), "m".to_owned())].into();
        let sample = Sample { suffix: "_sum", labels, value: 1.0, unix_s: Some(2) };
        let bytes = series("x", &sample, 9);
        let mut expect = Vec::new();
        for (name, value) in [("__name__", "x_sum"), ("job", "inferometer"), ("model", "m")] {
            let (n, v) = (name.len() as u8, value.len() as u8);
            expect.extend([0x0a, n + v + 4, 0x0a, n]);
            expect.extend(name.bytes());
            expect.extend([0x12, v]);
            expect.extend(value.bytes());
        }
        // 1.0 is 0x3ff0 and six zeros; 2000 is 15 times 128 and 80.
        expect.extend([0x12, 12, 0x09, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0x10, 0xd0, 0x0f]);
        assert_eq!(bytes, expect);
    }
}
