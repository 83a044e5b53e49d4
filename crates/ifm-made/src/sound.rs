//! Samples as files: WAV of whole numbers, one channel.
//!
//! Not here: FLAC (`flac`), what the samples are (`speech`), reading files (`look`).

use crate::flac;

/// The format of a made recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SoundFormat {
    /// Whole numbers, uncompressed.
    Wav,
    /// Without loss, a third to a half smaller.
    Flac,
}

impl SoundFormat {
    /// Its IANA media type.
    pub fn mime(self) -> &'static str {
        match self {
            SoundFormat::Wav => "audio/wav",
            SoundFormat::Flac => "audio/flac",
        }
    }
}

/// The file of one channel of samples from -1 to 1, with 16 or 24 bits each.
pub fn encode(sound: &[f32], rate: u32, bits: u32, format: SoundFormat) -> Vec<u8> {
    let most = ((1_i64 << (bits - 1)) - 1) as f32;
    let samples: Vec<i32> =
        sound.iter().map(|sample| (sample.clamp(-1.0, 1.0) * most) as i32).collect();
    match format {
        SoundFormat::Wav => wav(&samples, rate, bits),
        SoundFormat::Flac => flac::encode(&samples, rate, bits),
    }
}

/// RIFF/WAVE with one chunk of format and one of samples.
fn wav(samples: &[i32], rate: u32, bits: u32) -> Vec<u8> {
    let width = bits / 8;
    let data = samples.len() as u32 * width;
    let mut out = Vec::with_capacity(44 + data as usize);
    out.extend_from_slice(b"RIFF");
    out.extend_from_slice(&(36 + data).to_le_bytes());
    out.extend_from_slice(b"WAVEfmt ");
    out.extend_from_slice(&16_u32.to_le_bytes());
    // Whole numbers, one channel.
    out.extend_from_slice(&1_u16.to_le_bytes());
    out.extend_from_slice(&1_u16.to_le_bytes());
    out.extend_from_slice(&rate.to_le_bytes());
    out.extend_from_slice(&(rate * width).to_le_bytes());
    out.extend_from_slice(&(width as u16).to_le_bytes());
    out.extend_from_slice(&(bits as u16).to_le_bytes());
    out.extend_from_slice(b"data");
    out.extend_from_slice(&data.to_le_bytes());
    for sample in samples {
        let bytes = sample.to_le_bytes();
        out.extend_from_slice(bytes.get(..width as usize).unwrap_or_default());
    }
    out
}
