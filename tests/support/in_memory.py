"""The folders of tests in memory: a crawl syncs its files all the time, and no test asks whether a disk kept them."""

import atexit
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

MEMORY = Path("/dev/shm")  # noqa: S108 - below it this run makes a folder of its own
ROOM = 4 << 30  # bytes that must be free there; a container often has 64 MB


@contextmanager
def folders():
    """For the process that starts all others. Whoever sets TMPDIR has the folders there, and finds them afterwards."""
    if "TMPDIR" in os.environ or not MEMORY.is_dir() or shutil.disk_usage(MEMORY).free < ROOM:
        yield
        return
    folder = tempfile.mkdtemp(prefix="t", dir=MEMORY)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)  # not before what other modules do then with theirs
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    try:
        yield
    finally:
        del os.environ["TMPDIR"]
        tempfile.tempdir = None
