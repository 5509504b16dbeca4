"""crawlberg (Rust, with an interface for Python): https://github.com/xberg-io/crawlberg, with a
program of its own kind (programs/crawlberg_crawl.py).

Its option `warc_output` writes no file: the wheels on PyPI are built without WARC.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.peers.peer import Does, Peer, Web, within
from benchmarks.peers.pypi import install, python

REQUIREMENT = "crawlberg==1.12.0"
PROGRAM = Path(__file__).parent / "programs/crawlberg_crawl.py"


def _build(folder: Path) -> None:
    install(folder, REQUIREMENT)


def _command(built: Path, work: Path, web: Web) -> list[str]:
    return within(work, python(built), str(PROGRAM), str(web.seeds))


PEERS = (
    Peer(
        "crawlberg",
        Does("yes", "none", "of a host only", "no", "per host, switched off"),
        _build,
        _command,
    ),
)
