//! The coded pixels of a JPEG, symbol by symbol (ITU-T T.81, annexes F and G): whether every scan holds
//! as many blocks as the size of the image asks for, no code that there is not, and nothing behind. No
//! pixel is computed. A change that leaves all of that in place is a change of colours, which nobody
//! can tell from the file.
//!
//! Baseline and progressive images with Huffman's codes are read, which are nearly all; others pass.

use super::{big, damaged, slice};

/// Bits of a code that are looked up at once; longer ones are searched for.
const FAST_BITS: u32 = 9;
/// Coefficients of a block.
const BLOCK: u32 = 64;
/// Colors of a progressive image (ITU-T T.81, table B.2).
const PARTS_MAX: usize = 4;

/// What the segments of a file told so far.
#[derive(Default)]
pub(super) struct Walk {
    frame: Option<Frame>,
    /// Tables for the first coefficient of blocks and for the others.
    tables: [[Option<Box<Codes>>; 4]; 2],
    /// Units after which codes begin anew; 0 for never.
    restart: u64,
}

struct Frame {
    is_progressive: bool,
    parts: Vec<Part>,
    units_wide: u64,
    units_high: u64,
}

/// One colour.
struct Part {
    id: u8,
    across: u64,
    down: u64,
    /// Blocks where the colour comes alone.
    blocks_wide: u64,
    blocks_high: u64,
    /// Of each block, which coefficients are not zero so far: of progressive images.
    seen: Vec<u64>,
}

/// One table of codes.
struct Codes {
    /// Length and symbol by the next bits; length 0 where the code is longer.
    fast: [(u8, u8); 1 << FAST_BITS],
    /// By length: the first code that is beyond it, in 16 bits, and what is added to a code for its place.
    beyond: [u32; 17],
    shift: [i64; 17],
    symbols: Vec<u8>,
}

/// What a scan does with a block.
#[derive(Clone, Copy)]
struct Pass {
    is_progressive: bool,
    first: u32,
    last: u32,
    is_refined: bool,
}

impl Walk {
    /// A segment that is no scan: its mark, and where its content begins and ends.
    ///
    /// # Errors
    /// Tables of codes that are none.
    pub(super) fn segment(
        &mut self,
        bytes: &[u8],
        kind: u8,
        body: usize,
        end: usize,
    ) -> Result<(), String> {
        let data = bytes.get(body..end).unwrap_or_default();
        match kind {
            0xc0..=0xc2 => self.frame = Frame::read(data, kind == 0xc2),
            0xc4 => self.tables(data).ok_or_else(|| {
                damaged(&format!("the table of codes at byte {} is none", body - 4))
            })?,
            0xdd => self.restart = big(data, 0, 2).unwrap_or(0),
            _ => {}
        }
        Ok(())
    }

    fn tables(&mut self, data: &[u8]) -> Option<()> {
        let mut place = 0;
        while place < data.len() {
            let head = *data.get(place)?;
            let counts = slice(data, place + 1, 16)?;
            let all = counts.iter().map(|count| usize::from(*count)).sum::<usize>();
            let symbols = slice(data, place + 17, all)?;
            let table = self.tables.get_mut(usize::from(head >> 4))?;
            *table.get_mut(usize::from(head & 15))? = Some(Box::new(Codes::new(counts, symbols)?));
            place += 17 + all;
        }
        Some(())
    }

    /// A scan: where its head's content begins, and where its codes begin and end.
    ///
    /// # Errors
    /// Where in the file its codes do not add up, and why.
    pub(super) fn scan(
        &mut self,
        bytes: &[u8],
        head: usize,
        from: usize,
        to: usize,
    ) -> Result<(), String> {
        let codes = bytes.get(..to).unwrap_or_default();
        let mut bits = Bits { bytes: codes, place: from, held: 0, count: 0 };
        let head = bytes.get(head..from).unwrap_or_default();
        match self.blocks(head, &mut bits) {
            // Nothing that is read here.
            None | Some(Ok(())) => Ok(()),
            Some(Err(why)) => {
                let place = bits.place.saturating_sub(bits.count as usize / 8);
                Err(damaged(&format!("its pixels at byte {place}: {why}")))
            }
        }
    }

    fn blocks(&mut self, head: &[u8], bits: &mut Bits<'_>) -> Option<Result<(), &'static str>> {
        let Self { frame, tables, restart } = self;
        let frame = frame.as_mut()?;
        let count = usize::from(*head.first()?);
        let mut chosen = Vec::new();
        for place in 0..count {
            let (id, which) = (*head.get(1 + 2 * place)?, *head.get(2 + 2 * place)?);
            let part = frame.parts.iter().position(|part| part.id == id)?;
            chosen.push((part, usize::from(which >> 4), usize::from(which & 15)));
        }
        let spectrum = slice(head, 1 + 2 * count, 3)?;
        let pass = Pass {
            is_progressive: frame.is_progressive,
            first: u32::from(*spectrum.first()?),
            last: u32::from(*spectrum.get(1)?).min(BLOCK - 1),
            is_refined: *spectrum.get(2)? >> 4 > 0,
        };
        let [starts, others] = &*tables;
        let is_needed = |in_progressive: bool| !pass.is_progressive || in_progressive;
        let mut scanned = Vec::new();
        for (part, start, other) in chosen {
            let start = starts.get(start)?.as_deref();
            let other = others.get(other)?.as_deref();
            let is_missing = is_needed(pass.first == 0 && !pass.is_refined) && start.is_none()
                || is_needed(pass.first > 0) && other.is_none();
            if is_missing {
                return None;
            }
            scanned.push((part, start, other));
        }
        let (wide, high) = match scanned.as_slice() {
            [] => return None,
            [(alone, ..)] => {
                let part = frame.parts.get(*alone)?;
                (part.blocks_wide, part.blocks_high)
            }
            _ => (frame.units_wide, frame.units_high),
        };
        let is_alone = scanned.len() == 1;
        let mut run = 0;
        let mut marks = 0_u8;
        for unit in 0..wide * high {
            if *restart > 0 && unit > 0 && unit % *restart == 0 {
                if let Err(why) = bits.restart(marks) {
                    return Some(Err(why));
                }
                marks = (marks + 1) & 7;
                run = 0;
            }
            let (column, row) = (unit % wide, unit / wide);
            for (part, start, other) in &scanned {
                let part = frame.parts.get_mut(*part)?;
                let (across, down) = if is_alone { (1, 1) } else { (part.across, part.down) };
                let stride = frame.units_wide * part.across;
                for place in 0..across * down {
                    let (x, y) = (column * across + place % across, row * down + place / across);
                    let mut unseen = 0;
                    let seen = part.seen.get_mut((y * stride + x) as usize).unwrap_or(&mut unseen);
                    if let Err(why) = pass.block(bits, *start, *other, seen, &mut run) {
                        return Some(Err(why));
                    }
                }
            }
        }
        Some(bits.end())
    }
}

impl Frame {
    /// A frame's head; nothing where it is one of those that are not read.
    fn read(data: &[u8], is_progressive: bool) -> Option<Frame> {
        let (height, width) = (big(data, 1, 2)?, big(data, 3, 2)?);
        // More than four colors are allowed in one pass only, and each takes memory here.
        let count = usize::from(*data.get(5)?);
        if is_progressive && count > PARTS_MAX {
            return None;
        }
        let mut parts = Vec::new();
        for place in 0..count {
            let [id, sides, _] = *slice(data, 6 + 3 * place, 3)? else { return None };
            parts.push((id, u64::from(sides >> 4), u64::from(sides & 15)));
        }
        let most_across = parts.iter().map(|part| part.1).max()?;
        let most_down = parts.iter().map(|part| part.2).max()?;
        let is_odd = parts.iter().any(|(_, across, down)| across * down == 0);
        // A height of 0 is told behind the first scan.
        let is_large = width * height > super::PIXELS_MAX;
        if is_odd || most_across > 4 || most_down > 4 || width * height == 0 || is_large {
            return None;
        }
        let units_wide = width.div_ceil(8 * most_across);
        let units_high = height.div_ceil(8 * most_down);
        let part = |(id, across, down): (u8, u64, u64)| Part {
            id,
            across,
            down,
            blocks_wide: (width * across).div_ceil(most_across).div_ceil(8),
            blocks_high: (height * down).div_ceil(most_down).div_ceil(8),
            seen: match is_progressive {
                true => vec![0; (units_wide * across * units_high * down) as usize],
                false => Vec::new(),
            },
        };
        let parts = parts.into_iter().map(part).collect();
        Some(Frame { is_progressive, parts, units_wide, units_high })
    }
}

impl Codes {
    /// A table from how many codes have each length, and their symbols; nothing where there are more than
    /// their bits can tell apart.
    fn new(counts: &[u8], symbols: &[u8]) -> Option<Codes> {
        let mut codes = Codes {
            fast: [(0, 0); 1 << FAST_BITS],
            beyond: [0; 17],
            shift: [0; 17],
            symbols: symbols.to_vec(),
        };
        let (mut code, mut place) = (0_u32, 0_u32);
        for (length, count) in (1_u32..).zip(counts) {
            *codes.shift.get_mut(length as usize)? = i64::from(place) - i64::from(code);
            for _ in 0..*count {
                if code >> length != 0 {
                    return None;
                }
                if length <= FAST_BITS {
                    let free = FAST_BITS - length;
                    let from = (code << free) as usize;
                    let found = (length as u8, *symbols.get(place as usize)?);
                    codes.fast.get_mut(from..from + (1 << free))?.fill(found);
                }
                code += 1;
                place += 1;
            }
            *codes.beyond.get_mut(length as usize)? = code << (16 - length);
            code <<= 1;
        }
        Some(codes)
    }
}

/// The codes of a scan as bits. Marks within end them.
struct Bits<'file> {
    bytes: &'file [u8],
    place: usize,
    held: u64,
    count: u32,
}

impl Bits<'_> {
    fn fill(&mut self) {
        while self.count <= 48 {
            let Some(&byte) = self.bytes.get(self.place) else { return };
            if byte == 0xff && self.bytes.get(self.place + 1) != Some(&0) {
                return;
            }
            self.place += 1 + usize::from(byte == 0xff);
            self.held = self.held << 8 | u64::from(byte);
            self.count += 8;
        }
    }

    fn take(&mut self, bits: u32) -> Result<u32, &'static str> {
        if self.count < bits {
            self.fill();
        }
        self.count = self.count.checked_sub(bits).ok_or("they end too early")?;
        Ok((self.held >> self.count) as u32 & ((1 << bits) - 1))
    }

    fn symbol(&mut self, codes: Option<&Codes>) -> Result<u8, &'static str> {
        const NONE: &str = "a code that there is not";
        let codes = codes.ok_or(NONE)?;
        if self.count < 16 {
            self.fill();
        }
        let next = match self.count {
            16.. => self.held >> (self.count - 16),
            few => self.held << (16 - few),
        };
        let next = next as u32 & 0xffff;
        if let Some(&(length @ 1.., symbol)) = codes.fast.get((next >> (16 - FAST_BITS)) as usize) {
            self.take(u32::from(length))?;
            return Ok(symbol);
        }
        for length in FAST_BITS + 1..=16 {
            if codes.beyond.get(length as usize).is_some_and(|beyond| next < *beyond) {
                let shift = codes.shift.get(length as usize).copied().unwrap_or(0);
                let place = usize::try_from(i64::from(next >> (16 - length)) + shift);
                self.take(length)?;
                return place.ok().and_then(|it| codes.symbols.get(it)).copied().ok_or(NONE);
            }
        }
        Err(if self.count < 16 { "they end too early" } else { NONE })
    }

    /// The end of what stands before a mark: at most bits that fill a byte, and the zeros that some
    /// writers put there.
    fn end(&mut self) -> Result<(), &'static str> {
        loop {
            self.fill();
            if self.count < 8 {
                return Ok(());
            }
            if self.held & ((1 << (self.count & !7)) - 1) != 0 {
                return Err("there are more than its size asks for");
            }
            self.count &= 7;
        }
    }

    /// The mark behind which codes begin anew, by its number.
    fn restart(&mut self, number: u8) -> Result<(), &'static str> {
        self.end()?;
        self.count = 0;
        while self.bytes.get(self.place) == Some(&0xff)
            && self.bytes.get(self.place + 1) == Some(&0xff)
        {
            self.place += 1;
        }
        if slice(self.bytes, self.place, 2) != Some(&[0xff, 0xd0 + number]) {
            return Err("a mark to begin anew is missing");
        }
        self.place += 2;
        Ok(())
    }
}

impl Pass {
    /// Reads the codes of one block.
    fn block(
        self,
        bits: &mut Bits<'_>,
        start: Option<&Codes>,
        other: Option<&Codes>,
        seen: &mut u64,
        run: &mut u32,
    ) -> Result<(), &'static str> {
        if self.first == 0 {
            match self.is_refined {
                true => bits.take(1)?,
                false => {
                    let length = u32::from(bits.symbol(start)?);
                    if length > 16 {
                        return Err("a number of more than 16 bits");
                    }
                    bits.take(length)?
                }
            };
            if self.is_progressive {
                return Ok(());
            }
        }
        match (self.is_progressive, self.is_refined) {
            (true, true) => self.refine(bits, other, seen, run),
            _ => self.coefficients(bits, other, seen, run),
        }
    }

    fn coefficients(
        self,
        bits: &mut Bits<'_>,
        codes: Option<&Codes>,
        seen: &mut u64,
        run: &mut u32,
    ) -> Result<(), &'static str> {
        if *run > 0 {
            *run -= 1;
            return Ok(());
        }
        let mut place = self.first.max(1);
        while place <= self.last {
            let symbol = bits.symbol(codes)?;
            let (zeros, length) = (u32::from(symbol >> 4), u32::from(symbol & 15));
            match (zeros, length) {
                (15, 0) => place += 16,
                (1.., 0) if !self.is_progressive => return Err("a code without a meaning"),
                (bits_of_run, 0) => {
                    *run = (1 << bits_of_run) - 1 + bits.take(bits_of_run)?;
                    return Ok(());
                }
                _ => {
                    place += zeros;
                    if place > self.last {
                        return Err("a block of more than 64 numbers");
                    }
                    bits.take(length)?;
                    *seen |= 1 << place;
                    place += 1;
                }
            }
        }
        Ok(())
    }

    /// One more bit of each coefficient that is not zero, and new ones between them (G.1.2.3).
    fn refine(
        self,
        bits: &mut Bits<'_>,
        codes: Option<&Codes>,
        seen: &mut u64,
        run: &mut u32,
    ) -> Result<(), &'static str> {
        let mut place = self.first;
        while *run == 0 && place <= self.last {
            let symbol = bits.symbol(codes)?;
            let (mut zeros, length) = (u32::from(symbol >> 4), symbol & 15);
            match (zeros, length) {
                (0..15, 0) => {
                    *run = (1 << zeros) + bits.take(zeros)?;
                    break;
                }
                (_, 0) => {}
                (_, 1) => _ = bits.take(1)?,
                _ => return Err("a bit that has more than one"),
            }
            while place <= self.last {
                if *seen >> place & 1 == 1 {
                    bits.take(1)?;
                } else if zeros == 0 {
                    break;
                } else {
                    zeros -= 1;
                }
                place += 1;
            }
            if length == 1 {
                if place > self.last {
                    return Err("a block of more than 64 numbers");
                }
                *seen |= 1 << place;
            }
            place += 1;
        }
        if *run > 0 {
            for _ in (place..=self.last).filter(|place| *seen >> place & 1 == 1) {
                bits.take(1)?;
            }
            *run -= 1;
        }
        Ok(())
    }
}
