"""The documentation site: it builds, opens, can be searched, and loads nothing from other hosts."""

import functools
import http.server
import re
import subprocess
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site on a port of this machine: its address. Broken links end the build."""
    folder = tmp_path_factory.mktemp("site")
    subprocess.run([ROOT / "site/build", "--site-dir", folder], check=True, timeout=300)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def reader(watched):
    """Watched pages of the site, whose search says on the console how far it is."""
    watched.expect("console: All search scripts loaded")
    watched.expect("search ready")
    return watched


def test_a_question_leads_to_its_guide(reader, site, shots):
    page = reader.open(viewport={"width": 1280, "height": 900})
    page.goto(site)
    assert page.locator("h1").first.inner_text().startswith("Documentation")
    # What is typed before the index is there is not looked up.
    with page.expect_console_message(lambda message: "search ready" in message.text):
        page.click("text=A first number in a minute")
    shots(page, "site-guide")
    assert page.locator("pre", has_text="inferometer demo").count() == 1
    # What only tests read is not shown, and a table is one.
    assert "<!-- says" not in page.content()
    assert page.locator("[role=main] table").count() == 1
    page.click("text=Search")
    page.locator("#properdocs-search-query").press_sequentially("confidential")
    found = page.locator("#properdocs-search-results article a").first
    found.wait_for()
    shots(page, "site-search")
    links = page.locator("#properdocs-search-results article a")
    assert any("guides/confidential" in link.get_attribute("href") for link in links.all())
    # A section is listed with the title of its page.
    titles = [link.inner_text() for link in links.all()]
    assert any(title.endswith(" · Confidential computing study") for title in titles), titles


def test_every_page_is_plain_html(site, reader):
    """No Markdown is left over on a page: lists, tables and links were understood."""
    page = reader.open()
    page.goto(site)
    folder = [link.get_attribute("href") for link in page.locator("main a, [role=main] a").all()]
    paths = sorted({path.split("#")[0] for path in folder if path and not path.startswith("http")})
    assert len(paths) > 40
    for path in paths:
        text = page.request.get(f"{site}/{path}").text()
        prose = re.sub(r"<(pre|code)\b.*?</\1>", "", text, flags=re.DOTALL)
        assert not re.search(r"\]\([^)]*\.md|^\|.*\|$|^- |<!-- says", prose, re.MULTILINE), path
