//! A page as Markdown: the reference in `docs/reference/cli`.

use super::page::{Item, Page, Piece};

/// The name of the page's file.
pub fn file_name(page: &Page) -> String {
    match page.words.as_str() {
        "" => "README.md".to_owned(),
        _ => format!("{}.md", page.name().trim_start_matches("inferometer-")),
    }
}

/// The page.
pub fn text(page: &Page) -> String {
    let title = format!("inferometer {}", page.words);
    let mut text = format!("# {}\n\n{}.\n", title.trim(), prose(&page.about));
    if !page.more.is_empty() {
        text.push_str(&format!("\n{}\n", prose(&page.more)));
    }
    text.push_str(&format!("\n```text\n{}\n```\n", page.usage.join("\n")));
    if !page.commands.is_empty() {
        text.push_str("\n## Commands\n\n| command | |\n|---|---|\n");
        for (words, about) in &page.commands {
            let file = words.replace(' ', "-");
            text.push_str(&format!("| [{words}]({file}.md) | {} |\n", cell(about)));
        }
    }
    for group in &page.groups {
        text.push_str(&format!("\n## {}\n\n", group.title));
        group.items.iter().for_each(|item| text.push_str(&of_item(item)));
    }
    for (title, lines) in &page.behind {
        let lines = lines.join("\n");
        text.push_str(&format!("\n## {title}\n\n```text\n{}\n```\n", lines.trim_matches('\n')));
    }
    if page.words.is_empty() {
        text.push_str("\nMade from the parser by `cargo xtask reference`; the same as manual pages: `inferometer man`.\n");
    }
    text
}

fn of_item(item: &Item) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Typed(text) | Piece::Value(text) => text.clone(),
        Piece::Plain(text) => (*text).to_owned(),
    };
    let term: String = item.term.iter().map(piece).collect();
    let help = item.help.split("\n\n").map(prose).collect::<Vec<_>>().join("\n\n  ");
    let mut text = format!("- `{term}`: {help}\n");
    let (told, bare): (Vec<_>, Vec<_>) =
        item.values.iter().partition(|(_, about)| !about.is_empty());
    if !bare.is_empty() {
        let words: Vec<String> = bare.iter().map(|(word, _)| format!("`{word}`")).collect();
        text.push_str(&format!("  - Values: {}\n", words.join(", ")));
    }
    for (word, about) in told {
        text.push_str(&format!("  - `{word}`: {}\n", prose(about)));
    }
    for fact in &item.facts {
        let (name, value) = fact.split_once(": ").unwrap_or((fact, ""));
        text.push_str(&format!("  - {name}: `{value}`\n"));
    }
    text
}

/// Escapes text for Markdown, except inside backticks.
fn prose(text: &str) -> String {
    let mut is_code = false;
    let mut out = String::new();
    for sign in text.replace('\n', " ").chars() {
        is_code ^= sign == '`';
        // An underscore inside a word is plain text; at the start of a word it is markup.
        let is_mark = match sign {
            '_' => !out.ends_with(char::is_alphanumeric),
            _ => "<*\\".contains(sign),
        };
        if !is_code && is_mark {
            out.push('\\');
        }
        out.push(sign);
    }
    out
}

/// The same inside a table cell.
fn cell(text: &str) -> String {
    prose(text).replace('|', "\\|")
}
