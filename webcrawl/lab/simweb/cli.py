"""The command line of `webcrawl lab simweb` and `python -m webcrawl.lab.simweb`."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from webcrawl.base.program import program
from webcrawl.base.readable import count
from webcrawl.lab.simweb.mix import changing, even, has_changes, hostile
from webcrawl.lab.simweb.request_log import Log
from webcrawl.lab.simweb.web_server import Server, new_event_loop
from webcrawl.lab.simweb.world import World
from webcrawl.lab.simweb.zoo import ZOO

MAX_LATENCY = 3600.0  # seconds
HIGHEST_PORT = 65_535
OPTIONS: tuple[tuple[str, Callable[[str], object], object, str, str], ...] = (
    ("--hosts", int, 100, "N", "number of hosts, siteN.test (default %(default)s)"),
    ("--pages", int, 10_000, "M", "number of pages on all hosts together (default %(default)s)"),
    ("--port", int, 8000, "P", "port of all hosts, 0 for any free one (default %(default)s)"),
    (
        "--dns-port",
        int,
        8053,
        "D",
        "port of the name server, 0 for any free one (default %(default)s)",
    ),
    ("--tls-port", int, 8443, "P", "port of https hosts, 0 for any free one (default %(default)s)"),
    ("--latency", float, 0.0, "S", "seconds before each answer (default %(default)s)"),
    (
        "--seed",
        int,
        0,
        "S",
        "seed of the random generator: each gives another web (default %(default)s)",
    ),
    ("--log", Path, None, "FILE", "log every request to FILE, as JSON lines"),
    (
        "--seeds",
        Path,
        None,
        "FILE",
        "write the hosts' root URLs to FILE (default a temporary file)",
    ),
    (
        "--kinds",
        str,
        "",
        "NAME,NAME",
        "add these kinds only, in equal shares (docs/simweb-kinds.md lists them)",
    ),
    ("--size", str, "20000-40000", "LOW-HIGH", "size of a page in bytes (default %(default)s)"),
    ("--links", int, 40, "N", "links per page (default %(default)s)"),
    ("--addresses", int, 32, "N", "number of addresses that the hosts share (default %(default)s)"),
    ("--large", int, 0, "N", "add a well-behaved site of N pages, large0.test"),
    (
        *("--changes", float, 0.0, "RATE"),
        "let pages change, half of them more than RATE times per day; without kinds, in all ways",
    ),
    (
        *("--time-scale", float, 1.0, "S"),
        "days of changes that pass per day (86400 for a day per second; default %(default)s)",
    ),
)
FLAGS = (
    ("--hostile", "add every kind of odd answer, host, name and robots.txt"),
    ("--zoo", "add a host of each kind of endless trap, trapN.test"),
    ("--popular", "let few hosts get most of the links from other hosts"),
    ("--until-eof", "stop at the end of standard input, when the parent process has gone"),
)
PLAN = 'break something for a time; "10-40 host_503 site3.test": seconds from the start (may be repeated)'


class UsageError(ValueError):
    """The options are impossible; the message is one line for the user."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    for name, kind, default, metavar, text in OPTIONS:
        parser.add_argument(name, type=kind, default=default, metavar=metavar, help=text)
    for name, text in FLAGS:
        parser.add_argument(name, action="store_true", help=text)
    parser.add_argument("--outage", action="append", default=[], metavar="PLAN", help=PLAN)


def run(options: argparse.Namespace) -> None:
    """Serve until SIGINT, SIGTERM or, with --until-eof, the end of standard input.

    Raise UsageError if the web cannot start with these options.
    """
    try:
        world = _world(options)
        log = Log(options.log, keep=False)
        server = Server(
            world,
            dns_port=options.dns_port,
            latency=options.latency,
            log=log,
            outages=options.outage,
        )
        with _seed_file(world, options.seeds) as seeds:
            loop = new_event_loop()
            loop.run_until_complete(_serve(server, seeds, until_eof=options.until_eof))
            loop.close()
    except (ValueError, OSError, OverflowError) as error:
        raise UsageError(f"the synthetic web cannot start: {error}") from error


async def _serve(server: Server, seeds: Path, *, until_eof: bool) -> None:
    """Start the server, print the line that says so, and serve until it is to stop."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    if until_eof:
        loop.add_reader(sys.stdin, _stop_at_eof, stop)
    await server.start()
    world = server.world
    size = f"{count(world.hosts, 'host')}, {count(world.pages, 'page')}"
    print(  # noqa: T201 -- the parent process waits for this line
        f"simweb ready: {size}, http port {world.port}, dns {server.nameserver}; "
        f"crawl it: {program()} crawl web -a seeds={seeds} -s DNS_NAMESERVERS={server.nameserver} "
        "-s PRIVATE_NETWORKS_ALLOWED=127.0.0.0/16",
        flush=True,
    )
    await stop.wait()
    await server.close()


def _stop_at_eof(stop: asyncio.Event) -> None:
    # A pipe ends when its parent dies, even by kill -9
    if not os.read(sys.stdin.fileno(), 4096):
        stop.set()


def _check_ports(options: argparse.Namespace) -> None:
    """Raise UsageError if a port is impossible."""
    for name in ("port", "dns_port", "tls_port"):
        port = getattr(options, name)
        if not 0 <= port <= HIGHEST_PORT:
            raise UsageError(f"--{name.replace('_', '-')} {port}: must be from 0 to {HIGHEST_PORT}")


def _sizes(text: str) -> tuple[int, int]:
    """Return the smallest and the largest size of a page in bytes.

    Raise UsageError if the text names none.
    """
    low, dash, high = text.partition("-")
    if not dash:
        high = low
    if not (low.isdecimal() and high.isdecimal()):
        raise UsageError(f"--size {text}: expected LOW-HIGH in bytes")
    return int(low), int(high)


def _world(options: argparse.Namespace) -> World:
    """Return the world that the options describe. Raise ValueError if there is none."""
    _check_ports(options)
    sizes = _sizes(options.size)
    if not 0 <= options.latency <= MAX_LATENCY:
        raise UsageError(
            f"--latency {options.latency:g}: must be from 0 to {MAX_LATENCY:g} seconds"
        )
    mix = even(kind.strip() for kind in options.kinds.split(",") if kind.strip())
    if options.changes and not has_changes(mix):
        mix |= changing()
    return World(
        options.hosts,
        options.pages,
        options.seed,
        options.port,
        tls_port=options.tls_port,
        mix=(hostile() if options.hostile else {}) | mix,
        size=sizes,
        links=options.links,
        addresses=options.addresses,
        zoo=tuple(ZOO) if options.zoo else (),
        large=(options.large,) if options.large else (),
        popular=options.popular,
        changes=options.changes,
        time_scale=options.time_scale,
    )


@contextmanager
def _seed_file(world: World, path: Path | None) -> Iterator[Path]:
    """Write the roots of all hosts to a file and yield its path; without `path` it is temporary."""
    with TemporaryDirectory(prefix="simweb-") as folder:
        path = path or Path(folder) / "seeds.txt"
        with path.open("w", encoding="ascii") as file:
            file.writelines(f"{url}\n" for url in world.seeds())
        yield path
