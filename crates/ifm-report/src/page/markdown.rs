//! A page as Markdown that reads well on a code host, in a terminal and in a note.
//!
//! Charts become links to picture files where the caller writes some, and else the sentence that says
//! what they would show. Not here: writing those files.

use super::{Block, Cell, Check, Figure, Head, Page, Remark, Section, Sheet, Table, Trust, sign};
use crate::format::ABSENT;
use crate::markdown::{escape, fenced};

/// Replaces a chart in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pictures<'a> {
    /// What the chart would show, in a sentence.
    None,
    /// A link to `FOLDER/CHART-ID.svg`, with that sentence for those who do not see it.
    In(&'a str),
}

/// The whole page; ends with a line break.
pub fn markdown(page: &Page, pictures: Pictures) -> String {
    let page = page.clone().with_unique_ids();
    let mut out = format!("# {}\n", escape(&page.title));
    for line in [&page.facts, &page.conditions] {
        if !line.is_empty() {
            out.push_str(&format!("\n{}\n", escape(&line.join(" · "))));
        }
    }
    for sentence in page.lead.iter().chain(&page.banners) {
        out.push_str(&format!("\n**{}**\n", escape(sentence)));
    }
    if !page.tiles.is_empty() {
        out.push('\n');
    }
    for tile in &page.tiles {
        let (question, said) = (escape(&tile.question), escape(&tile.said()));
        let answer = match tile.detail.is_empty() {
            true => said,
            false => format!("{said} · {}", escape(&tile.detail)),
        };
        let answer = match tile.why_not() {
            Some(why) => format!("~~{answer}~~ **{}**", escape(&why)),
            None => answer,
        };
        out.push_str(&format!("- **{question}** {answer}\n"));
    }
    if !page.remarks.is_empty() {
        out.push_str("\n## In short\n\n");
        out.push_str(&remarks(&page.remarks));
    }
    if let Some(checks) = &page.trust {
        out.push_str(&trust(checks));
    }
    out.extend(page.notes.as_ref().map(super::notes::markdown));
    for section in &page.sections {
        out.push_str(&chapter(section, pictures));
    }
    if !page.footer.is_empty() {
        out.push_str(&format!("\n---\n\n{}\n", escape(&page.footer.join(" · "))));
    }
    out
}

fn trust(trust: &Trust) -> String {
    let mut out = format!("\n## Checks\n\n{}\n", escape(&trust.line));
    if !trust.loud.is_empty() {
        out.push('\n');
    }
    for (tone, text) in &trust.loud {
        out.push_str(&format!("- {} {}\n", sign(*tone), escape(text)));
    }
    if !trust.all.is_empty() {
        let all: String = trust.all.iter().map(check).collect();
        out.push_str(&format!("\n<details><summary>All checks</summary>\n\n{all}\n</details>\n"));
    }
    out
}

/// A check as a point of a list, and what it found below it.
fn check(check: &Check) -> String {
    let lines = check.lines.iter().map(|line| format!("  - {}\n", escape(line)));
    let head = format!("- {}: {}\n", escape(&check.state), escape(&check.title));
    std::iter::once(head).chain(lines).collect()
}

fn remarks(remarks: &[Remark]) -> String {
    let line = |remark: &Remark| format!("- {} {}\n", sign(remark.tone), escape(&remark.text));
    remarks.iter().map(line).collect()
}

fn chapter(section: &Section, pictures: Pictures) -> String {
    let marks = "#".repeat(usize::from(section.depth.clamp(2, 6)));
    let mut out = format!("\n{marks} {}\n", escape(&section.heading));
    for block in &section.blocks {
        out.push_str(&piece(block, pictures));
    }
    out
}

fn piece(block: &Block, pictures: Pictures) -> String {
    match block {
        Block::Prose(text) => format!("\n{}\n", escape(text)),
        Block::Figures(figures) => figures.iter().map(|figure| drawn(figure, pictures)).collect(),
        Block::Table(table) => tabled(table),
        Block::Remarks(all) => format!("\n{}", remarks(all)),
        Block::Pre(text) => fenced(text),
        Block::List(points) | Block::Sheet(Sheet { labels: points, .. }) => {
            let points: String =
                points.iter().map(|point| format!("- {}\n", escape(point))).collect();
            format!("\n{points}")
        }
        Block::Details(summary, blocks) => {
            let inside: String = blocks.iter().map(|block| piece(block, pictures)).collect();
            format!("\n<details><summary>{}</summary>\n{inside}\n</details>\n", escape(summary))
        }
    }
}

fn drawn(figure: &Figure, pictures: Pictures) -> String {
    let mut out = format!("\n**{}**\n", escape(&figure.chart.title));
    let says = escape(&figure.chart.description);
    out.push_str(&match pictures {
        Pictures::In(folder) => format!("\n![{says}]({folder}/{}.svg)\n", figure.chart.id),
        Pictures::None => format!("\n{says}\n"),
    });
    if let Some(caption) = &figure.caption {
        out.push_str(&format!("\n*{}*\n", escape(caption)));
    }
    if !figure.remarks.is_empty() {
        out.push_str(&format!("\n{}", remarks(&figure.remarks)));
    }
    out
}

fn tabled(table: &Table) -> String {
    let mut out = String::from("\n");
    if !table.caption.is_empty() {
        out.push_str(&format!("{}\n\n", escape(&table.caption)));
    }
    let heads: Vec<String> = table.heads.iter().map(|head| escape(&head.name)).collect();
    out.push_str(&format!("| {} |\n|", heads.join(" | ")));
    for head in &table.heads {
        out.push_str(if head.is_text { "---|" } else { "--:|" });
    }
    out.push('\n');
    for row in &table.rows {
        let cells: Vec<String> = row.iter().map(cell_of).collect();
        out.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    let hint = |head: &Head| Some(format!("{}: {}", head.name, head.explained.as_ref()?));
    let hints: Vec<String> = table.heads.iter().filter_map(hint).collect();
    if !hints.is_empty() {
        out.push_str(&format!("\n*{}*\n", escape(&format!("{}.", hints.join("; ")))));
    }
    out
}

fn cell_of(cell: &Cell) -> String {
    let note = cell.note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
    let text = format!("{}{note}", cell.text);
    // An empty cell would be taken for a fault of the table.
    escape(if text.trim().is_empty() { ABSENT } else { &text })
}

#[cfg(test)]
mod tests {
    use super::super::testing::page;
    use super::*;

    #[test]
    fn a_page() {
        insta::assert_snapshot!(markdown(&page(), Pictures::In("charts")));
    }

    #[test]
    fn names_cannot_add_markup() {
        let mut page = page();
        page.title = "a|b<script>alert(1)</script>[x](y)".to_owned();
        let text = markdown(&page, Pictures::None);
        assert!(!text.contains("<script>") && !text.contains("[x](y)"));
    }
}
