//! Media that are made from the seed: what is asked of them, and one made.
//!
//! Not here: reading what is asked (`wanted`), which media an item carries (`pool`, `dress`).

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ifm_core::{Carried, ImageDetail, Medium, MediumKind};
use ifm_made::{
    Draws, Stream,
    code::{self, PictureFormat},
    picture::{self, Motif},
    sound::{self, SoundFormat},
    speech,
};
use sha2::{Digest as _, Sha256};

use super::share::Shares;
use crate::{error::WorkloadError, request::Carry};

/// What images are to be, whatever their size.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Style {
    pub motif: Motif,
    pub format: PictureFormat,
    pub quality: u8,
    /// How closely the model is to look at an image, if that is said.
    pub detail: Option<ImageDetail>,
}

/// What a recording is to be.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Voice {
    pub rate: u32,
    pub bits: u32,
    pub format: SoundFormat,
}

/// Frames of a video and their size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reel {
    pub size: (u32, u32),
    pub frames: u32,
}

/// Media of one kind that are made.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Recipe {
    Image(Shares<(u32, u32)>, Style),
    /// Lengths from and to, in milliseconds.
    Audio(Shares<(u32, u32)>, Voice),
    /// Frames as images, so many a second.
    Video(Shares<Reel>, Style, f64),
}

/// How long so many samples are; nothing where the rate is none.
pub(crate) fn samples_ns(samples: u64, rate: u64) -> Option<u64> {
    let ns = u128::from(samples) * 1_000_000_000 / u128::from(rate.max(1));
    u64::try_from(ns).ok().filter(|_| rate > 0)
}

impl Recipe {
    /// The medium with a number: the same each time.
    ///
    /// # Errors
    /// [`WorkloadError::Shape`] for a size that the format does not have.
    pub(crate) fn make(
        &self,
        stream: &Stream,
        number: u64,
        carry: Carry,
    ) -> Result<Medium, WorkloadError> {
        let mut draws = stream.item(number);
        let draws = &mut draws;
        match self {
            Recipe::Image(sizes, style) => {
                let size = sizes.draw(draws).copied().unwrap_or((1, 1));
                let file = picture_file(size, style, draws)?;
                let medium = medium(MediumKind::Image, style.format.mime(), file, carry);
                Ok(Medium { size: Some(size), detail: style.detail, ..medium })
            }
            Recipe::Audio(lengths, voice) => {
                let (from, to) = lengths.draw(draws).copied().unwrap_or((1, 1));
                let ms = u64::from(draws.within(from, to));
                let rate = u64::from(voice.rate);
                let samples = (ms * rate / 1000).max(1);
                let samples_made = speech::draw(samples as usize, voice.rate, draws);
                let file = sound::encode(&samples_made, voice.rate, voice.bits, voice.format);
                let medium = medium(MediumKind::Audio, voice.format.mime(), file, carry);
                Ok(Medium { duration_ns: samples_ns(samples, rate), ..medium })
            }
            Recipe::Video(reels, style, fps) => {
                let reel = reels.draw(draws).copied().unwrap_or(Reel { size: (1, 1), frames: 1 });
                film(reel, style, *fps, draws)
            }
        }
    }
}

fn picture_file(
    size: (u32, u32),
    style: &Style,
    draws: &mut Draws,
) -> Result<Vec<u8>, WorkloadError> {
    let pixels = picture::draw(style.motif, size, draws);
    code::encode(&pixels, size, style.format, style.quality).map_err(|reason| {
        WorkloadError::Shape {
            text: format!("{}x{}", size.0, size.1),
            reason: format!("no image of this size can be made: {reason}"),
        }
    })
}

/// A video as its frames in base64, a comma between two: servers take that without a video decoder.
/// In a form it would be no file, so it is always base64.
fn film(reel: Reel, style: &Style, fps: f64, draws: &mut Draws) -> Result<Medium, WorkloadError> {
    let mut text = String::new();
    let mut digest = Sha256::new();
    let mut bytes = 0;
    for number in 0..reel.frames {
        let file = picture_file(reel.size, style, draws)?;
        bytes += file.len() as u64;
        digest.update(&file);
        if number > 0 {
            text.push(',');
        }
        STANDARD.encode_string(&file, &mut text);
    }
    Ok(Medium {
        kind: MediumKind::Video,
        mime: style.format.mime().to_owned(),
        sha256: digest.finalize().into(),
        size: Some(reel.size),
        frames: Some(reel.frames),
        duration_ns: Some((f64::from(reel.frames) / fps * 1e9).round() as u64),
        file_bytes: Some(bytes),
        uuid: None,
        detail: None,
        carried: Carried::Base64(text.into_bytes().into()),
    })
}

/// A medium of a file, of which nothing is known but its bytes.
pub(crate) fn medium(kind: MediumKind, mime: &str, file: Vec<u8>, carry: Carry) -> Medium {
    let sha256 = Sha256::digest(&file).into();
    let file_bytes = Some(file.len() as u64);
    let carried = match carry {
        Carry::Base64 => Carried::Base64(STANDARD.encode(&file).into_bytes().into()),
        Carry::File => Carried::File(Arc::from(file)),
    };
    Medium {
        kind,
        mime: mime.to_owned(),
        sha256,
        size: None,
        frames: None,
        duration_ns: None,
        file_bytes,
        uuid: None,
        detail: None,
        carried,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_made::Rng;

    fn recipe(size: (u32, u32), motif: Motif, format: PictureFormat) -> Recipe {
        let sizes = Shares::read("x", "", |_| Ok(size)).unwrap();
        Recipe::Image(sizes, Style { motif, format, quality: 85, detail: None })
    }

    fn made(recipe: &Recipe, number: u64) -> (Medium, Vec<u8>) {
        let stream = Rng::new(7).stream("media");
        let medium = recipe.make(&stream, number, Carry::File).unwrap();
        let file = medium.carried.bytes().unwrap().to_vec();
        (medium, file)
    }

    fn dimensions(file: &[u8]) -> (u32, u32) {
        let pixels = super::super::pixels::Pixels::of(file).unwrap();
        (pixels.width as u32, pixels.height as u32)
    }

    #[test]
    fn pictures_are_as_large_as_asked_and_all_different() {
        for format in [PictureFormat::Jpeg, PictureFormat::Png, PictureFormat::Webp] {
            for motif in [Motif::Photo, Motif::Noise, Motif::Blank] {
                for size in [(1, 1), (37, 21), (2, 90), (128, 3)] {
                    let recipe = recipe(size, motif, format);
                    let (medium, file) = made(&recipe, 3);
                    assert_eq!(dimensions(&file), size);
                    assert_eq!(medium.size, Some(size));
                    let found = super::super::look::look(&file).unwrap();
                    assert_eq!((found.size, found.mime), (Some(size), format.mime()));
                    assert_eq!(made(&recipe, 3).1, file, "the same number, other bytes");
                }
            }
            let recipe = recipe((96, 64), Motif::Photo, format);
            let all: std::collections::HashSet<_> =
                (0..40).map(|number| made(&recipe, number).0.sha256).collect();
            assert_eq!(all.len(), 40);
        }
    }

    /// A photograph of 720p is 100 to 300 kB as JPEG; noise is far more and one colour far less.
    #[test]
    fn files_are_as_large_as_those_of_photographs() {
        let bytes = |size, motif| made(&recipe(size, motif, PictureFormat::Jpeg), 1).1.len();
        let photos: Vec<usize> = (0..4)
            .map(|it| made(&recipe((1280, 720), Motif::Photo, PictureFormat::Jpeg), it).1.len())
            .collect();
        assert!(photos.iter().all(|it| (100_000..300_000).contains(it)), "{photos:?}");
        let full = bytes((1920, 1080), Motif::Photo);
        assert!((300_000..800_000).contains(&full), "{full}");
        assert!(bytes((1280, 720), Motif::Noise) > 500_000);
        assert!(bytes((1280, 720), Motif::Blank) < 50_000);
    }

    /// What was made once is made for ever; a newer coder that writes other bytes shows here.
    #[test]
    fn bytes_never_change() {
        let sum = |recipe: &Recipe| {
            let digest = made(recipe, 5).0.sha256;
            digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect::<String>()
        };
        let photo = |format| sum(&recipe((64, 48), Motif::Photo, format));
        let voice = Voice { rate: 16_000, bits: 16, format: SoundFormat::Wav };
        let lengths = Shares::read("x", "", |_| Ok((1000, 1000))).unwrap();
        let found = [
            photo(PictureFormat::Jpeg),
            photo(PictureFormat::Png),
            photo(PictureFormat::Webp),
            sum(&Recipe::Audio(lengths, voice)),
        ];
        assert_eq!(found, ["632537941125", "0e478d3f3bf3", "dcf90a6a5ac1", "a9535293ae6b"]);
    }

    #[test]
    fn recordings_are_as_long_as_asked() {
        for (format, bits) in
            [(SoundFormat::Wav, 16), (SoundFormat::Wav, 24), (SoundFormat::Flac, 16)]
        {
            let lengths = Shares::read("x", "", |_| Ok((1500, 1500))).unwrap();
            let (medium, file) =
                made(&Recipe::Audio(lengths, Voice { rate: 16_000, bits, format }), 1);
            assert_eq!(medium.duration_ns, Some(1_500_000_000));
            let found = super::super::look::look(&file).unwrap();
            assert_eq!((found.duration_ns, found.mime), (medium.duration_ns, format.mime()));
        }
    }

    /// Decoded by another's reader, FLAC has the samples of WAV; and it is speech, not silence.
    #[test]
    fn flac_loses_nothing() {
        let lengths = || Shares::read("x", "", |_| Ok((700, 700))).unwrap();
        for bits in [16, 24] {
            let file =
                |format| made(&Recipe::Audio(lengths(), Voice { rate: 24_000, bits, format }), 2).1;
            let (wav, flac) = (file(SoundFormat::Wav), file(SoundFormat::Flac));
            let mut reader = claxon::FlacReader::new(&flac[..]).unwrap();
            let samples: Vec<i32> = reader.samples().map(Result::unwrap).collect();
            let width = bits as usize / 8;
            let expected: Vec<i32> = wav[44..]
                .chunks(width)
                .map(|it| {
                    let mut bytes = [0; 4];
                    bytes[4 - width..].copy_from_slice(it);
                    i32::from_le_bytes(bytes) >> (32 - bits)
                })
                .collect();
            assert_eq!(samples, expected);
            assert!(flac.len() * 10 < wav.len() * 9, "{} of {}", flac.len(), wav.len());
            let loud = samples.iter().filter(|it| it.abs() > 1 << (bits - 8)).count();
            assert!(loud * 5 > samples.len(), "{loud} of {}", samples.len());
        }
    }

    #[test]
    fn films_are_frames_between_commas() {
        let reels = Shares::read("x", "", |_| Ok(Reel { size: (32, 16), frames: 4 })).unwrap();
        let style =
            Style { motif: Motif::Photo, format: PictureFormat::Jpeg, quality: 85, detail: None };
        let stream = Rng::new(7).stream("media");
        let medium = Recipe::Video(reels, style, 2.0).make(&stream, 0, Carry::Base64).unwrap();
        assert_eq!((medium.frames, medium.duration_ns), (Some(4), Some(2_000_000_000)));
        let text = medium.carried.bytes().unwrap().to_vec();
        let frames: Vec<Vec<u8>> =
            text.split(|byte| *byte == b',').map(|frame| STANDARD.decode(frame).unwrap()).collect();
        assert_eq!(frames.len(), 4);
        for frame in &frames {
            assert_eq!(dimensions(frame), (32, 16));
        }
        assert_eq!(medium.file_bytes, Some(frames.iter().map(|it| it.len() as u64).sum()));
    }
}
