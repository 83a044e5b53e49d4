//! The upload of requests: from the start of sending to the last byte, and whose time it was.
//!
//! The last byte has left the client when it is in its kernel's hands, and has arrived when the
//! server's machine has acknowledged it. The kernel reports the second only for large requests,
//! also over TLS; if it does, the upload ends there. Not here: a verdict (`warning/upload.rs`).

use crate::stat::Distribution;
use ifm_core::RequestRecord;

const NS_PER_S: f64 = 1e9;

/// How long a request took to upload, nanoseconds, and whether that ends with the acknowledgement
/// of its last byte rather than with the kernel's taking it. Absent where it was never sent whole.
pub fn of(record: &RequestRecord) -> Option<(u64, bool)> {
    let sent_ns = record.sent_ns?;
    let end_ns = record.acked_ns.unwrap_or(sent_ns);
    Some((end_ns.saturating_sub(record.start_ns), record.acked_ns.is_some()))
}

/// The uploads of a level, over complete answers whose request was sent whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Upload {
    /// Requests.
    pub requests: u64,
    /// Start to the last byte in the kernel's hands, nanoseconds.
    pub sent_ns: Distribution,
    /// Start to the last byte acknowledged, nanoseconds, over the requests for which the kernel
    /// reported it.
    pub acked_ns: Option<Distribution>,
    /// Mean bytes of a request on the wire.
    pub bytes_mean: f64,
    /// Bytes per second of an upload: all bytes over all time until they were acknowledged. Absent
    /// where the kernel did not tell it of every request: what it was handed has not arrived.
    pub bytes_per_s: Option<f64>,
    /// Time of the uploads over TTFT, 0 to 1, over the requests that have both.
    pub ttft_share: Option<f64>,
    /// Share of the uploads' time until the kernel had taken the last byte, 0 to 1.
    pub sent_share: Option<f64>,
}

impl Upload {
    /// Absent without such a request.
    pub fn of(requests: &[&RequestRecord], percentiles: &[f64]) -> Option<Upload> {
        let (mut sent, mut acked) = (Vec::new(), Vec::new());
        let (mut bytes, mut upload_ns, mut in_ttft_ns, mut ttft_ns) = (0u64, 0u64, 0u64, 0u64);
        for record in requests.iter().filter(|record| record.outcome.is_ok()) {
            let (Some((ns, is_acked)), Some(sent_ns)) = (of(record), record.sent_ns) else {
                continue;
            };
            sent.push(sent_ns.saturating_sub(record.start_ns) as f64);
            acked.extend(is_acked.then_some(ns as f64));
            bytes = bytes.saturating_add(record.sent_bytes);
            upload_ns = upload_ns.saturating_add(ns);
            if let Some(first_ns) = record.first_token_ns().filter(|_| record.streamed) {
                let whole = first_ns.saturating_sub(record.start_ns);
                ttft_ns = ttft_ns.saturating_add(whole);
                // A server may answer before it has read everything.
                in_ttft_ns = in_ttft_ns.saturating_add(ns.min(whole));
            }
        }
        let ratio = |part: f64, whole: u64| (whole > 0).then(|| part / whole as f64);
        let requests = sent.len() as u64;
        let told = acked.len() == sent.len();
        Some(Upload {
            requests,
            bytes_mean: bytes as f64 / requests.max(1) as f64,
            bytes_per_s: ratio(bytes as f64 * NS_PER_S, upload_ns).filter(|_| told),
            ttft_share: ratio(in_ttft_ns as f64, ttft_ns),
            sent_share: ratio(sent.iter().sum(), upload_ns).map(|share| share.min(1.0)),
            acked_ns: Distribution::from_values(acked, percentiles),
            sent_ns: Distribution::from_values(sent, percentiles)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MS, closed_loop};

    #[test]
    fn an_upload_ends_where_the_last_byte_arrived() {
        let mut requests = closed_loop((0, 0), (1, 4), 0.0, (100.0, 10.0, 4));
        for record in &mut requests {
            record.sent_ns = Some(record.start_ns + 5 * MS);
            record.acked_ns = Some(record.start_ns + 20 * MS);
            record.sent_bytes = 1_000_000;
        }
        let found = |requests: &[RequestRecord]| {
            Upload::of(&requests.iter().collect::<Vec<_>>(), &[50.0]).expect("uploads")
        };
        let all = found(&requests);
        assert_eq!((all.ttft_share, all.sent_share), (Some(0.2), Some(0.25)));
        assert_eq!((all.bytes_per_s, all.bytes_mean), (Some(50e6), 1e6));
        // One that the kernel did not tell of: no speed, for its bytes may not have arrived.
        requests[0].acked_ns = None;
        let some = found(&requests);
        assert_eq!((some.bytes_per_s, some.acked_ns.map(|of| of.n)), (None, Some(3)));
        assert_eq!(some.ttft_share, Some((5.0 + 60.0) / 400.0));
        requests.iter_mut().for_each(|record| record.sent_ns = None);
        assert_eq!(Upload::of(&requests.iter().collect::<Vec<_>>(), &[50.0]), None);
    }
}
