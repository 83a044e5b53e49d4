//! The structure of a text: headings, code between fences, front matter.
//!
//! Not here: what headings mean.

use super::measure::plain;
use super::text::Text;
use ifm_core::order::Order as _;

/// Longest line that may be a heading without marks, bytes.
const PLAIN_BYTES_MAX: usize = 80;
/// Headings that are kept of one text.
const HEADINGS_MAX: usize = 1_000_000;
/// Level of a line in bold, below all that are marked as headings.
const BOLD: u8 = 70;

/// A heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Heading {
    pub line: u32,
    /// Ten times the depth; between two tens where it belongs to the heading above.
    pub level: u8,
    pub title: String,
}

/// What kind of line one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Prose, a list, a table.
    Open,
    /// Between fences.
    Code,
    /// A heading, or a delimiter of a heading, a fence or front matter.
    Mark,
}

/// The structure of a text.
#[derive(Debug)]
pub(crate) struct Outline {
    roles: Vec<Role>,
    headings: Vec<Heading>,
}

impl Outline {
    pub fn of(text: &Text) -> Outline {
        let mut outline = Outline { roles: fences(text), headings: Vec::new() };
        front_matter(text, &mut outline.roles);
        outline.marked(text);
        if !outline.headings.iter().any(|heading| heading.level < BOLD) {
            outline.unmarked(text);
        }
        outline.headings.order_by_key(|heading| heading.line);
        subtitles(&mut outline.headings, text);
        outline
    }

    /// Headings in the order of the text.
    pub fn headings(&self) -> &[Heading] {
        &self.headings
    }

    /// What kind of line this is.
    pub fn role(&self, line: u32) -> Role {
        let at = usize::try_from(line).unwrap_or(usize::MAX).wrapping_sub(1);
        self.roles.get(at).copied().unwrap_or(Role::Open)
    }

    fn set(&mut self, line: u32, role: Role) {
        let at = usize::try_from(line).unwrap_or(usize::MAX).wrapping_sub(1);
        if let Some(place) = self.roles.get_mut(at) {
            *place = role;
        }
    }

    fn add(&mut self, line: u32, level: u8, title: &str) {
        self.set(line, Role::Mark);
        if self.headings.len() < HEADINGS_MAX && !title.is_empty() {
            self.headings.push(Heading { line, level, title: title.to_owned() });
        }
    }

    /// Headings with `#`, underlined ones, and lines in bold.
    fn marked(&mut self, text: &Text) {
        let mut before = "";
        let mut before_that = "";
        for line in text.lines() {
            if self.role(line.number) != Role::Open {
                (before_that, before) = ("", "");
                continue;
            }
            let trimmed = line.text.trim();
            if let Some((level, title)) = hashes(line.text) {
                self.add(line.number, level * 10, title);
            } else if let Some(title) = bold(trimmed) {
                self.add(line.number, BOLD, &title);
            } else if let Some(level) = underline(trimmed)
                && before_that.trim().is_empty()
                && is_title(before)
            {
                self.set(line.number, Role::Mark);
                self.add(line.number - 1, level * 10, before.trim());
            }
            (before_that, before) = (before, line.text);
        }
    }

    /// Short lines in front of paragraphs, in a text that marks no heading.
    fn unmarked(&mut self, text: &Text) {
        for line in text.lines() {
            let next = text.from(line.number + 1).take(3).find(|next| !next.text.trim().is_empty());
            let prose = next.is_some_and(|next| is_sentence(next.text));
            if self.role(line.number) == Role::Open && prose && is_capitalised(line.text.trim()) {
                self.add(line.number, 10, line.text.trim());
            }
        }
    }
}

/// The lines between fences. A fence that is never closed is ignored.
fn fences(text: &Text) -> Vec<Role> {
    let mut roles = Vec::new();
    let mut open: Option<(usize, char, usize)> = None;
    for line in text.lines() {
        let trimmed = line.text.trim_start();
        let mark = trimmed.chars().next().filter(|c| matches!(c, '`' | '~')).unwrap_or(' ');
        let count = trimmed.chars().take_while(|&c| c == mark).count();
        let info = trimmed.get(count..).unwrap_or_default();
        let fence = mark != ' ' && count >= 3;
        match open {
            None if fence && !info.contains('`') => {
                open = Some((roles.len(), mark, count));
                // Text behind the marks that is not a name of a language belongs to the code.
                roles.push(if info.trim().contains(' ') { Role::Code } else { Role::Mark });
            }
            None => roles.push(Role::Open),
            Some((_, begun, least))
                if fence && mark == begun && count >= least && info.trim().is_empty() =>
            {
                open = None;
                roles.push(Role::Mark);
            }
            Some(_) => roles.push(Role::Code),
        }
    }
    if let Some((first, _, _)) = open {
        roles.iter_mut().skip(first).for_each(|role| *role = Role::Open);
    }
    roles
}

/// Settings between two lines of dashes at the very beginning.
fn front_matter(text: &Text, roles: &mut [Role]) {
    if text.line(1).is_none_or(|line| line.text.trim_end() != "---") {
        return;
    }
    let end = text.from(2).take(200).find(|line| line.text.trim_end() == "---");
    let Some(end) = end.and_then(|line| usize::try_from(line.number).ok()) else { return };
    let inside = text.from(2).take(end.saturating_sub(2)).all(|line| {
        line.text.trim().is_empty()
            || line.text.contains(':')
            || line.text.starts_with([' ', '-', '#'])
    });
    if inside {
        roles.iter_mut().take(end).for_each(|role| *role = Role::Mark);
    }
}

fn hashes(line: &str) -> Option<(u8, &str)> {
    let level = line.bytes().take_while(|&byte| byte == b'#').count();
    let title = line.get(level..)?.strip_prefix([' ', '\t'])?;
    let level = u8::try_from(level).ok().filter(|level| (1..=6).contains(level))?;
    Some((level, title.trim().trim_end_matches('#').trim()))
}

/// `**Title**`, `1. **Title:**`.
fn bold(line: &str) -> Option<String> {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let line =
        if rest.len() < line.len() { rest.strip_prefix(['.', ')'])?.trim_start() } else { line };
    let inner = line.strip_prefix("**")?;
    let inner = inner.strip_suffix("**:").or_else(|| inner.strip_suffix("**"))?;
    let fine =
        !inner.contains("**") && inner.len() <= 2 * PLAIN_BYTES_MAX && !inner.ends_with(['.', '!']);
    fine.then(|| plain(inner).trim_end_matches(':').to_owned())
}

fn underline(line: &str) -> Option<u8> {
    let all = |mark: char| line.len() >= 3 && line.chars().all(|c| c == mark);
    if all('=') {
        Some(1)
    } else if all('-') {
        Some(2)
    } else {
        None
    }
}

fn is_title(line: &str) -> bool {
    let line = line.trim();
    line.starts_with(|c: char| c.is_alphanumeric())
        && line.len() <= PLAIN_BYTES_MAX
        && !line.contains('|')
}

/// A line that ends as a sentence does, and is longer than a title.
fn is_sentence(line: &str) -> bool {
    let line = line.trim();
    line.len() > 60
        && line.split_whitespace().count() > 8
        && line.ends_with(['.', ':', '!', '?', '”', ')'])
}

/// A few words that begin with capitals and end without a stop.
fn is_capitalised(line: &str) -> bool {
    let small =
        ["per", "of", "the", "and", "in", "for", "a", "an", "by", "vs", "to", "on", "with", "at"];
    let mut words = line.split_whitespace();
    line.len() <= PLAIN_BYTES_MAX
        && (1..=8).contains(&line.split_whitespace().count())
        && !line.ends_with(['.', ',', ';', ':', '!', '?'])
        && words.next().is_some_and(|word| word.starts_with(char::is_uppercase))
        && words.all(|word| {
            small.contains(&word)
                || word.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit() || c == '(')
        })
}

/// A heading with nothing under it, in front of one that is less deep but below the one above:
/// it names what both are about, and goes with the one above.
fn subtitles(headings: &mut [Heading], text: &Text) {
    for at in 1..headings.len().saturating_sub(1) {
        let (Some(above), Some(this), Some(next)) =
            (headings.get(at - 1), headings.get(at), headings.get(at + 1))
        else {
            continue;
        };
        let empty = text
            .from(this.line + 1)
            .take_while(|line| line.number < next.line)
            .all(|line| line.text.trim().is_empty());
        let level = above.level + 5;
        let between = above.level < next.level && next.level < this.level && this.level < BOLD;
        if let Some(this) = headings.get_mut(at).filter(|_| empty && between) {
            this.level = level;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titles(text: &str) -> Vec<(u32, u8, String)> {
        let outline = Outline::of(&Text::new(text.as_bytes()));
        outline.headings.into_iter().map(|h| (h.line, h.level, h.title)).collect()
    }

    #[test]
    fn headings_of_every_kind() {
        let text = "# One #\n\nTwo\n---\ntext\n\n1. **Bold one**\n```sh\n# no heading\n```\n## `Three`\n**key:** value\n";
        let found = titles(text);
        let titles: Vec<&str> = found.iter().map(|(_, _, title)| title.as_str()).collect();
        assert_eq!(titles, ["One", "Two", "Bold one", "`Three`"]);
        assert_eq!(found[1].1, 20);
    }

    #[test]
    fn a_title_between_levels_stays_open() {
        let found = titles("# A\n\n### Model\n## c=1\ntext\n## c=2\n");
        assert_eq!(found.iter().map(|heading| heading.1).collect::<Vec<_>>(), [10, 15, 20, 20]);
    }

    #[test]
    fn titles_without_marks() {
        let text = "Decode Speed per User\nHow many tokens each user receives as more users share the machine.\n\nmore text\n";
        assert_eq!(titles(text)[0].2, "Decode Speed per User");
    }

    #[test]
    fn a_fence_that_never_ends_is_none() {
        let text = Text::new(b"```\ncode\n\n# Title\n");
        let outline = Outline::of(&text);
        assert_eq!(outline.headings().len(), 1);
        assert_eq!(outline.role(2), Role::Open);
    }

    #[test]
    fn settings_before_the_text_are_no_text() {
        let outline = Outline::of(&Text::new(b"---\ntitle: x\n---\n# T\n"));
        assert_eq!(outline.role(2), Role::Mark);
        assert_eq!(outline.headings()[0].line, 4);
    }
}
