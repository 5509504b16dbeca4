"""How far the seeds were read, in a form that outlives the process."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from hashlib import blake2b

from webcrawl.seeds.errors import SeedError


def digest(data: bytes) -> str:
    return blake2b(data, digest_size=8).hexdigest()


@dataclass(slots=True)
class Place:
    """How far one list was read. The digests tell a list that only grew from one that changed."""

    offset: int = 0  # in the unpacked bytes
    line: int = 0
    good: int = 0
    bad: int = 0
    head: str = ""  # digest of the part of the first block that was read
    last: str = ""  # digest of the last line, or of the end of it that was held
    held: int = 0  # bytes in that digest


@dataclass(slots=True)
class Position:
    """How far all lists were read."""

    src: str
    file: int = 0
    good: int = 0  # seeds in the lists before this one
    bad: int = 0
    place: Place = field(default_factory=Place)
    ended: bool = False  # nothing was left to read

    def pack(self) -> bytes:
        return json.dumps(asdict(self)).encode()


def unpack(packed: bytes) -> Position:
    """The inverse of `Position.pack`. Raises SeedError."""
    try:
        fields = json.loads(packed)
        return Position(**fields | {"place": Place(**fields["place"])})
    except (ValueError, TypeError, KeyError) as error:
        raise SeedError(f"the position in the seeds is unreadable: {error}") from error
