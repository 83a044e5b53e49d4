//! The length of MP3 by the heads of its frames.
//!
//! Not here: other layers of MPEG audio, and what a frame sounds like.

/// Bytes of the head of a frame, and of what begins a tag.
const HEAD_BYTES: usize = 4;
/// Bytes of the head of a tag at the beginning of a file, and of a tag at its end.
const TAG_HEAD_BYTES: usize = 10;
const END_TAG_BYTES: u64 = 128;
/// Bits in a second, thousands, by their number in a head: of MPEG 1, and of MPEG 2 and 2.5.
const KBIT_PER_S: [[u32; 15]; 2] = [
    [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
    [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
];
/// Samples in a second of MPEG 1, likewise; MPEG 2 has half of them, MPEG 2.5 a quarter.
const SAMPLES_PER_S: [u32; 3] = [44_100, 48_000, 32_000];

/// Frames that have arrived.
#[derive(Debug, Default)]
pub(super) struct Frames {
    /// Length of the frames that are whole, nanoseconds.
    pub(super) length_ns: u64,
    /// Whether something else stood where a frame should begin: then nothing is known.
    pub(super) is_lost: bool,
    /// Bytes of the frame or the tag that are still to come, and what it adds to the length.
    left: u64,
    adds_ns: u64,
    /// The beginning of a head.
    head: Vec<u8>,
}

/// What the head of a frame says.
struct Frame {
    bytes: u64,
    length_ns: u64,
}

/// Whether the bytes begin with the head of a frame.
pub(super) fn is_frame(bytes: &[u8]) -> bool {
    frame(bytes).is_some()
}

impl Frames {
    /// Takes more bytes.
    pub(super) fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.is_lost {
            if self.left > 0 {
                let some = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
                self.left -= some as u64;
                bytes = bytes.get(some..).unwrap_or_default();
                self.end_frame();
                continue;
            }
            let wanted = if self.head.starts_with(b"ID3") { TAG_HEAD_BYTES } else { HEAD_BYTES };
            let some = wanted.saturating_sub(self.head.len()).min(bytes.len());
            let (front, back) = bytes.split_at(some);
            self.head.extend_from_slice(front);
            bytes = back;
            if self.head.len() == wanted && !(wanted == HEAD_BYTES && self.head.starts_with(b"ID3"))
            {
                self.begin();
            }
        }
    }

    fn end_frame(&mut self) {
        if self.left == 0 {
            self.length_ns += std::mem::take(&mut self.adds_ns);
        }
    }

    fn begin(&mut self) {
        let head = std::mem::take(&mut self.head);
        let whole = match head.as_slice() {
            // The size is in four bytes of seven bits.
            [b'I', b'D', b'3', _, _, _, a, b, c, d] => {
                let size = [a, b, c, d].iter().fold(0, |sum, byte| sum << 7 | u64::from(**byte));
                size + TAG_HEAD_BYTES as u64
            }
            [b'T', b'A', b'G', _] => END_TAG_BYTES,
            _ => match frame(&head) {
                Some(frame) => {
                    self.adds_ns = frame.length_ns;
                    frame.bytes
                }
                None => {
                    self.is_lost = true;
                    return;
                }
            },
        };
        self.left = whole.saturating_sub(head.len() as u64);
        self.end_frame();
    }
}

/// Reads the head of a frame of layer III.
fn frame(head: &[u8]) -> Option<Frame> {
    let &[0xff, second, third, _, ..] = head else { return None };
    let (is_sync, layer) = (second & 0xe0 == 0xe0, second >> 1 & 3);
    let slowness = match second >> 3 & 3 {
        3 => 1,
        2 => 2,
        0 => 4,
        _ => return None,
    };
    if !is_sync || layer != 1 {
        return None;
    }
    let kbit = *KBIT_PER_S[usize::from(slowness > 1)].get(usize::from(third >> 4))?;
    let rate = u64::from(*SAMPLES_PER_S.get(usize::from(third >> 2 & 3))? / slowness);
    if kbit == 0 {
        return None;
    }
    let samples: u64 = if slowness == 1 { 1152 } else { 576 };
    let bytes = samples / 8 * u64::from(kbit) * 1000 / rate + u64::from(third >> 1 & 1);
    Some(Frame { bytes, length_ns: samples * 1_000_000_000 / rate })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames of MPEG 2, layer III, 64 kbit/s, 24 kHz: 192 bytes, 24 ms.
    fn frames(count: usize) -> Vec<u8> {
        let mut frame = [0u8; 192];
        frame[..4].copy_from_slice(&[0xff, 0xf3, 0x84, 0xc4]);
        frame.repeat(count)
    }

    #[test]
    fn whole_frames_add_up_between_tags_in_every_split() {
        let mut file = b"ID3\x04\0\0\0\0\x01\x02".to_vec();
        file.extend([0; 130]);
        file.extend(frames(3));
        file.extend(b"TAG");
        file.extend([0; 125]);
        for size in [1, 3, 7, 100, file.len()] {
            let mut counted = Frames::default();
            file.chunks(size).for_each(|part| counted.feed(part));
            assert_eq!((counted.length_ns, counted.is_lost), (72_000_000, false), "{size}");
        }
        let mut counted = Frames::default();
        counted.feed(&frames(3)[..500]);
        assert_eq!(counted.length_ns, 48_000_000, "the third is not whole");
        counted.feed(&[0; 80]);
        assert!(counted.is_lost);
    }

    #[test]
    fn heads_of_each_version_are_read() {
        for (head, bytes, length_ns) in [
            ([0xff, 0xfb, 0x90, 0x00], 417, 26_122_448),
            ([0xff, 0xfb, 0x92, 0x00], 418, 26_122_448),
            ([0xff, 0xf3, 0x84, 0xc4], 192, 24_000_000),
            ([0xff, 0xe3, 0x18, 0xc4], 72, 72_000_000),
        ] {
            let read = frame(&head).map(|frame| (frame.bytes, frame.length_ns));
            assert_eq!(read, Some((bytes, length_ns)), "{head:x?}");
        }
        for wrong in
            [[0xff, 0xf1, 0x50, 0x80], [0xff, 0xfb, 0x00, 0], [0xff, 0xfb, 0xf0, 0], [0; 4]]
        {
            assert!(frame(&wrong).is_none(), "{wrong:x?}");
        }
    }
}
