//! Pixels of synthetic images, only from random draws: whole numbers, so that every machine draws the same.
//!
//! A server's work depends on the pixels' number and a file's size on what they show. So a `photo` has
//! what makes a photograph as large as it is: smooth areas, edges, texture on several scales, and the
//! grain of a sensor.
//!
//! Not here: files of pixels (`code`).

use crate::Draws;

/// What an image shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Motif {
    /// Areas, edges, texture and grain.
    Photo,
    /// Every pixel by itself: what vLLM's and SGLang's random images are, larger as a file than any
    /// photograph.
    Noise,
    /// One colour: nothing as a file.
    Blank,
}

/// Areas with edges in one image.
const AREAS: usize = 24;
/// Scales of texture: cells along the longer side (or a cell's pixels where 0), and strength of 256.
const TEXTURES: [(u32, u32, i32); 4] = [(4, 0, 40), (14, 0, 30), (60, 0, 20), (0, 5, 20)];
/// Grain of a sensor, levels of 256 in each direction.
const GRAIN: u32 = 5;

/// Red, green and blue of each pixel, row by row.
pub fn draw(motif: Motif, (width, height): (u32, u32), draws: &mut Draws) -> Vec<u8> {
    let mut quick = Quick::new(draws);
    let bytes = width as usize * height as usize * 3;
    match motif {
        Motif::Blank => {
            let colour = quick.colour();
            colour.iter().copied().cycle().take(bytes).collect()
        }
        Motif::Noise => {
            let mut pixels = Vec::with_capacity(bytes + 8);
            while pixels.len() < bytes {
                pixels.extend_from_slice(&quick.next().to_le_bytes());
            }
            pixels.truncate(bytes);
            pixels
        }
        Motif::Photo => photo(width, height, &mut quick),
    }
}

/// Fast draws for pixels (G. Marsaglia, "Xorshift RNGs", 2003; the multiplier of xorshift64*).
struct Quick(u64);

impl Quick {
    fn new(draws: &mut Draws) -> Self {
        Self(draws.below_u64(u64::MAX) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below a small bound.
    fn below(&mut self, bound: u32) -> u32 {
        (((self.next() >> 32) * u64::from(bound)) >> 32) as u32
    }

    fn colour(&mut self) -> [u8; 3] {
        let [a, b, c, ..] = self.next().to_le_bytes();
        [a, b, c]
    }
}

/// An ellipse or a rectangle of one colour.
struct Area {
    middle: (i64, i64),
    half: (i64, i64),
    is_round: bool,
    colour: [u8; 3],
}

impl Area {
    fn drawn(width: u32, height: u32, place: usize, quick: &mut Quick) -> Self {
        // Large areas first, so that small ones are drawn on top of them.
        let part = 3 + place as u32;
        let half = |side: u32, quick: &mut Quick| {
            i64::from(side / part / 2 + quick.below(side / part + 1)).max(1)
        };
        Self {
            middle: (i64::from(quick.below(width)), i64::from(quick.below(height))),
            half: (half(width, quick), half(height, quick)),
            is_round: quick.below(2) == 0,
            colour: quick.colour(),
        }
    }

    /// Pixels of a row that it covers, from and to.
    fn span(&self, y: i64, width: u32) -> Option<(usize, usize)> {
        let off = y - self.middle.1;
        if off.abs() > self.half.1 {
            return None;
        }
        let reach = match self.is_round {
            false => self.half.0,
            true => {
                let left = self.half.1 * self.half.1 - off * off;
                self.half.0 * left.isqrt() / self.half.1
            }
        };
        let bound = |x: i64| x.clamp(0, i64::from(width)) as usize;
        Some((bound(self.middle.0 - reach), bound(self.middle.0 + reach)))
    }
}

/// Texture of one scale: values on a grid, straight lines between them.
struct Texture {
    cell: u32,
    columns: usize,
    values: Vec<i32>,
    strength: i32,
}

impl Texture {
    fn drawn(cell: u32, strength: i32, (width, height): (u32, u32), quick: &mut Quick) -> Self {
        let cell = cell.max(2);
        let columns = (width / cell + 2) as usize;
        let count = columns * (height / cell + 2) as usize;
        let values = (0..count).map(|_| quick.below(512) as i32 - 256).collect();
        Self { cell, columns, values, strength }
    }

    /// Adds a row's texture, in levels times 65,536.
    fn add(&self, y: u32, row: &mut [i32]) {
        let upper = (y / self.cell) as usize * self.columns;
        let lower = upper + self.columns;
        let cell = self.cell as i32;
        let part = (y % self.cell) as i32;
        let at = |column: usize| {
            let value = |row: usize| self.values.get(row + column).copied().unwrap_or(0);
            let (a, b) = (value(upper), value(lower));
            (a * (cell - part) + b * part) * 256 / cell * self.strength
        };
        let mut left = at(0);
        for (column, pixels) in row.chunks_mut(self.cell as usize).enumerate() {
            let right = at(column + 1);
            let step = (right - left) / cell;
            let mut value = left;
            for pixel in pixels {
                *pixel += value;
                value += step;
            }
            left = right;
        }
    }
}

fn photo(width: u32, height: u32, quick: &mut Quick) -> Vec<u8> {
    let ends = [quick.colour(), quick.colour()];
    let areas: Vec<Area> =
        (0..AREAS).map(|place| Area::drawn(width, height, place, quick)).collect();
    let side = width.max(height);
    let textures = TEXTURES.map(|(cells, pixels, strength)| {
        let cell = side.checked_div(cells).unwrap_or(pixels);
        Texture::drawn(cell, strength, (width, height), quick)
    });
    let mut pixels = Vec::with_capacity(width as usize * height as usize * 3);
    let mut colours = vec![[0_u8; 3]; width as usize];
    let mut levels = vec![0_i32; width as usize];
    for y in 0..height {
        colours.fill(between(ends, y, height));
        for area in &areas {
            if let Some((from, to)) = area.span(i64::from(y), width) {
                colours.get_mut(from..to).unwrap_or_default().fill(area.colour);
            }
        }
        levels.fill(0);
        textures.iter().for_each(|texture| texture.add(y, &mut levels));
        for (colour, level) in colours.iter().zip(&levels) {
            let drawn = quick.next();
            let grain =
                (((drawn >> 40 & 0xff) as u32 * (2 * GRAIN + 1)) >> 8) as i32 - GRAIN as i32;
            let level = (level >> 16) + grain;
            pixels
                .extend(colour.map(|it| (i32::from(it) * 3 / 4 + 32 + level).clamp(0, 255) as u8));
        }
    }
    pixels
}

/// A colour between two, by a row's place.
fn between(ends: [[u8; 3]; 2], y: u32, height: u32) -> [u8; 3] {
    let [top, bottom] = ends;
    let mut colour = top;
    for (one, other) in colour.iter_mut().zip(bottom) {
        let mixed = u32::from(*one) * (height - y) + u32::from(other) * y;
        *one = (mixed / height.max(1)) as u8;
    }
    colour
}
