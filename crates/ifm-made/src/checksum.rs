//! Checksums of the formats of files: FLAC's two, and Ogg's. PNG's is that of the crate `crc32fast`.
//!
//! Not here: their positions in files (`flac`, `look`).

/// Values of FLAC's longer checksum by input byte.
const TABLE_16: [u16; 256] = table_16();
/// Values of Ogg's likewise.
const TABLE_OGG: [u32; 256] = table_ogg();

const fn table_16() -> [u16; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = (byte as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = crc << 1 ^ if crc & 0x8000 != 0 { 0x8005 } else { 0 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
}

const fn table_ogg() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = (byte as u32) << 24;
        let mut bit = 0;
        while bit < 8 {
            crc = crc << 1 ^ if crc & 0x8000_0000 != 0 { 0x04c1_1db7 } else { 0 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
}

/// FLAC's checksum of a frame's head: the polynomial x^8 + x^2 + x + 1 (RFC 9639, 9.1.8).
pub fn crc8(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |crc: u8, byte| {
        (0..8).fold(crc ^ byte, |crc, _| crc << 1 ^ if crc & 0x80 != 0 { 7 } else { 0 })
    })
}

/// FLAC's checksum of a frame, one byte further: the polynomial x^16 + x^15 + x^2 + 1 (RFC 9639, 9.3).
pub fn crc16_with(crc: u16, byte: u8) -> u16 {
    crc << 8 ^ TABLE_16[usize::from((crc >> 8) as u8 ^ byte)]
}

/// FLAC's checksum of a frame.
pub fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| crc16_with(crc, *byte))
}

/// Ogg's checksum of a page, in which the checksum itself counts as zeros (RFC 3533, 6).
pub fn crc_ogg(bytes: impl Iterator<Item = u8>) -> u32 {
    bytes.fold(0, |crc, byte| crc << 8 ^ TABLE_OGG[usize::from((crc >> 24) as u8 ^ byte)])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sums of "123456789" in the catalogue of parametrised CRC algorithms (CRC-8/SMBUS,
    /// CRC-16/UMTS); Ogg's is the CRC-32/MPEG-2 that begins with zero.
    #[test]
    fn sums_are_those_of_the_catalogue() {
        assert_eq!(crc8(b"123456789"), 0xf4);
        assert_eq!(crc16(b"123456789"), 0xfee8);
        assert_eq!(crc_ogg(b"123456789".iter().copied()), 0x89a1_897f);
    }
}
