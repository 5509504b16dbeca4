"""What attackers cost the good hosts of a crawl: their pages per second beside attackers, and
without them.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from benchmarks.support.processes import beside
from benchmarks.support.soak_attackers import attacking
from webcrawl.lab.simweb import World, running
from webcrawl.lab.simweb.request_log import Log, read

HOSTS = 100
# Seconds between two pages of a host: politeness, and not the processor, must bound the good hosts
DELAY = 0.5
WARM_SECONDS = 5.0  # that do not count, because hosts are still being found
MIN_SHARE = 0.8  # of the pages per second that there are without attackers


def _serve(ready: Connection, log: Path, world: dict[str, Any]) -> None:
    with running(World(**world), log=Log(log, keep=False)) as server:
        ready.send(f"{server.nameserver} {server.world.port}")
        ready.recv()


@contextmanager
def _web(folder: Path, seconds: float, *, attacked: bool) -> Iterator[str]:
    """Serve good hosts, and attackers if `attacked`; yield the name server of all.

    Leave seeds.txt in the folder.
    """
    pages = int(HOSTS * seconds / DELAY) * 4  # more than can be asked for
    world = {"hosts": HOSTS, "pages": pages, "port": 0, "size": (1000, 2000), "links": 10}
    with ExitStack() as stack:
        nameserver, port = stack.enter_context(
            beside(_serve, folder / "asked.jsonl", world)
        ).split()
        seeds = World(**{**world, "port": int(port)}).seeds()
        if attacked:
            nameserver, others = stack.enter_context(attacking(**world))
            seeds = [*others, *seeds]  # they have the first turn
        (folder / "seeds.txt").write_text("\n".join(seeds))
        yield nameserver


def rate(folder: Path, seconds: float, settings: Mapping[str, object], *, attacked: bool) -> float:
    """Return the pages of good hosts per second in a crawl of so many seconds.

    Raise RuntimeError if the crawl fails.
    """
    folder.mkdir()
    with _web(folder, seconds, attacked=attacked) as nameserver:
        values = {
            **settings,
            "DNS_NAMESERVERS": nameserver,
            "JOBDIR": folder / "job",
            "POLITENESS_FACTOR": 0,
        }
        values |= {"POLITENESS_MIN_DELAY": DELAY, "CLOSESPIDER_TIMEOUT": seconds}
        command = [
            sys.executable,
            "-m",
            "scrapy",
            "crawl",
            "web",
            "-a",
            f"seeds={folder / 'seeds.txt'}",
        ]
        for name, value in values.items():
            command += ["-s", f"{name}={value}"]
        with (folder / "output").open("wb") as output:
            status = subprocess.run(command, stdout=output, stderr=output, check=False).returncode
    if status:
        raise RuntimeError(f"exit status {status}: {(folder / 'output').read_text()[-1000:]}")
    times = [hit.started for hit in read(folder / "asked.jsonl") if hit.outcome == "sent"]
    begun = min(times, default=0.0) + WARM_SECONDS
    return sum(begun <= time < begun + seconds - WARM_SECONDS for time in times) / (
        seconds - WARM_SECONDS
    )


def rates(folder: Path, seconds: float, settings: Mapping[str, object]) -> tuple[float, float]:
    """Return the rates without attackers, and beside them."""
    alone = rate(folder / "alone", seconds, settings, attacked=False)
    return alone, rate(folder / "beside", seconds, settings, attacked=True)


def fair(alone: float, beside: float) -> Iterator[str]:
    """Yield a line if good hosts have lost too many of their pages per second."""
    if beside < MIN_SHARE * alone:
        yield f"good hosts: {beside:.1f} pages/s beside attackers, {alone:.1f} without ({beside / (alone or 1):.0%})"
