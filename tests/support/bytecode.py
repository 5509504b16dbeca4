"""Bytecode for all processes of a run: the tests' own, and the hundreds that they start.

Where Python is told to keep none (PYTHONDONTWRITEBYTECODE, as in many containers), each of these processes would
compile all that it imports; it goes into a folder for the time of the run instead. And all processes of the tests
begin at once, with the same files: one of them collects first, the others then have its bytecode.
"""

import os
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

NAMES = "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"
FOLDER = "WEBCRAWL_TESTS_FOLDER"  # in the environment of the run's processes
PATIENCE = 120.0  # seconds for the first one


@contextmanager
def kept():
    """For the process that starts all others."""
    before = {name: os.environ.get(name) for name in NAMES}
    with tempfile.TemporaryDirectory(prefix="webcrawl-tests-") as folder:
        os.environ[FOLDER] = folder
        if os.environ.pop(NAMES[0], ""):
            os.environ[NAMES[1]] = folder
        try:
            yield
        finally:
            del os.environ[FOLDER]
            for name, value in before.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value


@contextmanager
def one_first(name):
    """`name`: of this process, `gw0` or another; empty if there are no others."""
    folder = os.environ.get(FOLDER)
    if folder is None or not name or sys.dont_write_bytecode:
        yield
        return
    done, end = Path(folder) / "collected", time.monotonic() + PATIENCE
    while name != "gw0" and not done.exists() and time.monotonic() < end:
        time.sleep(0.05)
    try:
        yield
    finally:
        done.touch()
