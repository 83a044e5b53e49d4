//! Links between our pages lead to files and headings that exist.

use super::{Check, Finding, Workspace};

pub const CHECK: Check = Check {
    id: "links",
    rule: "links between our Markdown pages lead to files and headings that exist",
    find,
};

fn find(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for page in workspace.files.iter().filter(|file| file.path.ends_with(".md")) {
        for link in links(&page.text) {
            if let Some(text) = broken(workspace, &page.path, link) {
                findings.push(Finding::new(page.path.clone(), text));
            }
        }
    }
    findings
}

/// Why a link leads nowhere; nothing for one that does, or that leaves the repository.
fn broken(workspace: &Workspace, page: &str, link: &str) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (file, heading) = link.split_once('#').map_or((link, None), |(f, h)| (f, Some(h)));
    let path = if file.is_empty() { Some(page.to_owned()) } else { resolve(page, file) };
    let Some(path) = path else {
        return Some(format!("the link '{link}' leaves the repository"));
    };
    let is_folder = workspace.paths.iter().any(|known| known.starts_with(&format!("{path}/")));
    if !workspace.paths.contains(&path) && !is_folder {
        return Some(format!("the link '{link}' leads to no file"));
    }
    let anchors = anchors(workspace.text(&path).unwrap_or_default());
    let heading = heading.filter(|heading| !anchors.iter().any(|anchor| anchor == heading));
    heading.map(|_| format!("the link '{link}' leads to no heading"))
}

/// Path of a link's file below the root; nothing if it climbs out of it.
fn resolve(page: &str, file: &str) -> Option<String> {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in file.trim_end_matches('/').split('/') {
        match part {
            "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Targets of the inline links and images of a page.
fn links(page: &str) -> Vec<&str> {
    let mut links = Vec::new();
    for line in prose(page) {
        // Inside backticks nothing is a link.
        for text in line.split('`').step_by(2) {
            for after in text.split("](").skip(1) {
                let target = after.split([')', ' ']).next().unwrap_or_default();
                links.push(target);
            }
        }
    }
    links.sort_unstable();
    links.dedup();
    links
}

/// Anchors of the headings of a page, made as code hosts make them.
fn anchors(page: &str) -> Vec<String> {
    let headings = prose(page).filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#').trim())).collect()
}

fn anchor(heading: &str) -> String {
    let kept =
        heading.chars().filter(|char| char.is_alphanumeric() || matches!(char, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|char| if char == ' ' { '-' } else { char }).collect()
}

/// The lines of a page outside fenced blocks.
fn prose(page: &str) -> impl Iterator<Item = &str> {
    let mut is_fenced = false;
    page.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_fenced ^= is_fence;
        !is_fence && !is_fenced
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::workspace::testing::with_files;

    const OTHER: (&str, &str) =
        ("docs/other.md", "# One Title: `x_y`, two\n```\n# no title\n```\n");

    fn found(link: &str) -> Vec<String> {
        let page = format!("# Here\n\nsee [it]({link}), `[a](b)`\n```\n[c](d)\n```\n");
        let workspace = with_files(&[("docs/page.md", &page), OTHER, ("LICENSE", "")]);
        find(&workspace).into_iter().map(|finding| finding.text).collect()
    }

    #[test]
    fn links_that_lead_somewhere_pass() {
        let links = [
            "other.md",
            "./other.md#one-title-x_y-two",
            "../LICENSE",
            "../docs/",
            "#here",
            "https://example.org/a#b",
        ];
        for link in links {
            assert_eq!(found(link), [""; 0], "{link}");
        }
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let cases = [
            ("gone.md", "no file"),
            ("other.md#two", "no heading"),
            ("other.md#no-title", "no heading"),
            ("#there", "no heading"),
            ("../../x.md", "leaves the repository"),
        ];
        for (link, expected) in cases {
            let texts = found(link);
            assert!(texts.len() == 1 && texts[0].contains(expected), "{link}: {texts:?}");
        }
        let page = "[`code`](gone.md)";
        assert_eq!(find(&with_files(&[("a.md", page)])).len(), 1);
    }
}
