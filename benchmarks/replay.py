"""Replays of a crawl beside the live site, compared pixel by pixel in a real browser.

A styled site on loopback needs files of three hosts: style sheets that import others, a web font,
pictures of all kinds, scripts, frames. It is crawled with `scope=host`, with and without
REQUISITES, and switched off. Then Chromium shows its pages from the archive, by pywb and by
replayweb.page, at one and two pixels per point. All of it runs in a network namespace that has
nothing but loopback. What is not installed is skipped, and said so: benchmarks/README.md tells how
to install it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.support.chromium import ARCHIVE, LOOPBACK, browser, program
from benchmarks.support.replay_site import HOST, NAMES, PAGES, serving
from benchmarks.support.replayers import Address, pywb, replayweb
from benchmarks.support.report import report

INSIDE = "WEBCRAWL_REPLAY_NAMESPACE"  # in the environment of the run in the namespace
ALONE = ["unshare", "--net", *([] if os.geteuid() == 0 else ["--map-root-user"]), "sh", "-c"]
LOOPBACK_UP = 'ip link set lo up && exec "$@"'
SCALES = (1, 2)
SHOWN_LATE = 10.0  # seconds for a replay that is expected to differ
Replayer = Callable[[Path, Path], AbstractContextManager[Address]]
Shots = dict[tuple[str, int], bytes]


def crawl(folder: Path, port: int, *, requisites: bool) -> Path:
    """Crawl the site, pack its archive, and return the JOBDIR."""
    job = folder / f"job{requisites:d}"
    (folder / "seeds.txt").write_text(f"http://{HOST}:{port}/\n")
    (folder / "hosts").write_text("".join(f"127.0.0.1 {name}\n" for name in NAMES))
    settings = {
        "JOBDIR": job,
        "REQUISITES": requisites,
        "HOSTS_FILE": folder / "hosts",
        "PRIVATE_NETWORKS_ALLOWED": "127.0.0.0/8",
        "PORTS_ALLOWED": port,
        "POLITENESS_MIN_DELAY": 0,
        "MIN_FREE_DISK": 0,
        "LOG_LEVEL": "WARNING",
    }
    given = [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]
    scrapy = [sys.executable, "-m", "webcrawl"]
    subprocess.run(
        [
            *scrapy,
            "crawl",
            "web",
            "-a",
            f"seeds={folder / 'seeds.txt'}",
            "-a",
            "scope=host",
            *given,
        ],
        check=True,
    )
    subprocess.run(
        [*scrapy, "wacz", str(job), "-o", str(folder / f"site{requisites:d}.wacz")], check=True
    )
    return job


def shots_of_live_site(folder: Path, port: int) -> Shots:
    """Return the screenshots of the site as it is."""
    with browser(folder / "live", LOOPBACK) as page:
        shots = {}
        for path, scale in _pages_and_scales():
            page.show(f"http://{HOST}:{port}{path}", scale)
            shots[path, scale] = page.steady()
        return shots


def compare(
    name: str, address: Address, port: int, wanted: Shots, folder: Path, *, requisites: bool
) -> int:
    """Report each view of a replay, and return how many differ from the live site."""
    different = 0
    with browser(folder / "profile", ARCHIVE) as page:
        for path, scale in _pages_and_scales():
            page.show(address(f"http://{HOST}:{port}{path}"), scale)
            # Without requisites the view is expected to differ, so less patience is enough
            patience = () if requisites else (SHOWN_LATE,)
            shot = page.shows(wanted[path, scale], *patience)
            equal = shot == wanted[path, scale]
            different += not equal
            report(f"replay by {name}", requisites=requisites, page=path, scale=scale, equal=equal)
            if not equal:
                (folder / f"page{path.replace('/', '-')}{scale}.png").write_bytes(shot)
    return different


def measure(kept: Path, replayers: dict[str, Replayer]) -> bool:
    """Return whether all replays are as they should be: equal with requisites, different
    without.
    """
    good = True
    with serving() as (port, known, requested):
        wanted = shots_of_live_site(kept, port)
        needed = set(known).intersection(requested)
        requested.clear()
        crawl(kept, port, requisites=True)
        lost = needed.difference(requested)
        report(
            "crawl with REQUISITES",
            needed=len(needed),
            lost=len(lost),
            requested=len(set(requested)),
        )
        crawl(kept, port, requisites=False)
    for (path, scale), shot in wanted.items():
        (kept / f"live{path.replace('/', '-')}{scale}.png").write_bytes(shot)
    for name, replayer in replayers.items():
        for requisites in (True, False):
            folder = kept / f"{name}-{requisites:d}"
            (folder / "served").mkdir(parents=True)
            job, wacz = kept / f"job{requisites:d}", kept / f"site{requisites:d}.wacz"
            with replayer(job if name == "pywb" else wacz, folder / "served") as address:
                different = compare(name, address, port, wanted, folder, requisites=requisites)
            good = good and (not different if requisites else different > 0)
    return good and not lost


def _pages_and_scales() -> Iterator[tuple[str, int]]:
    return ((path, scale) for path in PAGES for scale in SCALES)


def _replayers(args: argparse.Namespace) -> dict[str, Replayer]:
    """Return the replayers that are installed; print a line for each other one."""
    found: dict[str, Replayer] = {}
    wayback = args.pywb or shutil.which("wayback")
    if wayback and Path(wayback).exists():
        found["pywb"] = lambda job, folder: pywb(Path(wayback), job, folder)
    else:
        print("pywb: skipped: its program wayback is not installed; see benchmarks/README.md")
    if args.replayweb and (args.replayweb / "ui.js").exists():
        found["replayweb.page"] = lambda wacz, folder: replayweb(args.replayweb, wacz, folder)
    else:
        print(
            "replayweb.page: skipped: --replayweb does not name its npm package; see benchmarks/README.md"
        )
    return found


def main() -> int:
    """Run the comparison, and return the exit status: 1 if a replay is not as it should be."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.replay", description=__doc__)
    parser.add_argument(
        "--pywb", metavar="FILE", help="pywb's program wayback, if it is not on the path"
    )
    parser.add_argument(
        "--replayweb", type=Path, metavar="FOLDER", help="the npm package replaywebpage, unpacked"
    )
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="where the screenshots and archives stay"
    )
    args = parser.parse_args()
    needed = {"Chromium": program(), "unshare": shutil.which("unshare")}
    missing = [name for name, path in needed.items() if not path]
    if missing:
        print(f"skipped: {' and '.join(missing)} not installed; see benchmarks/README.md")
        return 0
    if INSIDE not in os.environ:
        again = [sys.executable, "-m", "benchmarks.replay", *sys.argv[1:]]
        return subprocess.run(
            [*ALONE, LOOPBACK_UP, "sh", *again], env={**os.environ, INSIDE: "1"}, check=False
        ).returncode
    replayers = _replayers(args)
    if not replayers:
        return 0
    with TemporaryDirectory() as folder:
        if args.keep:
            args.keep.mkdir(parents=True)
        return 0 if measure(args.keep or Path(folder), replayers) else 1


if __name__ == "__main__":
    sys.exit(main())
