//! OpenAI's encodings: by name from the binary, and from rank files.
//!
//! A rank file holds the tokens but neither how a text is split nor the special tokens,
//! so it is recognised by its digest, or the encoding is said with it.
//!
//! Not here: finding files (`open`).

mod packed;
pub(crate) mod ranks;

use self::ranks::Ranks;
use crate::{
    byte_level,
    bytes::{self, ByteTable},
    config::Config,
    error::Problem,
    sha256_hex,
    split::{self, Splitting},
};

/// An encoding with a name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Encoding {
    pub(crate) name: &'static str,
    /// Its ranks, packed; one list continues the other.
    packed: &'static [&'static [u8]],
    /// SHA-256 of its published rank file.
    ranks_sha256: &'static str,
    split: Splitting,
    /// Its special tokens, except numbered ones.
    special: &'static [(&'static str, u32)],
    /// The ids of its numbered special tokens, called `<|reserved_ID|>`.
    reserved: &'static [std::ops::Range<u32>],
}

const R50K: &[u8] = include_bytes!("../../vocabulary/tiktoken/r50k_base.pairs");
const P50K_MORE: &[u8] = include_bytes!("../../vocabulary/tiktoken/p50k_base-more.pairs");
const CL100K: &[u8] = include_bytes!("../../vocabulary/tiktoken/cl100k_base.pairs");
const O200K: &[u8] = include_bytes!("../../vocabulary/tiktoken/o200k_base.pairs");

/// All encodings. Of several with the same ranks the first is the one that a rank file
/// alone means.
pub(crate) const ENCODINGS: [Encoding; 5] = [
    Encoding {
        name: "cl100k_base",
        packed: &[CL100K],
        ranks_sha256: "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        split: split::CL100K,
        special: &[
            ("<|endoftext|>", 100_257),
            ("<|fim_prefix|>", 100_258),
            ("<|fim_middle|>", 100_259),
            ("<|fim_suffix|>", 100_260),
            ("<|endofprompt|>", 100_276),
        ],
        reserved: &[],
    },
    Encoding {
        name: "o200k_base",
        packed: &[O200K],
        ranks_sha256: "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        split: split::O200K,
        special: &[("<|endoftext|>", 199_999), ("<|endofprompt|>", 200_018)],
        reserved: &[],
    },
    Encoding {
        name: "o200k_harmony",
        packed: &[O200K],
        ranks_sha256: "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        split: split::O200K,
        special: &[
            ("<|startoftext|>", 199_998),
            ("<|endoftext|>", 199_999),
            ("<|return|>", 200_002),
            ("<|constrain|>", 200_003),
            ("<|channel|>", 200_005),
            ("<|start|>", 200_006),
            ("<|end|>", 200_007),
            ("<|message|>", 200_008),
            ("<|call|>", 200_012),
            // The published list gives this id two names.
            ("<|endofprompt|>", 200_018),
        ],
        reserved: &[
            200_000..200_002,
            200_004..200_005,
            200_009..200_012,
            200_013..200_018,
            200_019..201_088,
        ],
    },
    Encoding {
        name: "p50k_base",
        packed: &[R50K, P50K_MORE],
        ranks_sha256: "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
        split: Splitting::Gpt2,
        special: &[("<|endoftext|>", 50_256)],
        reserved: &[],
    },
    Encoding {
        name: "r50k_base",
        packed: &[R50K],
        ranks_sha256: "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
        split: Splitting::Gpt2,
        special: &[("<|endoftext|>", 50_256)],
        reserved: &[],
    },
];

/// Encodings of models: whole names end in `$`, others are the start of a name. The
/// first that fits counts.
const MODELS: [(&str, &str); 40] = [
    ("gpt-oss", "o200k_harmony"),
    ("gpt-5", "o200k_base"),
    ("gpt-4.5-", "o200k_base"),
    ("gpt-4.1", "o200k_base"),
    ("gpt-4o", "o200k_base"),
    ("chatgpt-4o-", "o200k_base"),
    ("o1$", "o200k_base"),
    ("o1-", "o200k_base"),
    ("o3$", "o200k_base"),
    ("o3-", "o200k_base"),
    ("o4-mini", "o200k_base"),
    ("gpt-4$", "cl100k_base"),
    ("gpt-4-", "cl100k_base"),
    ("gpt-3.5$", "cl100k_base"),
    ("gpt-3.5-turbo", "cl100k_base"),
    ("gpt-35-turbo", "cl100k_base"),
    ("davinci-002$", "cl100k_base"),
    ("babbage-002$", "cl100k_base"),
    ("text-embedding-ada-002$", "cl100k_base"),
    ("text-embedding-3-small$", "cl100k_base"),
    ("text-embedding-3-large$", "cl100k_base"),
    ("ft:gpt-4o", "o200k_base"),
    ("ft:gpt-4", "cl100k_base"),
    ("ft:gpt-3.5-turbo", "cl100k_base"),
    ("ft:davinci-002", "cl100k_base"),
    ("ft:babbage-002", "cl100k_base"),
    ("text-davinci-003$", "p50k_base"),
    ("text-davinci-002$", "p50k_base"),
    ("code-davinci-00", "p50k_base"),
    ("code-cushman-00", "p50k_base"),
    ("davinci-codex$", "p50k_base"),
    ("cushman-codex$", "p50k_base"),
    ("text-davinci-001$", "r50k_base"),
    ("text-curie-001$", "r50k_base"),
    ("text-babbage-001$", "r50k_base"),
    ("text-ada-001$", "r50k_base"),
    ("davinci$", "r50k_base"),
    ("curie$", "r50k_base"),
    ("gpt2$", "r50k_base"),
    ("gpt-2$", "r50k_base"),
];

/// The encoding of a name, or of a model's.
pub(crate) fn find(name: &str) -> Option<&'static Encoding> {
    let model = name.strip_prefix("openai/").unwrap_or(name);
    let of_model = MODELS.iter().find(|(pattern, _)| match pattern.strip_suffix('$') {
        Some(whole) => model == whole,
        None => model.starts_with(pattern),
    });
    let name = of_model.map_or(name, |(_, encoding)| encoding);
    ENCODINGS.iter().find(|encoding| encoding.name == name)
}

/// An encoding, ready for use.
pub(crate) struct Loaded {
    pub(crate) inner: tokenizers::Tokenizer,
    pub(crate) bytes: ByteTable,
    /// Ids without text, ascending.
    pub(crate) special_ids: Vec<u32>,
    /// Digest of what the tokens follow from.
    pub(crate) sha256: String,
    /// The highest id plus one.
    pub(crate) tokens: u32,
}

impl Encoding {
    /// The encoding from the binary.
    pub(crate) fn load(&self) -> Result<Loaded, Problem> {
        let ranks = packed::unpack(self.packed)?;
        build(ranks, self.split, self.special_tokens(), self.digest())
    }

    fn special_tokens(&self) -> Vec<(String, u32)> {
        let named = self.special.iter().map(|&(token, id)| (token.to_owned(), id));
        let reserved = self.reserved.iter().cloned().flatten();
        named.chain(reserved.map(|id| (format!("<|reserved_{id}|>"), id))).collect()
    }

    /// The digest of the rank file where the file alone means this encoding; where it
    /// does not, one of the encoding's name with it.
    fn digest(&self) -> String {
        match ENCODINGS.iter().find(|encoding| encoding.ranks_sha256 == self.ranks_sha256) {
            Some(first) if first.name != self.name => with_name(self.name, self.ranks_sha256),
            _ => self.ranks_sha256.to_owned(),
        }
    }
}

fn with_name(name: &str, ranks_sha256: &str) -> String {
    sha256_hex(format!("{name}={ranks_sha256}").as_bytes())
}

/// Reads a rank file. `said` names the encoding whose split and special tokens go with
/// it; without it the file has to be one of the published ones. Special tokens of a
/// configuration come before the encoding's.
pub(crate) fn from_file(
    bytes: &[u8],
    said: Option<&str>,
    config: &Config,
) -> Result<Loaded, Problem> {
    let ranks_sha256 = sha256_hex(bytes);
    let (split, mut special, sha256) = match said {
        None => match ENCODINGS.iter().find(|encoding| encoding.ranks_sha256 == ranks_sha256) {
            Some(encoding) => (encoding.split, encoding.special_tokens(), ranks_sha256),
            None => return Err(unknown_ranks()),
        },
        Some(name) => match (find(name), split::find(name)) {
            (Some(encoding), _) if encoding.ranks_sha256 == ranks_sha256 => {
                (encoding.split, encoding.special_tokens(), encoding.digest())
            }
            (Some(encoding), _) => {
                (encoding.split, encoding.special_tokens(), with_name(encoding.name, &ranks_sha256))
            }
            (None, Some(rule)) => (rule.split, Vec::new(), with_name(name, &ranks_sha256)),
            (None, None) => return Err(unknown_encoding(name)),
        },
    };
    let ranks = ranks::read(bytes)?;
    if !config.added.is_empty() {
        let added = config.added.iter().filter(|token| token.special);
        special = added.map(|token| (token.content.clone(), token.id)).collect();
    }
    build(ranks, split, special, sha256)
}

fn unknown_ranks() -> Problem {
    Problem::unsupported(format!(
        "these ranks are none of those that OpenAI published, and ranks do not say how a text is \
         split; give ENCODING=PATH with one of {}, {}, or give the model's tokenizer.json",
        encoding_names().join(", "),
        split::names()
    ))
}

fn unknown_encoding(name: &str) -> Problem {
    Problem::unsupported(format!(
        "unknown encoding '{name}'; known are {}, {}",
        encoding_names().join(", "),
        split::names()
    ))
}

/// The names of all encodings.
pub(crate) fn encoding_names() -> [&'static str; ENCODINGS.len()] {
    ENCODINGS.each_ref().map(|encoding| encoding.name)
}

/// Special tokens whose id is far beyond the ranks, or that of a rank, are left out.
fn build(
    ranks: Ranks,
    split: Splitting,
    special: Vec<(String, u32)>,
    sha256: String,
) -> Result<Loaded, Problem> {
    /// Ids that special tokens may lie beyond the ranks.
    const BEYOND_MAX: usize = 1 << 16;
    let Ranks { tokens, pairs } = ranks;
    let mut written = tokens.iter().map(|token| bytes::write(token)).collect::<Vec<_>>();
    let text = |id: u32| written.get(id as usize).cloned().unwrap_or_default();
    let merges = pairs.iter().map(|&(left, right)| (text(left), text(right))).collect();
    let mut table = tokens;
    let ranked = table.len();
    let mut special_ids = Vec::with_capacity(special.len());
    let mut added = Vec::with_capacity(special.len());
    for (token, id) in special {
        let place = id as usize;
        if place >= ranked + BEYOND_MAX || written.get(place).is_some_and(|token| !token.is_empty())
        {
            continue;
        }
        if written.len() <= place {
            written.resize(place + 1, String::new());
            table.resize(place + 1, Vec::new());
        }
        if let (Some(written), Some(bytes)) = (written.get_mut(place), table.get_mut(place)) {
            written.clone_from(&token);
            *bytes = token.clone().into_bytes();
        }
        special_ids.push(id);
        added.push((token, true));
    }
    special_ids.sort_unstable();
    let mut bytes = ByteTable::with_capacity(table.len());
    for token in &table {
        bytes.push_bytes(token);
    }
    let tokens = written.len() as u32;
    let definition =
        byte_level::Definition { tokens: written, merges, added, split, whole_parts: true };
    Ok(Loaded { inner: byte_level::build(definition)?, bytes, special_ids, sha256, tokens })
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    use std::fmt::Write as _;

    /// The packed ranks are the published ones: written as the published file they have
    /// its digest, which tiktoken's own source pins.
    #[test]
    fn packed_ranks_are_the_published_ones() {
        for encoding in ENCODINGS {
            let ranks = packed::unpack(encoding.packed).unwrap();
            let mut file = String::new();
            for (rank, token) in ranks.tokens.iter().enumerate().filter(|(_, t)| !t.is_empty()) {
                writeln!(file, "{} {rank}", STANDARD.encode(token)).unwrap();
            }
            assert_eq!(sha256_hex(file.as_bytes()), encoding.ranks_sha256, "{}", encoding.name);
            // Found again in the file, the pairs are those that were packed.
            assert!(ranks::read(file.as_bytes()).unwrap() == ranks, "{}", encoding.name);
        }
    }

    #[test]
    fn models_have_the_encoding_that_tiktoken_gives_them() {
        for (model, encoding) in [
            ("gpt-4o-mini", "o200k_base"),
            ("gpt-4", "cl100k_base"),
            ("gpt-4-turbo", "cl100k_base"),
            ("gpt-3.5-turbo-0125", "cl100k_base"),
            ("openai/gpt-oss-120b", "o200k_harmony"),
            ("ft:gpt-4o:me", "o200k_base"),
            ("text-davinci-003", "p50k_base"),
            ("code-davinci-002", "p50k_base"),
            ("davinci", "r50k_base"),
            ("gpt2", "r50k_base"),
            ("o200k_harmony", "o200k_harmony"),
        ] {
            assert_eq!(find(model).map(|found| found.name), Some(encoding), "{model}");
        }
        for model in ["gpt-4x", "llama", "o1x", "", "gpt2-xl", "openai/llama"] {
            assert_eq!(find(model), None, "{model}");
        }
    }
}
