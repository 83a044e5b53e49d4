"""What the site does with the pages of docs, which are written to be read in the repository too."""

import json
import posixpath
import re
from pathlib import Path

FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"^<!-- says.*?-->\n?", re.MULTILINE | re.DOTALL)
# A list may follow a sentence without an empty line, as on GitHub.
LIST = re.compile(r"^((?![-*|#>]|\d+\. |\s).+\n)(?=(?:- |1\. ))", re.MULTILINE)
# Python-Markdown requires four spaces before a list in a list.
NESTED = re.compile(r"^  (?=- )", re.MULTILINE)
LINK = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+[^)\s]+)\)")


def on_page_markdown(markdown, page, config, files):
    """Takes out what only tests read, and leads links to files that are no page to the repository."""

    def link(match):
        words, target = match.groups()
        path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page.file.src_uri), target))
        if path.startswith("docs/"):
            return match[0]
        # Without a repository the words are left.
        return f"[{words}]({config.repo_url.rstrip('/')}/blob/HEAD/{path})" if config.repo_url else words

    def prose(text):
        return LINK.sub(link, NESTED.sub("    ", LIST.sub(r"\1\n", text)))

    markdown = COMMENT.sub("", markdown)
    parts, at = [], 0
    for fence in FENCE.finditer(markdown):
        parts += [prose(markdown[at : fence.start()]), fence[0]]
        at = fence.end()
    return "".join([*parts, prose(markdown[at:])])


def on_nav(nav, config, files):
    """Puts every page into the navigation, except pages of single commands, which their list links to."""
    known = {page.file.src_uri for page in nav.pages}
    pages = {file.src_uri for file in files.documentation_pages()}
    missing = sorted(path for path in pages - known if not path.startswith("reference/cli/"))
    if missing:
        raise SystemExit(f"site/properdocs.yml: nav does not name {', '.join(missing)}")


def on_post_build(config):
    """A section that the search finds says of which page it is: many are called "What can go wrong"."""
    path = Path(config.site_dir, "search", "search_index.json")
    index = json.loads(path.read_text(encoding="utf-8"))
    pages = {entry["location"]: entry["title"] for entry in index["docs"] if "#" not in entry["location"]}
    for entry in index["docs"]:
        page = pages.get(entry["location"].split("#")[0], "")
        if "#" in entry["location"] and page.lower() not in entry["title"].lower():
            entry["title"] += f" · {page}"
    path.write_text(json.dumps(index, ensure_ascii=False), encoding="utf-8")
