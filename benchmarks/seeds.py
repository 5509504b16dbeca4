"""Reading seed lists: the first seed, all of them, and resuming near the end.

The baseline reads the whole list at the start: csv.reader into a list of URLs.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import resource
import shutil
import tempfile
import time
import zipfile
from contextlib import closing
from pathlib import Path
from random import Random

from benchmarks.support.report import report, timed
from webcrawl.urls.seeds import Seeds

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def make(path: Path, n: int) -> None:
    """Writes a list like Tranco's: rank and a made-up domain."""
    random = Random(1)
    with path.open("w") as file:
        for rank in range(1, n + 1):
            label = "".join(random.choices(LETTERS, k=random.randint(4, 16)))
            file.write(f"{rank},{label}.{random.choice(('com', 'org', 'de', 'co.uk'))}\r\n")


def pack(path: Path) -> list[Path]:
    """The same list plain, as gzip, as zip and in UTF-16."""
    packed = [path, *(path.with_name(name) for name in ("list.csv.gz", "list.csv.zip", "wide.csv"))]
    with path.open("rb") as file, gzip.open(packed[1], "wb") as out:
        shutil.copyfileobj(file, out)
    with zipfile.ZipFile(packed[2], "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(path, path.name)
    with path.open(newline="") as text, packed[3].open("w", encoding="utf-16", newline="") as wide:
        shutil.copyfileobj(text, wide)
    return packed


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def measure(path: Path, n: int, before: int) -> None:
    start = time.perf_counter()
    with closing(Seeds(str(path))) as seeds:
        next(seeds)
        first = time.perf_counter() - start
        near_end = b""
        with timed() as clock:
            for count, _ in enumerate(seeds, 2):
                if count == n - n // 1000:
                    near_end = seeds.position
        taken = seeds.taken
        with timed() as again:
            seeds.resume(near_end)
            rest = next(seeds)
    report(
        "seeds",
        list=path.name,
        seeds=taken,
        resumed_at_line=rest.line,
        first_ms=first * 1e3,
        seeds_a_cpu_second=round(n / clock.cpu),
        resume_ms=again.seconds * 1e3,
        resume_cpu_ms=again.cpu * 1e3,
        rss_growth_kib=peak() - before,
    )


def baseline(path: Path, before: int) -> None:
    start = time.perf_counter()
    with path.open(newline="") as file:
        urls = [f"http://{row[1]}/" for row in csv.reader(file)]
    first = time.perf_counter() - start
    report(
        "seeds", list="baseline: the whole list", seeds=len(urls), first_ms=first * 1e3, rss_growth_kib=peak() - before
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.seeds", description=__doc__)
    parser.add_argument("--n", type=int, default=1_000_000, help="lines of the list (default: %(default)s)")
    n = parser.parse_args().n
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "list.csv"
        make(path, n)
        packed = pack(path)
        before = peak()
        for one in packed:
            measure(one, n, before)
        baseline(path, before)


if __name__ == "__main__":
    main()
