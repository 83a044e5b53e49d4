//! How many GPUs a text counts: `8x H100`, `l40s:8`, `Eight H100 SXM`, `H100 (x8)`.
//!
//! Not here: which GPU it is (`machine`).

/// Digits of a count at most: `4090` is a name.
const DIGITS_MAX: usize = 3;
/// Maximum of a bare number before a name: `910 B` is a name.
const BARE_MAX: u32 = 64;
/// Counts in words.
const WORDS: [(&str, u32); 8] = [
    ("one", 1),
    ("single", 1),
    ("two", 2),
    ("three", 3),
    ("four", 4),
    ("six", 6),
    ("eight", 8),
    ("sixteen", 16),
];
/// Words for machines of several GPUs each.
const NODES: [&str; 6] = ["node", "nodes", "server", "servers", "host", "hosts"];
/// Words that a bare number before them measures.
const UNITS: [&str; 8] = ["gb", "gib", "g", "w", "tb", "tib", "mhz", "ghz"];

/// The GPUs that a text counts, nodes times GPUs where it counts both; `None` where it counts none.
pub(crate) fn count(text: &str) -> Option<u32> {
    let lower = text.to_lowercase().replace('×', "x");
    let words: Vec<&str> = lower
        .split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '(' | ')' | '/' | '-'))
        .filter(|word| !word.is_empty())
        .collect();
    let mut most: Option<u32> = None;
    let mut nodes = 1;
    for (at, word) in words.iter().enumerate() {
        let next = words.get(at + 1).copied().unwrap_or_default();
        let bare = number(word).or_else(|| spelled(word));
        if let Some(found) = bare.filter(|_| NODES.contains(&next)) {
            nodes = found;
            continue;
        }
        let is_bus = words.iter().take(at).any(|before| before.starts_with("pcie"));
        let found = times(word, next)
            .or_else(|| behind(word, next).filter(|_| !is_bus))
            .or_else(|| bare.filter(|_| names(next)).filter(|n| *n <= BARE_MAX && at == 0))
            .or_else(|| spelled(word).filter(|_| names(next)))
            .or_else(|| number(word.split_once([':', '*'])?.1));
        most = most.max(found);
    }
    most.map(|most| most.saturating_mul(nodes))
}

/// Whether a text counts no GPU at all: `0xl40s`, `0x L40S`, `l40s:0`, `L40S x0`.
pub(crate) fn is_zero(text: &str) -> bool {
    let lower = text.to_lowercase().replace('×', "x");
    let words: Vec<&str> =
        lower.split(|c: char| c.is_whitespace() || "(),;/".contains(c)).collect();
    let is_none = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte == b'0');
    words.iter().enumerate().any(|(at, word)| {
        let next = words.get(at + 1).copied().unwrap_or_default();
        let in_front = word
            .split_once('x')
            .is_some_and(|(digits, rest)| is_none(digits) && (names(rest) || rest.is_empty()));
        let behind = word.strip_prefix('x').or_else(|| Some(word.split_once([':', '*'])?.1));
        in_front || behind.is_some_and(is_none) || (is_none(word) && (names(next) || next == "x"))
    })
}

/// `8x`, `8x h100`, `8xh100`, `8 x`; no `4x80gb`, which is a name of memory.
fn times(word: &str, next: &str) -> Option<u32> {
    if next == "x" {
        return number(word);
    }
    let (digits, rest) = word.split_once('x')?;
    let is_name = match rest {
        "" => names(next) || next.ends_with("gb"),
        rest => names(rest) || rest.ends_with("gb"),
    };
    number(digits).filter(|_| is_name)
}

/// `x8`, `x 8`.
fn behind(word: &str, next: &str) -> Option<u32> {
    match word {
        "x" => number(next),
        _ => number(word.strip_prefix('x')?),
    }
}

/// Whether a word may name a GPU: it begins with a letter, or is a number too large for a count.
fn names(word: &str) -> bool {
    let is_word = word.starts_with(|c: char| c.is_ascii_alphabetic()) && word != "x";
    let is_number = word.len() > DIGITS_MAX && word.bytes().all(|byte| byte.is_ascii_digit());
    (is_word || is_number) && !UNITS.contains(&word)
}

fn number(word: &str) -> Option<u32> {
    let is_count = (1..=DIGITS_MAX).contains(&word.len());
    word.parse().ok().filter(|number| is_count && *number > 0)
}

fn spelled(word: &str) -> Option<u32> {
    WORDS.iter().find(|(name, _)| *name == word).map(|(_, number)| *number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read() {
        for (text, expected) in [
            ("8xl40s", Some(8)),
            ("8x NVIDIA L40S", Some(8)),
            ("8 x L40S", Some(8)),
            ("8× H100 80GB HBM3", Some(8)),
            ("l40s:8", Some(8)),
            ("l40s*8", Some(8)),
            ("L40S x8", Some(8)),
            ("NVIDIA H100 80GB HBM3 (x8)", Some(8)),
            ("4 H100 SXM", Some(4)),
            ("Eight H100 SXM", Some(8)),
            ("Single L40S GPU, 46GB", Some(1)),
            ("2x RTX 4090", Some(2)),
            ("2 nodes of 8x H100", Some(16)),
            ("2x AMD EPYC 9654, 8x NVIDIA H100", Some(8)),
            ("NVIDIA L40S", None),
            ("H100 PCIe x16", None),
            ("4090", None),
            ("RTX 4090", None),
            ("80 GB A100", None),
            ("NVIDIA A100-SXM4-80GB", None),
            ("NVIDIA H100 80GB HBM3", None),
            ("h100-sxm", None),
            ("0xl40s", None),
            ("bw=864,bf16=362,mem=45", None),
            ("AMD Instinct MI300X", None),
            ("Mixtral on 4x A100", Some(4)),
        ] {
            assert_eq!(count(text), expected, "{text}");
            assert_eq!(is_zero(text), text == "0xl40s", "{text}");
        }
        for text in ["0x L40S", "0 x L40S", "00xL40S", "l40s:0", "l40s*0", "L40S x0", "0 L40S"] {
            assert!(is_zero(text), "{text}");
        }
    }
}
