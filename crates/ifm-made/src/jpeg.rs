//! Baseline JPEG after ITU-T T.81: two tables of quantization and four of Huffman codes from its annex K, colour
//! at half the width and height, as cameras and Pillow write photographs.
//!
//! Our own, because a picture of a seed has the same bytes for ever. Besides, the coders in Rust have a licence that
//! we do not accept, or bring a library of colour profiles that takes a twentieth of our build time.
//! Floats here are added, multiplied and divided, which every machine rounds alike.
//!
//! Not here: reading JPEG (`look`, `pixels`).

use crate::bits::Bits;

/// Samples of one side of a block.
const SIDE: usize = 8;
/// Pixels of one side of what is coded at a time: four blocks of brightness and one of each colour.
const UNIT: usize = 2 * SIDE;

/// Samples or coefficients, row by row.
type Block = [[f32; SIDE]; SIDE];

/// The file of an image, from red, green and blue of each pixel; `quality` is that of libjpeg, 1 to 100.
///
/// # Errors
/// A side of no pixel or of more than 65,535, and pixels of another number.
pub(crate) fn encode(pixels: &[u8], size: (u32, u32), quality: u8) -> Result<Vec<u8>, String> {
    let (Ok(width @ 1..), Ok(height @ 1..)) = (u16::try_from(size.0), u16::try_from(size.1)) else {
        return Err(format!("JPEG has no image of {}x{} pixels", size.0, size.1));
    };
    let image = Image { pixels, width: usize::from(width), height: usize::from(height) };
    if pixels.len() != image.width * image.height * 3 {
        return Err(format!("{} bytes are no {width}x{height} pixels", pixels.len()));
    }
    let mut planes = [
        Plane::new(&BRIGHTNESS, quality),
        Plane::new(&COLOUR, quality),
        Plane::new(&COLOUR, quality),
    ];
    let mut out = head((width, height), [&planes[0], &planes[1]]);
    let mut bits = Bits::default();
    let mut unit = Unit::default();
    for top in (0..image.height).step_by(UNIT) {
        for left in (0..image.width).step_by(UNIT) {
            unit.take(&image, left, top);
            let [brightness, blue, red] = &mut planes;
            for block in &unit.brightness {
                brightness.put(block, &mut bits);
            }
            blue.put(&unit.blue, &mut bits);
            red.put(&unit.red, &mut bits);
        }
        take(&mut bits, &mut out);
    }
    bits.align(0x7f);
    take(&mut bits, &mut out);
    out.extend([0xff, 0xd9]);
    Ok(out)
}

/// Moves the whole bytes. A byte of ones would start a marker, so a zero after it marks it as data.
fn take(bits: &mut Bits, out: &mut Vec<u8>) {
    for byte in bits.bytes.drain(..) {
        out.push(byte);
        if byte == 0xff {
            out.push(0);
        }
    }
}

struct Image<'a> {
    pixels: &'a [u8],
    width: usize,
    height: usize,
}

/// What is coded at a time: 16 by 16 pixels, about 0.
#[derive(Default)]
struct Unit {
    brightness: [Block; 4],
    blue: Block,
    red: Block,
}

impl Unit {
    /// Takes over pixels as brightness and two differences of colour (JFIF 1.02). Beyond an edge the last pixel
    /// goes on.
    fn take(&mut self, image: &Image<'_>, left: usize, top: usize) {
        (self.blue, self.red) = (Block::default(), Block::default());
        for y in 0..UNIT {
            let row = (top + y).min(image.height - 1) * image.width;
            for x in 0..UNIT {
                let place = (row + (left + x).min(image.width - 1)) * 3;
                let [red, green, blue] = [0, 1, 2].map(|it| f32::from(image.pixels[place + it]));
                let brightness = 0.299 * red + 0.587 * green + 0.114 * blue;
                self.brightness[y / SIDE * 2 + x / SIDE][y % SIDE][x % SIDE] = brightness - 128.0;
                // The mean of four pixels: a quarter of each.
                self.blue[y / 2][x / 2] += (blue - brightness) * (0.25 / 1.772);
                self.red[y / 2][x / 2] += (red - brightness) * (0.25 / 1.402);
            }
        }
    }
}

/// Brightness or a difference of colour: how it is coded, and the mean of its block before.
struct Plane {
    /// What coefficients are divided by, in the order of the file.
    steps: [u8; 64],
    /// One over each step, row by row.
    shares: Block,
    means: Codes,
    waves: Codes,
    kind: &'static Kind,
    before: i32,
}

impl Plane {
    fn new(kind: &'static Kind, quality: u8) -> Self {
        let quality = u32::from(quality.clamp(1, 100));
        // As libjpeg scales the tables.
        let scale = if quality < 50 { 5000 / quality } else { 200 - 2 * quality };
        let scaled =
            kind.steps.map(|step| ((u32::from(step) * scale + 50) / 100).clamp(1, 255) as u8);
        let mut shares = Block::default();
        for (place, step) in scaled.iter().enumerate() {
            shares[place / SIDE][place % SIDE] = 1.0 / f32::from(*step);
        }
        Self {
            steps: ORDER.map(|place| scaled[usize::from(place)]),
            shares,
            means: Codes::new(&kind.means.0, kind.means.1),
            waves: Codes::new(&kind.waves.0, kind.waves.1),
            kind,
            before: 0,
        }
    }

    /// Codes one block (T.81, F.1.2).
    fn put(&mut self, block: &Block, bits: &mut Bits) {
        let waves = transform(&transform(block));
        let mut whole = [0_i32; 64];
        for (whole, (waves, shares)) in
            whole.as_chunks_mut::<SIDE>().0.iter_mut().zip(waves.iter().zip(&self.shares))
        {
            for it in 0..SIDE {
                // So large a float has no bits for parts: what is added is rounded to a whole number.
                const ROUND: f32 = (3 << 22) as f32;
                whole[it] =
                    (waves[it] * shares[it] + ROUND).to_bits().wrapping_sub(ROUND.to_bits()) as i32;
            }
        }
        self.means.put(0, whole[0] - self.before, bits);
        self.before = whole[0];
        let mut zeros = 0;
        for place in &ORDER[1..] {
            let value = whole[usize::from(*place)];
            if value == 0 {
                zeros += 1;
                continue;
            }
            while zeros >= 16 {
                self.waves.put_code(0xf0, bits);
                zeros -= 16;
            }
            self.waves.put(zeros, value, bits);
            zeros = 0;
        }
        if zeros > 0 {
            self.waves.put_code(0, bits);
        }
    }
}

/// Huffman codes: of each symbol the code, and its length in bits.
struct Codes([(u16, u8); 256]);

impl Codes {
    /// The codes for this many symbols of each length, with the symbols in order (T.81, annex C).
    fn new(lengths: &[u8; 16], symbols: &[u8]) -> Self {
        let mut codes = [(0, 0); 256];
        let mut code = 0;
        let mut symbols = symbols.iter();
        for (length, count) in (1..).zip(lengths) {
            for symbol in symbols.by_ref().take(usize::from(*count)) {
                codes[usize::from(*symbol)] = (code, length);
                code += 1;
            }
            code <<= 1;
        }
        Self(codes)
    }

    fn put_code(&self, symbol: u8, bits: &mut Bits) {
        let (code, length) = self.0[usize::from(symbol)];
        bits.put(u32::from(code), u32::from(length));
    }

    /// A number after this many zeros: its bit count, then the bits; for a negative number, the bits of
    /// the number minus one.
    fn put(&self, zeros: u8, value: i32, bits: &mut Bits) {
        let width = 32 - value.unsigned_abs().leading_zeros();
        let (code, length) = self.0[usize::from(zeros << 4 | width as u8)];
        let low = (value - i32::from(value < 0)) as u32 & ((1 << width) - 1);
        bits.put(u32::from(code) << width | low, u32::from(length) + width);
    }
}

/// The cosine transform of each column, laid down as a row (T.81, A.3.3); applied twice, it transforms a block.
fn transform(block: &Block) -> Block {
    // A wave is the same or the opposite from the other end.
    let mut ends = [[[0.0; SIDE]; SIDE / 2]; 2];
    for k in 0..SIDE / 2 {
        for x in 0..SIDE {
            ends[0][k][x] = block[k][x] + block[SIDE - 1 - k][x];
            ends[1][k][x] = block[k][x] - block[SIDE - 1 - k][x];
        }
    }
    let mut out = Block::default();
    for (wave, cosines) in COSINES.iter().enumerate() {
        let [first, second, third, fourth] = &ends[wave % 2];
        let mut row = [0.0; SIDE];
        for x in 0..SIDE {
            row[x] = (first[x] * cosines[0] + second[x] * cosines[1])
                + (third[x] * cosines[2] + fourth[x] * cosines[3]);
        }
        for x in 0..SIDE {
            out[x][wave] = row[x];
        }
    }
    out
}

/// Marks and tables before the pixels (T.81, annex B; JFIF 1.02).
fn head((width, height): (u16, u16), planes: [&Plane; 2]) -> Vec<u8> {
    let mut out = vec![0xff, 0xd8];
    let mut segment = |mark: u8, parts: &[&[u8]]| {
        let length: usize = 2 + parts.iter().map(|part| part.len()).sum::<usize>();
        out.extend([0xff, mark]);
        out.extend((length as u16).to_be_bytes());
        parts.iter().for_each(|part| out.extend_from_slice(part));
    };
    segment(0xe0, &[b"JFIF\0", &[1, 2, 0, 0, 1, 0, 1, 0, 0]]);
    for (number, plane) in (0..).zip(planes) {
        segment(0xdb, &[&[number], &plane.steps]);
    }
    // Each plane: its number, samples of it across and down, and its table.
    let samples = [1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1];
    segment(0xc0, &[&[8], &height.to_be_bytes(), &width.to_be_bytes(), &[3], &samples]);
    for (number, plane) in (0..).zip(planes) {
        let Kind { means, waves, .. } = plane.kind;
        segment(0xc4, &[&[number], &means.0, means.1]);
        segment(0xc4, &[&[0x10 | number], &waves.0, waves.1]);
    }
    segment(0xda, &[&[3, 1, 0, 2, 0x11, 3, 0x11, 0, 63, 0]]);
    out
}

/// Tables of T.81's annex K for one kind of plane: steps row by row, and of both Huffman codes how many symbols
/// there are of each length, and which.
struct Kind {
    steps: [u8; 64],
    means: ([u8; 16], &'static [u8]),
    waves: ([u8; 16], &'static [u8]),
}

static BRIGHTNESS: Kind = Kind {
    steps: [
        16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69,
        56, 14, 17, 22, 29, 51, 87, 80, 62, 18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81,
        104, 113, 92, 49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99,
    ],
    means: (
        [0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0],
        &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
    ),
    waves: (
        [0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 125],
        &[
            0x01, 0x02, 0x03, 0x00, 0x04, 0x11, 0x05, 0x12, 0x21, 0x31, 0x41, 0x06, 0x13, 0x51,
            0x61, 0x07, 0x22, 0x71, 0x14, 0x32, 0x81, 0x91, 0xa1, 0x08, 0x23, 0x42, 0xb1, 0xc1,
            0x15, 0x52, 0xd1, 0xf0, 0x24, 0x33, 0x62, 0x72, 0x82, 0x09, 0x0a, 0x16, 0x17, 0x18,
            0x19, 0x1a, 0x25, 0x26, 0x27, 0x28, 0x29, 0x2a, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39,
            0x3a, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0x4a, 0x53, 0x54, 0x55, 0x56, 0x57,
            0x58, 0x59, 0x5a, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x73, 0x74, 0x75,
            0x76, 0x77, 0x78, 0x79, 0x7a, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x92,
            0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0x9a, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7,
            0xa8, 0xa9, 0xaa, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7, 0xb8, 0xb9, 0xba, 0xc2, 0xc3,
            0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xca, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8,
            0xd9, 0xda, 0xe1, 0xe2, 0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8, 0xe9, 0xea, 0xf1, 0xf2,
            0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa,
        ],
    ),
};

static COLOUR: Kind = Kind {
    steps: [
        17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99, 24, 26, 56, 99, 99, 99, 99,
        99, 47, 66, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
        99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
    ],
    means: (
        [0, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0],
        &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
    ),
    waves: (
        [0, 2, 1, 2, 4, 4, 3, 4, 7, 5, 4, 4, 0, 1, 2, 119],
        &[
            0x00, 0x01, 0x02, 0x03, 0x11, 0x04, 0x05, 0x21, 0x31, 0x06, 0x12, 0x41, 0x51, 0x07,
            0x61, 0x71, 0x13, 0x22, 0x32, 0x81, 0x08, 0x14, 0x42, 0x91, 0xa1, 0xb1, 0xc1, 0x09,
            0x23, 0x33, 0x52, 0xf0, 0x15, 0x62, 0x72, 0xd1, 0x0a, 0x16, 0x24, 0x34, 0xe1, 0x25,
            0xf1, 0x17, 0x18, 0x19, 0x1a, 0x26, 0x27, 0x28, 0x29, 0x2a, 0x35, 0x36, 0x37, 0x38,
            0x39, 0x3a, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0x4a, 0x53, 0x54, 0x55, 0x56,
            0x57, 0x58, 0x59, 0x5a, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x73, 0x74,
            0x75, 0x76, 0x77, 0x78, 0x79, 0x7a, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89,
            0x8a, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0x9a, 0xa2, 0xa3, 0xa4, 0xa5,
            0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7, 0xb8, 0xb9, 0xba,
            0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xca, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6,
            0xd7, 0xd8, 0xd9, 0xda, 0xe2, 0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8, 0xe9, 0xea, 0xf2,
            0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa,
        ],
    ),
};

/// The place of each coefficient of the file: from the slowest wave to the fastest (T.81, figure A.6).
const ORDER: [u8; 64] = [
    0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20,
    13, 6, 7, 14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59,
    52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
];

/// Half the cosine of each multiple of an eighth of a right angle, the first one over the root of 8.
const WAVES: [f32; SIDE] = [
    0.353_553_4,
    0.490_392_65,
    0.461_939_75,
    0.415_734_8,
    0.353_553_4,
    0.277_785_12,
    0.191_341_72,
    0.097_545_16,
];

/// Of each wave its first four samples.
const COSINES: [[f32; SIDE / 2]; SIDE] = {
    let [flat, one, two, three, four, five, six, seven] = WAVES;
    [
        [flat, flat, flat, flat],
        [one, three, five, seven],
        [two, six, -six, -two],
        [three, -seven, -one, -five],
        [four, -four, -four, four],
        [five, -one, seven, three],
        [six, -two, two, -six],
        [seven, -five, three, -one],
    ]
};

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use zune_jpeg::{JpegDecoder, zune_core::bytestream::ZCursor};

    use super::*;

    #[test]
    fn waves_are_those_of_the_standard() {
        let mut block = Block::default();
        for (place, sample) in block.iter_mut().flatten().enumerate() {
            *sample = ((place * 37) % 101) as f32 - 50.0;
        }
        let found = transform(&transform(&block));
        let weight = |it| if it == 0 { 0.5_f64.sqrt() } else { 1.0 };
        let wave = |x: usize, u: usize| ((2 * x + 1) as f64 * u as f64 * PI / 16.0).cos();
        for (place, found) in found.iter().flatten().enumerate() {
            let (v, u) = (place / SIDE, place % SIDE);
            let samples = block.iter().flatten().enumerate();
            let sum: f64 = samples
                .map(|(place, it)| f64::from(*it) * wave(place % SIDE, u) * wave(place / SIDE, v))
                .sum();
            let expected = sum * weight(u) * weight(v) / 4.0;
            assert!((f64::from(*found) - expected).abs() < 1e-3, "{v} {u}");
        }
    }

    fn off(pixels: &[u8], size: (u32, u32), quality: u8) -> f64 {
        let file = encode(pixels, size, quality).unwrap();
        let mut decoder = JpegDecoder::new(ZCursor::new(&file[..]));
        let found = decoder.decode().unwrap();
        assert_eq!(decoder.dimensions(), Some((size.0 as usize, size.1 as usize)));
        assert_eq!(found.len(), pixels.len());
        let differences = pixels.iter().zip(&found).map(|(a, b)| f64::from(a.abs_diff(*b)));
        differences.sum::<f64>() / pixels.len() as f64
    }

    /// Another's reader finds the pixels again: the better, the higher the quality.
    #[test]
    fn pixels_are_found_again() {
        for size in [(1, 1), (17, 9), (16, 16), (64, 48), (200, 33), (33, 200)] {
            let (width, height) = size;
            let pixels: Vec<u8> = (0..height)
                .flat_map(|y| (0..width).map(move |x| (x * 255 / width, y * 255 / height)))
                .flat_map(|(x, y)| [x as u8, y as u8, 255 - x as u8 / 2])
                .collect();
            let all = [100, 75, 10, 1].map(|quality| off(&pixels, size, quality));
            assert!(all[0] < if width > 20 { 1.0 } else { 3.0 }, "{size:?}: {all:?}");
            assert!(all[3] < 60.0, "{size:?}: {all:?}");
            if width * height > 1 {
                assert!(all.is_sorted() && all[0] < all[3], "{size:?}: {all:?}");
            }
        }
    }

    /// Nothing but the mark of the end begins with a byte of ones, whatever the last bits are.
    #[test]
    fn the_last_byte_is_no_mark() {
        let mut draws = crate::Rng::new(7).stream("noise").item(1);
        for _ in 0..200 {
            let pixels: Vec<u8> = (0..16 * 16 * 3).map(|_| draws.below(256) as u8).collect();
            let file = encode(&pixels, (16, 16), 100).unwrap();
            let scan = file.windows(2).rposition(|pair| pair == [0xff, 0xda]).unwrap() + 2;
            let marks = file[scan..].windows(2).filter(|pair| pair[0] == 0xff && pair[1] != 0);
            assert_eq!(marks.collect::<Vec<_>>(), [&[0xff, 0xd9]]);
        }
    }

    /// Black and white by every wave at its largest: no coefficient is beyond the codes that there are.
    #[test]
    fn the_largest_waves_have_codes() {
        for v in 0..SIDE {
            for u in 0..SIDE {
                let side =
                    |it: u32, wave: usize| COSINES[wave][[0, 1, 2, 3, 3, 2, 1, 0][it as usize]];
                let sign = |it: u32, wave: usize| {
                    side(it, wave) * if it >= 4 && wave % 2 == 1 { -1.0 } else { 1.0 }
                };
                let pixels: Vec<u8> = (0..16)
                    .flat_map(|y| (0..16).map(move |x| sign(x % 8, u) * sign(y % 8, v) > 0.0))
                    .flat_map(|is_white| [if is_white { 255 } else { 0 }; 3])
                    .collect();
                let file = encode(&pixels, (16, 16), 100).unwrap();
                let found = JpegDecoder::new(ZCursor::new(&file[..])).decode().unwrap();
                let off = pixels.iter().zip(&found).map(|(a, b)| a.abs_diff(*b)).max();
                assert!(off <= Some(3), "{u} {v}: {off:?}");
            }
        }
    }

    #[test]
    fn sizes_that_there_are_not_are_refused() {
        for size in [(0, 4), (4, 0), (65_536, 1)] {
            assert!(encode(&[], size, 85).unwrap_err().contains(&format!("{}x{}", size.0, size.1)));
        }
        assert!(encode(&[0; 11], (2, 2), 85).unwrap_err().contains("11 bytes"));
    }
}
