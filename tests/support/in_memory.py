"""The folders of tests in memory: a crawl syncs its files all the time, and no test asks whether a disk kept them."""

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
    with tempfile.TemporaryDirectory(prefix="t", dir=MEMORY, ignore_cleanup_errors=True) as folder:
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        try:
            yield
        finally:
            del os.environ["TMPDIR"]
            tempfile.tempdir = None
