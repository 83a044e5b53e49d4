"""`inferometer ui` in a real browser: what it shows, what it takes, and what it refuses."""

import functools
import http.server
import json
import re
import signal
import subprocess
import threading

import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import EVIL, PROGRAM, environment
from playwright.sync_api import expect

# A block as `vllm bench serve` prints it, and the same bytes as a file to drop.
NOTE = """# Llama at 8 users

============ Serving Benchmark Result ============
Successful requests:                     80
Benchmark duration (s):                  10.00
Total input tokens:                      8000
Total generated tokens:                  4000
Request throughput (req/s):              8.00
Output token throughput (tok/s):         400.00
---------------Time to First Token----------------
Mean TTFT (ms):                          50.00
Median TTFT (ms):                        48.00
P99 TTFT (ms):                           90.00
==================================================
"""


def row(page, name):
    return page.locator("tbody tr", has=page.get_by_role("link", name=name, exact=True))


def ids(command):
    """Ids of all runs by name."""
    runs = json.loads(command("runs", "list", "--json"))["runs"]
    return {run["name"]: run["id"] for run in runs if "name" in run}


def everything(store):
    return {path: path.read_bytes() for path in sorted(store.rglob("*")) if path.is_file()}


# The list


def test_the_address_begins_a_session_and_leaves_no_token(page, base):
    assert page.url == f"{base}/"
    [cookie] = page.context.cookies()
    assert cookie["httpOnly"] and cookie["sameSite"] == "Strict"
    assert page.evaluate("document.cookie") == ""
    # htmx keeps the address of the page, and nothing else is kept.
    assert page.evaluate("localStorage.length") == 0
    kept = page.evaluate("Object.values(sessionStorage)")
    assert all(value == "/" for value in kept), kept


def test_the_list_tells_what_fits(page, shots):
    expect(row(page, "base")).to_contain_text("complete")
    # On a busy host events share reads; then the page shows no speed.
    speed = re.compile("tok/s|not known|first token")
    expect(row(page, "base")).to_contain_text(speed, timeout=20_000)
    expect(page.locator(".wait")).to_have_count(0, timeout=20_000)
    shots(page, "list")


def test_filtering_while_typing_keeps_the_address(page, base):
    page.keyboard.press("/")
    page.keyboard.type("variant")
    expect(page.get_by_role("status").first).to_have_text(re.compile(r"^1 of \d+$"))
    expect(row(page, "variant")).to_be_visible()
    expect(row(page, "base")).to_have_count(0)
    assert "q=variant" in page.url and "token" not in page.url
    page.reload()
    expect(row(page, "base")).to_have_count(0)
    page.get_by_label("Find").fill("nothing has this name")
    expect(page.get_by_text("Nothing fits")).to_be_visible()


def test_tags_are_put_on_by_keyboard_and_found(page, command):
    page.get_by_label("Choose base").focus()
    page.keyboard.press("Space")
    page.get_by_label("Choose variant").check()
    expect(page.get_by_text("2 chosen")).to_be_visible()
    page.get_by_placeholder("tag", exact=True).fill("pair")
    page.get_by_role("button", name="Tag", exact=True).click()
    expect(row(page, "base").get_by_role("link", name="pair")).to_be_visible()
    page.locator("select[name=tag]").select_option("pair")
    expect(page.get_by_role("status").first).to_have_text(re.compile("^2 of"))
    assert command("runs", "tag", "base").split() == ["pair"]


def test_name_and_tags_of_one_run(page, command):
    page.get_by_role("link", name="variant", exact=True).click()
    page.get_by_text("Name and tags").click()
    page.get_by_label("Name", exact=True).fill("renamed")
    page.get_by_label("Tags, with commas").fill("one, two")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="renamed")).to_be_visible()
    assert command("runs", "tag", "renamed").split() == ["one", "two"]
    command("runs", "rename", "renamed", "variant")


def test_removing_asks_first_and_can_be_undone(page, command):
    page.get_by_label("Choose variant").check()
    page.get_by_role("button", name="Remove…").click()
    expect(page.get_by_role("heading", name="Remove variant?")).to_be_visible()
    assert "variant" in command("runs", "list")
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_role("heading", name="Removed")).to_be_visible()
    assert "variant" not in command("runs", "list")
    page.get_by_role("button", name="Bring back").click()
    expect(page.get_by_text("Nothing is out of sight")).to_be_visible()
    assert "variant" in command("runs", "list")


# Runs


def test_a_run_shows_its_report_in_a_frame_that_cannot_reach_out(page, shots):
    page.get_by_role("link", name="base", exact=True).click()
    report = page.frame_locator("iframe")
    expect(report.get_by_text("How fast?").first).to_be_visible()
    frame = page.frames[1]
    assert frame.evaluate("window.origin") == "null"
    shots(page, "run")
    page.get_by_role("link", name="Audit").click()
    expect(page.get_by_text("rules applied")).to_be_visible()
    page.get_by_role("link", name="Files and command").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Everything, JSON").click()
    document = json.loads(download.value.path().read_text())
    assert document["kind"].startswith("inferometer")


def test_runs_side_by_side(page, shots):
    page.get_by_label("Choose base").check()
    expect(page.get_by_role("button", name="Compare")).to_be_disabled()
    page.get_by_label("Choose variant").check()
    page.get_by_role("button", name="Compare").click()
    differs = page.get_by_role("heading", name="What differs besides the numbers")
    result = page.get_by_role("heading", name="Result")
    assert differs.bounding_box()["y"] < result.bounding_box()["y"]
    expect(page.get_by_role("columnheader", name="Verdict")).to_be_visible()
    first = page.locator("ol.sides li").first.inner_text()
    page.get_by_role("link", name="make it the baseline").click()
    assert page.locator("ol.sides li").first.inner_text() != first
    shots(page, "compare")


def test_runs_one_after_the_other(page, command, shots):
    command("runs", "tag", "base", "nights")
    command("runs", "tag", "variant", "nights")
    page.get_by_role("link", name="History", exact=True).click()
    expect(page.get_by_text("runs, the oldest first")).to_be_visible()
    page.get_by_label("Runs with the name or tag").select_option("nights")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("2 runs, the oldest first")).to_be_visible()
    report = page.frame_locator("iframe")
    expect(report.get_by_role("heading", name="What changed")).to_be_visible()
    expect(report.get_by_text("2 runs, 5 are needed").first).to_be_visible()
    assert page.frames[1].evaluate("window.origin") == "null"
    shots(page, "history")
    # The same by the list: what is chosen there, and nothing else.
    page.goto(page.url.split("/history")[0])
    page.get_by_label("Choose base").check()
    expect(page.get_by_role("button", name="History")).to_be_disabled()
    page.get_by_label("Choose evil").check()
    page.get_by_role("button", name="History").click()
    expect(page.get_by_text("2 runs, the oldest first")).to_be_visible()
    expect(report.get_by_role("heading", name="Every series")).to_be_visible()


def test_a_run_is_watched_until_its_report_is_there(page, base, engine, store, shots):
    words = ["run", engine, "-c", "2", "-z", "2m", "-W", "32/16", "--name", "watched"]
    run = subprocess.Popen(
        [PROGRAM, *words],
        env=environment(store),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        link = page.get_by_role("link", name="watched", exact=True)
        for _ in range(50):
            page.goto(f"{base}/?kind=running")
            if link.count():
                break
            page.wait_for_timeout(200)
        expect(row(page, "watched")).to_contain_text("running")
        link.click()
        expect(page.get_by_role("heading", name="Running now")).to_be_visible()
        answers = page.locator("#live dt", has_text="Answers").locator("xpath=../dd")
        expect(answers).not_to_have_text(re.compile("^0 "), timeout=10_000)
        before = int(answers.inner_text().split()[0].replace("\u2009", ""))
        expect(page.locator("#live svg")).to_be_visible(timeout=10_000)
        shots(page, "live")
        page.get_by_label("Hold still").check()
        held = page.locator("#live").inner_text()
        page.wait_for_timeout(1500)
        assert page.locator("#live").inner_text() == held
        page.get_by_label("Hold still").uncheck()
        # What was measured until then is a run too.
        run.send_signal(signal.SIGINT)
        expect(page.locator("iframe.report")).to_be_visible(timeout=30_000)
    finally:
        run.send_signal(signal.SIGINT)
        code = run.wait(timeout=60)
    assert code == 130 and before > 0
    report = page.frame_locator("iframe")
    expect(report.get_by_text("How fast?").first).to_be_visible()


# Imports


def drop(page, name, content):
    transfer = page.evaluate_handle(
        """([name, content]) => {
            const transfer = new DataTransfer();
            transfer.items.add(new File([content], name));
            return transfer;
        }""",
        [name, content],
    )
    for event in ("dragenter", "dragover", "drop"):
        page.dispatch_event("body", event, {"dataTransfer": transfer})


def test_a_dropped_file_is_imported(page, shots):
    drop(page, "dropped.md", NOTE)
    expect(page.get_by_role("heading", name="Imported as dropped.md")).to_be_visible()
    expect(page.get_by_text("Recognised as")).to_be_visible()
    expect(row(page, "dropped.md")).to_contain_text("imported")
    shots(page, "dropped")
    page.get_by_role("link", name="dropped.md").first.click()
    expect(page.get_by_role("columnheader", name="ttft p99 ms")).to_be_visible()


def test_a_file_of_nothing_known_is_told(page, watched):
    watched.expect("422")
    drop(page, "cat.bin", "no results at all")
    expect(page.get_by_text("cat.bin: no known results in it")).to_be_visible()


def test_a_chosen_file_is_imported_with_a_name(page, tmp_path, command):
    path = tmp_path / "chosen.md"
    path.write_text(NOTE)
    page.get_by_role("link", name="Import files…").click()
    page.get_by_label("Drop files anywhere").set_input_files(path)
    page.get_by_label("Name, to find it by").fill("theirs")
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_role("heading", name="Imported as theirs")).to_be_visible()
    assert "theirs" in command("runs", "list")


# Without a script, at any width, for everybody


def test_everything_has_a_way_without_a_script(watched, session, base, tmp_path, command):
    page = watched.open(java_script_enabled=False, storage_state=session)
    page.goto(base)
    page.get_by_label("Find").fill("base")
    page.get_by_role("button", name="Apply").click()
    expect(row(page, "base")).to_be_visible()
    expect(row(page, "variant")).to_have_count(0)
    page.get_by_label("Choose base").check()
    page.get_by_placeholder("tag", exact=True).fill("plain")
    page.get_by_role("button", name="Tag", exact=True).click()
    assert page.url == f"{base}/", page.inner_text("body")
    assert "plain" in command("runs", "tag", "base")
    path = tmp_path / "plain.md"
    path.write_text(NOTE)
    page.goto(f"{base}/import")
    page.get_by_label("Drop files anywhere").set_input_files(path)
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_role("heading", name="Imported as plain.md")).to_be_visible()


VIEWS = {
    "light": {"viewport": {"width": 1280, "height": 850}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 850}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 800}, "color_scheme": "light"},
}


@pytest.mark.parametrize("view", VIEWS)
def test_every_page_can_be_read_by_everybody(watched, session, base, command, view, shots):
    page = watched.open(**VIEWS[view], storage_state=session)
    page.goto(base)
    known = ids(command)
    a, b = known["base"], known["variant"]
    targets = {
        "list": "/",
        "report": f"/runs/{a}",
        "audit": f"/runs/{a}/audit",
        "files": f"/runs/{a}/files",
        "side-by-side": f"/compare?run={a}&run={b}",
        "history": "/history",
        "import": "/import",
        "removed": "/removed",
    }
    for name, target in targets.items():
        page.goto(base + target)
        page.wait_for_load_state("networkidle")
        shots(page, f"{name}-{view}")
        wide = page.evaluate(
            "document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth"
        )
        assert wide <= 0, f"{name} is {wide} px wider than the window"
        found = Axe().run(page, options={"resultTypes": ["violations"], "iframes": False})
        grave = [
            (violation["id"], violation["nodes"][0]["html"])
            for violation in found.response["violations"]
            if violation["impact"] in ("serious", "critical")
        ]
        assert grave == [], name


# Attacks


def test_a_name_of_a_model_is_text_everywhere(page, base, command):
    run = ids(command)["evil"]
    targets = [
        "/",
        f"/runs/{run}",
        f"/runs/{run}/audit",
        f"/runs/{run}/files",
        f"/compare?run={run}&run={ids(command)['base']}",
        f"/history?run={run}&run={ids(command)['base']}",
        "/?q=%3Cscript%3Ewindow.hacked%3D3%3C%2Fscript%3E",
        "/runs/%3Cscript%3Ewindow.hacked%3D4%3C%2Fscript%3E",
    ]
    for target in targets[:-1]:
        page.goto(base + target)
        page.wait_for_load_state("networkidle")
        for frame in page.frames:
            assert frame.evaluate("window.hacked") is None, target
    assert EVIL[:20] in page.context.request.get(f"{base}/runs/{run}/download/json").text()


@pytest.fixture
def stranger(tmp_path):
    """A site on another port, with a page that a test writes."""
    handler = functools.partial(QuietHandler, directory=str(tmp_path))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield tmp_path, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def test_another_site_can_neither_read_nor_write(page, watched, base, store, command, stranger):
    folder, origin = stranger
    run = ids(command)["base"]
    before = everything(store)
    (folder / "form.html").write_text(
        f'<form method=post action="{base}/remove"><input name=run value={run}>'
        "<input name=sure value=yes><button>go</button></form>"
    )
    (folder / "frame.html").write_text(
        f'<iframe src="{base}/"></iframe><iframe src="{base}/runs/{run}/page"></iframe>'
    )
    for text in ("CORS", "Refused to", "frame-ancestors", "403", "X-Frame-Options", "ERR_", "net::"):
        watched.expect(text)
    visitor = page.context.new_page()
    visitor.goto(f"{origin}/form.html")
    visitor.get_by_role("button").click()
    visitor.wait_for_load_state()
    assert "comes from another site" in visitor.inner_text("body")
    for script in (
        f"fetch('{base}/', {{credentials: 'include'}}).then(r => r.text())",
        f"fetch('{base}/remove', {{method: 'POST', credentials: 'include',"
        f" headers: {{'x-csrf-token': 'x'}}, body: 'run={run}&sure=yes'}}).then(r => r.text())",
    ):
        visitor.goto(f"{origin}/form.html")
        assert visitor.evaluate(f"{script}.catch(error => 'refused')") == "refused"
    visitor.goto(f"{origin}/frame.html")
    visitor.wait_for_load_state("networkidle")
    for frame in visitor.frames[1:]:
        assert "inferometer" not in frame.content(), "other sites cannot frame the page"
    # A form without its secret, from the right place, is refused too.
    answer = page.evaluate(
        "body => fetch('/remove', {method: 'POST', body,"
        " headers: {'content-type': 'application/x-www-form-urlencoded'}}).then(r => r.status)",
        f"run={run}&sure=yes",
    )
    assert answer == 403
    visitor.goto(f"{base}/remove?run={run}&sure=yes")
    assert everything(store) == before


def test_nobody_gets_in_without_the_printed_address(watched, base):
    watched.expect("403")
    visitor = watched.open()
    answer = visitor.goto(base)
    assert answer.status == 403
    assert visitor.inner_text("body").startswith("open the address that inferometer ui printed")


def test_a_label_of_ten_megabytes_and_paths_fail_safely(page, watched, base, store, command):
    for text in ("413", "404", "400"):
        watched.expect(text)
    run = ids(command)["base"]
    before = everything(store)
    answer = page.evaluate(
        """run => fetch('/label', {
            method: 'POST',
            headers: {
                'content-type': 'application/x-www-form-urlencoded',
                'x-csrf-token': document.querySelector('meta[name=csrf]').content,
            },
            body: 'id=' + run + '&name=' + 'x'.repeat(10 << 20),
        }).then(r => r.status, () => 'cut')""",
        run,
    )
    # The server may answer and close before the browser has sent all.
    assert answer in (413, "cut")
    for path in ("..%2f..%2fetc%2fpasswd", "%2fetc%2fpasswd", "%2e%2e%2f", run + "%2f.."):
        for target in (f"/runs/{path}/page", f"/imports/{path}", f"/assets/{path}"):
            status = page.evaluate("target => fetch(target).then(r => r.status)", target)
            assert status in (400, 404), target
    assert everything(store) == before
