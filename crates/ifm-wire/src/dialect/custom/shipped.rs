//! The API files included in the program, from `examples/apis`.

/// A file that comes with the program.
#[derive(Debug, Clone, Copy)]
pub struct Shipped {
    /// Its word: `--api custom:WORD`.
    pub word: &'static str,
    /// Its text.
    pub text: &'static str,
}

macro_rules! shipped {
    ($($word:literal),+ $(,)?) => {
        /// Every one. To add one, add its file and its word.
        pub const SHIPPED: &[Shipped] = &[$(Shipped {
            word: $word,
            text: include_str!(concat!("../../../../../examples/apis/", $word, ".toml")),
        }),+];
    };
}

shipped!["azure", "bedrock", "cohere", "gemini", "vertex"];
