//! Marks next to a number in a cell: stars, medals, ticks, arrows, numbers of footnotes, comments in
//! brackets, and the tags of HTML around it.
//!
//! A mark says something about the number and is not part of it. Not here: what the number is
//! (`cell`).

/// A cell without tags and emphasis.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Unmarked {
    /// What is left.
    pub text: String,
    /// Footnotes that were tags.
    pub notes: Vec<String>,
    /// Whether the text is crossed out: its author withdrew it.
    pub is_struck: bool,
}

/// Longest tag that is looked at, bytes.
const TAG_BYTES_MAX: usize = 400;
/// Entities of HTML, and what they are.
const ENTITIES: &[(&str, &str)] = &[
    ("nbsp", " "),
    ("ensp", " "),
    ("emsp", " "),
    ("thinsp", " "),
    ("amp", "&"),
    ("lt", "<"),
    ("gt", ">"),
    ("quot", "\""),
    ("apos", "'"),
    ("plusmn", "±"),
    ("ndash", "–"),
    ("mdash", "—"),
    ("minus", "−"),
    ("times", "×"),
    ("micro", "µ"),
    ("mu", "µ"),
    ("asymp", "≈"),
    ("le", "≤"),
    ("ge", "≥"),
    ("uarr", "↑"),
    ("darr", "↓"),
    ("rarr", "→"),
    ("larr", "←"),
    ("hellip", "…"),
    ("middot", "·"),
    ("deg", "°"),
    ("dagger", "†"),
    ("Dagger", "‡"),
    ("starf", "★"),
    ("check", "✓"),
];

/// Text with the entities of HTML as characters.
pub(crate) fn decode_entities(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(rest.get(..at).unwrap_or_default());
        rest = rest.get(at..).unwrap_or_default();
        let end = rest.find(';').filter(|end| *end <= 10);
        match end.and_then(|end| Some((entity(rest.get(1..end)?)?, end))) {
            Some((character, end)) => {
                out.push_str(&character);
                rest = rest.get(end + 1..).unwrap_or_default();
            }
            None => {
                out.push('&');
                rest = rest.get(1..).unwrap_or_default();
            }
        }
    }
    out.push_str(rest);
    out
}

fn entity(name: &str) -> Option<String> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => number.parse().ok()?,
        };
        return Some(char::from_u32(code).filter(|c| !c.is_control())?.to_string());
    }
    let (_, text) = ENTITIES.iter().find(|(own, _)| *own == name)?;
    Some((*text).to_owned())
}

/// The tag at the beginning of a text: its name in lower case, whether it closes, and its bytes.
pub(crate) fn tag(text: &str) -> Option<(String, bool, usize)> {
    let inner = text.strip_prefix('<')?;
    let closes = inner.starts_with('/');
    let name = inner.trim_start_matches('/');
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let end = text.find('>').filter(|end| *end <= TAG_BYTES_MAX)?;
    let length = name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len());
    Some((name.get(..length)?.to_ascii_lowercase(), closes, end + 1))
}

/// A cell without tags, entities and emphasis.
pub(super) fn unmark(text: &str) -> Unmarked {
    let mut found = Unmarked::default();
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        out.push_str(rest.get(..at).unwrap_or_default());
        rest = rest.get(at..).unwrap_or_default();
        let Some((name, closes, length)) = tag(rest) else {
            out.push('<');
            rest = rest.get(1..).unwrap_or_default();
            continue;
        };
        rest = rest.get(length..).unwrap_or_default();
        match name.as_str() {
            "sup" | "sub" if !closes => {
                let end = rest.find("</").unwrap_or(rest.len());
                found.notes.push(rest.get(..end).unwrap_or_default().trim().to_owned());
                rest = rest.get(end..).unwrap_or_default();
            }
            "del" | "s" | "strike" => found.is_struck = true,
            "br" => out.push(' '),
            _ => {}
        }
    }
    out.push_str(rest);
    let out = decode_entities(&out).replace("**", "").replace("==", "");
    let out = super::plain(&out);
    let out = out.trim();
    found.is_struck |= out.starts_with("~~") && out.ends_with("~~") && out.len() > 4;
    let inner = ["__", "_"].iter().find_map(|mark| {
        out.strip_prefix(mark)?.strip_suffix(mark).filter(|inner| !inner.is_empty())
    });
    found.text = inner.unwrap_or(out).trim().to_owned();
    found
}

/// A label without marks: heads carry arrows, stars and numbers of footnotes too.
pub(super) fn label(text: &str) -> String {
    let text = unmark(text).text;
    let kept: String = text
        .chars()
        .map(|c| if is_symbol(c) && !matches!(c, '*' | '@' | '&' | '°') { ' ' } else { c })
        .collect();
    kept.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a character next to a number is a mark.
pub(super) fn is_symbol(c: char) -> bool {
    const SUPERSCRIPTS: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹ᵃᵇᶜᵈ";
    const OF_NUMBERS: &str = "+-−.±<>≤≥=~≈$€£¥([{)]}\"'`’%/\\,;:|–—‑#…?_";
    if SUPERSCRIPTS.contains(c) {
        return true;
    }
    !c.is_alphanumeric() && !c.is_whitespace() && !c.is_control() && !OF_NUMBERS.contains(c)
}

/// What is left of a text without the marks before it.
pub(super) fn without_leading(text: &str) -> &str {
    text.trim_start_matches(|c: char| is_symbol(c) || c.is_whitespace())
}

/// Words after a number that are marks, without brackets.
const WORDS: &[&str] =
    &["best", "worst", "winner", "wins", "win", "fastest", "slowest", "tie", "new", "baseline"];

/// Whether all of a text is marks.
pub(super) fn is_all_marks(text: &str) -> bool {
    let mut rest = text.trim();
    while let Some(first) = rest.chars().next() {
        if is_symbol(first) {
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
        } else if matches!(first, '(' | '[') {
            let Some(length) = bracket(rest) else { return false };
            rest = rest.get(length..).unwrap_or_default();
        } else if let Some(length) = change(rest) {
            rest = rest.get(length..).unwrap_or_default();
        } else {
            let note = rest.trim_start_matches([',', ';', '-', '–', '—', ' ']);
            let is_note = note.len() < rest.len() && note.starts_with(char::is_alphabetic);
            let is_word = WORDS.contains(&rest.to_lowercase().as_str());
            return is_word || (is_note && !note.chars().any(|c| c.is_ascii_digit()));
        }
        rest = rest.trim_start();
    }
    true
}

/// Bytes of the bracket that a text begins with.
pub(super) fn bracket(text: &str) -> Option<usize> {
    let mut depth = 0_u32;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(at + c.len_utf8());
        }
    }
    None
}

/// Bytes of a change that a text begins with: `+5%`, `-3.1 %`, `12%` after an arrow, `1.4×`.
fn change(text: &str) -> Option<usize> {
    let number = text.trim_start_matches(['+', '-', '−']);
    let digits =
        number.len() - number.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
    let behind = number.get(digits..)?;
    let trimmed = behind.trim_start();
    let sign = trimmed.chars().next().filter(|c| matches!(c, '%' | 'x' | '×'))?;
    let end = text.len() - trimmed.len() + sign.len_utf8();
    let ends = !text.get(end..)?.starts_with(char::is_alphanumeric);
    (digits > 0 && ends).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_tags_entities_and_emphasis() {
        for (text, expected) in [
            ("86.1<sup>1</sup>", "86.1"),
            ("<u>86.1</u>", "86.1"),
            ("<b style=\"x\">86.1</b><br>ms", "86.1 ms"),
            ("_86.1_", "86.1"),
            ("***86.1***", "86.1"),
            ("&lt;&nbsp;5", "< 5"),
            ("1 &plusmn; 2 &#177; &#xB1; &unknown; & b", "1 ± 2 ± ± &unknown; & b"),
            ("a < b", "a < b"),
        ] {
            assert_eq!(unmark(text).text, expected, "{text}");
        }
        assert!(unmark("~~86.1~~").is_struck && unmark("<del>5</del>").is_struck);
        assert_eq!(label("TTFT<sup>1</sup> (ms) ↓ ⭐"), "TTFT (ms)");
    }

    #[test]
    fn tells_marks_from_more_numbers() {
        for marks in [
            "⭐", "🏆", "†", "¹", "(best)", "(+5%)", "(1.2×)", "[1]", "[^2]", "↑ 5%", "+5%",
            "✅ (a)", ", warm", "— best", "best", "▲12%", "*", "❌",
        ] {
            assert!(is_all_marks(marks), "{marks}");
        }
        for other in ["/ 3", "5", "Q4_0", ", 87.2", "(", "tok/s", ":30", "⭐3"] {
            assert!(!is_all_marks(other), "{other}");
        }
    }
}
