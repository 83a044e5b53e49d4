//! The ranks of OpenAI's encodings, as they are kept in the binary.
//!
//! A token of these vocabularies is one of the 256 bytes or made of two tokens with
//! lower ranks, so a list of pairs is all of it: 1.4 MB for all encodings together,
//! where the published files have 7 MB. A number is written seven bits to a byte, the
//! lowest first and the high bit set on all but the last; a rank without a token is its
//! own number instead of a pair. `cargo xtask pack-ranks` makes the lists from the
//! published files; a test writes these files again and compares their digests.
//!
//! Not here: ranks from files (`ranks`).

use super::ranks::Ranks;
use crate::{bytes, error::Problem};

/// Reads lists of pairs, one continuing the other.
///
/// # Errors
/// When a list is damaged; a test of this crate keeps that from being released.
pub(crate) fn unpack(lists: &[&[u8]]) -> Result<Ranks, Problem> {
    let damaged = || Problem::damaged("the packed ranks are damaged");
    let mut tokens = bytes::in_order().map(|byte| vec![byte]).collect::<Vec<_>>();
    let mut pairs = Vec::with_capacity(lists.iter().map(|list| list.len() / 4).sum());
    for list in lists {
        let mut rest = list.iter();
        while !rest.as_slice().is_empty() {
            let left = read_number(&mut rest).ok_or_else(damaged)?;
            if left as usize == tokens.len() {
                tokens.push(Vec::new());
                continue;
            }
            let right = read_number(&mut rest).ok_or_else(damaged)?;
            let token = |id: u32| tokens.get(id as usize).map(Vec::as_slice).ok_or_else(damaged);
            let joined = [token(left)?, token(right)?].concat();
            tokens.push(joined);
            pairs.push((left, right));
        }
    }
    Ok(Ranks { tokens, pairs })
}

fn read_number(rest: &mut std::slice::Iter<'_, u8>) -> Option<u32> {
    let mut number = 0;
    for shift in (0..28).step_by(7) {
        let byte = *rest.next()?;
        number |= u32::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_and_gaps_are_read_and_damage_is_told() {
        // Token 256 is of '!' and '"', 257 is missing, 258 is of 256 and '!'.
        let ranks = unpack(&[&[0, 1, 0x81, 2], &[0x80, 2, 0]]).unwrap();
        assert_eq!(ranks.tokens[256..], [b"!\"".to_vec(), Vec::new(), b"!\"!".to_vec()]);
        assert_eq!(ranks.pairs, [(0, 1), (256, 0)]);
        for list in [&[0x80][..], &[0], &[0, 0x85, 2], &[0xFF, 0xFF, 0xFF, 0xFF, 0]] {
            assert!(unpack(&[list]).is_err(), "{list:?}");
        }
    }
}
