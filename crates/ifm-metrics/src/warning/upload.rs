//! Requests so large that their way to the server is a good part of the time to first token.

use super::{AtLevel, Check, Context, Made, Severity, ms, percent};
use crate::level::{Judged, LevelSummary};
use crate::measured::upload::Upload;
use ifm_core::{HealthVerdict, RequestRecord};

/// Above this share of TTFT, the upload is what was measured as much as the server.
const SHARE_MAX: f64 = 0.2;
/// Uploads that take less on average, nanoseconds, do not matter.
const MEAN_MIN_NS: f64 = 1e6;
/// Requests of fewer bytes fit into the buffers of any socket.
const BYTES_MIN: u64 = 64 * 1024;

pub(super) const CHECK: Check = Check {
    id: "upload",
    title: "sending the requests took little of the time to first token",
    run: Made::ByLevel(make),
};

fn is_large(record: &RequestRecord) -> bool {
    record.media.is_some() || record.acked_ns.is_some() || record.sent_bytes >= BYTES_MIN
}

fn make(context: &Context, level: &LevelSummary) -> AtLevel {
    let mut requests = Judged::of(level.asked.as_ref(), context.measured(level)).requests;
    requests.retain(|record| is_large(record));
    let Some(upload) = Upload::of(&requests, &[50.0]) else { return AtLevel::NotApplicable };
    let Some(share) = upload.ttft_share else { return AtLevel::NotApplicable };
    let (until, mean_ns) = match &upload.acked_ns {
        Some(acked) if acked.n == upload.requests => {
            ("the server's machine had received it", acked.mean)
        }
        _ => ("the client's kernel had accepted it", upload.sent_ns.mean),
    };
    if share <= SHARE_MAX || mean_ns < MEAN_MIN_NS {
        return AtLevel::Silent;
    }
    AtLevel::Fires(
        Severity::Caution,
        format!(
            "the upload is {} of TTFT: {} kB a request, on average {} ms until {until}; {}",
            percent(share),
            (upload.bytes_mean / 1e3).round(),
            ms(mean_ns),
            whose(context, &upload)
        ),
    )
}

/// Whether the client or the network took the time, as far as is known.
fn whose(context: &Context, upload: &Upload) -> String {
    let health = context.run.manifest.health.as_ref();
    let is_suspect = health.is_some_and(|health| health.verdict == HealthVerdict::Suspect);
    let sent = upload.sent_share.unwrap_or(1.0);
    if upload.acked_ns.is_none() {
        return "the kernel does not report when it arrived, so the network's part is unknown"
            .to_owned();
    }
    if sent < 0.5 {
        return format!(
            "{} of that was outside the client: the network, or a server that reads slowly",
            percent(1.0 - sent)
        );
    }
    match is_suspect {
        true => format!(
            "{} of that was the client's own, whose timing is suspect: the client may be what was \
             measured",
            percent(sent)
        ),
        false => format!(
            "for {} of that the client waited to hand over the bytes, and its timing is sound: the \
             network, or a server that reads slowly",
            percent(sent)
        ),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{MS, images, sound_images};
    use crate::warning::CheckState;
    use crate::warning::testing::{sound_run, state, text};
    use ifm_core::{ClientHealth, HealthVerdict};

    #[test]
    fn fires_where_sending_is_a_good_part_of_ttft() {
        assert_eq!(state(&sound_images(), "upload"), CheckState::Passed);
        assert_eq!(state(&sound_run(), "upload"), CheckState::NotApplicable);
        let slow = |sent_ms: u64| {
            images(move |_, record| {
                record.sent_ns = Some(record.start_ns + sent_ms * MS);
                record.acked_ns = Some(record.start_ns + 62 * MS);
            })
        };
        let said = text(&slow(2), "upload");
        assert!(said.contains("62.0 % of TTFT: 67 kB a request, on average 62.0 ms"), "{said}");
        assert!(said.contains("96.8 % of that was outside the client"), "{said}");
        let mut own = slow(60);
        assert!(text(&own, "upload").contains("its timing is sound"));
        own.manifest.health =
            Some(ClientHealth { verdict: HealthVerdict::Suspect, ..ClientHealth::default() });
        assert!(text(&own, "upload").contains("the client may be what was measured"));
    }
}
