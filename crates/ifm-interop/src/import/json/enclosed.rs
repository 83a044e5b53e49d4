//! Where an object, array or text ends. What it holds is not looked at: whether that is JSON, its
//! reader will find.

/// How far into a value a file has been passed.
#[derive(Default)]
pub(super) struct Enclosed {
    depth: usize,
    in_text: bool,
    escaped: bool,
}

impl Enclosed {
    /// How many of the next bytes belong to it, and whether it ends with them.
    pub fn pass(&mut self, bytes: &[u8]) -> (usize, bool) {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            if self.in_text {
                at += self.pass_text(&bytes[at..]);
            } else {
                at += 1;
                match byte {
                    b'"' => {
                        self.in_text = true;
                        continue;
                    }
                    b'{' | b'[' => self.depth += 1,
                    b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                    _ => continue,
                }
            }
            if self.depth == 0 && !self.in_text {
                return (at, true);
            }
        }
        (at, false)
    }

    /// Bytes of the text that is open, with its closing quote.
    fn pass_text(&mut self, bytes: &[u8]) -> usize {
        let mut at = usize::from(std::mem::take(&mut self.escaped));
        while let Some(rest) = bytes.get(at..) {
            let Some(next) = memchr::memchr2(b'"', b'\\', rest) else { break };
            at += next + 1;
            if rest[next] == b'"' {
                self.in_text = false;
                return at;
            }
            self.escaped = at == bytes.len();
            at += usize::from(!self.escaped);
        }
        bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_found_however_the_bytes_come() {
        for value in
            [r#"{"a": ["}", {"b\"]": "\\"}], "c": {}}"#, r#""a \" {[ \\""#, "[]", "[[1],\n[2]]"]
        {
            let text = format!("{value}, \"more\": [1]}}");
            for piece in 1..text.len() {
                let mut enclosed = Enclosed::default();
                let mut passed = 0;
                for bytes in text.as_bytes().chunks(piece) {
                    let (length, is_done) = enclosed.pass(bytes);
                    passed += length;
                    if is_done {
                        break;
                    }
                }
                assert_eq!(&text[..passed], value, "in pieces of {piece}");
            }
        }
    }
}
