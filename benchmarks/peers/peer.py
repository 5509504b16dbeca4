"""What the runner has to know of a crawler: how to build it, how to run it, and what it does."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

NICE = ["nice", "-n", "19"]
PATIENCE = 900  # seconds for one step of a build


class Missing(Exception):  # noqa: N818 - reads as what it is
    """Why a peer is skipped, in a line."""


@dataclass(frozen=True)
class Web:
    """What is crawled: `seeds` has the root of every host, and no robots.txt forbids anything."""

    hosts: int
    pages: int
    seeds: Path


@dataclass(frozen=True)
class Does:
    """What a crawler does with a page, in a word or two each."""

    robots: str
    archive: str
    links: str
    durable: str
    politeness: str


@dataclass(frozen=True)
class Peer:
    """`fewer`: it gets so many times fewer hosts and pages, because it is slow."""

    name: str
    does: Does
    build: Callable[[Path], None]  # into a folder of its own; raises Missing
    command: Callable[[Path, Path, Web], list[str]]  # by that folder, and an empty one to write to
    pages: Callable[[str, Path], int]  # fetched, by what it printed and what it wrote
    fewer: int = 1


def need(*programs: str) -> None:
    """Raises Missing unless these are installed."""
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        raise Missing(f"not installed: {', '.join(missing)}")


def step(folder: Path, *command: str) -> None:
    """One step of a build, out of everybody's way; Missing with its last line if it fails."""
    try:
        done = subprocess.run(
            [*NICE, *command], cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise Missing(f"{command[0]}: not done in {PATIENCE} s") from error
    if done.returncode:
        raise Missing(f"{command[0]}: {(done.stderr.strip().splitlines() or ['failed'])[-1]}")


def nothing(folder: Path) -> None:
    """There is nothing to build."""
    del folder


def last_number(said: str, folder: Path) -> int:
    """Pages, if that is the last word that it prints."""
    del folder
    return int(said.rsplit(maxsplit=1)[-1])
