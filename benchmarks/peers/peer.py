"""What the runner has to know of a crawler: how to build it, how to run it, and what it does."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

NICE = ["nice", "-n", "19"]
# For one step of a build: a crate with many others has one core, at the lowest priority
MAX_BUILD_SECONDS = 7200


class Missing(Exception):  # noqa: N818 - reads as what it is
    """Raised with the reason, in a line, for which a peer is skipped."""


@dataclass(frozen=True)
class Web:
    """What is crawled: `seeds` is a file with the root of every host.

    No robots.txt forbids anything. `delay` is the number of seconds between two requests, for peers
    that have such an option.
    """

    hosts: int
    pages: int
    seeds: Path
    delay: float = 0.0


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
    """A crawler: how it is built and run, and what it does.

    `fewer` divides the hosts and pages that it gets, because it is slow. `misses` says why it does
    not fetch all.
    """

    name: str
    does: Does
    build: Callable[[Path], None]  # into a folder of its own; raises Missing
    command: Callable[[Path, Path, Web], list[str]]  # by that folder, and an empty one to write to
    fewer: int = 1
    misses: str = ""


def need(*programs: str) -> None:
    """Raise Missing unless these programs are installed."""
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        raise Missing(f"not installed: {', '.join(missing)}")


def step(folder: Path, *command: str) -> None:
    """Run one step of a build at the lowest priority.

    Raise Missing with its first error, or else its last line, if it fails.
    """
    try:
        done = subprocess.run(
            [*NICE, *command],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=MAX_BUILD_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise Missing(f"{command[0]}: not done in {MAX_BUILD_SECONDS} s") from error
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip() or "failed").splitlines()
        raise Missing(
            f"{command[0]}: {next((line for line in lines if 'ERROR' in line), lines[-1])}"
        )


def within(folder: Path, *command: str) -> list[str]:
    """Return the command that starts a program in a folder, because it writes there.

    What it prints goes into the file `log`.
    """
    return ["sh", "-c", 'cd "$0" && exec "$@" >log 2>&1', str(folder), *command]


def nothing(folder: Path) -> None:
    """Build nothing."""
    del folder
