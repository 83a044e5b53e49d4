"""inferometer from Python: measure LLM servers, and have the results as tables.

Every call is one call of the program ``inferometer`` with ``--json``. No number is computed here: what a
result says is what the program says.

>>> import inferometer
>>> run = inferometer.run("http://127.0.0.1:8000", concurrency=8, requests=200)   # doctest: +SKIP
>>> run.requests.polars()                                                       # doctest: +SKIP
>>> inferometer.compare("base", "int8")                                         # doctest: +SKIP
"""

from ._api import (
    audit,
    capacity,
    compare,
    gate,
    load,
    probe,
    rank,
    report,
    run,
    runs,
    sweep,
)
from ._errors import (
    FilesError,
    InferometerError,
    InternalError,
    InvalidRunError,
    ServerError,
    UnlikeError,
    UsageError,
)
from ._program import call, program
from ._results import Comparison, Report, Result, Run
from ._tables import Table

__all__ = [
    "Comparison",
    "FilesError",
    "InferometerError",
    "InternalError",
    "InvalidRunError",
    "Report",
    "Result",
    "Run",
    "ServerError",
    "Table",
    "UnlikeError",
    "UsageError",
    "audit",
    "call",
    "capacity",
    "compare",
    "gate",
    "load",
    "probe",
    "program",
    "rank",
    "report",
    "run",
    "runs",
    "sweep",
]
