//! Packs the ranks of OpenAI's encodings for `ifm-tokenizer`.
//!
//! A rank file lists tokens in base64 with their ranks. Every token but the 256 bytes is
//! made of two with lower ranks, and a list of these pairs is a fifth of the size. The
//! files are those that tiktoken downloads; several crates and packages contain them, and
//! the digests that tiktoken pins say whether they are the right ones.
//!
//! Not here: reading the lists (`ifm-tokenizer`, whose tests write the files again).

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail, ensure};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use sha2::{Digest as _, Sha256};

/// Where the lists live, relative to the workspace root.
const LISTS_DIR: &str = "crates/ifm-tokenizer/vocabulary/tiktoken";
/// Tokens of one byte, which have the lowest ranks and no pairs.
const BYTES: u32 = 256;

/// A rank file, and the list that is made of it.
struct Source {
    file: &'static str,
    sha256: &'static str,
    list: &'static str,
    /// The list that this one continues, if it begins the same.
    continues: Option<&'static str>,
}

const SOURCES: [Source; 4] = [
    Source {
        file: "r50k_base.tiktoken",
        sha256: "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
        list: "r50k_base.pairs",
        continues: None,
    },
    Source {
        file: "p50k_base.tiktoken",
        sha256: "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
        list: "p50k_base-more.pairs",
        continues: Some("r50k_base.pairs"),
    },
    Source {
        file: "cl100k_base.tiktoken",
        sha256: "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        list: "cl100k_base.pairs",
        continues: None,
    },
    Source {
        file: "o200k_base.tiktoken",
        sha256: "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        list: "o200k_base.pairs",
        continues: None,
    },
];

/// Packs the rank files of a directory; run it from the workspace root.
///
/// # Errors
/// When a file is missing, is not the published one, or cannot be written.
pub fn run(arguments: impl IntoIterator<Item = String>) -> Result<()> {
    let mut arguments = arguments.into_iter();
    let (Some(directory), None) = (arguments.next(), arguments.next()) else {
        bail!("usage: pack-ranks DIR, where DIR holds the four rank files");
    };
    for source in &SOURCES {
        let path = PathBuf::from(&directory).join(source.file);
        let file = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let digest = Sha256::digest(&file).iter().map(|b| format!("{b:02x}")).collect::<String>();
        ensure!(digest == source.sha256, "{} is not the published file", path.display());
        let mut list = pack(&read(&file)?)?;
        if let Some(before) = source.continues {
            let before = fs::read(Path::new(LISTS_DIR).join(before))?;
            ensure!(list.starts_with(&before), "{} begins otherwise", source.file);
            list.drain(..before.len());
        }
        fs::write(Path::new(LISTS_DIR).join(source.list), list)?;
    }
    Ok(())
}

/// Tokens by rank.
fn read(file: &[u8]) -> Result<HashMap<u32, Vec<u8>>> {
    let lines = std::str::from_utf8(file)?.lines().filter(|line| !line.is_empty());
    let tokens = lines.map(|line| {
        let (token, rank) = line.split_once(' ').context("a line is not a token with a rank")?;
        Ok((rank.parse()?, STANDARD.decode(token).ok().context("a token is not base64")?))
    });
    tokens.collect()
}

/// The list: two numbers for each token, and its own rank where a rank has no token.
fn pack(tokens: &HashMap<u32, Vec<u8>>) -> Result<Vec<u8>> {
    let ranks = tokens.iter().map(|(&rank, token)| (token.as_slice(), rank)).collect();
    let last = tokens.keys().copied().max().unwrap_or(0);
    let mut list = Vec::new();
    for rank in BYTES..=last {
        match tokens.get(&rank) {
            Some(token) => {
                let (left, right) = find_pair(&ranks, token, rank)
                    .with_context(|| format!("no pair makes the token with rank {rank}"))?;
                write_number(left, &mut list);
                write_number(right, &mut list);
            }
            None => write_number(rank, &mut list),
        }
    }
    Ok(list)
}

/// The two tokens that lower ranks leave of a token's bytes.
fn find_pair(ranks: &HashMap<&[u8], u32>, token: &[u8], rank: u32) -> Option<(u32, u32)> {
    let mut parts = token.chunks(1).map(<[u8]>::to_vec).collect::<Vec<_>>();
    while parts.len() > 2 {
        let pairs = parts.windows(2).enumerate();
        let joined = pairs.filter_map(|(at, pair)| Some((*ranks.get(&*pair.concat())?, at)));
        let (_, at) = joined.filter(|&(joined, _)| joined < rank).min()?;
        let second = parts.remove(at + 1);
        parts.get_mut(at)?.extend(second);
    }
    let [left, right] = parts.as_slice() else { return None };
    Some((*ranks.get(left.as_slice())?, *ranks.get(right.as_slice())?))
}

/// Seven bits to a byte, the lowest first; the high bit says that more follow.
fn write_number(mut number: u32, list: &mut Vec<u8>) {
    while number >= 0x80 {
        list.push(number as u8 | 0x80);
        number >>= 7;
    }
    list.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_become_pairs_and_gaps_their_own_rank() {
        let bytes = (0..BYTES).map(|rank| (rank, vec![rank as u8]));
        let longer = [(256, b"ab".to_vec()), (258, b"abc".to_vec())];
        let tokens = bytes.chain(longer).collect();
        assert_eq!(pack(&tokens).unwrap(), [97, 98, 0x81, 2, 0x80, 2, 99]);
        assert!(pack(&HashMap::from([(256, b"ab".to_vec())])).is_err());
    }

    #[test]
    fn only_the_published_files_are_taken() {
        let folder = tempfile::tempdir().unwrap();
        let run_there = || run([folder.path().display().to_string()]).unwrap_err().to_string();
        assert!(run_there().contains("cannot read"));
        fs::write(folder.path().join("r50k_base.tiktoken"), "IQ== 0\n").unwrap();
        assert!(run_there().contains("not the published file"));
        assert!(run([]).unwrap_err().to_string().contains("usage"));
    }
}
