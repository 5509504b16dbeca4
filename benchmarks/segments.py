"""Building segments: made links, half of them repeats, into the index and the pool; then one segment is cut.

The baseline keeps the same links in a Python set and sorts what is new, as a program would that trusts its memory; it
has a tenth of them.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

from scrapy.settings import Settings

from benchmarks.support.report import report, timed
from webcrawl.adapter.values import plain_values
from webcrawl.tools.commands.segments import STORES
from webcrawl.tools.segments.builder import Builder

BATCH = 40_000  # links at once, of a thousand pages
HOSTS = 200_000
FEW = 4_000_000  # links whose making is measured


def links(n: int) -> Iterator[list[bytes]]:
    """So many distinct URLs, each twice: the second time a while later. A few hosts have many, most have few.

    Of the links of a page three quarters are on its host.
    """
    random = Random(1)
    older: list[bytes] = []
    for first in range(0, n, BATCH):
        new = []
        home = 0
        for number in range(first, min(first + BATCH, n)):
            if number % 40 == 0:
                home = int(HOSTS * random.random() ** 3)
            host = home if number % 4 else int(HOSTS * random.random() ** 3)
            site = f"http://www.site{host}.example/"
            new.append(f"{site}some/path/to/page-{number}.html L {site} {site} 0   ".encode())
        yield new
        yield older
        older = new
    yield older


def build(n: int, most: int, store: str, memory: int, folder: Path) -> None:
    settings = Settings()
    settings.setmodule("webcrawl.settings")
    settings.set("SEEN_MEMORY", memory, "cmdline")
    with Builder(folder, plain_values(settings, "web"), store=STORES[store]) as builder:
        few = min(n, FEW)
        with timed() as making:
            for _ in links(few):
                pass
        with timed() as clock:
            builder.take(links(n))
        indexing = clock.cpu - making.cpu * n / few
        report(
            "segments index",
            store=store,
            urls=n,
            submissions=2 * n,
            submissions_per_cpu_second=round(2 * n / indexing),
            cpu_seconds=indexing,
        )
        with timed() as clock:
            found = builder.make(most, 1100)
        report(
            "segments cut",
            **vars(found),
            cpu_seconds=clock.cpu,
            urls_per_cpu_second=round(n / clock.cpu),
            pool_mib=sum(path.stat().st_size for path in folder.glob("pool-*")) >> 20,
        )
        if store == "exact" and found.urls + found.left != n:
            sys.exit(f"{found.urls + found.left} URLs, not {n}")


def baseline(n: int) -> None:
    with timed() as making:
        for _ in links(n):
            pass
    with timed() as clock:
        seen: set[bytes] = set()
        for some in links(n):
            seen.update(line.split(b" ", 1)[0] for line in some)
        sorted(seen)
    report(
        "segments baseline: a set, sorted", urls=n, submissions_per_cpu_second=round(2 * n / (clock.cpu - making.cpu))
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.segments", description=__doc__)
    parser.add_argument("--urls", type=int, default=1_000_000, help="distinct URLs (default: %(default)s)")
    parser.add_argument("--most", type=int, default=1_000_000, help="URLs of the segment (default: %(default)s)")
    parser.add_argument("--seen", choices=[*STORES], default="exact")
    parser.add_argument("--memory", type=int, default=256, help="SEEN_MEMORY, MiB (default: %(default)s)")
    parser.add_argument("--folder", type=Path, help="where the state lies meanwhile (default: the temporary folder)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        build(options.urls, options.most, options.seen, options.memory, Path(folder) / "segments")
    baseline(max(1, options.urls // 10))


if __name__ == "__main__":
    main()
