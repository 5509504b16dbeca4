"""What lies where: the rows `stored.NAME` of the table meta, part of every checkpoint (docs/files.md)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from webcrawl.store.outputs import STORED

WHERE = "store"  # in the same table: the address of the last run
KINDS = {"warc/": (".warc.gz", ".cdxj"), "tables/": (".parquet",)}  # folder, endings


@dataclass(frozen=True, slots=True)
class Stored:
    """A finished file, and the copy of it that was verified. Without an address: its owner took it before."""

    address: str
    length: int = 0
    sha256: str = ""
    at: str = ""  # when it was verified
    by: str = ""  # how: all of it was `read back`, or the store's own `checksum` was compared

    @property
    def is_taken(self) -> bool:
        return not self.address

    def pack(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @classmethod
    def of(cls, data: bytes) -> Stored:
        """ValueError, TypeError or KeyError if it is damaged."""
        found = json.loads(data)
        if not isinstance(found, dict) or not isinstance(found["length"], int) or not isinstance(found["address"], str):
            raise TypeError(f"not a stored file: {data!r}")
        return cls(**found)


def listing(rows: Iterable[tuple[str, bytes]]) -> dict[str, Stored]:
    """Of rows of meta, by name of the file."""
    return {name.removeprefix(STORED): Stored.of(bytes(data)) for name, data in rows}


def goes(name: str) -> bool:
    """Whether a finished output of this name goes to the store."""
    return any(name.startswith(folder) and name.endswith(endings) for folder, endings in KINDS.items())
