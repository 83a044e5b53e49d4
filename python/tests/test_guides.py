"""The snippets of the documentation that open the files of a run, each unchanged, on a run of two loads: what
they print is what the program says of the same requests."""

import contextlib
import io
import json
import re
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import duckdb
import numpy
import pytest

import inferometer

DOCS = Path(__file__).parents[2] / "docs"


def snippets(page):
    return re.findall(r"^```(python|sql)\n(.*?)^```", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def sweep(measured):
    return measured(inferometer.sweep, concurrency=[1, 2], requests=8, workload="32/8", name="guides")


@pytest.fixture(scope="module")
def folder(sweep, tmp_path_factory):
    """The files under the names that the pages have for them."""
    folder = tmp_path_factory.mktemp("reader")
    words = [inferometer.program(), "export", str(sweep.path), "--as", "parquet", "-o", "run.parquet"]
    subprocess.run(words, cwd=folder, capture_output=True, check=True)
    for name in set(re.findall(r"\.inferometer/runs/[^/]+", (DOCS / "concepts/run-format.md").read_text())):
        shutil.copytree(sweep.path, folder / name)
    return folder


@pytest.fixture(scope="module")
def times(sweep):
    """TTFT and gaps in ms of the complete answers, by level."""
    done = subprocess.run(
        [inferometer.program(), "report", str(sweep.path), "--json=requests"], capture_output=True, text=True, check=True
    )
    rows = {row["seq"]: row for row in map(json.loads, done.stdout.splitlines())}
    rows = {seq: row for seq, row in rows.items() if row["phase"] == "measure" and row["outcome"] == "ok"}
    arrivals = {}
    for token in sweep.tokens.rows():
        if token["seq"] in rows:
            arrivals.setdefault(token["seq"], []).append(token["at_ns"])
    ttft, gaps = {}, {}
    for seq, row in rows.items():
        ttft.setdefault(row["level"], []).append(row["ttft_ms"])
        gaps.setdefault(row["level"], []).extend((b - a) / 1e6 for a, b in pairwise(arrivals[seq]))
    return ttft, gaps


@pytest.mark.parametrize("page", ["guides/read-the-file.md", "concepts/run-format.md"])
def test_snippets_print_what_the_program_says(page, folder, times, monkeypatch):
    monkeypatch.chdir(folder)
    ttft, gaps = times
    assert len(ttft) == 2
    all_gaps = [gap for level in gaps.values() for gap in level]
    found = snippets(page)
    for language, text in found:
        if language == "sql":
            printed = [number for row in duckdb.sql(text).fetchall() for number in row]
            wanted = [numpy.percentile(level, 99) for level in ttft.values()]
            wanted += [numpy.median(level) for level in ttft.values()] if "p50" in text else []
        else:
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(text, page, "exec"), {})  # noqa: S102
            printed = [float(number) for number in re.findall(r"\d+\.\d*(?:e[-+]\d+)?", out.getvalue())]
            wanted = {
                "polars": [numpy.median(level) for times in (ttft, gaps) for level in times.values()],
                "pandas": [numpy.percentile(level, [50, 99]) for level in gaps.values()],
                "pyarrow": [numpy.percentile(all_gaps, [50, 99])],
            }[re.search("polars|pandas|pyarrow", text)[0]]
        for number in numpy.ravel(wanted):
            assert number == pytest.approx(min(printed, key=lambda one: abs(one - number)), rel=1e-3, abs=0.06), text
    assert len(found) >= 2
