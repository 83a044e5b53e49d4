//! What the build has compressed (`build.rs`), inflated when it is first used: a program carries half
//! a megabyte less, and the first chart comes some milliseconds later.
//!
//! What is not here: what is small, or used by every page.

use std::sync::LazyLock;

/// ECharts, as built by `assets/echarts/build.sh`.
pub(crate) static LIBRARY: LazyLock<String> = LazyLock::new(|| {
    String::from_utf8(inflated(include_bytes!(concat!(env!("OUT_DIR"), "/echarts.min.js"))))
        .expect("invariant: the script is text")
});

pub(crate) fn inflated(packed: &[u8]) -> Vec<u8> {
    miniz_oxide::inflate::decompress_to_vec(packed).expect("invariant: the build packed it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_packed_is_what_it_was() {
        let library = include_str!("../assets/echarts/echarts.min.js");
        assert!(LIBRARY.as_str() == library);
    }
}
