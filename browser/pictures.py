"""Makes the pictures at the top of the README again: the live screen of a sweep, and a report.

    INFEROMETER=target/release/inferometer "${TMPDIR:-/tmp}"/inferometer-browser/bin/python browser/pictures.py

Needs tmux, and what browser/run needs and installs. Takes 40 s: the sweep is a real one, of a simulated L40S.
"""

import html
import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parent.parent
PICTURES = ROOT / "docs/pictures"
PROGRAM = Path(os.environ["INFEROMETER"]).resolve()
COLUMNS, LINES = 104, 27
# A terminal's sixteen colours, as most dark ones have them.
COLOURS = ["#1e2127", "#e06c75", "#98c379", "#d19a66", "#61afef", "#c678dd", "#56b6c2", "#abb2bf"] + [
    "#7f848e", "#ef7c85", "#a8d389", "#e5c07b", "#71bfff", "#d688ed", "#66c6d2", "#ffffff"
]


def screen():
    """What a terminal shows while the third level of a sweep runs."""
    with tempfile.TemporaryDirectory() as folder:
        serve = [PROGRAM, "serve", "--sim", "--gpu", "l40s", "-m", "llama-3.1-8b", "--port", "0"]
        server = subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        tmux = ["tmux", "-L", f"inferometer-{os.getpid()}"]
        try:
            url = server.stdout.readline().strip().removeprefix("listening on ")
            sweep = f"sweep {url} -c 1,8,32,64 -z 9s -W 256/64 --slo ttft:p99<1s,itl:p99<250ms --tui --store {folder}"
            size = ["-x", str(COLUMNS), "-y", str(LINES)]
            words = ["env", "-u", "NO_COLOR", str(PROGRAM), *sweep.split()]
            subprocess.run([*tmux, "new-session", "-d", *size, *words], check=True)
            time.sleep(34)
            shot = subprocess.run([*tmux, "capture-pane", "-e", "-p"], check=True, capture_output=True, text=True)
            return shot.stdout.replace(url, "http://localhost:8000")
        finally:
            subprocess.run([*tmux, "kill-server"], check=False)
            server.terminate()
            server.wait()


def styled(codes, style):
    """The style behind a sequence of codes; the ones that are not known change nothing."""
    style, codes = dict(style), [int(code or 0) for code in codes.split(";")]
    while codes:
        code = codes.pop(0)
        if code == 0:
            style = {}
        elif code == 1:
            style["font-weight"] = "bold"
        elif code == 2:
            style["opacity"] = "0.65"
        elif code == 22:
            style.pop("font-weight", None), style.pop("opacity", None)
        elif code in (38, 48):
            kind = codes.pop(0)
            rgb = [codes.pop(0) for _ in range(3)] if kind == 2 else [codes.pop(0)]
            colour = f"rgb({','.join(map(str, rgb))})" if kind == 2 else of_256(rgb[0])
            style["color" if code == 38 else "background"] = colour
        elif 30 <= code <= 37 or 90 <= code <= 97:
            style["color"] = COLOURS[code - 30 if code < 90 else code - 82]
        elif code == 39:
            style.pop("color", None)
        elif 40 <= code <= 47:
            style["background"] = COLOURS[code - 40]
        elif code == 49:
            style.pop("background", None)
    return style


def of_256(number):
    if number < 16:
        return COLOURS[number]
    if number >= 232:
        return f"rgb({', '.join([str(8 + 10 * (number - 232))] * 3)})"
    levels = [0, 95, 135, 175, 215, 255]
    at = number - 16
    return f"rgb({levels[at // 36]},{levels[at // 6 % 6]},{levels[at % 6]})"


def page_of(text):
    parts, style = [], {}
    for piece in re.split(r"(\x1b\[[0-9;]*m)", text.rstrip("\n")):
        if piece.startswith("\x1b["):
            style = styled(piece[2:-1], style)
        elif piece:
            css = ";".join(f"{name}:{value}" for name, value in style.items())
            # Dots of charts come from a font whose letters may be wider.
            cells = re.sub("([\u2800-\u28ff])", r'<i class="cell">\1</i>', html.escape(piece))
            parts.append(f'<span style="{css}">{cells}</span>')
    look = "margin:0;padding:14px;background:#16181d;color:#c8ccd4;font:13px/1.25 DejaVu Sans Mono,monospace"
    cell = "<style>.cell{display:inline-block;width:1ch;overflow:hidden;font-style:normal;vertical-align:top}</style>"
    return f'{cell}<pre id="screen" style="{look};display:inline-block">{"".join(parts)}</pre>'


def main():
    PICTURES.mkdir(exist_ok=True)
    shown = screen()
    with sync_playwright() as playwright:
        path = os.environ.get("CHROMIUM") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1000, "height": 800})
        page.set_content(page_of(shown))
        page.locator("#screen").screenshot(path=PICTURES / "live.png")
        # Down to the end of the first chart, at seven tenths of its size.
        page = browser.new_page(viewport={"width": 1000, "height": 1395}, device_scale_factor=0.7)
        page.goto((ROOT / "examples/embedded-engine.html").as_uri())
        page.wait_for_timeout(1000)
        page.screenshot(path=PICTURES / "report.png")
        browser.close()
    for picture in sorted(PICTURES.iterdir()):
        print(f"{picture.relative_to(ROOT)}  {picture.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
