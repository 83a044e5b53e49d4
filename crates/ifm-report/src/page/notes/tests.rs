//! What an author may write, and what they may not.

use super::super::testing::page;
use super::super::{Page, Pictures, html, json, markdown, terminal};
use super::*;
use crate::TerminalStyle;

fn with(text: &str) -> Page {
    Page { notes: Some(Notes::new("notes.md", text)), ..page() }
}

const PLAIN: TerminalStyle =
    TerminalStyle { width: 100, color: false, ascii: false, verbose: false };

/// Every format of the page, the program's own script and style left out.
fn all(text: &str) -> [String; 3] {
    let page = with(text);
    let html = html(&page).replace(ifm_chart::script(), "");
    [html, markdown(&page, Pictures::None), terminal(&page, &PLAIN)]
}

const WORDS: &str = "# Why\n\nThe *first* run was **cold**, see `--warmup`.\nSame line.\n\n\
    - one\n- two\n  1. inner\n\n> as told\n\n```sh\nls <dir>\n```\n\n| a | b |\n|---|---|\n| 1 | x |\n\n\
    [manual](https://example.com/m) ![plot](https://example.com/p.png)\n\n---\n";

#[test]
fn words_keep_their_form() {
    let [html, markdown, terminal] = all(WORDS);
    for expect in [
        "<h2 id=\"notes\">Notes of the author</h2>",
        "Written by the author of this report (notes.md), not computed from measurements.",
        "<h3>Why</h3>",
        "<p>The <em>first</em> run was <strong>cold</strong>, see <code>--warmup</code>. Same line.</p>",
        "<ul><li><p>one</p></li><li><p>two</p><ol start=\"1\"><li><p>inner</p></li></ol></li></ul>",
        "<blockquote><p>as told</p></blockquote>",
        "<pre>ls &lt;dir&gt;\n</pre>",
        "<th scope=\"col\" class=\"text\">a</th>",
        "<p>manual (https://example.com/m) [picture: plot] (https://example.com/p.png)</p>",
    ] {
        assert!(html.contains(expect), "{expect}\n{html}");
    }
    for expect in [
        "\n## Notes of the author\n",
        "\n### Why\n",
        "\nThe *first* run was **cold**, see `--warmup`. Same line.\n",
        "\n- one\n- two\n\n  1. inner\n",
        "\n> as told\n",
        "\n```text\nls <dir>\n```\n",
        "\n| a | b |\n|---|---|\n| 1 | x |\n",
        "\nmanual (https://example.com/m) \\[picture: plot\\] (https://example.com/p.png)\n",
    ] {
        assert!(markdown.contains(expect), "{expect}\n{markdown}");
    }
    for expect in ["Notes of the author\n===", "- one\n- two\n  - inner\n", "> as told"] {
        assert!(terminal.contains(expect), "{expect}\n{terminal}");
    }
}

#[test]
fn nothing_that_acts_gets_through() {
    let evil = "<script>alert(1)</script>\n\n<img src=x onerror=alert(1)>\n\na <b onclick=x>b</b>\n\n\
        [x](javascript:alert(1)) ![y](https://example.com/y.png) <https://example.com>\n\n\
        <style>@import url(//example.com)</style>\n\n&lt;script&gt;alert(2)&lt;/script&gt;\n\n\
        ```\n</pre><script>alert(3)</script>\n```\n\n`</code><script>`\n\n\u{1b}[2J\u{202E}end";
    let [html, markdown, terminal] = all(evil);
    let before = super::super::html(&page()).replace(ifm_chart::script(), "");
    for tag in ["<script", "<img", "<style", "<b ", "<a ", "<link", "<base", "<iframe"] {
        assert_eq!(html.matches(tag).count(), before.matches(tag).count(), "{tag}");
    }
    assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{html}");
    assert!(html.contains("default-src 'none'"));
    // Code is in fences, where Markdown takes no HTML.
    let outside = markdown.split("```").step_by(2).collect::<String>();
    for tag in ["<script", "<img", "<b ", "](", "<https"] {
        assert!(!outside.replace("`</code><script>`", "").contains(tag), "{tag}\n{markdown}");
    }
    for text in [&html, &markdown, &terminal] {
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202E}'), "{text}");
    }
}

#[test]
fn depth_is_bounded_and_what_is_deeper_is_still_there() {
    let text = format!("{}deep", "> ".repeat(5_000));
    let [html, ..] = all(&text);
    assert_eq!(html.matches("<blockquote").count(), DEPTH_MAX);
    assert!(html.contains("deep"));
    let text = format!("{}deep{}", "*a **b ".repeat(2_000), "** *".repeat(2_000));
    assert!(all(&text)[0].contains("deep"));
}

/// What is written as Markdown says the same when it is read again.
#[test]
fn written_again_it_is_the_same() {
    let signs =
        "1\\. no list\n\n\\- no point\n\n\\# no heading\n\n+ a point\n\n  with *two* parts\n";
    for text in [WORDS, signs] {
        let notes = Notes::new("n", text);
        let again = super::markdown::markdown(&notes);
        let (_, body) = again.split_once("from measurements.*\n").expect("the line of its source");
        let again = Notes::new("n", &body.replace("\n### ", "\n# ").replace("```text", "```sh"));
        assert_eq!(again.pieces, notes.pieces, "{body}");
    }
}

#[test]
fn the_document_holds_the_text() {
    let document: serde_json::Value =
        serde_json::from_str(&json(&with("a *b*\r\n<i>"))).expect("a document");
    assert_eq!(
        document["notes"],
        serde_json::json!({"source": "notes.md", "markdown": "a *b*\n<i>"})
    );
    let without: serde_json::Value = serde_json::from_str(&json(&page())).expect("a document");
    assert_eq!(without["notes"], serde_json::Value::Null);
}
