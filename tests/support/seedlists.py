"""Writes seed lists for the tests, reads them, and reads them up to a place."""

import gzip
import zipfile
from contextlib import closing
from pathlib import Path

from webcrawl.urls.seeds import Seed, Seeds


def write(path: Path, data: bytes) -> Path:
    """Writes the file, packed as its name says."""
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(data, 1))
    elif path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(path.stem, data)
    else:
        path.write_bytes(data)
    return path


def read(*paths: Path, limit: int | None = None, position: bytes = b"") -> list[Seed]:
    with closing(Seeds(",".join(map(str, paths)), limit)) as seeds:
        if position:
            seeds.resume(position)
        return list(seeds)


def after(count: int, *paths: Path, limit: int | None = None) -> bytes:
    """The position after this many seeds."""
    with closing(Seeds(",".join(map(str, paths)), limit)) as seeds:
        for _ in range(count):
            next(seeds)
        return seeds.position


def urls(path: Path) -> list[str]:
    return [seed.url for seed in read(path)]
