"""Serves every misdeed of the synthetic web from its own process, and names how each fetch ends."""

import json
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.places import ROOT
from webcrawl.base.model import Exchange
from webcrawl.lab.simweb import World, running
from webcrawl.lab.simweb.kinds import documents, misbehaviour
from webcrawl.lab.simweb.web_answers import WebRequest

BOMBS = [kind for kind in documents.CODINGS if kind.startswith("bomb")]
MISDEEDS = [*misbehaviour.LIARS, *misbehaviour.BROKEN, *misbehaviour.SLOW, *BOMBS]


def told(got):
    """How a fetch ended: the error's name, or the status and all flaws of the response."""
    if not isinstance(got, Exchange):
        return got.name
    flaws = [flaw for flaw in got.flaws if not flaw.startswith("certificate_")]
    return ", ".join([str(got.status), *([got.truncated] if got.truncated else []), *flaws])


def rows(heading, page="tests/hostile/outcomes.md"):
    """The cells of a table of a page, without quotes, by its heading."""
    text = (ROOT / page).read_text(encoding="utf-8")
    part = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = re.findall(r"^\| (.*) \|$", part, re.MULTILINE)[1:]
    return [[cell.strip().replace("`", "") for cell in line.split(" | ")] for line in lines]


def peak():
    """Peak memory of this process since `reset_peak`, KiB."""
    return _kib("VmHWM")


def reset_peak():
    """Reset the peak; returns the current memory, KiB."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pytest.skip("the peak of a process's memory cannot be reset on this system")
    return _kib("VmRSS")


def _kib(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))


@contextmanager
def served():
    """The URLs of the misdeeds, without and with TLS: `…/x/NAME/1`."""
    command = [sys.executable, "-m", "tests.support.hostile"]
    process = subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield json.loads(process.stdout.readline())
    finally:
        process.communicate()


def _serve():
    world = World(1, 10, port=0, tls_port=0, addresses=1, mix={"https": 1.0}, slow=0.1)
    for bomb in BOMBS:  # slow to make; cached from here on
        world.answer(WebRequest(0, f"/x/{bomb}/0"))
    with running(world):
        print(  # noqa: T201
            json.dumps([f"http://site0.test:{world.port}", f"https://site0.test:{world.tls_port}"]),
            flush=True,
        )
        sys.stdin.read()


if __name__ == "__main__":
    _serve()
