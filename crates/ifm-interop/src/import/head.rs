//! The beginning of a file, and what can be detected from it.

use std::collections::BTreeSet;

/// The first bytes of a file.
#[derive(Debug)]
pub struct Head {
    name: String,
    bytes: Vec<u8>,
    keys: BTreeSet<String>,
}

impl Head {
    /// A file's name and its first bytes.
    pub fn new(name: &str, bytes: Vec<u8>) -> Head {
        let keys = outer_keys(&bytes);
        Head { name: name.to_owned(), bytes, keys }
    }

    /// The file's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The first bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The first bytes as text; a character that is cut off at the end is left out.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.bytes)
    }

    /// Whether the content begins as JSON does: an object or an array.
    pub fn is_json(&self) -> bool {
        let first = self.bytes.iter().find(|byte| !byte.is_ascii_whitespace());
        matches!(first, Some(b'{' | b'['))
    }

    /// Names of JSON fields in the outermost two levels, as far as the head goes.
    pub fn keys(&self) -> &BTreeSet<String> {
        &self.keys
    }

    /// Whether all of these are among [`Head::keys`].
    pub fn has_keys(&self, keys: &[&str]) -> bool {
        keys.iter().all(|key| self.keys.contains(*key))
    }
}

/// Depth to which names are gathered: an object, or one inside an array or object.
const DEPTH_MAX: usize = 2;

/// Names of fields in the outer levels of what may be JSON and may be cut off.
fn outer_keys(bytes: &[u8]) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let start = at;
                while let Some(&inner) = bytes.get(at) {
                    match inner {
                        b'\\' => at += 1,
                        b'"' => break,
                        _ => {}
                    }
                    at += 1;
                }
                let text = bytes.get(start..at.min(bytes.len())).unwrap_or_default();
                at += 1;
                let rest = bytes.get(at..).unwrap_or_default();
                let next = rest.iter().find(|byte| !byte.is_ascii_whitespace());
                if next == Some(&b':') && (1..=DEPTH_MAX).contains(&depth) {
                    keys.insert(String::from_utf8_lossy(text).into_owned());
                }
            }
            _ => {}
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_the_outer_levels_only() {
        let text = br#"{"a": 1, "b": {"c": "x\": y", "d": {"deep": 1}}, "cut": [1, 2, "#;
        let head = Head::new("x", text.to_vec());
        assert!(head.is_json() && head.has_keys(&["a", "b", "c", "d", "cut"]));
        assert_eq!(head.keys().len(), 5);
    }

    #[test]
    fn rows_in_an_array_count_as_outer() {
        let head = Head::new("x", br#"[{"model": "m", "size": 1}]"#.to_vec());
        assert!(head.has_keys(&["model", "size"]));
        assert!(!Head::new("x", b"# title\n\"a\": no".to_vec()).is_json());
    }
}
