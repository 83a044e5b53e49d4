//! The images, recordings and videos of a load as objects, and those of one request.

use super::load::{Distribution, S, seconds, sources};
use super::objects;
use ifm_core::SentMedia;
use ifm_metrics::level;
use std::collections::BTreeMap;

/// A sum of something that a request may lack: absent if zero.
fn some(number: u32) -> Option<u32> {
    (number > 0).then_some(number)
}

objects! {
    /// The images, recordings and videos of the complete answers' prompts.
    Media of found: &level::MediaSummary {
        /// Complete answers whose prompt carried any; all that follows is over these.
        requests: u64 = found.requests,
        /// Images.
        images: u64 = found.images,
        /// Recordings.
        audios: u64 = found.audios,
        /// Videos.
        videos: u64 = found.videos,
        /// Pixels of images and frames; absent where one was not looked into.
        pixels: Option<u64> = found.pixels,
        /// Pixels of a request, mean.
        pixels_mean: Option<f64> = found.pixels.map(|sum| found.per_request(sum)),
        /// Length of the recordings, seconds; absent if unknown for one of them.
        audio_s: Option<f64> = found.audio_ns.map(|sum| sum as f64 * S),
        /// Frames of the videos; absent where one was not looked into.
        frames: Option<u64> = found.frames,
        /// Bytes of the files, before base64; absent where an address replaces a file.
        file_bytes: Option<u64> = found.file_bytes,
        /// How many of the media an earlier request of the run had carried.
        seen: u64 = found.seen,
        /// The same as a share, 0 to 1: what a cache that forgets nothing would know.
        seen_share: f64 = found.seen_share(),
        /// Prompt tokens by kind: `text`, `image`, `audio`, `video`.
        tokens: BTreeMap<&'static str, MediaTokens> =
            found.tokens.iter().map(|kind| (kind.kind.word(), kind.into())).collect(),
        /// Share of the prompt tokens that came from a cache, as reported by the server.
        cached_share: Option<f64> = found.cached.share(),
        /// The uploads, without the first wave.
        upload: Option<Upload> = found.upload.as_ref().map(Upload::from),
        /// Time to first token of what was new and of what had been sent before.
        seen_or_new: Option<SeenOrNew> = found.seen_or_new.as_ref().map(SeenOrNew::from),
    }

    /// Prompt tokens of one kind.
    MediaTokens of kind: &level::KindTokens {
        /// Requests that carried it.
        requests: u64 = kind.requests,
        /// Requests for which this kind was counted.
        told: u64 = kind.told,
        /// Tokens of all of them; absent unless all were counted.
        total: Option<u64> = kind.total(),
        /// Tokens of a request, mean over those that were counted.
        mean: Option<f64> = kind.mean(),
        /// Requests by who counted.
        counted_by: BTreeMap<&'static str, u64> = sources(&kind.from),
    }

    /// The uploads of a load.
    Upload of upload: &level::Upload {
        /// Requests that were sent whole.
        requests: u64 = upload.requests,
        /// Start to the last byte in the kernel's hands, seconds.
        sent_s: Option<Distribution> = seconds(&Some(upload.sent_ns.clone())),
        /// Start to the last byte acknowledged, seconds, over the requests for which the kernel reported it.
        acked_s: Option<Distribution> = seconds(&upload.acked_ns),
        /// Bytes of a request on the wire, mean.
        bytes_mean: f64 = upload.bytes_mean,
        /// Bytes per second until they were acknowledged; absent where that is not known of all.
        bytes_per_s: Option<f64> = upload.bytes_per_s,
        /// Time of the uploads over the time to first token, 0 to 1.
        ttft_share: Option<f64> = upload.ttft_share,
        /// Share of the uploads' time until the kernel had taken the last byte, 0 to 1.
        sent_share: Option<f64> = upload.sent_share,
    }

    /// Time to first token by whether the server could have known the media.
    SeenOrNew of found: &level::SeenMedia {
        /// Of requests that carried something new, seconds.
        new_ttft_s: Option<Distribution> = seconds(&Some(found.new_ttft_ns.clone())),
        /// Of requests whose media had all been sent before, seconds.
        seen_ttft_s: Option<Distribution> = seconds(&Some(found.seen_ttft_ns.clone())),
        /// The second over the first, geometric means.
        ratio: f64 = found.ratio.value,
        /// Lower end of its 95 % interval.
        ratio_low: f64 = found.ratio.low,
        /// Upper end of it.
        ratio_high: f64 = found.ratio.high,
    }

    /// Media per second.
    MediaPerSecond of rates: &level::MediaRates {
        /// Images per second.
        images_per_s: Option<f64> = rates.images_per_s,
        /// Millions of pixels per second, of images and frames.
        megapixels_per_s: Option<f64> = rates.megapixels_per_s,
        /// Frames of videos per second.
        frames_per_s: Option<f64> = rates.frames_per_s,
    }

    /// What a request carried in addition to text.
    RequestMedia of sent: &SentMedia {
        /// Images.
        images: Option<u32> = some(sent.images),
        /// Recordings.
        audios: Option<u32> = some(sent.audios),
        /// Videos.
        videos: Option<u32> = some(sent.videos),
        /// Pixels of images and frames.
        pixels: Option<u64> = sent.pixels.filter(|_| sent.images + sent.videos > 0),
        /// Length of the recordings, seconds.
        audio_s: Option<f64> =
            sent.audio_ns.filter(|_| sent.audios > 0).map(|ns| ns as f64 * S),
        /// Frames of the videos.
        frames: Option<u32> = sent.frames.filter(|_| sent.videos > 0),
        /// Bytes of the files, before base64.
        file_bytes: Option<u64> = sent.file_bytes,
        /// How many of the media had been sent before in this run.
        seen: u32 = sent.seen,
    }
}
