"""Results: the program's document, with its tables and pages."""

from __future__ import annotations

import html
import json
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Sequence, Union

from . import _program
from ._errors import FilesError
from ._tables import Table, arrow_library, flat

if TYPE_CHECKING:
    import pyarrow

#: Height of a page in a notebook, pixels.
_HEIGHT = 640


class Result(Mapping):  # type: ignore[type-arg]
    """A document of the program: ``result["levels"][0]["latency"]``. Its fields are described by
    ``inferometer schema``; what is not known is absent."""

    def __init__(self, document: Dict[str, Any], exit_code: int = 0) -> None:
        #: The document as the program printed it.
        self.document = document
        #: The program's exit code: 1 of a gate that failed, 4 of one that is undecided, and so on.
        self.exit_code = exit_code

    def __getitem__(self, name: str) -> Any:
        return self.document[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.document)

    def __len__(self) -> int:
        return len(self.document)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.document.get('kind', '')}: {', '.join(self.document)}>"


class Run(Result):
    """A stored run: its numbers, and its requests, tokens, levels and series as tables."""

    def __init__(
        self, document: Dict[str, Any], exit_code: int = 0, store: Optional[str] = None
    ) -> None:
        super().__init__(document, exit_code)
        self._store = store
        self._path: Optional[Path] = None
        self._page: Optional[str] = None

    @property
    def id(self) -> str:
        """The run's id."""
        return str(self.document["run"]["id"])

    @property
    def name(self) -> Optional[str]:
        """The name that it was given."""
        return self.document["run"].get("name")

    @property
    def path(self) -> Path:
        """The folder that the run is stored in."""
        if self._path is None:
            listed = _program.call("runs", "list", *_program.flags({"store": self._store}))
            paths = [row["path"] for row in listed["runs"] if row["id"] == self.id and "path" in row]
            if not paths:
                raise FilesError(f"run {self.id} is not in the store any more", exit_code=74)
            self._path = Path(paths[0])
        return self._path

    @property
    def answers(self) -> Dict[str, Any]:
        """How many users fit, how fast each is served, and whether the numbers can be believed."""
        return self.document["answers"]

    @property
    def warnings(self) -> List[Dict[str, Any]]:
        """What the checks found."""
        return self.document.get("warnings", [])

    @property
    def levels(self) -> Table:
        """A row for each level. Nested numbers have their path as their name: ``latency.ttft_s.p99``."""
        return Table("levels", lambda: [flat(level) for level in self.document["levels"]])

    @property
    def requests(self) -> Table:
        """A row for each request, with its metrics in milliseconds, as ``--json=requests`` has them."""
        return Table("requests", self._requests)

    @property
    def tokens(self) -> Table:
        """A row for each token-bearing event: ``seq`` and ``level`` of its request, ``event`` from 0, ``at_ns`` since
        the run's origin, ``tokens`` where the server counted with each, and ``choice``."""
        return Table("tokens", self._tokens)

    @property
    def series(self) -> Table:
        """A row for each sample of what was sampled while the load ran: ``name``, ``unit``, ``source``, ``at_ns``,
        ``value``."""
        return Table("series", self._series)

    def _requests(self) -> List[Dict[str, Any]]:
        text = _program.ask(["report", str(self.path), "--json=requests"]).text
        return [flat(json.loads(line)) for line in text.splitlines()]

    def _parquet(self, file: str) -> "Optional[pyarrow.Table]":
        arrow_library()
        import pyarrow.parquet

        path = self.path / file
        if path.is_file():
            return pyarrow.parquet.read_table(path)
        if (self.path / "requests.parquet").is_file():
            return None
        raise FilesError(
            f"run {self.id} was cut off and has no final files yet",
            f"inferometer runs seal {self.id} makes them",
            74,
        )

    def _tokens(self) -> "pyarrow.Table":
        arrow = arrow_library()
        table = self._parquet("requests.parquet")
        assert table is not None
        import pyarrow.compute as compute

        at = table.column("event_at_ns").combine_chunks()
        lengths = compute.fill_null(compute.list_value_length(at), 0)
        parents = compute.list_parent_indices(at)
        counts = [count for count in lengths.to_pylist() if count]
        columns = {
            "seq": compute.take(table.column("seq"), parents),
            "level": compute.take(table.column("level"), parents),
            "phase": compute.take(table.column("phase"), parents),
            "event": arrow.array([event for count in counts for event in range(count)], arrow.int64()),
            "at_ns": compute.list_flatten(at),
            "tokens": _beside(table.column("event_tokens"), lengths, None),
            # The format leaves the list out where every choice is the first.
            "choice": _beside(table.column("event_choice"), lengths, 0),
        }
        return arrow.table(columns)

    def _series(self) -> "pyarrow.Table":
        arrow = arrow_library()
        import pyarrow.compute as compute

        table = self._parquet("series.parquet")
        if table is None:
            text, number = arrow.string(), arrow.float64()
            fields = [("name", text), ("unit", text), ("source", text), ("at_ns", arrow.int64()), ("value", number)]
            return arrow.schema(fields).empty_table()
        at = table.column("at_ns").combine_chunks()
        parents = compute.list_parent_indices(at)
        columns = {name: compute.take(table.column(name), parents) for name in ("name", "unit", "source")}
        columns["at_ns"] = compute.list_flatten(at)
        columns["value"] = compute.list_flatten(table.column("value").combine_chunks())
        return arrow.table(columns)

    def report(self, *out: "Union[str, Path]", **flags: _program.Value) -> "Report":
        """The run's report: see :func:`inferometer.report`."""
        return report_of([str(self.path)], out, flags)

    def __repr__(self) -> str:
        run = self.document["run"]
        name = f" {run['name']}" if run.get("name") else ""
        levels = len(self.document["levels"])
        return f"<Run {self.id}{name}: {run.get('state')}, {levels} level{'s' * (levels != 1)}>"

    def _repr_html_(self) -> str:
        if self._page is None:
            self._page = self.report().html
        return still(self._page)


def _beside(column: Any, lengths: Any, absent: Optional[int]) -> Any:
    """Values of a list column, aligned with another one: a row without a list gets as many ``absent`` values."""
    arrow = arrow_library()
    values: List[Optional[int]] = []
    for own, count in zip(column.to_pylist(), lengths.to_pylist()):
        values.extend(own if own is not None else [absent] * count)
    return arrow.array(values, arrow.int64())


class Comparison(Result):
    """Results compared with a baseline: rows with intervals and verdicts."""

    def __init__(self, document: Dict[str, Any], exit_code: int, ask: Callable[[], str]) -> None:
        super().__init__(document, exit_code)
        self._ask = ask
        self._markdown: Optional[str] = None

    @property
    def markdown(self) -> str:
        """The comparison as Markdown, for a pull request."""
        if self._markdown is None:
            self._markdown = self._ask()
        return self._markdown

    def _repr_html_(self) -> str:
        return tables(self.markdown)

    def _repr_markdown_(self) -> str:
        return self.markdown


class Report:
    """A report as one HTML page that opens offline."""

    def __init__(self, page: str, files: Sequence[Path]) -> None:
        #: The page.
        self.html = page
        #: The files that were written.
        self.files = list(files)

    def show(self, height: int = _HEIGHT) -> Any:
        """The whole page in a notebook, charts that answer to the mouse included (about 1 MB in the notebook)."""
        from IPython.display import HTML

        return HTML(_framed(self.html, height, "sandbox='allow-scripts allow-downloads'"))

    def __repr__(self) -> str:
        files = ", ".join(map(str, self.files))
        return f"<Report: {len(self.html)} bytes{', written to ' + files if files else ''}>"

    def _repr_html_(self) -> str:
        return still(self.html)


def report_of(
    subjects: Sequence[str], out: "Sequence[Union[str, Path]]", flags: Mapping[str, _program.Value]
) -> Report:
    """Writes a report, and reads its page."""
    files = [Path(path) for path in out]
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        words = ["report", *subjects, *_program.flags(flags), f"--out={page}"]
        words.extend(f"--out={path}" for path in files)
        # It reports what it writes on standard error; standard output stays empty.
        _program.ask(words, prints=False)
        return Report(page.read_text(encoding="utf-8"), files)


def still(page: str) -> str:
    """A page for a notebook that keeps it: its tables and charts, without scripts and copies for download."""
    page = re.sub(r"<script\b.*?</script>", "", page, flags=re.DOTALL)
    page = re.sub(r"<a\b[^>]*\bhref=\"?data:.*?</a>", "", page, flags=re.DOTALL)
    return _framed(page, _HEIGHT, "sandbox")


def _framed(page: str, height: int, rights: str) -> str:
    content = html.escape(page, quote=True)
    return (
        f"<iframe {rights} title='inferometer' style='width:100%;height:{height}px;border:0' "
        f"srcdoc=\"{content}\"></iframe>"
    )


def tables(markdown: str) -> str:
    """The program's Markdown as HTML: its headings, tables, lists and paragraphs, and nothing else of Markdown."""
    parts: List[str] = []
    rows: List[str] = []

    def inline(text: str) -> str:
        text = html.escape(html.unescape(text), quote=False)
        text = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", text)
        text = re.sub(r"`(.+?)`", r"<code>\1</code>", text)
        return re.sub(r"\\([\\`*_{}\[\]()#+.!|~<>-])", r"\1", text)

    def end_table() -> None:
        if not rows:
            return
        cells = [[inline(cell.strip()) for cell in re.split(r"(?<!\\)\|", row.strip("|"))] for row in rows]
        head = "".join(f"<th>{cell}</th>" for cell in cells[0])
        body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in cells[2:])
        parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
        rows.clear()

    for line in markdown.splitlines():
        if line.startswith("|"):
            rows.append(line.strip())
            continue
        end_table()
        heading = re.match(r"(#+) (.*)", line)
        if heading:
            size = min(len(heading[1]) + 2, 6)
            parts.append(f"<h{size}>{inline(heading[2])}</h{size}>")
        elif line.startswith("- "):
            parts.append(f"<li>{inline(line[2:])}</li>")
        elif line.strip() and not line.startswith("<"):
            parts.append(f"<p>{inline(line)}</p>")
    end_table()
    return "\n".join(parts)
