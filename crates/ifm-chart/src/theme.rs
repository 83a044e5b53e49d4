//! Colours: one palette, in light, in dark, and as variables of a page.
//!
//! The eight colors of things follow Okabe and Ito (<https://jfly.uni-koeln.de/color/>), which
//! people with any color vision can distinguish, each moved in lightness until it has a contrast of
//! at least 3 to 1 against its background. Not here: which color a thing has.

use serde_json::{Value, json};
use std::fmt::Write as _;

/// How a drawing is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    /// Literal colours on white.
    Light,
    /// Literal colours on near black.
    Dark,
    /// Variables of the page around it (see [`crate::css`]), so that one drawing follows light and
    /// dark; without a background and a title, which the page writes.
    Page,
}

/// Colours of things compared.
pub(crate) const COLORS: usize = 8;
/// Colours of a heatmap, from bad to good.
pub(crate) const HEAT_STEPS: usize = 11;

/// A colour: red, green, blue.
type Rgb = [u8; 3];

/// A colour with a meaning: variable name, light, dark.
struct Token {
    name: String,
    light: Rgb,
    dark: Rgb,
}

const fn rgb(hex: u32) -> Rgb {
    [(hex >> 16) as u8, (hex >> 8) as u8, hex as u8]
}

/// Name, light, dark. Things first.
const TOKENS: [(&str, u32, u32); 20] = [
    ("1", 0x00_69_B4, 0x4D_A6_E8),
    ("2", 0xCC_55_00, 0xFF_8C_4A),
    ("3", 0x00_85_5F, 0x35_C7_9C),
    ("4", 0xB0_4E_8C, 0xE5_8F_C3),
    ("5", 0x96_6B_00, 0xE3_B4_2B),
    ("6", 0x2E_8F_C4, 0x8F_D0_F5),
    ("7", 0x4A_50_5C, 0xC9_CF_D8),
    ("8", 0x77_78_1A, 0xC3_C2_55),
    ("paper", 0xFF_FF_FF, 0x15_18_1D),
    ("ink", 0x1B_1F_26, 0xE8_EA_EE),
    ("muted", 0x59_61_6E, 0xA3_AC_B9),
    ("grid", 0xE6_E8_EC, 0x2B_30_38),
    ("axis", 0xA9_B0_BB, 0x59_62_70),
    ("grey", 0x6F_77_84, 0x94_9D_AB),
    ("good", 0x0B_7A_4B, 0x4C_C9_8A),
    ("caution", 0x9A_62_00, 0xEB_B0_3F),
    ("bad", 0xC0_26_26, 0xFF_7B_72),
    ("tie", 0xEC_EE_F1, 0x2A_2F_37),
    ("tie-hatch", 0xD3_D7_DD, 0x3B_42_4D),
    ("heat-middle", 0xF3_F3_F1, 0x2F_33_3A),
];

/// Ends of the heatmap: bad, good; light, dark.
const HEAT_ENDS: [(u32, u32); 2] = [(0xB8_47_00, 0xE8_79_30), (0x00_5A_9C, 0x47_A0_E4)];

fn tokens() -> Vec<Token> {
    let named = TOKENS.iter().map(|&(name, light, dark)| Token {
        name: name.to_owned(),
        light: rgb(light),
        dark: rgb(dark),
    });
    let heat = (0..HEAT_STEPS).flat_map(|step| {
        let (light, dark) = heat(step);
        let shade = Token { name: format!("heat-{step}"), light, dark };
        let ink = Token {
            name: format!("heat-ink-{step}"),
            light: readable_on(light),
            dark: readable_on(dark),
        };
        [shade, ink]
    });
    named.chain(heat).collect()
}

/// Colour of a step, light and dark: from one end over the middle to the other.
fn heat(step: usize) -> (Rgb, Rgb) {
    let half = (HEAT_STEPS - 1) as f64 / 2.0;
    let distance = step as f64 / half - 1.0;
    let (light_end, dark_end) = if distance < 0.0 { HEAT_ENDS[0] } else { HEAT_ENDS[1] };
    let &(_, light_middle, dark_middle) = &TOKENS[TOKENS.len() - 1];
    let mix = |middle: u32, end: u32| {
        let (a, b) = (rgb(middle), rgb(end));
        let channel = |index: usize| {
            let (from, to) = (f64::from(a[index]), f64::from(b[index]));
            (from + (to - from) * distance.abs()).round() as u8
        };
        [channel(0), channel(1), channel(2)]
    };
    (mix(light_middle, light_end), mix(dark_middle, dark_end))
}

/// Black or white, whichever is read more easily.
fn readable_on(background: Rgb) -> Rgb {
    let (black, white) = (rgb(0x11_13_17), rgb(0xFF_FF_FF));
    if contrast(black, background) >= contrast(white, background) { black } else { white }
}

/// Contrast of two colours, 1 to 21 (WCAG 2.2, "contrast ratio").
fn contrast(a: Rgb, b: Rgb) -> f64 {
    let luminance = |color: Rgb| {
        let channel = |value: u8| {
            let share = f64::from(value) / 255.0;
            if share <= 0.040_45 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(color[0]) + 0.7152 * channel(color[1]) + 0.0722 * channel(color[2])
    };
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

fn hex([red, green, blue]: Rgb) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// The placeholder color of a token until a page's variable replaces it. No token has a color
/// like it.
fn stand_in(index: usize) -> String {
    format!("#fe01{index:02x}")
}

/// The variable behind a placeholder color: only still charts have them.
#[cfg(any(feature = "still", test))]
pub(crate) fn variable(color: &str) -> Option<String> {
    let index = usize::from_str_radix(color.strip_prefix("#fe01")?, 16).ok()?;
    tokens().get(index).map(|token| format!("var(--chart-{})", token.name))
}

/// Colours by meaning, as the drawing code in JavaScript reads them.
pub(crate) fn palette(theme: Theme) -> Value {
    let tokens = tokens();
    let pick = |name: &str| {
        let found = tokens.iter().enumerate().find(|(_, token)| token.name == name);
        found.map_or_else(String::new, |(index, token)| match theme {
            Theme::Light => hex(token.light),
            Theme::Dark => hex(token.dark),
            Theme::Page => stand_in(index),
        })
    };
    let list = |prefix: &str, first: usize, count: usize| -> Vec<String> {
        (first..first + count).map(|index| pick(&format!("{prefix}{index}"))).collect()
    };
    json!({
        "isPage": theme == Theme::Page,
        "isLive": false,
        "zone": if theme == Theme::Dark { 0.13 } else { 0.08 },
        "colors": list("", 1, COLORS),
        "paper": pick("paper"), "ink": pick("ink"), "muted": pick("muted"),
        "grid": pick("grid"), "axis": pick("axis"), "grey": pick("grey"),
        "good": pick("good"), "caution": pick("caution"), "bad": pick("bad"),
        "tie": pick("tie"), "tieHatch": pick("tie-hatch"),
        "heat": list("heat-", 0, HEAT_STEPS),
        "heatInk": list("heat-ink-", 0, HEAT_STEPS),
    })
}

/// The variables of [`Theme::Page`] for both colour schemes, as CSS.
pub(crate) fn variables() -> String {
    let tokens = tokens();
    let list = |color: fn(&Token) -> Rgb| {
        tokens.iter().fold(String::new(), |mut css, token| {
            let _ = write!(css, "--chart-{}:{};", token.name, hex(color(token)));
            css
        })
    };
    let (light, dark) = (list(|token| token.light), list(|token| token.dark));
    format!(
        ":root{{{light}}}\n@media (prefers-color-scheme:dark){{:root{{{dark}}}}}\n\
         @media print{{:root{{{light}}}}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_stand_out_from_both_backgrounds() {
        let paper = &tokens()[8];
        assert_eq!(paper.name, "paper");
        for token in tokens().iter().take(COLORS) {
            for (color, background) in [(token.light, paper.light), (token.dark, paper.dark)] {
                let found = contrast(color, background);
                assert!(found >= 3.0, "colour {} has {found:.2}", token.name);
            }
        }
        // Words need more.
        for token in tokens() {
            let is_text = ["ink", "muted", "good", "caution", "bad"].contains(&token.name.as_str());
            for (color, background) in [(token.light, paper.light), (token.dark, paper.dark)] {
                assert!(!is_text || contrast(color, background) >= 4.5, "{}", token.name);
            }
        }
    }

    #[test]
    fn numbers_are_read_on_every_step() {
        for step in 0..HEAT_STEPS {
            let (light, dark) = heat(step);
            for shade in [light, dark] {
                assert!(contrast(readable_on(shade), shade) >= 4.5, "step {step}");
            }
        }
    }

    #[test]
    fn contrast_as_published() {
        // WCAG 2.2: black on white is 21 to 1; #767676 is the lightest grey with 4.5 on white.
        assert!((contrast(rgb(0), rgb(0xFF_FF_FF)) - 21.0).abs() < 1e-9);
        assert!((contrast(rgb(0x76_76_76), rgb(0xFF_FF_FF)) - 4.54).abs() < 0.01);
    }

    #[test]
    fn a_stand_in_is_no_other_colour() {
        for (index, token) in tokens().iter().enumerate() {
            assert_eq!(variable(&stand_in(index)), Some(format!("var(--chart-{})", token.name)));
            assert!(variable(&hex(token.light)).is_none() && variable(&hex(token.dark)).is_none());
        }
    }
}
