//! Images as pixels: JPEG, PNG and WebP decoded, and made smaller.
//!
//! Not here: whether a file is whole (`look`), what is drawn of it (`sheet`).

use std::io::Cursor;

use image_webp::WebPDecoder;
use png::{ColorType, Decoder, Limits, Transformations};
use zune_jpeg::{
    JpegDecoder,
    zune_core::{bytestream::ZCursor, colorspace::ColorSpace, options::DecoderOptions},
};

/// Pixels that one image may have: decoding takes up to 12 bytes for each, and a file of 42 bytes can have any number.
const PIXELS_MAX: usize = 32 << 20;
/// Bytes that a decoder may take: red, green, blue and transparency, of 16 bits each.
const BYTES_MAX: usize = 8 * PIXELS_MAX;

/// An image: red, green and blue of each pixel, row by row.
pub(super) struct Pixels {
    pub width: usize,
    pub height: usize,
    pub rgb: Vec<u8>,
}

impl Pixels {
    /// Decodes a file; of an animated one its first frame. What shines through is left out. Nothing where the format
    /// is not read here, and of a file that cannot be decoded; where a JPEG was cut off its rest is grey.
    pub fn of(file: &[u8]) -> Option<Self> {
        match file {
            [0x89, b'P', b'N', b'G', ..] => of_png(file),
            [0xff, 0xd8, ..] => of_jpeg(file),
            [b'R', b'I', b'F', b'F', ..] => of_webp(file),
            _ => None,
        }
    }

    fn new((width, height): (usize, usize), rgb: Vec<u8>) -> Option<Self> {
        (width > 0 && height > 0 && rgb.len() == width * height * 3).then_some(Self {
            width,
            height,
            rgb,
        })
    }

    /// The image with `side` pixels along its longer side at most: each is the mean of those that it stands for.
    pub fn smaller(&self, side: usize) -> Self {
        let longer = self.width.max(self.height).max(side);
        let [width, height] = [self.width, self.height].map(|it| (it * side / longer).max(1));
        let mut rgb = Vec::with_capacity(width * height * 3);
        // Where the pixels begin and end that the one at a place stands for.
        let from = |place: usize, of: usize, all: usize| {
            place * all / of..((place + 1) * all).div_ceil(of)
        };
        for y in 0..height {
            for x in 0..width {
                let (mut sums, mut count) = ([0_u64; 3], 0);
                for y in from(y, height, self.height) {
                    for x in from(x, width, self.width) {
                        let pixel = self.rgb.get((y * self.width + x) * 3..).unwrap_or_default();
                        sums.iter_mut().zip(pixel).for_each(|(sum, it)| *sum += u64::from(*it));
                        count += 1;
                    }
                }
                rgb.extend(sums.map(|sum| ((sum + count / 2) / count) as u8));
            }
        }
        Self { width, height, rgb }
    }
}

fn of_png(file: &[u8]) -> Option<Pixels> {
    let mut decoder = Decoder::new_with_limits(Cursor::new(file), Limits { bytes: BYTES_MAX });
    decoder.set_transformations(Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().ok()?;
    let size = (reader.info().width as usize, reader.info().height as usize);
    let mut bytes = vec![0; reader.output_buffer_size().filter(|_| is_within_bounds(size))?];
    let frame = reader.next_frame(&mut bytes).ok()?;
    bytes.truncate(frame.buffer_size());
    let rgb = match frame.color_type {
        ColorType::Rgb => bytes,
        ColorType::Rgba => without_alpha(&bytes),
        ColorType::Grayscale => bytes.iter().flat_map(|grey| [*grey; 3]).collect(),
        ColorType::GrayscaleAlpha => bytes.chunks_exact(2).flat_map(|it| [it[0]; 3]).collect(),
        ColorType::Indexed => return None,
    };
    Pixels::new((frame.width as usize, frame.height as usize), rgb)
}

fn of_jpeg(file: &[u8]) -> Option<Pixels> {
    // `PIXELS_MAX` is the bound.
    let options = DecoderOptions::default()
        .jpeg_set_out_colorspace(ColorSpace::RGB)
        .set_max_width(usize::MAX)
        .set_max_height(usize::MAX);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(file), options);
    decoder.decode_headers().ok()?;
    decoder.dimensions().filter(|size| is_within_bounds(*size))?;
    Pixels::new(decoder.dimensions()?, decoder.decode().ok()?)
}

fn of_webp(file: &[u8]) -> Option<Pixels> {
    let mut decoder = WebPDecoder::new(Cursor::new(file)).ok()?;
    let (width, height) = decoder.dimensions();
    let size = (width as usize, height as usize);
    let mut bytes = vec![0; decoder.output_buffer_size().filter(|_| is_within_bounds(size))?];
    decoder.read_image(&mut bytes).ok()?;
    let rgb = if decoder.has_alpha() { without_alpha(&bytes) } else { bytes };
    Pixels::new(size, rgb)
}

fn is_within_bounds((width, height): (usize, usize)) -> bool {
    width.saturating_mul(height) <= PIXELS_MAX
}

fn without_alpha(rgba: &[u8]) -> Vec<u8> {
    rgba.chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_no_image_that_takes_much_memory() {
        // One color, which takes no bits for a pixel.
        let webp = |width: u32, height: u32| {
            let sizes = ((width - 1) | (height - 1) << 14).to_le_bytes();
            let codes = [0xa8, 0x42, 0x91, 0xeb, 0xd1, 0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0];
            let pixels = [&[0x2f], &sizes[..], &codes].concat();
            let length = (pixels.len() as u32).to_le_bytes();
            let all = (pixels.len() as u32 + 12).to_le_bytes();
            [b"RIFF", &all[..], b"WEBPVP8L", &length, &pixels].concat()
        };
        assert!(Pixels::of(&webp(64, 48)).is_some_and(|image| image.rgb.len() == 64 * 48 * 3));
        assert!(Pixels::of(&webp(16_383, 10_923)).is_none());
        assert!(is_within_bounds((7680, 4320)), "8K");
    }
}
