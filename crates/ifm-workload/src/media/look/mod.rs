//! What a file holds, by its own head: the kind, the pixels, the length.
//!
//! Files are walked through from their first byte to their last, so that one that was cut off, that is
//! damaged, that is empty or that is something else is found before the load begins. Checksums are
//! verified where there are any; codes are read as far as a wrong one can be told from a right one.
//!
//! Not here: small images of them (`sheet`), where files come from (`file`).

mod boxes;
mod image;
mod jpeg;
mod samples;
mod sound;
mod video;

use ifm_core::MediumKind;
use ifm_core::contained::contained;

use super::made;

/// Pixels of one image at most: twice what Pillow, which most servers read images with, warns of;
/// beyond it refuses.
pub(super) const PIXELS_MAX: u64 = 2 * 89_478_485;
/// One of the largest sizes within it.
pub(super) const LARGEST: &str = "16383x10923";

/// What a file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Look {
    pub kind: MediumKind,
    pub mime: &'static str,
    pub size: Option<(u32, u32)>,
    pub frames: Option<u32>,
    pub duration_ns: Option<u64>,
}

impl Look {
    fn image(mime: &'static str, size: (u32, u32)) -> Self {
        Self { size: Some(size), ..unmeasured(MediumKind::Image, mime) }
    }

    fn sound(mime: &'static str, samples: u64, rate: u64) -> Self {
        let duration_ns = made::samples_ns(samples, rate);
        Self { duration_ns, ..unmeasured(MediumKind::Audio, mime) }
    }
}

/// Looks into a file.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn look(bytes: &[u8]) -> Result<Look, String> {
    // Decoders of libraries panic on some damaged files.
    contained(|| inspect(bytes))
        .unwrap_or_else(|panicked| Err(damaged(&format!("internal error: {}", panicked.message))))
}

fn inspect(bytes: &[u8]) -> Result<Look, String> {
    let found = match bytes {
        [] => return Err("the file is empty".to_owned()),
        [0x89, b'P', b'N', b'G', ..] => image::png(bytes)?,
        [0xff, 0xd8, 0xff, ..] => image::jpeg(bytes)?,
        [b'G', b'I', b'F', b'8', ..] => image::gif(bytes)?,
        [b'R', b'I', b'F', b'F', ..] => match slice(bytes, 8, 4).ok_or_else(cut)? {
            b"WEBP" => image::webp(bytes)?,
            b"WAVE" => sound::wav(bytes)?,
            _ => return Err(unknown(&[0])),
        },
        [b'f', b'L', b'a', b'C', ..] => sound::flac(bytes)?,
        [b'I', b'D', b'3', ..] | [0xff, 0xe0..=0xff, ..] => sound::mp3(bytes)?,
        [b'O', b'g', b'g', b'S', ..] => sound::ogg(bytes)?,
        [0x1a, 0x45, 0xdf, 0xa3, ..] => video::webm(bytes)?,
        _ if slice(bytes, 4, 4) == Some(b"ftyp") => video::mp4(bytes)?,
        _ => return Err(unknown(bytes)),
    };
    match found.size {
        Some((0, _) | (_, 0)) => Err(damaged("it has no pixels")),
        Some((width, height)) if u64::from(width) * u64::from(height) > PIXELS_MAX => Err(format!(
            "it has {width} x {height} pixels; servers refuse more than {} million: {LARGEST} is about \
             the largest",
            PIXELS_MAX / 1_000_000
        )),
        _ => Ok(found),
    }
}

/// A file of which nothing is known but what it is.
fn unmeasured(kind: MediumKind, mime: &'static str) -> Look {
    Look { kind, mime, size: None, frames: None, duration_ns: None }
}

/// What to say of a file that ends too early.
fn cut() -> String {
    "the file was cut off".to_owned()
}

/// The same, if the file contains its length.
fn cut_at(there: u64, whole: u64) -> String {
    format!("{}: {there} of {whole} bytes", cut())
}

/// What to say of a file that contradicts itself.
fn damaged(why: &str) -> String {
    format!("the file is damaged: {why}")
}

fn unknown(bytes: &[u8]) -> String {
    let start = bytes.get(..bytes.len().min(64)).unwrap_or_default();
    let is_text = start.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t'));
    let what = if is_text { "it is a text" } else { "its first bytes are of no known format" };
    format!("it is no image, recording or video that is known here: {what}")
}

fn slice(bytes: &[u8], from: usize, count: usize) -> Option<&[u8]> {
    bytes.get(from..from.checked_add(count)?)
}

/// A number, the highest byte first.
fn big(bytes: &[u8], from: usize, count: usize) -> Option<u64> {
    Some(slice(bytes, from, count)?.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
}

/// A number, the lowest byte first.
fn little(bytes: &[u8], from: usize, count: usize) -> Option<u64> {
    Some(slice(bytes, from, count)?.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wav_of(rate: u32, bytes: u32, told: u32) -> Vec<u8> {
        let mut out = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0".to_vec();
        out.extend_from_slice(&rate.to_le_bytes());
        out.extend_from_slice(&(rate * 2).to_le_bytes());
        out.extend_from_slice(b"\x02\0\x10\0LIST\x03\0\0\0abc\0data");
        out.extend_from_slice(&told.to_le_bytes());
        out.extend(vec![1; bytes as usize]);
        out
    }

    #[test]
    fn lengths_of_sound_stand_in_heads() {
        let found = look(&wav_of(8000, 32_000, 32_000)).unwrap();
        assert_eq!((found.mime, found.duration_ns), ("audio/wav", Some(2_000_000_000)));
        // A recording that was being written when it was stored.
        let open = look(&wav_of(8000, 16_000, u32::MAX)).unwrap();
        assert_eq!(open.duration_ns, Some(1_000_000_000));
        // MPEG 1, 128 kbit/s, 44,100 Hz: frames of 417 bytes.
        let frame = [&[0xff, 0xfb, 0x90, 0x00][..], &[0; 413]].concat();
        let info = [&frame[..36], b"Info", &frame[40..]].concat();
        let tag = b"ID3\x04\0\0\0\0\0\x05title".to_vec();
        let found = look(&[tag, info, frame.repeat(10)].concat()).unwrap();
        assert_eq!(found.mime, "audio/mpeg");
        assert_eq!(found.duration_ns, Some(11_520 * 1_000_000_000 / 44_100));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let frame = [&[0xff, 0xfb, 0x90, 0x00][..], &[0; 100]].concat();
        for (bytes, part) in [
            (Vec::new(), "empty"),
            (b"hello, I am an image".to_vec(), "a text"),
            (vec![0, 1, 2, 3], "no known format"),
            (wav_of(8000, 100, 32_000), "cut off: 100 of 32000"),
            (wav_of(0, 100, 100), "no rate"),
            (wav_of(8000, 0, 0), "no samples"),
            (b"RIFF\x10\0\0\0WEBPVP8X".to_vec(), "16 of 24 bytes"),
            (b"RIFF\0\0\0\0AVI ".to_vec(), "no known format"),
            (b"RIFF".to_vec(), "cut off"),
            (b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0".to_vec(), "cut off"),
            (b"\x89PNG\r\n\x1a\n\0\0\0\x0dIDAT\0\0".to_vec(), "does not begin with its size"),
            (vec![0xff, 0xd8, 0xff], "cut off"),
            (vec![0xff, 0xd8, 0xff, 0xda, 0, 2], "before its size"),
            (vec![0xff, 0xd8, 0xff, 0xe0, 0, 2, 0, 0], "no mark"),
            (b"GIF89a\x01\0\x01\0\0\0\0".to_vec(), "cut off"),
            (b"GIF89a\x01\0\x01\0\0\0\0\0".to_vec(), "no block"),
            (b"fLaC\x80\0\0\x22".to_vec(), "cut off"),
            (frame, "within a frame"),
            (b"ID3\x04\0\0\0\0\0\0".to_vec(), "no frame of sound"),
        ] {
            let error = look(&bytes).unwrap_err();
            assert!(error.contains(part), "{error}, not {part}");
        }
    }

    #[test]
    fn sizes_that_no_server_takes_are_refused() {
        let gif = |width: u16, height: u16| {
            let size = [width.to_le_bytes(), height.to_le_bytes()].concat();
            [b"GIF89a", &size[..], b"\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x01\x44\0\x3b"].concat()
        };
        assert_eq!(look(&gif(1, 1)).unwrap().size, Some((1, 1)));
        let error = look(&gif(20_000, 20_000)).unwrap_err();
        assert!(error.contains("20000 x 20000 pixels") && error.contains(LARGEST), "{error}");
        assert!(look(&gif(0, 5)).unwrap_err().contains("no pixels"));
    }

    fn real(name: &str) -> Vec<u8> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/media/");
        std::fs::read(format!("{folder}{name}")).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Name, type, width and height, frames, seconds.
    type Real = (&'static str, &'static str, Option<(u32, u32)>, Option<u32>, Option<f64>);

    /// Files that ffmpeg and Pillow wrote; sizes and lengths are what they were asked for.
    const REAL: [Real; 15] = [
        ("test.png", "image/png", Some((64, 48)), None, None),
        ("scans.jpg", "image/jpeg", Some((64, 48)), None, None),
        ("test.gif", "image/gif", Some((64, 48)), None, None),
        ("lossy.webp", "image/webp", Some((64, 48)), None, None),
        ("lossless.webp", "image/webp", Some((64, 48)), None, None),
        ("moving.webp", "image/webp", Some((64, 48)), None, None),
        ("tone.flac", "audio/flac", None, None, Some(0.6)),
        ("tone.mp3", "audio/mpeg", None, None, Some(1.08)),
        ("tone.ogg", "audio/ogg", None, None, Some(1.0)),
        ("tone.opus", "audio/ogg", None, None, Some(1.0)),
        ("tone.m4a", "audio/mp4", None, None, Some(1.0)),
        ("tone.webm", "audio/webm", None, None, Some(1.008)),
        ("test.mp4", "video/mp4", Some((64, 48)), Some(8), Some(2.0)),
        ("fragments.mp4", "video/mp4", Some((64, 48)), None, None),
        ("test.webm", "video/webm", Some((64, 48)), None, Some(2.0)),
    ];

    #[test]
    fn files_of_other_programs_are_read() {
        for (name, mime, size, frames, seconds) in REAL {
            let found = look(&real(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!((found.mime, found.size, found.frames), (mime, size, frames), "{name}");
            let s = found.duration_ns.map(|ns| (ns as f64 / 1e7).round() / 100.0);
            assert_eq!(s, seconds.map(|s| (s * 100.0).round() / 100.0), "{name}");
        }
    }

    /// A piece is whole only where the format cannot tell: pages and fragments that end where it was cut.
    #[test]
    fn no_piece_of_a_file_is_taken_for_the_whole() {
        for (name, ..) in REAL {
            let bytes = real(name);
            let lengths = (0..bytes.len()).step_by(bytes.len() / 256 + 1);
            let lengths = lengths.chain(bytes.len() - 40..bytes.len());
            let taken: Vec<usize> =
                lengths.filter(|length| look(&bytes[..*length]).is_ok()).collect();
            let most = match name {
                "tone.ogg" | "tone.opus" | "fragments.mp4" => 6,
                // Zeros behind the end, which some writers put there.
                _ => 0,
            };
            assert!(taken.len() <= most, "{name}: {taken:?} of {}", bytes.len());
        }
    }

    #[test]
    fn a_changed_byte_is_found_where_there_are_checksums() {
        for (name, from) in
            [("test.png", 8), ("tone.flac", 8300), ("tone.ogg", 4), ("tone.opus", 4)]
        {
            let bytes = real(name);
            for place in (from..bytes.len()).step_by(bytes.len() / 200 + 1) {
                let mut changed = bytes.clone();
                changed[place] ^= 0x10;
                assert!(look(&changed).is_err(), "{name} at {place} of {}", bytes.len());
            }
        }
    }

    /// Name, where its codes begin, bytes that are overwritten, and how many of 50 places show it at least.
    /// What stays hidden are colours and sounds that are others, in as many codes as before.
    const OVERWRITTEN: [(&str, usize, usize, usize); 7] = [
        ("scans.jpg", 300, 24, 49),
        ("test.gif", 800, 24, 48),
        ("lossless.webp", 40, 24, 50),
        // Codes of lossy WebP are all right, whatever they are.
        ("moving.webp", 80, 24, 5),
        ("tone.mp3", 500, 200, 50),
        // Half of the file is one frame, and the codes within are not read.
        ("test.mp4", 48, 100, 25),
        ("test.webm", 500, 200, 28),
    ];

    #[test]
    fn what_was_overwritten_in_the_middle_is_found() {
        for (name, from, count, least) in OVERWRITTEN {
            let whole = real(name);
            let damage = |number: usize| {
                let place = from + (whole.len() - count - from) * number / 50;
                let mut bytes = whole.clone();
                // Digits of no number that a format knows.
                let noise = (1_u32..).map(|step| (step.wrapping_mul(2_654_435_761) >> 19) as u8);
                bytes[place..place + count].iter_mut().zip(noise).for_each(|(to, by)| *to = by);
                look(&bytes)
            };
            let errors: Vec<String> = (0..50).filter_map(|number| damage(number).err()).collect();
            assert!(errors.len() >= least, "{name}: {} of 50 places", errors.len());
            let says = |error: &String| error.contains("damaged") || error.contains("cut off");
            assert!(errors.iter().all(says), "{name}: {errors:?}");
        }
    }

    #[test]
    fn damaged_pixels_are_told_by_their_place() {
        for (name, place) in [("scans.jpg", 900), ("test.gif", 2000)] {
            let mut bytes = real(name);
            bytes[place..place + 40].fill(0x55);
            let error = look(&bytes).unwrap_err();
            assert!(error.contains("damaged") && error.contains("pixels"), "{name}: {error}");
        }
    }

    #[test]
    fn sound_behind_a_gap_is_not_left_out() {
        let bytes = real("tone.mp3");
        let mut gap = bytes.clone();
        gap[1000..1100].fill(0);
        assert!(look(&gap).unwrap_err().contains("no frame of sound"));
        let tagged = [&bytes[..], b"TAG", &[b'x'; 125]].concat();
        assert_eq!(look(&tagged), look(&bytes));
    }

    /// Heads that lie, of every format and every length.
    #[test]
    fn no_bytes_make_it_fail() {
        let starts: [&[u8]; 15] = [
            b"\x89PNG\r\n\x1a\n\xff\xff\xff\xffIHDR",
            b"\xff\xd8\xff\xe1\xff\xff",
            b"GIF89a",
            b"RIFF\xff\xff\xff\xffWEBPVP8 ",
            b"RIFF\xff\xff\xff\xffWAVEfmt \xff\xff\xff\xff",
            b"fLaC",
            b"ID3\x04\0\0\x7f\x7f\x7f\x7f",
            b"\xff\xfb\xe0\0",
            b"GIF89a\x01\0\x01\0\x80\0\0,",
            b"\xff\xd8\xff\xc0\0\x0b\x08\0\x01\0\x01\x01\x01\x11\0\xff\xda\0\x02",
            b"fLaC\x80\0\0\x22\x10\0\x10\0\0\0\0\0\0\0\x0a\xc4\x40\xf0",
            b"OggS\0\x02\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0",
            b"\0\0\0\x10ftypisom\0\0\0\0",
            b"\0\0\0\x08ftyp\0\0\0\x00moov",
            b"\x1a\x45\xdf\xa3\x80\x18\x53\x80\x67",
        ];
        for start in starts {
            for length in 0..80 {
                for fill in [0, 0x7f, 0xff] {
                    let bytes = [start, &vec![fill; length]].concat();
                    let _ = look(&bytes);
                }
            }
        }
    }
}
