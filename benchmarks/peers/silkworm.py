"""silkworm (Python, with HTTP and HTML in Rust): https://github.com/BitingSnakes/silkworm, with a
program of its own kind (programs/silkworm_crawl.py).
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.peers.peer import Does, Peer, Web, within
from benchmarks.peers.pypi import install, python

# uvloop is one of two faster event loops of its documentation. rsloop, the other, has no wheel for
# Python 3.11.
REQUIREMENT = "silkworm-rs[uvloop]==0.16.0"
PROGRAM = Path(__file__).parent / "programs/silkworm_crawl.py"


def _build(folder: Path) -> None:
    install(folder, REQUIREMENT)


def _command(built: Path, work: Path, web: Web) -> list[str]:
    return within(work, python(built), str(PROGRAM), str(web.seeds))


PEERS = (Peer("silkworm", Does("yes", "none", "followed", "no", "none"), _build, _command),)
