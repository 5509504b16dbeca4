"""spider (Rust): https://github.com/spider-rs/spider, with a program of its own kind
(programs/spider.rs).
"""

from __future__ import annotations

import shutil
from pathlib import Path

from benchmarks.peers.peer import Does, Peer, Web, need, step

VERSION = "2.53"
SOURCE = Path(__file__).parent / "programs/spider.rs"
# Those of its default features that a crawl over plain HTTP has a use for: no database, no TLS, no
# guises of browsers.
FEATURES = (
    "adaptive_concurrency",
    "encoding",
    "priority_frontier",
    "string_interner_buffer_backend",
    "sync",
    "warc",
)
MISSES = "&amp; in links is not read as & by 2.53"
MANIFEST = f"""[package]
name = "peer"
version = "0.1.0"
edition = "2021"

[dependencies]
spider = {{ version = "{VERSION}", default-features = false, features = {list(FEATURES)} }}
tokio = {{ version = "1", features = ["macros", "rt-multi-thread", "time"] }}
"""


def _build(folder: Path) -> None:
    """Build the program. It is both peers, and is in the folder of the first."""
    need("cargo")
    folder = folder.with_name("spider")
    (folder / "src").mkdir(parents=True, exist_ok=True)
    (folder / "Cargo.toml").write_text(MANIFEST)
    shutil.copy(SOURCE, folder / "src/main.rs")
    step(folder, "cargo", "build", "--release", "--jobs", "1")


def _spider(built: Path, _: Path, web: Web) -> list[str]:
    return [str(built.with_name("spider") / "target/release/peer"), str(web.seeds)]


def _archiving(built: Path, work: Path, web: Web) -> list[str]:
    return [*_spider(built, work, web), str(work)]


PEERS = (
    Peer(
        "spider",
        Does("yes", "none", "of a host only", "no", "none"),
        _build,
        _spider,
        misses=MISSES,
    ),
    Peer(
        "spider-warc",
        Does("yes", "WARC, plain", "of a host only", "no", "none"),
        _build,
        _archiving,
        misses=MISSES,
    ),
)
