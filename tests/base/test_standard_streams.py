"""Programs that are started without standard input, output or error."""

import subprocess
import sys

import pytest

from tests.support.crawling import SETTINGS
from tests.support.examples import in_campaign
from tests.support.places import ROOT
from tests.support.plain_site import serving
from webcrawl.store.jobdir import stats_file

CLOSED = ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"]
LOOK = """
import os, sys
from webcrawl.base.program import open_missing
open_missing()
streams = sys.stdin, sys.stdout, sys.stderr
first = os.open(os.devnull, os.O_RDONLY)
sys.exit(0 if first > 2 and [stream.fileno() for stream in streams] == [0, 1, 2] else 3)
"""


def run(words, closed):
    line = " ".join(f"'{word}'" for word in (sys.executable, *words))
    return subprocess.run(
        ["/bin/sh", "-c", f"{line} {closed}"], cwd=ROOT, capture_output=True, check=False
    ).returncode


@pytest.mark.parametrize("closed", CLOSED)
def test_their_numbers(closed):
    """Those that are closed lead nowhere, and no file that is opened later gets their numbers."""
    assert run(["-c", LOOK], closed) == 0


@pytest.mark.parametrize("module", ["scrapy", "webcrawl"])
@pytest.mark.parametrize(
    ("command", "status"), [*in_campaign(("verify", 1), ("search", 1)), ("ctl", 3)]
)
def test_commands(tmp_path, module, command, status):
    """The exit status of a command is the same without them."""
    words = [
        "-m",
        module,
        command,
        tmp_path / "none",
        *{"ctl": ["status"], "search": ["word"]}.get(command, ()),
    ]

    assert run(words, CLOSED[-1]) == status


def test_a_crawl(tmp_path):
    """It goes on without them, and finishes."""
    with serving() as site:
        values = {**SETTINGS, "JOBDIR": tmp_path / "job"}
        given = [word for name, value in values.items() for word in ("-s", f"{name}={value}")]
        status = run(["-m", "scrapy", "crawl", "web", "-a", f"seeds={site}/", *given], CLOSED[-1])

    assert (status, stats_file.read(tmp_path / "job").get("reason")) == (0, "finished")
