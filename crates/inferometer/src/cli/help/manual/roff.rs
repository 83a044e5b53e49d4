//! A page in the format of `man`.

use super::page::{Group, Item, Page, Piece};

/// The page.
pub fn text(page: &Page) -> String {
    let name = page.name();
    let title = plain(&name.to_uppercase());
    let version = env!("CARGO_PKG_VERSION");
    let mut text = format!(
        ".TH {title} 1 \"\" \"inferometer {version}\" \"inferometer\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n",
        plain(&name),
        plain(&page.about)
    );
    text.push_str(&paragraphs(page.usage.iter().map(String::as_str)));
    if !page.more.is_empty() {
        text.push_str(".SH DESCRIPTION\n");
        text.push_str(&paragraphs(page.more.split("\n\n")));
    }
    if !page.commands.is_empty() {
        text.push_str(".SH COMMANDS\n");
        for (words, about) in &page.commands {
            text.push_str(&format!(".TP\n\\fB{}\\fR\n{}\n", plain(words), paragraph(about)));
        }
    }
    page.groups.iter().for_each(|group| of_group(group, &mut text));
    for (title, lines) in &page.behind {
        text.push_str(&format!(".SH {}\n", plain(&title.to_uppercase())));
        // Verbatim lines; a paragraph between them would be filled.
        text.push_str(".nf\n");
        lines.iter().for_each(|line| text.push_str(&format!("{}\n", paragraph(line))));
        text.push_str(".fi\n");
    }
    if !page.words.is_empty() {
        let group = page.words.split_once(' ').map(|(group, _)| format!("-{group}"));
        let above = format!("inferometer{}", group.unwrap_or_default());
        text.push_str(&format!(".SH SEE ALSO\n\\fB{}\\fR(1)\n", plain(&above)));
    }
    text
}

fn of_group(group: &Group, text: &mut String) {
    text.push_str(&format!(".SH {}\n", plain(&group.title.to_uppercase())));
    for item in &group.items {
        text.push_str(&format!(".TP\n{}\n", term(item)));
        let mut parts: Vec<String> = item.help.split("\n\n").map(paragraph).collect();
        parts.retain(|part| !part.is_empty());
        let (told, bare): (Vec<_>, Vec<_>) =
            item.values.iter().partition(|(_, about)| !about.is_empty());
        if !bare.is_empty() {
            let words: Vec<&str> = bare.iter().map(|(word, _)| word.as_str()).collect();
            parts.push(paragraph(&format!("Values: {}", words.join(", "))));
        }
        parts.extend(item.facts.iter().map(|fact| paragraph(fact)));
        text.push_str(&parts.join("\n.IP\n"));
        text.push('\n');
        if !told.is_empty() {
            text.push_str(".RS\n");
            for (word, about) in &told {
                text.push_str(&format!(".TP\n\\fB{}\\fR\n{}\n", plain(word), paragraph(about)));
            }
            text.push_str(".RE\n");
        }
    }
}

fn term(item: &Item) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Typed(text) => format!("\\fB{}\\fR", plain(text)),
        Piece::Value(text) => format!("\\fI{}\\fR", plain(text)),
        Piece::Plain(text) => plain(text),
    };
    item.term.iter().map(piece).collect()
}

/// Paragraphs after a heading, which itself begins the first one.
fn paragraphs<'t>(all: impl Iterator<Item = &'t str>) -> String {
    all.map(paragraph).collect::<Vec<_>>().join("\n.PP\n") + "\n"
}

/// Escapes text for roff.
fn plain(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-")
}

/// The same as separate lines: a period or an apostrophe at the start of one would be a request.
fn paragraph(text: &str) -> String {
    let line = |line: &str| match line.starts_with(['.', '\'']) {
        true => format!("\\&{}", plain(line)),
        false => plain(line),
    };
    text.trim_end().lines().map(line).collect::<Vec<_>>().join("\n")
}
