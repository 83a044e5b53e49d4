//! Nothing is left unfinished: no placeholder code, no test that is switched off.
//!
//! A process that a test starts may live in the test binary as an ignored test. Its reason says
//! so: `#[ignore = "not a test: …"]`. A test that reads documents that are not part of this repository
//! is ignored where a build script does not find them (`cfg_attr`).

use super::{Check, Finding, Workspace, source::code_only};

pub const CHECK: Check = Check {
    id: "placeholders",
    rule: "no todo!, no unimplemented!, no test switched off, no note of work left to do",
    find,
};

/// What code must not contain, without its spaces.
const IN_CODE: [&str; 2] = ["todo!", "unimplemented!"];
/// How a test is switched off.
const IGNORED: &str = "#[ignore";
/// How a part of a test is switched off that is not a test itself.
const NO_TEST: &str = "#[ignore = \"not a test: ";
/// What Rust source must not contain anywhere, comments included. Joined from parts, since this
/// file is Rust source too.
const IN_TEXT: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X:")];

fn find(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in workspace.files.iter().filter(|file| file.is_rust()) {
        let code: String = code_only(&file.text).split_whitespace().collect();
        let in_code = IN_CODE.iter().filter(|word| code.contains(**word));
        let in_text = IN_TEXT.iter().filter(|word| file.text.contains(**word));
        for word in in_code.chain(in_text) {
            findings.push(Finding::new(file.path.clone(), format!("holds {word}; finish it")));
        }
        if code.matches(IGNORED).count() > file.text.matches(NO_TEST).count() {
            let text = format!("holds a test that is switched off, without {NO_TEST}…\"]");
            findings.push(Finding::new(file.path.clone(), text));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::workspace::testing::with_files;

    #[test]
    fn what_is_unfinished_is_found_in_code_and_not_in_strings() {
        let note = format!("// {} later\n", IN_TEXT[0]);
        let cases = [
            ("fn f() { todo!() }", 1),
            ("fn f() { unimplemented ! () }", 1),
            ("#[test]\n#[ignore]\nfn f() {}", 1),
            ("#[test]\n#[ignore = \"slow\"]\nfn f() {}", 1),
            ("#[test]\n#[ignore = \"not a test: a child\"]\nfn f() {}", 0),
            (note.as_str(), 1),
            ("const WORDS: &str = \"todo! #[ignore]\"; // unimplemented!", 0),
        ];
        for (text, count) in cases {
            assert_eq!(find(&with_files(&[("a/src/b.rs", text)])).len(), count, "{text}");
        }
    }
}
