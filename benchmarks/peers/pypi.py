"""Crawlers on PyPI: pip installs each into a venv of its own, which has nothing of webcrawl.

Here are those that are run by a program of `programs/` whose only argument is the list of seeds:
silkworm (https://github.com/BitingSnakes/silkworm, Python, with HTTP and HTML in Rust) and crawlberg
(https://github.com/xberg-io/crawlberg, Rust, with an interface for Python).
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from benchmarks.peers.peer import Does, Peer, Web, step, within

PROGRAMS = Path(__file__).parent / "programs"


def install(requirement: str, folder: Path) -> None:
    """Install a requirement into the venv of that folder, which is made if there is none.

    Raise Missing if pip cannot.
    """
    if not (folder / "venv").exists():
        step(folder, sys.executable, "-m", "venv", "venv")
    step(folder, "venv/bin/pip", "install", "-q", requirement)


def python(folder: Path) -> str:
    """Return the path of the venv's interpreter."""
    return str(folder / "venv/bin/python")


def _command(program: str, built: Path, work: Path, web: Web) -> list[str]:
    return within(work, python(built), str(PROGRAMS / program), str(web.seeds))


PEERS = (
    Peer(
        "silkworm",
        Does("yes", "none", "followed", "no", "none"),
        # uvloop is one of two faster event loops of its documentation. rsloop, the other, has no
        # wheel for Python 3.11.
        partial(install, "silkworm-rs[uvloop]==0.16.0"),
        partial(_command, "silkworm_crawl.py"),
    ),
    Peer(
        "crawlberg",
        # Its option `warc_output` writes no file: the wheels on PyPI are built without WARC.
        Does("yes", "none", "of a host only", "no", "per host, switched off"),
        partial(install, "crawlberg==1.12.0"),
        partial(_command, "crawlberg_crawl.py"),
    ),
)
