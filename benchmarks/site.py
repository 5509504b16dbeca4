"""One site of 200 pages, crawled by webcrawl and by others that are asked for the same delay: how
long it takes.

The site is the one that tests/end_to_end/test_stranger.py crawls: redirects, pictures, pages that
fail, one slow. The others are built and run as `python -m benchmarks.peers` does it. What counts is
the site's own record of its answers.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.peers.__main__ import ALL, ALONE, CACHE, FIRST, INSIDE, SCRIPT, build, is_alone
from benchmarks.peers.peer import Web
from benchmarks.support.processes import cost
from benchmarks.support.shop import PAGES, WARES, open_shop

NAMES = (FIRST, "crawlee-js", "crawlee-python")
HOST = "shop.test"  # Crawlee knows no delay for addresses
ROW = "{:<15}  {:>7}  {:>5}  {:>8}  {:>9}  {:>5}"


def ours(folder: Path, web: Web) -> list[str]:
    """Return the command of README, with a delay that does not depend on how fast the site
    answers.
    """
    given = {
        "JOBDIR": folder / "job",
        "PRIVATE_NETWORKS_ALLOWED": "127.0.0.0/8",
        "PORTS_ALLOWED": "1-65535",
        "HOSTS_FILE": "/etc/hosts",
    }
    given |= {"POLITENESS_FACTOR": 0, "POLITENESS_MIN_DELAY": web.delay, "LOG_LEVEL": "ERROR"}
    words = [word for name, value in given.items() for word in ("-s", f"{name}={value}")]
    seed = web.seeds.read_text().strip()
    return [
        sys.executable,
        "-m",
        "webcrawl",
        "crawl",
        "web",
        "-a",
        f"seeds={seed}",
        "-a",
        "scope=host",
        *words,
    ]


def run(names: list[str], built: Path, delay: float) -> None:
    """Crawl the site with each crawler, and print the table row by row."""
    print(ROW.format("crawler", "seconds", "wares", "requests", "CPU s", "MiB"))
    for name in names:
        with tempfile.TemporaryDirectory() as folder, open_shop() as (site, requested):
            work = Path(folder)
            (work / "seeds").write_text(f"{site.replace('127.0.0.1', HOST)}/\n")
            web = Web(1, PAGES, work / "seeds", delay)
            spent = cost(
                ours(work, web) if name == FIRST else ALL[name].command(built / name, work, web)
            )
            wares = {
                path.rpartition("/")[2] or "0"
                for path, status in requested
                if status == 200 and "page" in path
            }
            row = (
                name,
                f"{spent.seconds:.0f}",
                f"{len(wares) + 1}/{len(WARES)}",
                len(requested),
                f"{spent.cpu:.1f}",
                spent.peak,
            )
            print(ROW.format(*row), flush=True)


def main() -> int:
    """Run the crawlers that the command line names; the exit status is not 0 if they cannot run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.site", description=__doc__)
    parser.add_argument(
        "names", nargs="*", default=NAMES, metavar="NAME", help=f"of: {', '.join(NAMES)}"
    )
    parser.add_argument(
        "--delay",
        type=float,
        default=0.1,
        help="seconds between two requests (default: %(default)s)",
    )
    parser.add_argument(
        "--dir", type=Path, default=CACHE, help="where peers are built (default: %(default)s)"
    )
    args = parser.parse_args()
    if unknown := [name for name in args.names if name not in NAMES]:
        parser.error(f"unknown: {', '.join(unknown)}; there are: {', '.join(NAMES)}")
    if os.environ.get(INSIDE):
        if not is_alone():
            raise SystemExit("nothing is run: this process could reach a network")
        run(args.names, args.dir.resolve(), args.delay)
        return 0
    able = build(args.names, args.dir.resolve())
    again = [
        sys.executable,
        "-m",
        "benchmarks.site",
        "--dir",
        str(args.dir),
        "--delay",
        str(args.delay),
        *able,
    ]
    with tempfile.NamedTemporaryFile("w", suffix=".hosts") as hosts:
        hosts.write(f"127.0.0.1 localhost {HOST}\n")
        hosts.flush()
        command = [*ALONE, SCRIPT, hosts.name, *again]
        return subprocess.run(command, env={**os.environ, INSIDE: "1"}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
