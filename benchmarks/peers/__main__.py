"""Other crawlers on the same synthetic web, with what each does and does not do:
benchmarks/peers/README.md.

Peers are built into a folder outside the repository. They run in a network namespace that has
nothing but loopback. Name some, or all are tried; one whose tool chain is missing is skipped with a
line.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers import bubing, colly, crawlees, heritrix, ours, pypi, spider, wgets
from benchmarks.peers.peer import Missing, Peer, Web
from benchmarks.peers.truth import fetched
from benchmarks.support.crawling import PORT, measured, served
from webcrawl.lab.simweb import World

PEERS = (
    *ours.PEERS,
    *wgets.PEERS,
    *colly.PEERS,
    *crawlees.PEERS,
    *pypi.PEERS,
    *spider.PEERS,
    *heritrix.PEERS,
    *bubing.PEERS,
)
ALL: dict[str, Peer] = {peer.name: peer for peer in PEERS}
FIRST = "webcrawl"  # what the others are compared with
INSIDE = "WEBCRAWL_PEERS_NAMESPACE"  # in the environment of the run in the namespace
ROOT = Path(__file__).resolve().parents[2]
CACHE = Path.home() / ".cache/webcrawl-peers"
ALONE = [
    "unshare",
    "--net",
    "--mount",
    *([] if os.geteuid() == 0 else ["--map-root-user"]),
    "sh",
    "-c",
]
SCRIPT = 'ip link set lo up && mount --bind "$0" /etc/hosts && exec "$@"'
HEAD = (
    "peer",
    "pages",
    "other",
    "per CPU s",
    "times",
    "MiB",
    "robots",
    "archive",
    "links",
    "durable",
    "politeness",
)
MAX_LOG_CHARS = 2000  # characters of what a peer that failed has printed last
WIDTHS = (15, 7, 6, 9, 6, 5, 7, 22, 19, 12, 0)


def is_alone() -> bool:
    """Return whether this process can reach nothing but loopback.

    Its namespace then has no other interface.
    """
    lines = Path("/proc/net/dev").read_text().splitlines()[2:]
    return {line.partition(":")[0].strip() for line in lines} == {"lo"}


def build(names: Sequence[str], folder: Path) -> list[str]:
    """Build these peers, and return those that can run; print a line for each other one."""
    able = []
    for name in names:
        place = folder / name
        place.mkdir(parents=True, exist_ok=True)
        try:
            ALL[name].build(place)
        except Missing as error:
            print(f"{name}: skipped: {error}")
        else:
            able.append(name)
    return able


def run_in_namespace(names: Sequence[str], args: argparse.Namespace) -> int:
    """Run this program again in a namespace that has nothing but loopback."""
    for program in ("unshare", "ip"):
        if shutil.which(program) is None:
            print(
                f"skipped: {program} is not installed, and no peer runs where it could reach a network"
            )
            return 0
    world = World(args.hosts, args.pages, port=PORT)
    with tempfile.NamedTemporaryFile("w", suffix=".hosts") as hosts:
        # programs in Java look for their own name
        hosts.write(f"127.0.0.1 localhost {socket.gethostname()}\n")
        for number in range(args.hosts):  # BUbiNG asks for names that end with a dot
            hosts.write(f"{world.address(number)} {world.name(number)} {world.name(number)}.\n")
        hosts.flush()
        again = [sys.executable, "-m", "benchmarks.peers", "--dir", str(args.dir)]
        again += ["--hosts", str(args.hosts), "--pages", str(args.pages), *names]
        environment = {**os.environ, INSIDE: "1"}
        return subprocess.run(
            [*ALONE, SCRIPT, hosts.name, *again], env=environment, check=False
        ).returncode


def run(names: Sequence[str], built: Path, web: tuple[int, int]) -> int:
    """Crawl with each peer, and print the table row by row. Return 1 if a peer failed."""
    if not is_alone():
        raise SystemExit("no peer is run: this process could reach a network")
    print(_line(HEAD))
    base, failed = 0.0, False
    for name in names:
        peer = ALL[name]
        hosts, pages = (max(number // peer.fewer, 1) for number in web)
        world = World(hosts, pages, port=PORT)
        with tempfile.TemporaryDirectory() as folder:
            work, log, seeds = Path(folder, "work"), Path(folder, "log"), Path(folder, "seeds")
            work.mkdir()
            seeds.write_text("".join(f"{url}\n" for url in world.seeds()))
            try:
                with served(hosts, pages, "--log", str(log)):
                    spent = measured(peer.command(built / name, work, Web(hosts, pages, seeds)))
            except (RuntimeError, OSError) as error:
                said = (work / "log").read_text(errors="replace") if (work / "log").exists() else ""
                print(f"{name}: failed: {error}\n{said[-MAX_LOG_CHARS:]}", end="")
                failed = True
                continue
            got, more = fetched(log, world)
        rate = got / spent.cpu
        base = rate if name == FIRST else base
        does = peer.does
        times = f"{base / rate:.2f}" if base and rate else "-"
        row = (name, str(got), str(more), f"{rate:.0f}", times, str(spent.peak))
        print(
            _line((*row, does.robots, does.archive, does.links, does.durable, does.politeness)),
            flush=True,
        )
        if got < pages:
            why = f": {peer.misses}" if peer.misses else ""
            print(f"{name}: {pages - got} of {pages} pages were not fetched{why}")
            failed = failed or not peer.misses
    return int(failed)


def _line(cells: Sequence[str]) -> str:
    return "  ".join(
        f"{cell:>{width}}" if 0 < place < 6 else f"{cell:<{width}}"
        for place, (cell, width) in enumerate(zip(cells, WIDTHS, strict=True))
    ).rstrip()


def main() -> int:
    """Build and run the peers that the command line names, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(ALL)}")
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument(
        "--pages", type=int, default=20_000, help="of the synthetic web; slow peers get fewer"
    )
    parser.add_argument(
        "--dir", type=Path, default=CACHE, help="where peers are built (default: %(default)s)"
    )
    args = parser.parse_args()
    if args.hosts < 1 or args.pages < args.hosts:
        parser.error("at least one host, and one page per host, are needed")
    if unknown := [name for name in args.names if name not in ALL]:
        parser.error(f"unknown: {', '.join(unknown)}; there are: {', '.join(ALL)}")
    if os.environ.get(INSIDE):
        return run(args.names, args.dir.resolve(), (args.hosts, args.pages))
    if args.dir.resolve().is_relative_to(ROOT):
        parser.error(f"--dir: {args.dir} is in the repository")
    wanted = [name for name in ALL if not args.names or name in args.names or name == FIRST]
    able = build(wanted, args.dir.resolve())
    return run_in_namespace(able, args)


if __name__ == "__main__":
    sys.exit(main())
