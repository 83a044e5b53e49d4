//! `inferometer --version --verbose`: how this program was built.
//!
//! Not here: the machine that it runs on (`facts`).

use ifm_core::manifest::SCHEMA_VERSION;
use ifm_kernels::Isa;

/// The lines, if the words ask for exactly them.
pub fn verbose(words: &[String]) -> Option<String> {
    let asked: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
    let (version, more): (Vec<&str>, Vec<&str>) =
        asked.iter().partition(|word| matches!(**word, "--version" | "-V"));
    (version.len() == 1 && more == ["--verbose"]).then(lines)
}

/// The optional parts that the program includes.
fn parts() -> &'static str {
    match (ifm_engine::BUILT, cfg!(feature = "charts")) {
        (true, true) => "engine, charts",
        (true, false) => "engine; no charts",
        (false, true) => "charts; no engine",
        (false, false) => "slim: no engine, no charts",
    }
}

fn lines() -> String {
    let commit = match option_env!("IFM_COMMIT") {
        Some(commit) if !commit.is_empty() => commit,
        _ => "not set by the build",
    };
    let rows = [
        ("target", env!("IFM_TARGET")),
        ("compiler", env!("IFM_RUSTC")),
        ("profile", env!("IFM_PROFILE")),
        ("commit", commit),
        ("C library", ifm_sys::host::c_library()),
        ("parts", parts()),
        ("kernels here", Isa::best().name()),
        ("run format", SCHEMA_VERSION),
    ];
    let mut text = format!("inferometer {}\n", env!("CARGO_PKG_VERSION"));
    for (name, value) in rows {
        text.push_str(&format!("{name:<13} {value}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(words: &str) -> Option<String> {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        verbose(&words)
    }

    #[test]
    fn facts_of_the_build_are_told_where_both_words_stand() {
        let text = asked("inferometer --version --verbose").expect("both words are present");
        assert!(text.starts_with(concat!("inferometer ", env!("CARGO_PKG_VERSION"), "\n")));
        for (name, part) in [("target", std::env::consts::ARCH), ("compiler", "rustc 1.")] {
            let line = text.lines().find(|line| line.starts_with(name)).expect("a line for it");
            assert!(line.contains(part), "{line}");
        }
        assert_eq!(asked("inferometer --verbose -V"), Some(text));
        assert_eq!(asked("inferometer --version"), None);
        assert_eq!(asked("inferometer run --version --verbose"), None);
    }
}
