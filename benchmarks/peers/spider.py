"""spider (Rust): https://github.com/spider-rs/spider, with a program of its own kind (programs/spider.rs)."""

from __future__ import annotations

import shutil
from pathlib import Path

from benchmarks.peers.peer import Does, Peer, Web, last_number, need, step

VERSION = "2.53"
SOURCE = Path(__file__).parent / "programs/spider.rs"
MANIFEST = f"""[package]
name = "peer"
version = "0.1.0"
edition = "2021"

[dependencies]
spider = "{VERSION}"
tokio = {{ version = "1", features = ["rt-multi-thread", "macros"] }}
"""


def _build(folder: Path) -> None:
    need("cargo")
    (folder / "src").mkdir(exist_ok=True)
    (folder / "Cargo.toml").write_text(MANIFEST)
    shutil.copy(SOURCE, folder / "src/main.rs")
    step(folder, "cargo", "build", "--release", "--jobs", "1")


def _command(built: Path, _: Path, web: Web) -> list[str]:
    return [str(built / "target/release/peer"), str(web.seeds)]


PEERS = (Peer("spider", Does("yes", "none", "of a host only", "no", "none"), _build, _command, last_number),)
