"""The package against the program: the same numbers, as tables, pages and exceptions."""

import json
import subprocess

import pandas
import polars
import pyarrow
import pytest

import inferometer


def printed(*words):
    """What the program itself prints."""
    done = subprocess.run([inferometer.program(), *map(str, words)], capture_output=True, text=True, check=True)
    return done.stdout


def test_a_run_is_the_document_of_the_program(run, store):
    assert run["kind"] == "inferometer_result" and run.name == "first"
    document = json.loads(printed("runs", "show", run.id, "--store", store, "--json"))
    assert run.document == document
    assert inferometer.load("first", store=store).document == document
    assert inferometer.load(run.path).document == document
    assert run.path.is_dir() and run.path.parent == store
    command = document["run"]["command"]
    assert "--tag=side=a" in command and "--workload=32/8" in command
    assert [row["id"] for row in inferometer.runs(store=store) if row["name"] == "first"] == [run.id]


def test_requests_have_the_numbers_of_the_program(run):
    lines = [json.loads(line) for line in printed("report", run.path, "--json=requests").splitlines()]
    table = run.requests.arrow()
    assert isinstance(table, pyarrow.Table) and len(table) == len(lines) == len(run.requests)
    assert table.column("ttft_ms").to_pylist() == [line.get("ttft_ms") for line in lines]
    assert table.column("stamps.start_ns").to_pylist() == [line["stamps"]["start_ns"] for line in lines]
    measured = [line for line in lines if line["phase"] == "measure"]
    assert len(measured) == 12
    assert {"seq", "outcome", "ttft_ms"} <= run.requests.rows()[0].keys()


def test_tokens_are_the_events_of_requests(run):
    tokens = run.tokens.arrow()
    by_request = {}
    for row in tokens.to_pylist():
        by_request.setdefault(row["seq"], []).append(row)
    requests = {row["seq"]: row for row in run.requests.rows()}
    assert by_request.keys() == {seq for seq, row in requests.items() if row["events"]}
    for seq, events in by_request.items():
        request = requests[seq]
        assert [row["event"] for row in events] == list(range(request["events"]))
        assert events[0]["at_ns"] == request["stamps.first_token_ns"]
        assert events[-1]["at_ns"] == request["stamps.last_token_ns"]
        assert {row["phase"] for row in events} == {request["phase"]}
        assert {row["choice"] for row in events} == {0}


def test_levels_and_series_are_rows(run):
    (level,) = run.levels.rows()
    assert level["concurrency_asked"] == 2
    assert level["latency.ttft_s.p50"] == run["levels"][0]["latency"]["ttft_s"]["p50"]
    series = run.series.polars()
    assert series.columns == ["name", "unit", "source", "at_ns", "value"]
    assert "server_requests_total" in series["name"].to_list()


def test_tables_are_frames_of_each_kind(run):
    assert isinstance(run.tokens.polars(), polars.DataFrame)
    assert polars.DataFrame(run.tokens).equals(run.tokens.polars())
    frame = run.requests.pandas()
    assert isinstance(frame, pandas.DataFrame) and str(frame["seq"].dtype) == "Int64"
    assert len(pyarrow.table(run.levels)) == 1
    shown = run.requests._repr_html_()
    assert "<th>ttft_ms</th>" in shown and f"{len(run.requests)} rows" in repr(run.requests)


def test_results_show_themselves_and_compare(run, measured, store):
    second = measured(inferometer.sweep, concurrency=[1, 2], requests=12, workload="32/8", name="second")
    assert len(second.levels) == 2
    comparison = inferometer.compare(run, second)
    assert comparison["kind"] == "comparison"
    html = comparison._repr_html_()
    assert "<table>" in html and "**" not in html
    page = run._repr_html_()
    assert page.startswith("<iframe") and "&lt;svg" in page and "&lt;script" not in page
    report = inferometer.report(run, second, out=store.parent / "both.md")
    assert report.files[0].read_text().startswith("# ") and report.html.startswith("<!DOCTYPE html>")
    # Counts decide this on a host of any speed: no request failed, and 90 % have to.
    gate = inferometer.gate(run, min=["error_rate=90%"])
    assert gate.exit_code == 1 and gate["kind"] == "gate"


def test_failures_are_exceptions_with_the_sentence_of_the_program(run, url, measured, store):
    with pytest.raises(inferometer.UsageError, match="similar argument exists: '--concurrency'"):
        inferometer.run(url, concurency=3)
    with pytest.raises(inferometer.UsageError) as unknown:
        inferometer.load("nothing-of-this-name", store=store)
    assert unknown.value.exit_code == 2 and unknown.value.hint == "inferometer runs list shows what there is"
    with pytest.raises(inferometer.ServerError, match="nothing listens at http://127.0.0.1:1"):
        inferometer.run("http://127.0.0.1:1")
    other = measured(inferometer.run, concurrency=4, requests=8, workload="48/8")
    with pytest.raises(inferometer.UnlikeError):
        inferometer.compare(run, other)
