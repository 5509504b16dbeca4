"""A real pywb, where there is one: WEBCRAWL_PYWB names its program `wayback`."""

import os
import shutil
import socket
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.crawling import wait_until
from tests.support.ports import free_port

WAYBACK = os.environ.get("WEBCRAWL_PYWB") or shutil.which("wayback")
needs_pywb = pytest.mark.skipif(
    not WAYBACK, reason="WEBCRAWL_PYWB names no pywb: its program wayback"
)


def collection(folder, archives):
    """Has it make a collection `months` of these archive files, and index them itself."""
    folder.mkdir()
    manager = Path(WAYBACK).with_name("wb-manager")
    for arguments in (["init", "months"], ["add", "months", *map(str, archives)]):
        subprocess.run([manager, *arguments], cwd=folder, check=True, capture_output=True)


def _listens(port):
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def wayback(folder):
    """Serves the collections in this folder; yields where the one called `months` is."""
    port = free_port()
    command = [WAYBACK, "-b", "127.0.0.1", "-p", str(port), "-d", str(folder)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as running:
        try:
            wait_until(lambda: _listens(port))
            yield f"http://127.0.0.1:{port}/months"
        finally:
            running.terminate()
