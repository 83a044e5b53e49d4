//! Text as a reader sees it, without the marks of Markdown.

/// Text without the marks of Markdown around it.
pub(crate) fn plain(text: &str) -> String {
    let mut text = text.trim().replace("**", "").replace(['`'], "");
    if let Some((before, rest)) = text.split_once('[')
        && let Some((words, link)) = rest.split_once("](")
        && let Some((_, after)) = link.split_once(')')
    {
        text = format!("{before}{words}{after}");
    }
    let inner = text.trim();
    let inner = inner.strip_prefix("__").and_then(|rest| rest.strip_suffix("__")).unwrap_or(inner);
    inner.trim_matches('*').trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_the_marks_of_markdown() {
        assert_eq!(plain(" `a_b` "), "a_b");
        assert_eq!(plain("see [this](http://x) now"), "see this now");
        assert_eq!(plain("**Total runs:**"), "Total runs:");
    }
}
