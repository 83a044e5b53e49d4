//! Numbers of any width written one after the other, the highest bit first, as FLAC and JPEG have them.

/// Bits, the highest first.
#[derive(Default)]
pub(crate) struct Bits {
    /// The whole bytes so far.
    pub bytes: Vec<u8>,
    held: u64,
    count: u32,
}

impl Bits {
    /// Continues after whole bytes.
    pub fn behind(bytes: Vec<u8>) -> Self {
        Self { bytes, ..Self::default() }
    }

    /// Appends the lowest `count` bits of a number, at most 32.
    #[inline]
    pub fn put(&mut self, value: u32, count: u32) {
        let value = u64::from(value) & ((1_u64 << count) - 1);
        self.held = self.held << count | value;
        self.count += count;
        while self.count >= 8 {
            self.count -= 8;
            self.bytes.push((self.held >> self.count) as u8);
        }
    }

    /// This many zeros, then a one.
    pub fn put_unary(&mut self, mut zeros: u32) {
        while zeros >= 24 {
            self.put(0, 24);
            zeros -= 24;
        }
        self.put(1, zeros + 1);
    }

    /// Fills the last byte with zeros or with ones.
    pub fn align(&mut self, filling: u32) {
        if self.count > 0 {
            self.put(filling, 8 - self.count);
        }
    }
}
