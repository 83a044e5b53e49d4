//! Rank files of tiktoken: a token in base64 and its rank on each line.
//!
//! A rank is both the id of a token and how early it is made. Which two tokens make it
//! is not written down, but follows: it is what the tokens with lower ranks make of its
//! bytes. With these pairs the usual BPE gives the ids of tiktoken.
//!
//! Not here: how a text is split, and special tokens, which rank files do not say.

use std::collections::HashMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};

use crate::{bytes::in_order, error::Problem};

/// The longest token, in bytes. The longest published ones have 128.
const TOKEN_BYTES_MAX: usize = 512;
/// Ranks without a token at most. The published files have one at most.
const GAPS_MAX: usize = 1 << 16;

/// The tokens of an encoding.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ranks {
    /// Tokens by rank; empty where a rank has no token.
    pub(crate) tokens: Vec<Vec<u8>>,
    /// Ranks of the two tokens that make one, in order of the rank of what they make.
    pub(crate) pairs: Vec<(u32, u32)>,
}

/// Whether a file begins as a rank file does.
pub(crate) fn is_rank_file(bytes: &[u8]) -> bool {
    let line = bytes.split(|&byte| byte == b'\n').next().unwrap_or(bytes);
    line.len() <= 2 * TOKEN_BYTES_MAX && read_line(line.trim_ascii()).is_some()
}

/// Reads a rank file.
pub(crate) fn read(bytes: &[u8]) -> Result<Ranks, Problem> {
    let mut listed = Vec::new();
    for (number, line) in (1..).zip(bytes.split(|&byte| byte == b'\n')) {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        let (token, rank) = read_line(line).ok_or_else(|| {
            Problem::damaged(format!("line {number} is not a token in base64 with its rank"))
        })?;
        if token.is_empty() || token.len() > TOKEN_BYTES_MAX {
            return Err(Problem::damaged(format!(
                "the token on line {number} has {} bytes; 1 to {TOKEN_BYTES_MAX} are possible",
                token.len()
            )));
        }
        listed.push((number, token, rank));
    }
    let mut tokens = Vec::with_capacity(listed.len());
    let most = listed.len() + GAPS_MAX;
    for (number, token, rank) in listed {
        if rank as usize >= most {
            return Err(Problem::damaged(format!(
                "the rank {rank} on line {number} is far beyond the number of tokens"
            )));
        }
        if tokens.len() <= rank as usize {
            tokens.resize(rank as usize + 1, Vec::new());
        }
        match tokens.get_mut(rank as usize) {
            Some(place) if place.is_empty() => *place = token,
            _ => {
                return Err(Problem::damaged(format!(
                    "the rank {rank} on line {number} is there twice"
                )));
            }
        }
    }
    let pairs = find_pairs(&tokens)?;
    Ok(Ranks { tokens, pairs })
}

fn read_line(line: &[u8]) -> Option<(Vec<u8>, u32)> {
    let space = line.iter().position(|&byte| byte == b' ')?;
    let (token, rank) = (line.get(..space)?, line.get(space + 1..)?);
    let rank = std::str::from_utf8(rank).ok()?.parse().ok()?;
    Some((STANDARD.decode(token).ok()?, rank))
}

/// The pair that makes each token; tokens that no pair makes have none.
fn find_pairs(tokens: &[Vec<u8>]) -> Result<Vec<(u32, u32)>, Problem> {
    let mut ranks = HashMap::with_capacity(tokens.len());
    for (token, rank) in tokens.iter().zip(0_u32..).filter(|(token, _)| !token.is_empty()) {
        if let Some(first) = ranks.insert(token.as_slice(), rank) {
            return Err(Problem::damaged(format!("the ranks {first} and {rank} are one token")));
        }
    }
    if let Some(byte) = in_order().find(|byte| !ranks.contains_key(&[*byte][..])) {
        return Err(Problem::damaged(format!("there is no token for the byte {byte:#04x}")));
    }
    let longer = tokens.iter().zip(0..).filter(|(token, _)| token.len() > 1);
    Ok(longer.filter_map(|(token, rank)| find_pair(&ranks, token, rank)).collect())
}

/// The two tokens that lower ranks leave of a token's bytes, if they leave two.
fn find_pair(ranks: &HashMap<&[u8], u32>, token: &[u8], rank: u32) -> Option<(u32, u32)> {
    // Where each part begins, and the end.
    let mut cuts = (0..=token.len()).collect::<Vec<_>>();
    let rank_of = |from: usize, to: usize| ranks.get(token.get(from..to)?).copied();
    while cuts.len() > 3 {
        let joined = cuts.windows(3).enumerate().filter_map(|(index, window)| match *window {
            [from, _, to] => Some((rank_of(from, to)?, index + 1)),
            _ => None,
        });
        // Of equal ranks the first: the least index.
        let (lowest, cut) = joined.min()?;
        if lowest >= rank {
            return None;
        }
        cuts.remove(cut);
    }
    match *cuts {
        [from, middle, to] => Some((rank_of(from, middle)?, rank_of(middle, to)?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;

    fn file(tokens: &[&str]) -> String {
        let bytes = in_order().map(|byte| vec![byte]);
        let all = bytes.chain(tokens.iter().map(|token| token.as_bytes().to_vec()));
        all.enumerate().fold(String::new(), |mut text, (rank, token)| {
            writeln!(text, "{} {rank}", STANDARD.encode(token)).unwrap();
            text
        })
    }

    #[test]
    fn pairs_follow_from_the_ranks() {
        let ranks = read(file(&["ab", "bc", "abc", "abcd", "aaa", "xyz"]).as_bytes()).unwrap();
        let texts = ranks.pairs.iter().map(|&(left, right)| {
            let text = |id: u32| String::from_utf8(ranks.tokens[id as usize].clone()).unwrap();
            (text(left), text(right))
        });
        let texts = texts.collect::<Vec<_>>();
        let expected = [("a", "b"), ("b", "c"), ("ab", "c"), ("abc", "d")];
        // No pair makes "aaa" or "xyz": they are only ever whole parts of a text.
        let expected = expected.map(|(left, right)| (left.to_owned(), right.to_owned()));
        assert_eq!(texts, expected);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let good = file(&["ab"]);
        for (bad, words) in [
            (format!("{good}*** 300\n"), "line 258"),
            (format!("{good}YWI=\n"), "line 258"),
            (format!("{good}YWJj 256\n"), "rank 256 on line 258 is there twice"),
            (format!("{good}YWJj 4000000000\n"), "rank 4000000000 on line 258 is far"),
            (format!("{good}YWI= 257\n"), "the ranks 256 and 257 are one token"),
            (format!("{good}{} 257\n", STANDARD.encode([7; 600])), "line 258 has 600 bytes"),
            ("YWI= 0\n".to_owned(), "no token for the byte"),
            (String::new(), "no token for the byte"),
        ] {
            match read(bad.as_bytes()) {
                Err(Problem::Damaged(reason)) => assert!(reason.contains(words), "{reason}"),
                other => panic!("{words}: {other:?}"),
            }
        }
        assert!(is_rank_file(good.as_bytes()) && is_rank_file(b"YWI= 257"));
        assert!(!is_rank_file(b"{}") && !is_rank_file(b"") && !is_rank_file(b"a b\n"));
    }
}
