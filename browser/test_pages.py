"""Reports in a real browser: every example, and the page of a fresh run.

Each is opened in light, dark, on a phone and as for print. Nothing may be said on the console or
leave the file, no words may run into each other or out of their picture, the page may not be wider
than the screen, and axe may find nothing serious.
"""

import json
import re
import xml.etree.ElementTree as xml
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

PATTERN = Path(__file__).parent.parent / "crates/ifm-interop/tests/data/vllm-serve-0.33/result.json"
EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.html"))
LOOKS = {
    "light": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "is_mobile": True},
    "print": {"viewport": {"width": 794, "height": 1123}},
}
# The boxes of letters are taller than their ink, so an overlap up to this size is invisible.
OVERLAP_PX = 2.5
# A label that extends less than this outside the picture still looks whole.
CLIPPED_PX = 1.5

TEXTS = """() => [...document.querySelectorAll('figure svg')]
  .filter(svg => svg.checkVisibility())
  .map(svg => {
    const frame = svg.getBoundingClientRect();
    const box = text => {
      const b = text.getBoundingClientRect();
      return { text: text.textContent, left: b.left, right: b.right, top: b.top, bottom: b.bottom };
    };
    return {
      title: svg.closest('figure').querySelector('figcaption').textContent,
      frame: { left: frame.left, right: frame.right, top: frame.top, bottom: frame.bottom },
      texts: [...svg.querySelectorAll('text')].filter(t => t.textContent.trim()).map(box),
    };
  })"""

WIDE = """() => [...document.querySelectorAll('body *')]
  .filter(e => e.checkVisibility() && !e.closest('.scroll, pre, svg'))
  .filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
  .map(e => `${e.tagName} ${e.textContent.slice(0, 60)}`)"""


def overlap(a, b):
    across = min(a["right"], b["right"]) - max(a["left"], b["left"])
    down = min(a["bottom"], b["bottom"]) - max(a["top"], b["top"])
    return min(across, down)


def faults(page):
    """Words of charts that run into each other or out of their picture."""
    found = []
    for chart in page.evaluate(TEXTS):
        texts, frame = chart["texts"], chart["frame"]
        for index, text in enumerate(texts):
            outside = max(
                frame["left"] - text["left"],
                text["right"] - frame["right"],
                frame["top"] - text["top"],
                text["bottom"] - frame["bottom"],
            )
            if outside > CLIPPED_PX:
                found.append(f"{chart['title']}: '{text['text']}' is cut by {outside:.1f} px")
            for other in texts[index + 1 :]:
                if overlap(text, other) > OVERLAP_PX:
                    found.append(f"{chart['title']}: '{text['text']}' on '{other['text']}'")
    return found


@pytest.fixture(scope="session")
def fresh(runs, command, tmp_path_factory):
    """The page of a run that was just measured."""
    path = tmp_path_factory.mktemp("pages") / "fresh.html"
    command("report", "base", "-o", path)
    return path


def written(folder, files):
    """Writes results like a real tool's, changed as each file specifies."""
    pattern = json.loads(PATTERN.read_text())
    folder.mkdir()
    for name, own in files.items():
        kept = {key: value for key, value in pattern.items() if not isinstance(value, list)}
        (folder / f"{name}.json").write_text(json.dumps({**kept, **own}))
    return folder


def crowd():
    """Fifty models at three loads each."""
    return {
        f"{model}-{users}": {
            "model_id": f"model-{model:02}",
            "max_concurrency": users,
            "output_throughput": 100.0 + 3 * model + 10 * users,
            "median_itl_ms": 5 + 0.3 * model + 0.2 * users,
        }
        for model in range(50)
        for users in (1, 8, 64)
    }


def odd():
    """Names without end and from right to left, values beyond all reason."""
    arabic = "\u0646\u0645\u0648\u0630\u062c \u0627\u0644\u0644\u063a\u0629 <b>"
    absurd = {"output_throughput": 1e300, "median_itl_ms": 1e-300, "mean_ttft_ms": 1e12}
    return {
        "a": {"model_id": "x" * 400, "max_concurrency": 1},
        "b": {"model_id": "x" * 400, "max_concurrency": 1_000_000, **absurd},
        "c": {"model_id": arabic, "max_concurrency": 4},
        "d": {"model_id": arabic, "max_concurrency": 8, "output_throughput": 250.0},
    }


def failed():
    """Nothing but failures."""
    numbers = [key for key, value in json.loads(PATTERN.read_text()).items() if type(value) is float]
    lost = {"completed": 0, "failed": 100, "total_output_tokens": 0, "duration": 10.0}
    return {"a": {**dict.fromkeys(numbers, 0.0), **lost}}


@pytest.mark.parametrize("files", [crowd, odd, failed], ids=lambda files: files.__name__)
def test_what_nobody_expects_is_shown_whole(watched, command, tmp_path, files):
    folder = written(tmp_path / "results", files())
    path = tmp_path / "page.html"
    command("report", folder, "-o", path)
    for look in ("light", "phone"):
        page = watched.open(**LOOKS[look])
        page.goto(path.as_uri())
        page.wait_for_timeout(500)
        assert faults(page) == []
        assert page.evaluate(WIDE) == []
        assert page.locator(".tile").count() >= 1


def pages():
    return [pytest.param(path, id=path.stem) for path in EXAMPLES] + [
        pytest.param(None, id="fresh")
    ]


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("path", pages())
def test_a_page_is_whole_in_every_look(watched, fresh, shots, path, look):
    page = watched.open(**LOOKS[look])
    if look == "print":
        page.emulate_media(media="print")
    page.goto((path or fresh).as_uri())
    page.wait_for_timeout(300)
    shots(page, f"{(path or fresh).stem}-{look}")
    assert faults(page) == []
    assert page.evaluate(WIDE) == []
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= LOOKS[look]["viewport"]["width"], "the page scrolls to the side"


@pytest.mark.parametrize("path", pages())
def test_a_page_has_no_serious_fault_of_access(chromium, fresh, path):
    # The checker is a script of its own, which the page's policy would not let in.
    context = chromium.new_context(bypass_csp=True)
    page = context.new_page()
    page.goto((path or fresh).as_uri())
    page.wait_for_timeout(300)
    found = Axe().run(page).response["violations"]
    context.close()
    serious = [
        (fault["id"], [node["target"] for node in fault["nodes"]][:3])
        for fault in found
        if fault["impact"] in ("serious", "critical")
    ]
    assert serious == []


@pytest.mark.parametrize("path", pages())
def test_the_charts_are_strict_and_stand_without_scripts(watched, fresh, path):
    page = watched.open(java_script_enabled=False)
    page.goto((path or fresh).as_uri())
    drawings = page.locator("figure .chart-still svg")
    count = drawings.count()
    if path is None or "Against the load" in page.content():
        assert count > 0
    for index in range(count):
        drawing = drawings.nth(index)
        xml.fromstring(drawing.evaluate("e => new XMLSerializer().serializeToString(e)"))
    captions = page.locator("figure figcaption").count()
    assert page.locator("figure .chart-still svg:visible").count() >= captions


@pytest.mark.parametrize("path", pages())
def test_the_answer_is_on_the_first_screen(watched, fresh, path):
    page = watched.open(viewport={"width": 1280, "height": 850})
    page.goto((path or fresh).as_uri())
    tiles = page.locator(".tile")
    # A plan of which nothing was measured has no answer to give, and says so in its place.
    plan = page.locator(".banner", has_text="announced figures is here")
    assert tiles.count() + plan.count() >= 1, "a report begins with answers"
    box = (tiles if tiles.count() else plan).first.bounding_box()
    assert box["y"] + box["height"] <= 850


def test_a_chart_answers_to_the_keyboard(watched, fresh):
    page = watched.open(viewport={"width": 1280, "height": 900})
    page.goto(fresh.as_uri())
    chart = page.locator(".chart-live").first
    chart.wait_for()
    chart.focus()
    page.keyboard.press("ArrowRight")
    told = page.locator(".chart-told").first
    assert "tok/s" in told.inner_text(), "a screen reader announces the figure"
    bullet = page.locator("figure span", has_text=re.compile("^[●○] $")).first
    bullet.wait_for()
    font = "(element) => getComputedStyle(element).fontFamily.split(',')[0]"
    assert bullet.evaluate(font) == page.locator("body").evaluate(font), "the tooltip has the font of the page"
    paper = page.locator("body").evaluate("(body) => getComputedStyle(body).backgroundColor")
    assert bullet.evaluate("(element) => getComputedStyle(element).color") != paper, "hollow points have a bullet"
