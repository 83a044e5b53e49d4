//! Pages in the text format of Prometheus, versions 0.0.4 and OpenMetrics 1.0.
//!
//! A reader of its own, since only plain samples are wanted: comments, types, time stamps and
//! exemplars are read over. A line that makes no sense costs that line. Not here: what the names
//! mean (`engine`, `dcgm`).

use std::borrow::Cow;

/// Most bytes of a page that are looked at. A page of a large vLLM deployment has some 200 kB.
pub const BYTES_MAX: usize = 8 << 20;
/// Most samples that are kept.
const SAMPLES_MAX: usize = 200_000;
/// Most labels of a sample.
const LABELS_MAX: usize = 64;

/// Names and values of labels.
pub type Labels<'page> = Vec<(&'page str, Cow<'page, str>)>;

/// One line: a name, labels, a value.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample<'page> {
    /// Name of the metric, `_total`, `_sum` and the like included.
    pub name: &'page str,
    /// Labels in the order of the page.
    pub labels: Labels<'page>,
    /// Value; may be no number, or infinite.
    pub value: f64,
}

impl Sample<'_> {
    /// The value of a label.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels.iter().find(|(label, _)| *label == name).map(|(_, value)| value.as_ref())
    }
}

/// All samples of a page but the buckets of histograms.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Page<'page> {
    /// In the order of the page.
    pub samples: Vec<Sample<'page>>,
    /// Lines that made no sense.
    pub faulty_lines: usize,
    /// Whether the page was longer than what is looked at.
    pub is_cut: bool,
}

impl<'page> Page<'page> {
    /// Reads a page, at most [`BYTES_MAX`] of it.
    pub fn read(text: &'page str) -> Page<'page> {
        let mut page = Page::default();
        let mut end = text.len().min(BYTES_MAX);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        page.is_cut = end < text.len();
        for line in text.get(..end).unwrap_or_default().lines() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if page.samples.len() == SAMPLES_MAX {
                page.is_cut = true;
                break;
            }
            match sample(line) {
                Some(sample) if sample.name.ends_with("_bucket") => {}
                Some(sample) => page.samples.push(sample),
                None => page.faulty_lines += 1,
            }
        }
        if page.is_cut && page.samples.len() < SAMPLES_MAX {
            // The last line may have lost its end, and a number without its end is another one.
            page.samples.pop();
        }
        page
    }
}

fn sample(line: &str) -> Option<Sample<'_>> {
    let is_inside = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let (name, rest) = split_where(line, is_inside);
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (labels, rest) = match rest.trim_start().strip_prefix('{') {
        Some(inside) => labels(inside)?,
        // A name that runs into something else is not a name.
        None if !rest.starts_with(char::is_whitespace) => return None,
        None => (Vec::new(), rest),
    };
    let value = rest.split_whitespace().next()?.parse().ok()?;
    Some(Sample { name, labels, value })
}

/// A list of labels and what follows its closing brace.
fn labels(mut text: &str) -> Option<(Labels<'_>, &str)> {
    let mut all = Vec::new();
    loop {
        text = text.trim_start();
        if let Some(rest) = text.strip_prefix('}') {
            return Some((all, rest));
        }
        if all.len() == LABELS_MAX {
            return None;
        }
        let (name, rest) = split_where(text, |c| c.is_ascii_alphanumeric() || c == '_');
        let rest = rest.trim_start().strip_prefix('=')?.trim_start().strip_prefix('"')?;
        if name.is_empty() {
            return None;
        }
        let (value, rest) = quoted(rest)?;
        all.push((name, value));
        text = rest.trim_start();
        text = text.strip_prefix(',').or_else(|| text.starts_with('}').then_some(text))?;
    }
}

/// A quoted text without its first quote, and what follows its last.
fn quoted(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let mut owned: Option<String> = None;
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => {
                let value = match owned {
                    Some(value) => Cow::Owned(value),
                    None => Cow::Borrowed(text.get(..at)?),
                };
                return Some((value, text.get(at + 1..)?));
            }
            '\\' => {
                let (_, escaped) = chars.next()?;
                let value = match &mut owned {
                    Some(value) => value,
                    None => owned.insert(text.get(..at)?.to_owned()),
                };
                match escaped {
                    'n' => value.push('\n'),
                    '\\' | '"' => value.push(escaped),
                    // Not in the format; kept unchanged.
                    other => value.extend(['\\', other]),
                }
            }
            c => {
                if let Some(value) = &mut owned {
                    value.push(c);
                }
            }
        }
    }
    None
}

fn split_where(text: &str, is_inside: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !is_inside(c)).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The name, the labels and the value of a page of one line.
    type Line = (String, Vec<(String, String)>, f64);

    fn only(line: &str) -> Option<Line> {
        let page = Page::read(line);
        let sample = page.samples.first()?;
        let labels = sample.labels.iter().map(|(n, v)| ((*n).to_owned(), v.to_string())).collect();
        Some((sample.name.to_owned(), labels, sample.value))
    }

    #[test]
    fn lines_of_the_format_are_read() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        for (line, name, labels, value) in [
            ("a:b_total 3", "a:b_total", vec![], 3.0),
            ("  a 1e3 1712345678", "a", vec![], 1000.0),
            ("a{} 2", "a", vec![], 2.0),
            ("a {b=\"c\"} 2", "a", vec![pair("b", "c")], 2.0),
            ("a{b=\"c\",d=\"e\",} -2.5", "a", vec![pair("b", "c"), pair("d", "e")], -2.5),
            ("a{ b = \"} 7 \" , d=\"\" } 1", "a", vec![pair("b", "} 7 "), pair("d", "")], 1.0),
            (r#"a{b="x\"y\\z\nw\q"} 1"#, "a", vec![pair("b", "x\"y\\z\nw\\q")], 1.0),
            ("a_total{b=\"ü\"} 4 # {id=\"x\"} 0.5", "a_total", vec![pair("b", "ü")], 4.0),
            ("a +Inf", "a", vec![], f64::INFINITY),
        ] {
            assert_eq!(only(line), Some((name.to_owned(), labels, value)), "{line}");
        }
        assert!(only("a NaN").is_some_and(|(_, _, value)| value.is_nan()));
    }

    #[test]
    fn lines_that_make_no_sense_are_counted() {
        let bad = [
            "a",
            "a{",
            "a{b",
            "a{b=",
            "a{b=c} 1",
            "a{b=\"c} 1",
            "a{b=\"c\"} ",
            "a{b=\"c\"d=\"e\"} 1",
            "1a 1",
            "a x",
            "{\"a\"} 1",
            "<html>",
            "a-b 1",
            "a{=\"c\"} 1",
            "a{b=\"\\",
            "ü 1",
        ];
        let page = bad.join("\n");
        let page = Page::read(&page);
        assert_eq!((page.samples.len(), page.faulty_lines), (0, bad.len()));
        let page =
            Page::read("# HELP a b\n# TYPE a counter\n\r\na_bucket{le=\"1\"} 1\na 1\n# EOF\n");
        assert_eq!((page.samples.len(), page.faulty_lines, page.is_cut), (1, 0, false));
    }

    #[test]
    fn a_long_page_is_cut_without_its_last_line() {
        let line = "a{b=\"cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc\"} 12345\n";
        let text = line.repeat(BYTES_MAX / line.len() + 1);
        let page = Page::read(&text);
        assert!(page.is_cut && page.samples.iter().all(|sample| sample.value == 12345.0));
        let many = "a 1\n".repeat(SAMPLES_MAX + 1);
        let page = Page::read(&many);
        assert!(page.is_cut && page.samples.len() == SAMPLES_MAX);
        let umlauts = "ü".repeat(BYTES_MAX);
        assert!(Page::read(&umlauts).is_cut);
    }

    proptest! {
        #[test]
        fn no_page_breaks_it(text in "[a-c:{}=\",\\\\ 0-9ü\n#.eE+-]{0,300}") {
            let page = Page::read(&text);
            let lines = text.lines().count();
            prop_assert!(page.samples.len() + page.faulty_lines <= lines);
        }

        #[test]
        fn what_is_written_is_read(
            name in "[a-z_:][a-z0-9_:]{0,12}",
            value in any::<f64>(),
            label in "[a-z_][a-z0-9_]{0,8}",
            text in ".{0,20}",
        ) {
            let escaped =
                text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let line = format!("{name}{{{label}=\"{escaped}\"}} {value:e}");
            prop_assume!(!name.ends_with("_bucket") && value.is_finite() && line.lines().count() == 1);
            let page = Page::read(&line);
            prop_assert_eq!(page.samples[0].value.to_bits(), value.to_bits());
            prop_assert_eq!(page.samples[0].label(&label), Some(text.as_str()));
        }
    }
}
