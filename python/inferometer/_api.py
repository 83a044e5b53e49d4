"""The functions of the package: each is one command of the program."""

from __future__ import annotations

import datetime
import os
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from . import _program
from ._program import Value
from ._results import Comparison, Report, Result, Run, report_of

#: A run by id, name, path or "last", a file of another tool, or a run that was loaded.
Subject = Union[str, "os.PathLike[str]", Run]
#: A time: "60s", a number of seconds, or a timedelta.
Span = Union[str, int, float, datetime.timedelta]
#: One number, a list of them, or "1..64".
Numbers = Union[str, int, float, Sequence[Union[int, float]]]


def _word(subject: Subject) -> str:
    if isinstance(subject, Run):
        return str(subject.path)
    return os.fspath(subject)


def _list(numbers: Optional[Numbers]) -> Optional[str]:
    if numbers is None:
        return None
    if isinstance(numbers, (str, int, float)):
        return str(numbers)
    return ",".join(str(number) for number in numbers)


def _span(span: Optional[Span]) -> Optional[str]:
    if span is None:
        return None
    if isinstance(span, datetime.timedelta):
        return f"{span.total_seconds():g}s"
    return span if isinstance(span, str) else f"{span:g}s"


def _store(store: "Optional[Union[str, os.PathLike[str]]]") -> Optional[str]:
    return None if store is None else os.fspath(store)


def _headers(headers: Optional[Mapping[str, str]]) -> List[str]:
    return [f"{name}: {value}" for name, value in (headers or {}).items()]


def _measured(
    command: str,
    url: Optional[str],
    own: Dict[str, Value],
    flags: Mapping[str, Value],
    progress: bool,
) -> Run:
    store = own.get("store")
    given = {name: value for name, value in own.items() if value not in (None, [], {})}
    words = [command, *([] if url is None else [url]), *_program.flags({**given, **flags})]
    quiet = [] if progress else ["--quiet"]
    answer = _program.ask([*words, *quiet, "--json"], progress=progress)
    return Run(_program.document(answer), answer.exit_code, None if store is None else str(store))


def run(
    url: Optional[str] = None,
    *,
    concurrency: Optional[int] = None,
    rate: Union[float, str, None] = None,
    requests: Optional[int] = None,
    duration: Optional[Span] = None,
    workload: Optional[str] = None,
    model: Optional[str] = None,
    slo: Optional[str] = None,
    name: Optional[str] = None,
    tags: Optional[Mapping[str, str]] = None,
    headers: Optional[Mapping[str, str]] = None,
    store: "Optional[Union[str, os.PathLike[str]]]" = None,
    progress: bool = False,
    **flags: Value,
) -> Run:
    """Measures a server at one load: ``inferometer run``.

    Every other flag is a keyword: ``shared_prefix=512``, ``keep_text=True``, ``until_settled=True``. Without ``url``
    the server is that of ``inferometer.toml``, or the first that answers on loopback.

    :param concurrency: users, each of which sends its next request when the previous one is answered
    :param rate: requests per second, sent when they are due; "inf" for all at once
    :param duration: how long to send: "60s", seconds, or a timedelta
    :param progress: show the progress line on standard error
    :raises InferometerError: no result; :class:`ServerError`, :class:`UsageError`, :class:`InvalidRunError`
    """
    own: Dict[str, Value] = {
        "concurrency": concurrency,
        "rate": rate,
        "requests": requests,
        "duration": _span(duration),
        "workload": workload,
        "model": model,
        "slo": slo,
        "name": name,
        "tag": dict(tags or {}),
        "header": _headers(headers),
        "store": _store(store),
    }
    return _measured("run", url, own, flags, progress)


def sweep(
    url: Optional[str] = None,
    *,
    concurrency: Optional[Numbers] = None,
    rate: Optional[Numbers] = None,
    requests: Optional[int] = None,
    duration: Optional[Span] = None,
    repeat: Optional[int] = None,
    workload: Optional[str] = None,
    model: Optional[str] = None,
    slo: Optional[str] = None,
    name: Optional[str] = None,
    tags: Optional[Mapping[str, str]] = None,
    headers: Optional[Mapping[str, str]] = None,
    store: "Optional[Union[str, os.PathLike[str]]]" = None,
    progress: bool = False,
    **flags: Value,
) -> Run:
    """Measures a server at several loads: ``inferometer sweep``. Parameters as of :func:`run`.

    :param concurrency: users at each level: ``[1, 2, 8]``, or "1..64"
    :param repeat: measure each level so often
    """
    own: Dict[str, Value] = {
        "concurrency": _list(concurrency),
        "rate": _list(rate),
        "requests": requests,
        "duration": _span(duration),
        "repeat": repeat,
        "workload": workload,
        "model": model,
        "slo": slo,
        "name": name,
        "tag": dict(tags or {}),
        "header": _headers(headers),
        "store": _store(store),
    }
    return _measured("sweep", url, own, flags, progress)


def capacity(url: Optional[str] = None, *, slo: Optional[str] = None, **flags: Value) -> Result:
    """Searches the highest load that meets a latency target: ``inferometer capacity``."""
    words = ["capacity", *([] if url is None else [url]), *_program.flags({"slo": slo, **flags}), "--quiet"]
    return _result(words)


def probe(url: Optional[str] = None, **flags: Value) -> Result:
    """Identifies a server and its features: ``inferometer probe``."""
    return _result(["probe", *([] if url is None else [url]), *_program.flags(flags)])


def load(run: Subject = "last", *, store: "Optional[Union[str, os.PathLike[str]]]" = None) -> Run:
    """A stored run, by id, start of an id, name, path, or "last".

    :raises UsageError: there is no such run
    """
    if isinstance(run, Run):
        return run
    folder = _store(store)
    words = ["runs", "show", os.fspath(run), *_program.flags({"store": folder})]
    loaded = Run(_program.document(_program.ask([*words, "--json"])), 0, folder)
    path = Path(run)
    if (path / "manifest.json").is_file():
        loaded._path = path
    return loaded


def runs(*, store: "Optional[Union[str, os.PathLike[str]]]" = None) -> List[Dict[str, Any]]:
    """Stored runs and imports, newest first, as ``inferometer runs list --json`` has them."""
    return _program.call("runs", "list", *_program.flags({"store": _store(store)}))["runs"]


def compare(*subjects: Subject, **flags: Value) -> Comparison:
    """Compares results with the first one: ``inferometer compare``. Put repeats in one string with
    commas between them: ``compare("a1,a2,a3", "b1,b2,b3")``.

    :raises UnlikeError: they answer different questions
    """
    words = ["compare", *map(_word, subjects), *_program.flags(flags)]
    answer = _program.ask([*words, "--json"])
    return Comparison(_program.document(answer), answer.exit_code, lambda: _program.ask([*words, "--md"]).text)


def rank(*subjects: Subject, metric: Optional[str] = None, **flags: Value) -> Result:
    """Ranks results by a metric: ``inferometer rank``."""
    return _result(["rank", *map(_word, subjects), *_program.flags({"metric": metric, **flags})])


def gate(subject: Subject = "last", **flags: Value) -> Result:
    """Checks a result against thresholds: ``inferometer gate``. ``exit_code`` is 0 if it passes, 1 if it fails, and 4
    if the data do not decide."""
    return _result(["gate", _word(subject), *_program.flags(flags)])


def audit(*subjects: Subject, **flags: Value) -> Result:
    """Checks results for errors, noise and unsupported claims: ``inferometer audit``."""
    return _result(["audit", *map(_word, subjects), *_program.flags(flags)])


def report(
    *subjects: Subject, out: "Union[None, str, os.PathLike[str], Sequence[Union[str, os.PathLike[str]]]]" = None, **flags: Value
) -> Report:
    """Makes a report of results: ``inferometer report``.

    :param out: files to write: .html, .md, .json, .csv, .svg or .png
    """
    files: Sequence[Any] = [] if out is None else [out] if isinstance(out, (str, os.PathLike)) else out
    words = [_word(subject) for subject in subjects] or ["last"]
    return report_of(words, [Path(file) for file in files], flags)


def _result(words: Sequence[str]) -> Result:
    answer = _program.ask([*words, "--json"])
    return Result(_program.document(answer), answer.exit_code)
