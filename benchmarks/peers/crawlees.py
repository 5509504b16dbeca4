"""Crawlee, for Python and for JavaScript: https://github.com/apify/crawlee, with programs of its
own kind.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from benchmarks.peers.peer import Does, Peer, Web, need, step, within
from benchmarks.peers.pypi import PROGRAMS, install, python

PYTHON, JAVASCRIPT = "1.11.0", "3.18.0"
DOES = Does("yes", "none", "followed", "no", "none")


def _build_python(folder: Path) -> None:
    install(f"crawlee[parsel,httpx]=={PYTHON}", folder)


def _python(built: Path, work: Path, web: Web) -> list[str]:
    return within(
        work,
        python(built),
        str(PROGRAMS / "crawlee_crawl.py"),
        str(web.seeds),
        str(web.delay),
    )


def _build_javascript(folder: Path) -> None:
    need("node", "npm")
    step(folder, "npm", "install", "--no-audit", "--no-fund", f"@crawlee/cheerio@{JAVASCRIPT}")
    shutil.copy(PROGRAMS / "crawlee.mjs", folder / "crawlee.mjs")


def _javascript(built: Path, work: Path, web: Web) -> list[str]:
    return within(work, "node", str(built / "crawlee.mjs"), str(web.seeds), str(web.delay))


PEERS = (
    Peer("crawlee-python", DOES, _build_python, _python, fewer=10),
    Peer("crawlee-js", DOES, _build_javascript, _javascript, fewer=10),
)
