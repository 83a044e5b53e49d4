//! How byte-level vocabularies split a text before they process its parts.
//!
//! The split decides the ids as much as the merges do, and no vocabulary contains it:
//! `tokenizer.ggml.pre` in GGUF files names it, rank files say nothing. Names and behavior
//! follow llama.cpp, also where it deviates from the original: with a GGUF file, users
//! expect the counts of a server that reads it. An
//! unknown name is refused, because a near guess gives counts that are nearly right.
//!
//! Not here: the split of a `tokenizer.json`, which contains its own.

/// How a text is split before its parts are looked at one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Splitting {
    /// As GPT-2 does it.
    Gpt2,
    /// By patterns, one after the other: what a pattern matches becomes a part, and so
    /// does what lies between.
    Patterns(&'static [&'static str]),
}

/// The meaning of a split's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rule {
    names: &'static [&'static str],
    pub(crate) split: Splitting,
    /// Whether a part that is itself a token becomes that token, merges or not.
    pub(crate) whole_parts: bool,
    /// Whether a token is put before a text where a GGUF file does not say.
    pub(crate) adds_bos: bool,
}

/// Contractions, words with a mark before them, numbers, marks, line ends, spaces: the
/// pattern that most vocabularies since GPT-4 have, around its two differences.
macro_rules! words_numbers_marks {
    ($contraction:literal, $word:literal, $number:literal, $mark:literal) => {
        concat!(
            $contraction,
            r"|[^\r\n\p{L}\p{N}]?",
            $word,
            "|",
            $number,
            "| ?",
            $mark,
            r"|\s*[\r\n]+|\s+(?!\S)|\s+"
        )
    };
}

/// The pattern of GPT-4o, around its distinction of capital and small letters.
macro_rules! capitals_then_small {
    ($capital:literal, $small:literal, $contraction:literal, $number:literal) => {
        concat!(
            r"[^\r\n\p{L}\p{N}]?",
            $capital,
            "*",
            $small,
            "+",
            $contraction,
            r"|[^\r\n\p{L}\p{N}]?",
            $capital,
            "+",
            $small,
            "*",
            $contraction,
            "|",
            $number,
            r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        )
    };
}

/// As tiktoken 0.14 has it for `cl100k_base`. The pattern that was published first puts
/// line ends before the spaces at the end of a text, which no token of it distinguishes.
pub(crate) const CL100K: Splitting = Splitting::Patterns(&[concat!(
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*",
    r"|\s+\z|\s*[\r\n]|\s+(?!\S)|\s"
)]);
/// As published for `o200k_base`.
pub(crate) const O200K: Splitting = Splitting::Patterns(&[capitals_then_small!(
    r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]",
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}"
)]);

const LLAMA3: &str = words_numbers_marks!(
    r"'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL])",
    r"\p{L}+",
    r"\p{N}{1,3}",
    r"[^\s\p{L}\p{N}]+[\r\n]*"
);
const QWEN2: &str = words_numbers_marks!(
    r"'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL])",
    r"\p{L}+",
    r"\p{N}",
    r"[^\s\p{L}\p{N}]+[\r\n]*"
);
const QWEN35: &str = words_numbers_marks!(
    r"'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL])",
    r"[\p{L}\p{M}]+",
    r"\p{N}",
    r"[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
);
const SEED_CODER: &str = words_numbers_marks!(
    r"'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL])",
    r"\p{L}+",
    r"\p{N}",
    r"[^\s\p{L}\p{N}\r\n]+"
);
/// llama.cpp knows no classes of capitals: all but the small letters of ASCII are, and
/// the other way round.
const GPT_4O: &str = capitals_then_small!(
    r"[\p{L}&&[^a-z]]",
    r"[\p{L}&&[^A-Z]]",
    r"(?:'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL]))?",
    r"\p{N}{1,3}"
);
const TEKKEN: &str = capitals_then_small!(r"[\p{L}&&[^a-z]]", r"[\p{L}&&[^A-Z]]", "", r"\p{N}");
const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";

/// A split without its name, for files without one.
const fn rule(names: &'static [&'static str], patterns: &'static [&'static str]) -> Rule {
    Rule { names, split: Splitting::Patterns(patterns), whole_parts: false, adds_bos: false }
}

impl Rule {
    const fn takes_whole_parts(mut self) -> Self {
        self.whole_parts = true;
        self
    }

    const fn and_adds_bos(mut self) -> Self {
        self.adds_bos = true;
        self
    }
}

/// All splits. Names on one line do the same.
const RULES: [Rule; 19] = [
    rule(&["default"], &[r"[\p{P}$+<=>^~|]+", GPT2, r"\p{N}+", r"[0-9]{3}"]),
    rule(
        &[
            "gpt-2",
            "phi-2",
            "mpt",
            "olmo",
            "jais",
            "exaone4",
            "trillion",
            "gigachat",
            "a.x-4.0",
            "mellum",
            "modern-bert",
            "granite-docling",
        ],
        &[GPT2],
    ),
    rule(
        &["llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"],
        &[LLAMA3],
    )
    .takes_whole_parts()
    .and_adds_bos(),
    rule(&["dbrx", "smaug-bpe", "chatglm-bpe"], &[LLAMA3]),
    rule(&["glm4", "glm5"], &[LLAMA3]).takes_whole_parts(),
    rule(
        &[
            "qwen2",
            "deepseek-r1-qwen",
            "megrez",
            "stablelm2",
            "hunyuan",
            "grok-2",
            "solar-open",
            "kormo",
            "f2llmv2",
        ],
        &[QWEN2],
    ),
    rule(&["qwen35"], &[QWEN35]),
    rule(&["seed-coder"], &[SEED_CODER]),
    rule(
        &["bailingmoe", "bailingmoe2", "llada-moe"],
        &[concat!(
            r"'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|",
            r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
        )],
    ),
    rule(
        &["deepseek-llm"],
        &[
            r"[\r\n]",
            CASED_WORD,
            r"\s?[!-/:-~！-／：-～‘-‟、-。]+",
            r"\s+\z",
            EAST_ASIAN,
            r"\p{N}+",
        ],
    ),
    rule(&["deepseek-coder"], &[r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", EAST_ASIAN, r"\p{N}"]),
    rule(&["deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"], &DEEPSEEK_V3),
    rule(&["falcon"], &[r"[\p{P}$+<=>^~|`]+", GPT2, r"[0-9]{3}"]),
    rule(
        &[
            "starcoder",
            "refact",
            "command-r",
            "smollm",
            "codeshell",
            "exaone",
            "minerva-7b",
            "mellum2",
        ],
        &[r"\p{N}", GPT2],
    ),
    rule(&["tekken"], &[TEKKEN]).takes_whole_parts().and_adds_bos(),
    rule(&["gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"], &[GPT_4O]),
    rule(&["minicpm5"], &[r"\p{N}{1,3}", MINICPM5]).takes_whole_parts(),
    rule(&["poro-chat", "bloom", "gpt3-finnish"], &[NO_SENTENCE_MARKS]),
    rule(&["viking"], &[NO_SENTENCE_MARKS, r"\p{N}"]),
];

const MINICPM5: &str = words_numbers_marks!(
    r"'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL])",
    r"\p{L}+",
    r"\p{N}+",
    r"[^\s\p{L}\p{N}]+[\r\n]*"
);
/// llama.cpp takes no space for a letter or a mark, whatever range it lies in.
const EAST_ASIAN: &str = r"[一-龥ࠀ-一가-퟿&&[^\s]]+";
const NO_SENTENCE_MARKS: &str = r" ?[^(\s|.,!?…。，、।۔،)]+";
const DEEPSEEK_V3: [&str; 3] = [
    r"\p{N}{1,3}",
    "[一-龥぀-ゟ゠-ヿ]+",
    concat!(
        r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|"##,
        r"[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
];

/// The split of a name.
pub(crate) fn find(name: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.names.contains(&name))
}

/// All names, for messages.
pub(crate) fn names() -> String {
    RULES.iter().flat_map(|rule| rule.names).copied().collect::<Vec<_>>().join(", ")
}

/// A word of letters that have capitals, with the space before it: the letters that
/// DeepSeek LLM lists.
const CASED_WORD: &str = concat!(
    r"\s?[",
    r"A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293}",
    r"\x{295}-\x{2AF}\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386}",
    r"\x{388}-\x{38A}\x{38C}\x{38E}-\x{3A1}\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F}",
    r"\x{531}-\x{556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}",
    r"\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A}",
    r"\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D}",
    r"\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4}",
    r"\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3}",
    r"\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107}",
    r"\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124}\x{2126}\x{2128}\x{212A}-\x{212D}",
    r"\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E}\x{2183}\x{2184}",
    r"\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D}",
    r"\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787}\x{A78B}-\x{A78E}",
    r"\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A}",
    r"\x{FF41}-\x{FF5A}\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-\x{104FB}",
    r"\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF}\x{1E900}-\x{1E943}",
    "]+"
);

#[cfg(test)]
mod tests {
    use super::*;

    /// The page for users lists every split, one row for each.
    #[test]
    fn the_page_lists_every_name() {
        let page = include_str!("../../../docs/reference/tokenizers.md");
        for rule in &RULES {
            let names = rule.names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>();
            let row = format!("| {} |", names.join(", "));
            assert!(page.contains(&row), "{row}");
        }
        for name in crate::Tokenizer::names() {
            assert!(page.contains(&format!("`{name}`")), "{name}");
        }
    }

    #[test]
    fn every_name_stands_for_one_split() {
        let mut names = RULES.iter().flat_map(|rule| rule.names).collect::<Vec<_>>();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(names.iter().all(|name| find(name).is_some()) && find("strange").is_none());
    }
}
