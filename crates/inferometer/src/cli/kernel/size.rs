//! Sizes on the command line.

use ifm_machine::measured_machine::last_cache_bytes;
use ifm_metrics::measured_machine::CACHES;

/// The sizes of attention: sequences, heads of queries and of keys, queries, keys, width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heads {
    pub batch: u64,
    pub query_heads: u64,
    pub kv_heads: u64,
    pub queries: u64,
    pub keys: u64,
    pub width: u64,
}

/// Reads `1x4x2048x64`, or `2x32/8x512/4096x128` if keys have fewer heads or another number.
///
/// # Errors
/// Why it is not a valid size.
pub fn heads(text: &str) -> Result<Heads, String> {
    let parts: Vec<&str> = text.split('x').collect();
    let [batch, heads, tokens, width] = parts.as_slice() else {
        return Err("expected BATCHxHEADSxTOKENSxWIDTH, such as 1x4x2048x64".to_owned());
    };
    let pair = |text: &str| match text.split_once('/') {
        Some((one, other)) => Ok::<_, String>((number(one)?, number(other)?)),
        None => number(text).map(|both| (both, both)),
    };
    let ((query_heads, kv_heads), (queries, keys)) = (pair(heads)?, pair(tokens)?);
    if query_heads % kv_heads != 0 {
        return Err(format!("{query_heads} heads of queries do not share {kv_heads} of keys"));
    }
    let (batch, width) = (number(batch)?, number(width)?);
    // More than any memory, and too little to overflow.
    let sides = [batch, query_heads.max(kv_heads), queries.max(keys), width];
    let numbers = sides.iter().try_fold(1_u64, |product, side| product.checked_mul(*side));
    match numbers.filter(|numbers| *numbers < 1 << 48) {
        Some(_) => Ok(Heads { batch, query_heads, kv_heads, queries, keys, width }),
        None => Err(format!("{text} is more than a machine can hold")),
    }
}

/// Reads `2048`, a cube, or `4096x4096x512`: rows, columns, depth.
///
/// # Errors
/// Why it is not a valid size.
pub fn product(text: &str) -> Result<(u64, u64, u64), String> {
    let sides: Result<Vec<u64>, String> = text.split('x').map(number).collect();
    match sides?.as_slice() {
        [side] => Ok((*side, *side, *side)),
        [m, n, k] => Ok((*m, *n, *k)),
        _ => Err("expected one side, or three: ROWSxCOLUMNSxDEPTH".to_owned()),
    }
}

/// Arrays consist of whole blocks of this many bytes.
const BLOCK_BYTES: u64 = 64 << 10;

/// Reads bytes: `65536`, `64K`, `256M`, `2G`, in powers of 1024, rounded up to whole blocks of 64 KiB;
/// `auto` is too large for any cache of this machine.
///
/// # Errors
/// Why the text is invalid.
pub fn bytes(text: &str) -> Result<u64, String> {
    if text.trim() == "auto" {
        return Ok(past_caches().next_multiple_of(BLOCK_BYTES));
    }
    let (digits, shift) = match text.trim().char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 10),
        Some((at, 'm' | 'M')) => (&text[..at], 20),
        Some((at, 'g' | 'G')) => (&text[..at], 30),
        _ => (text, 0),
    };
    let bytes = number(digits)?.checked_mul(1 << shift).filter(|bytes| *bytes < 1 << 48);
    bytes
        .map(|bytes| bytes.next_multiple_of(BLOCK_BYTES))
        .ok_or_else(|| format!("{text} is more than a machine can hold"))
}

/// An array of which caches contain no significant part: four times the largest cache, minimum 256 MiB,
/// and maximum an eighth of the memory, since a triad moves three of them.
fn past_caches() -> u64 {
    const LEAST: u64 = 256 << 20;
    let wanted = last_cache_bytes().map_or(LEAST, |cache| (CACHES * cache) as u64).max(LEAST);
    let most = ifm_sys::host::memory_bytes().map_or(LEAST, |memory| memory / 8).max(LEAST);
    wanted.min(most)
}

/// A whole number above 0.
fn number(text: &str) -> Result<u64, String> {
    match text.trim().parse() {
        Ok(0) => Err("a side of 0 has nothing to compute".to_owned()),
        Ok(number) => Ok(number),
        Err(_) => Err(format!("\"{}\" is not a number", text.trim())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_refused_with_a_reason() {
        let read = heads("2x32/8x512/4096x128").expect("a size");
        let expected =
            Heads { batch: 2, query_heads: 32, kv_heads: 8, queries: 512, keys: 4096, width: 128 };
        assert_eq!(read, expected);
        assert_eq!(heads("1x4x7x64").map(|one| (one.kv_heads, one.keys)), Ok((4, 7)));
        for (text, why) in [
            ("1x4x0x64", "a side of 0"),
            ("1x4x64", "expected BATCH"),
            ("1x4/3x8x64", "4 heads of queries do not share 3"),
            ("1x4xqx64", "\"q\" is not a number"),
            ("999999x999999x999999x9", "more than a machine"),
            ("1x4/0x8x64", "a side of 0"),
        ] {
            let error = heads(text).expect_err(text);
            assert!(error.contains(why), "{text}: {error}");
        }
        assert_eq!(product("512"), Ok((512, 512, 512)));
        assert_eq!(product("1x2x3"), Ok((1, 2, 3)));
        assert!(product("1x2").is_err() && product("0").is_err());
        assert_eq!(
            [bytes("100"), bytes("65K"), bytes("2G")],
            [Ok(65536), Ok(131_072), Ok(2 << 30)]
        );
        assert!(bytes("x").is_err() && bytes("0M").is_err() && bytes("99999999G").is_err());
    }
}
