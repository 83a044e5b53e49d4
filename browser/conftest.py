"""What the browser tests share: the program, a store with small runs, the page, and a browser.

Every page that a test opens is watched: a message on its console, an error of a script, or a
request that leaves this machine fails the test, unless the test says that it expects one.
"""

import contextlib
import os
import shutil
import signal
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import sync_playwright

PROGRAM = os.environ.get("INFEROMETER") or shutil.which("inferometer")
# A model may call itself anything; what a page makes of it is what is tested.
EVIL = "<img src=x onerror=window.hacked=1><script>window.hacked=2</script>"


def environment(store):
    known = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return {**known, "INFEROMETER_STORE": str(store), "NO_COLOR": "1"}


@contextlib.contextmanager
def serving(store, *words):
    """Runs a command that prints an address and then serves until it is stopped."""
    process = subprocess.Popen(
        [PROGRAM, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment(store),
    )
    try:
        yield process.stdout.readline().strip().removeprefix("listening on ")
    finally:
        process.send_signal(signal.SIGINT)
        code = process.wait(timeout=20)
    assert code == 0, f"{words} ended with {code}"


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    return tmp_path_factory.mktemp("store") / "runs"


@pytest.fixture(scope="session")
def command(store):
    """Runs the program to its end and gives what it printed."""

    def run(*words, expect=(0,)):
        done = subprocess.run(
            [PROGRAM, *map(str, words)],
            capture_output=True,
            text=True,
            env=environment(store),
            timeout=120,
        )
        assert done.returncode in expect, f"{words}: {done.returncode}\n{done.stderr}"
        return done.stdout

    return run


@pytest.fixture(scope="session")
def engine(store):
    """The embedded engine as a server: its address."""
    with serving(store, "serve", "--preset", "nano", "--port", "0") as url:
        yield url


@pytest.fixture(scope="session")
def runs(store, command, engine):
    """A store with two sweeps that compare, and one of a model with an evil name."""
    sweep = ["sweep", engine, "-c", "1,2", "-n", "20", "-W", "32/16", "--name"]
    command(*sweep, "base")
    command(*sweep, "variant", "--seed", "7")
    with serving(
        store, "serve", "--preset", "nano", "--port", "0", "--served-model-name", EVIL
    ) as url:
        command("run", url, "-c", "1", "-n", "5", "-W", "16/8", "--name", "evil")
    return store


@pytest.fixture(scope="session")
def ui(runs):
    """The printed address of the page, with its token."""
    with serving(runs, "ui") as url:
        yield url


@pytest.fixture(scope="session")
def base(ui):
    parts = urlsplit(ui)
    return f"{parts.scheme}://{parts.netloc}"


@pytest.fixture(scope="session")
def chromium():
    with sync_playwright() as playwright:
        path = os.environ.get("CHROMIUM") or shutil.which("chromium")
        # The sandbox of Chromium needs user namespaces, which containers often lack.
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


class Watched:
    """Opens pages and notes what no page of ours may do."""

    def __init__(self, browser):
        self.browser = browser
        self.contexts = []
        self.complaints = []
        self.expected = []

    def open(self, **options):
        context = self.browser.new_context(**options)
        self.contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: self.note(f"console: {message.text}"))
        page.on("pageerror", lambda error: self.note(f"error: {error}"))
        page.on("request", self.request)
        return page

    def request(self, request):
        parts = urlsplit(request.url)
        is_local = parts.scheme in ("data", "blob", "about", "file")
        if not is_local and parts.hostname not in ("127.0.0.1", "localhost"):
            self.note(f"request: {request.url}")

    def note(self, complaint):
        self.complaints.append(complaint)

    def expect(self, text):
        """A complaint with this text is what the test is about."""
        self.expected.append(text)

    def close(self):
        for context in self.contexts:
            context.close()
        return [
            complaint
            for complaint in self.complaints
            if not any(text in complaint for text in self.expected)
        ]


@pytest.fixture
def watched(chromium):
    watched = Watched(chromium)
    yield watched
    assert watched.close() == []


@pytest.fixture(scope="session")
def session(chromium, ui):
    """The cookies of the one session that the printed address begins."""
    context = chromium.new_context()
    page = context.new_page()
    page.goto(ui)
    state = context.storage_state()
    context.close()
    stranger = chromium.new_context()
    again = stranger.request.get(ui)
    stranger.close()
    assert again.status == 403, "the printed address began a second session"
    return state


@pytest.fixture
def page(watched, session, base):
    """The page with a session, on the list."""
    page = watched.open(viewport={"width": 1280, "height": 850}, storage_state=session)
    page.goto(base)
    return page


@pytest.fixture
def shots():
    """A folder for pictures, where BROWSER_SHOTS names one."""
    folder = os.environ.get("BROWSER_SHOTS")

    def shoot(page, name):
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            page.screenshot(path=str(Path(folder) / f"{name}.png"))

    return shoot
