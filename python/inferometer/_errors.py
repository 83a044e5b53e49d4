"""Failures of the program as exceptions, each with the program's own sentence."""

from __future__ import annotations

from typing import Any, Dict, Optional, Type


class InferometerError(Exception):
    """The program ended without a result that can be used."""

    def __init__(
        self,
        sentence: str,
        hint: Optional[str] = None,
        exit_code: int = 70,
        document: Optional[Dict[str, Any]] = None,
    ) -> None:
        super().__init__(sentence if hint is None else f"{sentence}\nhint: {hint}")
        #: What is wrong, in the program's words.
        self.sentence = sentence
        #: What to do about it, if the program says so.
        self.hint = hint
        #: The program's exit code: docs/reference/exit-codes.md has the list.
        self.exit_code = exit_code
        #: The document that it printed despite the error, e.g. for an invalid run.
        self.document = document


class UsageError(InferometerError, ValueError):
    """A flag, or something that it names, cannot be understood. Nothing was sent."""


class ServerError(InferometerError, ConnectionError):
    """The server cannot be reached or measured, or stopped answering."""


class InvalidRunError(InferometerError):
    """No request got a complete answer, or the load was not the one asked for."""


class UnlikeError(InferometerError, ValueError):
    """Results answer different questions and cannot be compared."""


class FilesError(InferometerError, OSError):
    """Results cannot be read or written."""


class InternalError(InferometerError):
    """A bug of the program."""


_OF_CODES: Dict[int, Type[InferometerError]] = {
    2: UsageError,
    5: ServerError,
    6: InvalidRunError,
    7: UnlikeError,
    70: InternalError,
    74: FilesError,
}


def of_exit(
    code: int, said: str, document: Optional[Dict[str, Any]] = None
) -> InferometerError:
    """The exception for an exit code and what stood on standard error."""
    sentence, hint = f"inferometer ended with the code {code}", None
    lines = said.strip().splitlines()
    for number, line in enumerate(lines):
        if line.startswith("error: "):
            sentence = line[len("error: ") :]
            # The parser's own tips follow its sentence.
            tips = [below.strip() for below in lines[number + 1 :]]
            tips = [tip for tip in tips if tip.startswith(("hint: ", "tip: ", "["))]
            hint = "\n".join(tip.split(": ", 1)[-1] for tip in tips) or None
    return _OF_CODES.get(code, InferometerError)(sentence, hint, code, document)
