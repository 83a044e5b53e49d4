//! Generated sound as it arrives: when its first byte came, how long it is, and the total silence
//! for a listener who starts at that byte.
//!
//! With `t_i` the stamp of the i-th read that brought sound and `d_i` the length of the sound in it,
//! a listener begins at `t_1` and plays at the speed of the sound. What has arrived is at its end at
//! `e_1 = t_1 + d_1`, then at `e_i = max(e_(i-1), t_i) + d_i`. Silence is the sum of `t_i - e_(i-1)`
//! where that is above zero, and silences are how often it is.
//!
//! The length follows from the head of a WAV file, from the head of each frame of MP3, and of plain
//! samples from their documented rate. For other formats it is unknown. Not here: the location of
//! the bytes in an answer (`dialect`).

mod format;
mod mp3;

use base64::Engine;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use format::{Declared, Format, Told};
use ifm_core::MadeAudio;
use mp3::Frames;

/// Nanoseconds in a second.
const NS_PER_S: u128 = 1_000_000_000;
/// Most bytes before the sound of a file that are looked into.
const HEAD_BYTES_MAX: usize = 64 * 1024;
/// Some servers leave the padding out.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// What sound has arrived so far.
#[derive(Debug, Default)]
pub(crate) struct SoundMeter {
    declared: Declared,
    /// Bytes that do not tell the format yet.
    head: Vec<u8>,
    format: Option<Format>,
    /// When the first byte of anything arrived.
    begun_ns: u64,
    first_ns: Option<u64>,
    bytes: u64,
    frames: Frames,
    listener: Listener,
    decoded: Vec<u8>,
}

/// A simulated listener who plays the sound as it arrives.
#[derive(Debug, Default)]
struct Listener {
    /// Length of all sound, nanoseconds.
    length_ns: u64,
    /// When what has arrived is at its end; absent before the first of it.
    ends_ns: Option<u64>,
    silence_ns: u64,
    silences: u32,
}

impl Listener {
    /// Takes sound that arrives: so much that all of it is now `length_ns` long.
    fn hear(&mut self, at_ns: u64, length_ns: u64) {
        let more_ns = length_ns.saturating_sub(self.length_ns);
        if more_ns == 0 {
            return;
        }
        let ends_ns = self.ends_ns.unwrap_or(at_ns);
        if at_ns > ends_ns {
            self.silence_ns += at_ns - ends_ns;
            self.silences += 1;
        }
        self.length_ns = length_ns;
        self.ends_ns = Some(ends_ns.max(at_ns).saturating_add(more_ns));
    }
}

impl SoundMeter {
    /// Forgets the sound; buffers are kept.
    pub fn reset(&mut self) {
        self.declared = Declared::Nothing;
        self.head.clear();
        self.format = None;
        self.begun_ns = 0;
        self.first_ns = None;
        self.bytes = 0;
        self.frames = Frames::default();
        self.listener = Listener::default();
    }

    /// Takes what the header `Content-Type` says of the format.
    pub fn declare(&mut self, content_type: &str) {
        self.declared = Declared::of(content_type);
    }

    /// Takes sound in base64. What is no base64 is no sound.
    pub fn feed_base64(&mut self, text: &str, at_ns: u64) {
        let mut decoded = std::mem::take(&mut self.decoded);
        decoded.clear();
        if BASE64.decode_vec(text, &mut decoded).is_ok() {
            self.feed(&decoded, at_ns);
        }
        self.decoded = decoded;
    }

    /// Takes the bytes that a read brought.
    pub fn feed(&mut self, bytes: &[u8], at_ns: u64) {
        if bytes.is_empty() {
            return;
        }
        if self.head.is_empty() && self.format.is_none() {
            self.begun_ns = at_ns;
        }
        if self.format.is_some() {
            return self.take(bytes, at_ns);
        }
        self.head.extend_from_slice(bytes);
        self.tell(at_ns, self.head.len() >= HEAD_BYTES_MAX);
    }

    /// Detects the format from the first bytes, if there are enough of them or no more will follow.
    fn tell(&mut self, at_ns: u64, is_last: bool) {
        let (format, skip) = match format::told(&self.head, self.declared) {
            Told::Format(format, skip) => (format, skip),
            Told::NeedMore if !is_last => return,
            Told::NeedMore => format::told_of_few(&self.head, self.declared),
        };
        self.format = Some(format);
        let head = std::mem::take(&mut self.head);
        // Without a head, the first byte was sound already.
        let first_ns = if skip == 0 { self.begun_ns } else { at_ns };
        if head.len() > skip {
            self.first_ns = Some(first_ns);
        }
        self.take(head.get(skip..).unwrap_or_default(), at_ns);
        self.head = head;
        self.head.clear();
    }

    fn take(&mut self, bytes: &[u8], at_ns: u64) {
        let sound = match &mut self.format {
            Some(Format::Samples { left: Some(left), .. }) => {
                let most = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                *left -= most as u64;
                bytes.get(..most).unwrap_or_default()
            }
            _ => bytes,
        };
        if sound.is_empty() {
            return;
        }
        self.first_ns.get_or_insert(at_ns);
        self.bytes += sound.len() as u64;
        match self.format {
            Some(Format::Samples { bytes_per_s, .. }) => {
                let length_ns = u128::from(self.bytes) * NS_PER_S / u128::from(bytes_per_s.get());
                self.listener.hear(at_ns, u64::try_from(length_ns).unwrap_or(u64::MAX));
            }
            Some(Format::Mp3) => {
                self.frames.feed(sound);
                self.listener.hear(at_ns, self.frames.length_ns);
            }
            Some(Format::Other) | None => {}
        }
    }

    /// What came of the sound; absent where none arrived.
    pub fn finish(&mut self) -> Option<MadeAudio> {
        if self.format.is_none() && !self.head.is_empty() {
            self.tell(self.begun_ns, true);
        }
        let has_length = match self.format? {
            Format::Samples { .. } => true,
            Format::Mp3 => !self.frames.is_lost && self.frames.length_ns > 0,
            Format::Other => false,
        };
        Some(MadeAudio {
            first_ns: self.first_ns?,
            audio_ns: has_length.then_some(self.listener.length_ns),
            bytes: self.bytes,
            silence_ns: has_length.then_some(self.listener.silence_ns),
            silences: has_length.then_some(self.listener.silences),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// The head of a WAV file of 16-bit samples of one channel, as a stream has it: of no known size.
    fn head(rate: u32) -> Vec<u8> {
        let mut head = b"RIFF\xff\xff\xff\xffWAVEfmt \x10\0\0\0\x01\0\x01\0".to_vec();
        head.extend(rate.to_le_bytes());
        head.extend((rate * 2).to_le_bytes());
        head.extend(b"\x02\0\x10\0data\xff\xff\xff\xff");
        head
    }

    fn measured(content_type: &str, reads: &[(u64, &[u8])]) -> Option<MadeAudio> {
        let mut meter = SoundMeter::default();
        meter.declare(content_type);
        reads.iter().for_each(|(at_ms, bytes)| meter.feed(bytes, at_ms * MS));
        meter.finish()
    }

    #[test]
    fn a_listener_hears_nothing_where_what_arrived_is_at_its_end() {
        // 8000 bytes a second: 800 bytes are 100 ms. Heard from 50 on, what came lasts until 150;
        // silence until 170, then until 370 (100 ms at 170, and as much at 200); silence until 400.
        let piece = [0u8; 800];
        let head = head(4000);
        let reads: [(u64, &[u8]); 5] =
            [(20, &head), (50, &piece), (170, &piece), (200, &piece), (400, &piece)];
        let made = measured("audio/wav", &reads).unwrap();
        let expect = MadeAudio {
            first_ns: 50 * MS,
            audio_ns: Some(400 * MS),
            bytes: 3200,
            silence_ns: Some(50 * MS),
            silences: Some(2),
        };
        assert_eq!(made, expect);
    }

    #[test]
    fn sound_that_is_fast_enough_has_no_silence() {
        let piece = [7u8; 4800];
        let reads: Vec<(u64, &[u8])> = (1..=10).map(|i| (i * 90, piece.as_slice())).collect();
        let made = measured("audio/pcm", &reads).unwrap();
        assert_eq!((made.audio_ns, made.first_ns), (Some(1000 * MS), 90 * MS));
        assert_eq!((made.silence_ns, made.silences), (Some(0), Some(0)));
    }

    #[test]
    fn the_head_of_a_file_is_no_sound_and_may_come_in_pieces() {
        let mut file = head(24_000);
        file.extend([1; 4800]);
        let whole = measured("audio/wav", &[(10, &file)]).unwrap();
        assert_eq!((whole.bytes, whole.audio_ns, whole.first_ns), (4800, Some(100 * MS), 10 * MS));
        for place in 1..file.len() {
            let (front, back) = file.split_at(place);
            let made = measured("application/octet-stream", &[(10, front), (30, back)]).unwrap();
            assert_eq!((made.bytes, made.audio_ns), (4800, Some(100 * MS)), "{place}");
            assert_eq!(made.first_ns, if place > 44 { 10 * MS } else { 30 * MS }, "{place}");
        }
        assert_eq!(measured("audio/wav", &[(10, &head(24_000))]), None);
        assert_eq!(measured("audio/wav", &[]), None);
    }

    #[test]
    fn what_stands_behind_the_sound_of_a_file_is_none() {
        let mut file = head(24_000);
        let size = file.len() - 4;
        file[size..].copy_from_slice(&480u32.to_le_bytes());
        file.extend([1; 480]);
        file.extend(b"LIST\x04\0\0\0INFO");
        let made = measured("", &[(10, &file), (500, b"more")]).unwrap();
        assert_eq!((made.bytes, made.audio_ns), (480, Some(10 * MS)));
    }

    #[test]
    fn samples_without_a_head_are_those_that_are_documented_or_declared() {
        for (content_type, ms) in [
            ("audio/pcm", 100),
            ("audio/pcm;rate=16000", 150),
            ("audio/L16; rate=12000; channels=2", 100),
            ("", 100),
            ("audio/opus", 0),
            ("audio/aac", 0),
        ] {
            let made = measured(content_type, &[(5, &[3; 4800])]).unwrap();
            let audio_ns = (ms > 0).then_some(ms * MS);
            assert_eq!((made.bytes, made.audio_ns), (4800, audio_ns), "{content_type}");
            assert_eq!(made.silence_ns.is_some(), audio_ns.is_some(), "{content_type}");
        }
        // Two bytes are samples too, and too few to tell a head by.
        assert_eq!(measured("", &[(5, &[3, 3])]).unwrap().bytes, 2);
    }

    #[test]
    fn base64_is_read_with_and_without_its_padding() {
        let mut meter = SoundMeter::default();
        for text in ["AAAAAAAAAAAAAAAAAAAAAA==", "AAAAAAAAAAAAAAAAAAAAAA", "no base64!"] {
            meter.feed_base64(text, 9);
        }
        let made = meter.finish().unwrap();
        assert_eq!((made.bytes, made.first_ns), (32, 9));
        meter.reset();
        assert_eq!(meter.finish(), None);
    }
}
