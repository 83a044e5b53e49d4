"""Tables of results, for Arrow, Polars, pandas, and whatever reads Arrow."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Union

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

#: Rows that a notebook shows.
_ROWS_SHOWN = 10

Rows = List[Dict[str, Any]]


def missing(package: str, extra: str) -> ImportError:
    """What is said where an optional package is not installed."""
    return ImportError(f"{package} is not installed: pip install 'inferometer[{extra}]'")


def arrow_library() -> Any:
    """The module pyarrow.

    :raises ImportError: it is not installed.
    """
    try:
        import pyarrow
    except ImportError as error:
        raise missing("pyarrow", "arrow") from error
    return pyarrow


class Table:
    """A table that is made when it is first asked for.

    It speaks the Arrow PyCapsule interface, so that ``polars.DataFrame(table)``, ``pyarrow.table(table)`` and DuckDB
    take it as it is.
    """

    def __init__(self, what: str, make: Callable[[], "Union[pyarrow.Table, Rows]"]) -> None:
        self._what = what
        self._make = make
        self._made: "Optional[Union[pyarrow.Table, Rows]]" = None

    def _content(self) -> "Union[pyarrow.Table, Rows]":
        if self._made is None:
            self._made = self._make()
        return self._made

    def rows(self) -> Rows:
        """The rows as dictionaries; of requests and levels without any other package. What is not known is left
        out, or ``None``."""
        content = self._content()
        return content if isinstance(content, list) else content.to_pylist()

    def arrow(self) -> "pyarrow.Table":
        """As a table of pyarrow."""
        content = self._content()
        if not isinstance(content, list):
            return content
        arrow = arrow_library()
        names = list(dict.fromkeys(name for row in content for name in row))
        columns = {name: arrow.array([row.get(name) for row in content]) for name in names}
        return arrow.table(columns)

    def polars(self) -> "polars.DataFrame":
        """As a data frame of Polars."""
        try:
            import polars
        except ImportError as error:
            raise missing("polars", "polars") from error
        frame = polars.from_arrow(self.arrow())
        assert isinstance(frame, polars.DataFrame)
        return frame

    def pandas(self) -> "pandas.DataFrame":
        """As a data frame of pandas. A column of whole numbers in which some are not known is of type ``Int64``."""
        try:
            import pandas
        except ImportError as error:
            raise missing("pandas", "pandas") from error
        whole = {
            arrow_type: frame_type
            for arrow_type, frame_type in (
                (arrow_library().int64(), pandas.Int64Dtype()),
                (arrow_library().bool_(), pandas.BooleanDtype()),
            )
        }
        return self.arrow().to_pandas(types_mapper=whole.get)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.arrow().__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return len(self._content())

    @property
    def columns(self) -> List[str]:
        """Names of the columns."""
        content = self._content()
        if isinstance(content, list):
            return list(dict.fromkeys(name for row in content for name in row))
        return list(content.column_names)

    def __repr__(self) -> str:
        return f"<{self._what}: {len(self)} rows, {len(self.columns)} columns>"

    def _repr_html_(self) -> str:
        content = self._content()
        rows = content[:_ROWS_SHOWN] if isinstance(content, list) else content.slice(0, _ROWS_SHOWN).to_pylist()
        names = self.columns
        head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
        body = "".join(
            "<tr>" + "".join(f"<td>{_cell(row.get(name))}</td>" for name in names) + "</tr>" for row in rows
        )
        more = f"{len(self)} rows" if len(self) > len(rows) else ""
        return (
            f"<div style='overflow-x:auto'><table><caption>{html.escape(self._what)} {more}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        )


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return html.escape(f"{value:g}" if isinstance(value, float) else str(value))


def flat(value: Dict[str, Any], before: str = "") -> Dict[str, Any]:
    """A nested object as one row: ``{"ttft_s": {"p50": 1}}`` is ``{"ttft_s.p50": 1}``. Lists are left out: they
    are tables of their own."""
    row: Dict[str, Any] = {}
    for name, below in value.items():
        if isinstance(below, dict):
            row.update(flat(below, f"{before}{name}."))
        elif not isinstance(below, list):
            row[before + name] = below
    return row
