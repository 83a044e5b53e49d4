"""What the site does with the pages of docs, which are written to be read in the repository too."""

import posixpath
import re

FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"^<!-- says.*?-->\n?", re.MULTILINE | re.DOTALL)
# A list may begin behind a sentence without an empty line, as it may in the repository.
LIST = re.compile(r"^((?![-*|#>]|\d+\. |\s).+\n)(?=(?:- |1\. ))", re.MULTILINE)
# Markdown in Python wants four spaces before a list in a list.
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
    """Every page stands in the navigation, but those of single commands, which their list leads to."""
    known = {page.file.src_uri for page in nav.pages}
    pages = {file.src_uri for file in files.documentation_pages()}
    missing = sorted(path for path in pages - known if not path.startswith("reference/cli/"))
    if missing:
        raise SystemExit(f"site/properdocs.yml: nav does not name {', '.join(missing)}")
