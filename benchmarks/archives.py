"""The cost of a page that is read from an archive.

The same archive, written by our writer, is read by FastWARC, by warcio and by our reader: all records, with their
blocks. The last line goes on to what a page is made of: link, exchange, decoded body, and the note of where the payload
lies. CPU microseconds per page, of three records each; the last few pages never leave the writer's buffer.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Callable
from pathlib import Path

from fastwarc.warc import ArchiveIterator as FastIterator
from warcio.archiveiterator import ArchiveIterator

from benchmarks.support.report import report, timed
from benchmarks.warc import _page, ours
from webcrawl.record.archives.archives import Archives
from webcrawl.record.archives.originals import Originals
from webcrawl.record.warc.reader import Lost, Records

MOST = 4 << 20  # bytes of a block that are kept


def fastwarc(path: Path) -> int:
    return sum(1 for record in FastIterator(str(path), parse_http=False) if record.reader.read() is not None)


def warcio(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for record in ArchiveIterator(file) if record.raw_stream.read() is not None)


def records(path: Path) -> int:
    def refuse(lost: Lost) -> None:
        raise ValueError(lost)

    with Records(path, MOST, refuse) as reader:
        return sum(1 for _ in reader)


def answers(path: Path) -> int:
    originals = Originals(path.with_suffix(".db"))
    found = sum(1 for one in Archives([path], lambda _: None, originals, 2 << 20) if one.found)
    originals.save()
    originals.close()
    return found


READERS: dict[str, Callable[[Path], int]] = {
    "fastwarc": fastwarc,
    "warcio": warcio,
    "webcrawl": records,
    "webcrawl, as far as pages": answers,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.archives", description=__doc__)
    parser.add_argument("--n", type=int, default=2000)
    parser.add_argument("--size", type=int, default=37_000)
    args = parser.parse_args()
    chance = random.Random(1)
    with tempfile.TemporaryDirectory() as scratch:
        ours([_page(chance, args.size) for _ in range(args.n)], Path(scratch))
        path = next(Path(scratch).glob("warc/*.warc.gz*"))
        for name, read in READERS.items():
            with timed() as clock:
                count = read(path)
            report("archives", reader=name, found=count, us=1e6 * clock.cpu / args.n)


if __name__ == "__main__":
    main()
