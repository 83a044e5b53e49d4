"""The program itself: where it is, and one call of it."""

from __future__ import annotations

import datetime
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import warnings
from pathlib import Path
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Union

from ._errors import InferometerError, of_exit

#: A value of a flag.
Value = Union[
    str, int, float, bool, "os.PathLike[str]", datetime.timedelta, Sequence[Any], Mapping[str, Any], None
]

#: Exit codes that come with a result: a gate that failed or is undecided, part of an import, an audit's findings.
_WITH_RESULT = (0, 1, 3, 4, 8, 9)


class Answer(NamedTuple):
    """What a call gave."""

    #: Standard output.
    text: str
    #: The exit code.
    exit_code: int


def program() -> str:
    """The path of the program: what ``INFEROMETER`` names, the one installed with this package, or that of PATH.

    :raises FileNotFoundError: it is not found.
    """
    named = os.environ.get("INFEROMETER")
    if named:
        return named
    folders = [sysconfig.get_path("scripts"), os.path.dirname(sys.executable)]
    for scheme in ("posix_user", "osx_framework_user"):
        if scheme in sysconfig.get_scheme_names():
            folders.append(sysconfig.get_path("scripts", scheme))
    for folder in folders:
        path = Path(folder) / "inferometer"
        if path.is_file() and os.access(path, os.X_OK):
            return str(path)
    found = shutil.which("inferometer")
    if found is None:
        raise FileNotFoundError(
            "there is no program inferometer: pip install inferometer brings it, and the variable "
            "INFEROMETER can name one"
        )
    return found


def flags(given: Mapping[str, Value]) -> List[str]:
    """Keyword arguments as flags: ``shared_prefix=512`` is ``--shared-prefix=512``."""
    words: List[str] = []
    for name, value in given.items():
        flag = "--" + name.strip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(flag)
        elif isinstance(value, Mapping):
            words.extend(f"{flag}={key}={_text(one)}" for key, one in value.items())
        elif isinstance(value, (list, tuple, set, frozenset, range)):
            words.extend(f"{flag}={_text(one)}" for one in value)
        else:
            words.append(f"{flag}={_text(value)}")
    return words


def _text(value: Any) -> str:
    if isinstance(value, datetime.timedelta):
        return f"{value.total_seconds():g}s"
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def ask(words: Sequence[str], *, progress: bool = False, prints: bool = True) -> Answer:
    """Calls the program and gives what it printed. Its warnings become Python's. ``prints`` is whether it has to
    print anything.

    :raises InferometerError: it ended without a result.
    """
    # In a session of its own it gets a signal only from us, once: it then ends what is in flight and keeps the results.
    process = subprocess.Popen(
        [program(), *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=None if progress else subprocess.PIPE,
        start_new_session=True,
        encoding="utf-8",
    )
    try:
        text, said = process.communicate()
    except KeyboardInterrupt:
        process.send_signal(signal.SIGINT)
        process.communicate()
        raise
    except BaseException:
        process.kill()
        process.wait()
        raise
    for line in (said or "").splitlines():
        if line.startswith("warning: "):
            warnings.warn(line[len("warning: ") :], stacklevel=4)
    if process.returncode not in _WITH_RESULT or (prints and not text.strip()):
        raise of_exit(process.returncode, said or "", _document(text))
    return Answer(text, process.returncode)


def _document(text: str) -> Optional[Dict[str, Any]]:
    try:
        document = json.loads(text)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def call(*words: str, progress: bool = False) -> Dict[str, Any]:
    """Calls the program with ``--json`` and gives its document, whatever the command:
    ``call("limit", "--gpu", "l40s", "--model", "llama-3.1-8b")``.

    :raises InferometerError: it ended without a result.
    """
    return document(ask([*words, "--json"], progress=progress))


def document(answer: Answer) -> Dict[str, Any]:
    """The one JSON document of an answer."""
    found = _document(answer.text)
    if found is None:
        raise InferometerError("the program printed no JSON document", exit_code=answer.exit_code)
    return found
