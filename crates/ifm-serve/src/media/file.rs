//! What a file of a medium says about itself: pixels of an image, seconds of a recording.
//!
//! Only heads are read: PNG, JPEG, GIF and WebP, and WAV. Nothing is decoded.

/// Width and height of an image, pixels; absent for what is none of the known kinds.
pub(super) fn size(file: &[u8]) -> Option<(u32, u32)> {
    png(file).or_else(|| jpeg(file)).or_else(|| gif(file)).or_else(|| webp(file))
}

/// Length of a WAV file, seconds; absent for anything else.
pub(super) fn seconds(file: &[u8]) -> Option<f64> {
    let rest = file.strip_prefix(b"RIFF")?.get(4..)?.strip_prefix(b"WAVE")?;
    let mut bytes_per_s = None;
    let mut chunk = rest;
    loop {
        let (name, length) = (chunk.get(..4)?, little(chunk.get(4..8)?) as usize);
        let content = chunk.get(8..)?;
        match name {
            b"fmt " => bytes_per_s = Some(little(content.get(8..12)?)).filter(|rate| *rate > 0),
            // A file that was cut off, or written before its length was known, has what is there.
            b"data" => return Some(length.min(content.len()) as f64 / f64::from(bytes_per_s?)),
            _ => {}
        }
        chunk = content.get(length + length % 2..)?;
    }
}

fn png(file: &[u8]) -> Option<(u32, u32)> {
    let head = file.strip_prefix(b"\x89PNG\r\n\x1a\n")?.get(8..16)?;
    sides(big(head.get(..4)?), big(head.get(4..)?))
}

fn gif(file: &[u8]) -> Option<(u32, u32)> {
    let rest = file.strip_prefix(b"GIF87a").or_else(|| file.strip_prefix(b"GIF89a"))?;
    sides(little(rest.get(..2)?), little(rest.get(2..4)?))
}

fn webp(file: &[u8]) -> Option<(u32, u32)> {
    let rest = file.strip_prefix(b"RIFF")?.get(4..)?.strip_prefix(b"WEBP")?;
    let content = rest.get(8..)?;
    match rest.get(..4)? {
        b"VP8X" => sides(little(content.get(4..7)?) + 1, little(content.get(7..10)?) + 1),
        b"VP8L" => {
            let bits = little(content.get(1..5)?);
            sides((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1)
        }
        b"VP8 " => sides(little(content.get(6..8)?) & 0x3fff, little(content.get(8..10)?) & 0x3fff),
        _ => None,
    }
}

/// The size stands in the frame's own segment, behind others of any length.
fn jpeg(file: &[u8]) -> Option<(u32, u32)> {
    let mut rest = file.strip_prefix(b"\xff\xd8")?;
    loop {
        let marker = *rest.strip_prefix(b"\xff")?.first()?;
        let segment = rest.get(2..)?;
        match marker {
            0xff => rest = rest.get(1..)?,
            // Frames of all kinds; 0xc4, 0xc8 and 0xcc are tables.
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                return sides(big(segment.get(5..7)?), big(segment.get(3..5)?));
            }
            0x01 | 0xd0..=0xd7 => rest = segment,
            _ => rest = segment.get(big(segment.get(..2)?) as usize..)?,
        }
    }
}

fn sides(width: u32, height: u32) -> Option<(u32, u32)> {
    (width > 0 && height > 0).then_some((width, height))
}

fn big(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

fn little(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A PNG file's head.
    pub(crate) fn png_head(width: u32, height: u32) -> Vec<u8> {
        let mut file = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        file.extend(width.to_be_bytes());
        file.extend(height.to_be_bytes());
        file
    }

    /// A WAV file of one second at 8 bytes a second, with so many bytes of sound.
    pub(crate) fn wav(bytes: usize) -> Vec<u8> {
        let mut file = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0".to_vec();
        file.extend(8_u32.to_le_bytes());
        file.extend(8_u32.to_le_bytes());
        file.extend([1, 0, 8, 0]);
        file.extend(b"data");
        file.extend((bytes as u32).to_le_bytes());
        file.extend(vec![0; bytes]);
        file
    }

    #[test]
    fn sizes_stand_in_heads() {
        let jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xc4\0\x03c\xff\xc2\0\x11\x08\x01\x68\x02\x80";
        let webp = b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x7f\x02\0\x67\x01\0";
        for (file, expect) in [
            (png_head(640, 360), Some((640, 360))),
            (jpeg.to_vec(), Some((640, 360))),
            (b"GIF89a\x80\x02\x68\x01".to_vec(), Some((640, 360))),
            (webp.to_vec(), Some((640, 360))),
            (png_head(0, 5), None),
            (jpeg[..20].to_vec(), None),
            (b"hello".to_vec(), None),
            (Vec::new(), None),
        ] {
            assert_eq!(size(&file), expect, "{file:?}");
        }
    }

    #[test]
    fn a_recording_is_as_long_as_its_bytes() {
        assert_eq!(seconds(&wav(20)), Some(2.5));
        assert_eq!(seconds(&wav(0)), Some(0.0));
        let mut cut = wav(20);
        cut.truncate(cut.len() - 4);
        assert_eq!(seconds(&cut), Some(2.0));
        assert_eq!(seconds(b"ID3\x04"), None);
    }
}
