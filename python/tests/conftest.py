"""The program that was built, and an engine of its own to measure."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PYTHON = Path(__file__).parent.parent
sys.path.insert(0, str(PYTHON))
if "INFEROMETER" not in os.environ and shutil.which("inferometer") is None:
    os.environ["INFEROMETER"] = str(PYTHON.parent / "target" / "debug" / "inferometer")
# Nothing of the machine's own settings.
os.environ["INFEROMETER_PROJECT"] = ""
os.environ.pop("OPENAI_API_KEY", None)

import inferometer  # noqa: E402


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    return tmp_path_factory.mktemp("store") / "runs"


@pytest.fixture(scope="session")
def url():
    """The embedded engine. It ends with its standard input."""
    words = [inferometer.program(), "serve", "--preset", "nano", "--port", "0", "--until-stdin-closes"]
    server = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        yield server.stdout.readline().split()[-1]
    finally:
        server.stdin.close()
        server.wait(timeout=20)


@pytest.fixture(scope="session")
def measured(url, store):
    """Measures the engine. A host that is too busy to send in time makes a run invalid: this is reported, the run is
    stored, and no test depends on it."""

    def measure(command, **flags):
        try:
            return command(url, store=store, **flags)
        except inferometer.InvalidRunError as error:
            assert "after they were due" in error.sentence
            return inferometer.load(error.document["run"]["id"], store=store)

    return measure


@pytest.fixture(scope="session")
def run(measured):
    return measured(
        inferometer.run, concurrency=2, requests=12, workload="32/8", name="first", tags={"side": "a"}
    )
