//! How many prompt tokens an image becomes, by the rules that models are known to follow.
//!
//! A rule checks a count and never replaces one: servers make images smaller or larger within
//! bounds of their own, and only the server knows which. Not here: the checks that use it
//! (`warning/media_tokens.rs`, `audit/rule/image_tokens.rs`).

/// No vision model that is served reads an image of [`PIXELS_LARGE`] pixels as fewer tokens.
pub const TOKENS_MIN: f64 = 16.0;
/// What an image has at least to be judged by [`TOKENS_MIN`].
pub const PIXELS_LARGE: f64 = 100_000.0;
/// Marks before and after an image, which some servers count as part of it.
const MARKS: f64 = 4.0;
/// Cells below which a server may have made a small image larger, as Qwen's processors do.
const CELLS_MIN: f64 = 100.0;
/// Sides of one area differ by up to this ratio in what the rule allows.
const ASPECT_MAX: f64 = 4.0;

/// What a model makes of an image.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rule {
    /// A constant number of tokens, regardless of the size.
    Fixed(f64),
    /// One token for each square with this side in pixels, each side of the image being taken to
    /// its nearest multiple.
    Squares(f64),
}

/// Parts of a model's name, the more special first, and the rule.
const RULES: [(&str, Rule); 5] = [
    ("gemma-3", Rule::Fixed(256.0)),
    ("gemma3", Rule::Fixed(256.0)),
    ("qwen3-vl", Rule::Squares(32.0)),
    ("qwen2.5-vl", Rule::Squares(28.0)),
    ("qwen2-vl", Rule::Squares(28.0)),
];

/// The rule of a model, by its name.
pub fn of_model(name: &str) -> Option<Rule> {
    let name = name.to_ascii_lowercase().replace('_', "-");
    RULES.iter().find(|(part, _)| name.contains(part)).map(|(_, rule)| *rule)
}

impl Rule {
    /// Minimum and maximum tokens of an image with this many pixels that was not resized. Its sides
    /// are unknown, so rounding them leaves a range.
    pub(crate) fn range(self, pixels: f64) -> (f64, f64) {
        match self {
            Rule::Fixed(tokens) => (tokens, tokens + MARKS),
            Rule::Squares(side) => {
                let cells = pixels / (side * side);
                let sides = (ASPECT_MAX.sqrt() + ASPECT_MAX.sqrt().recip()) * cells.sqrt();
                ((cells - sides / 2.0).max(1.0), cells + sides / 2.0 + 0.25 + MARKS)
            }
        }
    }

    /// Whether a count of one image cannot be. A smaller one than the rule's can, for the server
    /// may have made the image smaller; unless it read an image of the same level as clearly
    /// more tokens (`most`).
    pub fn contradicts(self, pixels: f64, tokens: f64, most: f64) -> bool {
        let (least, at_most) = self.range(pixels);
        match self {
            Rule::Fixed(_) => tokens < least || tokens > at_most,
            Rule::Squares(side) => {
                let is_small = pixels / (side * side) < CELLS_MIN;
                (tokens > at_most && !is_small) || (tokens < least && most > tokens * 1.1 + MARKS)
            }
        }
    }

    /// A description for an image of this many pixels.
    pub fn words(self, pixels: f64) -> String {
        match self {
            Rule::Fixed(tokens) => format!("{tokens:.0} an image, whatever its size"),
            Rule::Squares(side) => {
                let (least, most) = self.range(pixels);
                format!("a token for each {side} x {side} pixels, {least:.0} to {most:.0}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_that_a_server_was_given_are_within_the_rule() {
        let rule = of_model("Qwen/Qwen2-VL-2B-Instruct").expect("known");
        // Width, height, tokens as reported by vLLM; the last one was made smaller to fit.
        for (width, height, tokens) in
            [(56, 56, 4), (100, 100, 16), (640, 360, 299), (1280, 720, 1196), (1920, 1080, 1222)]
        {
            let (pixels, tokens) = (f64::from(width * height), f64::from(tokens));
            assert!(!rule.contradicts(pixels, tokens, 1222.0), "{width} x {height}");
        }
        assert!(
            rule.contradicts(230_400.0, 2.0, 299.0) && rule.contradicts(230_400.0, 400.0, 400.0)
        );
        assert!(!rule.contradicts(230_400.0, 2.0, 2.0), "one that was made much smaller");
    }

    #[test]
    fn names_select_the_rule() {
        assert_eq!(of_model("google/gemma-3-4b-it"), Some(Rule::Fixed(256.0)));
        assert_eq!(of_model("Qwen/Qwen3-VL-8B-Instruct"), Some(Rule::Squares(32.0)));
        assert_eq!(of_model("Qwen2.5-VL-7B"), Some(Rule::Squares(28.0)));
        assert_eq!(of_model("meta-llama/Llama-3.1-8B"), None);
        let gemma = Rule::Fixed(256.0);
        assert!(!gemma.contradicts(1e6, 258.0, 258.0) && gemma.contradicts(1e6, 18.0, 18.0));
    }
}
