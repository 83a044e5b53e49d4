//! WAV files: how long one is, and tones as samples.
//!
//! Not here: when samples are sent (`speech`).

use std::{f64::consts::TAU, time::Duration};

/// Samples of 16 bits, of one channel, in a second of sound that is made here.
pub(super) const SAMPLES_PER_S: u32 = 24_000;
/// Bytes of a sample.
const SAMPLE_BYTES: u32 = 2;
/// Pitch of the tone, and its loudness as a share of the largest sample.
const TONE_HZ: f64 = 440.0;
const LOUDNESS: f64 = 0.25;

/// Length of a WAV file: what there is of its sound, over the bytes per second that its head tells.
pub(super) fn length(file: &[u8]) -> Option<Duration> {
    let u32_at =
        |at: usize| Some(u32::from_le_bytes(file.get(at..at.checked_add(4)?)?.try_into().ok()?));
    if !file.starts_with(b"RIFF") || file.get(8..12) != Some(b"WAVE") {
        return None;
    }
    let (mut at, mut bytes_per_s) = (12_usize, None);
    loop {
        let (name, size) = (file.get(at..at.checked_add(4)?)?, u32_at(at + 4)? as usize);
        let start = at + 8;
        match name {
            b"fmt " => bytes_per_s = u32_at(start + 8).filter(|bytes| *bytes > 0),
            b"data" => {
                let there = file.len().saturating_sub(start).min(size);
                return Some(Duration::from_secs_f64(there as f64 / f64::from(bytes_per_s?)));
            }
            _ => {}
        }
        at = start.checked_add(size)?.checked_add(size % 2)?;
    }
}

/// The head of a WAV file that is still being made: its sizes are open.
pub(super) fn head() -> Vec<u8> {
    let mut head = b"RIFF\xff\xff\xff\xffWAVEfmt \x10\0\0\0\x01\0\x01\0".to_vec();
    head.extend(SAMPLES_PER_S.to_le_bytes());
    head.extend((SAMPLES_PER_S * SAMPLE_BYTES).to_le_bytes());
    head.extend(b"\x02\0\x10\0data\xff\xff\xff\xff");
    head
}

/// So many samples of a tone, from one on.
pub(super) fn tone(from: u64, samples: u32) -> Vec<u8> {
    let sample = |number: u64| {
        let turns = number as f64 * TONE_HZ / f64::from(SAMPLES_PER_S);
        (f64::from(i16::MAX) * LOUDNESS * (TAU * turns).sin()) as i16
    };
    (from..from + u64::from(samples)).flat_map(|number| sample(number).to_le_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_as_long_as_its_samples() {
        let mut file = head();
        file.extend(tone(0, SAMPLES_PER_S / 2));
        assert_eq!(length(&file), Some(Duration::from_millis(500)));
        assert_eq!(length(&file[..44]), Some(Duration::ZERO));
        assert_eq!(length(&file[..30]), None);
        assert_eq!(length(b"fLaC and so on"), None);
    }
}
