"""colly (Go): https://github.com/gocolly/colly, with a program of its own kind (programs/colly.go)."""

from __future__ import annotations

import shutil
from pathlib import Path

from benchmarks.peers.peer import Does, Peer, Web, need, step

VERSION = "v2.3.0"
SOURCE = Path(__file__).parent / "programs/colly.go"


def _build(folder: Path) -> None:
    need("go")
    shutil.copy(SOURCE, folder / "main.go")
    if not (folder / "go.mod").exists():
        step(folder, "go", "mod", "init", "peer")
        step(folder, "go", "get", f"github.com/gocolly/colly/v2@{VERSION}")
    step(folder, "go", "mod", "tidy")
    step(folder, "go", "build", "-p", "1", "-o", "peer", ".")


def _command(built: Path, _: Path, web: Web) -> list[str]:
    return [str(built / "peer"), str(web.seeds)]


PEERS = (Peer("colly", Does("yes", "none", "followed", "no", "none"), _build, _command),)
