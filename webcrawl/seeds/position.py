"""How far the reading of seeds has come, in a form that outlives the process."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from hashlib import blake2b

from webcrawl.seeds.errors import SeedError


def digest(data: bytes) -> str:
    return blake2b(data, digest_size=8).hexdigest()


@dataclass(slots=True)
class Place:
    """How far one list was read. The digests tell a list that was only added to from one that was changed."""

    offset: int = 0  # of the unpacked bytes
    line: int = 0
    good: int = 0
    bad: int = 0
    head: str = ""  # digest of the first block, as far as it was read
    last: str = ""  # digest of the last line, or of the end of it that was held:
    held: int = 0  # so many bytes


@dataclass(slots=True)
class Position:
    """How far all lists were read."""

    src: str
    file: int = 0
    good: int = 0  # in the lists before this one
    bad: int = 0
    place: Place = field(default_factory=Place)

    def pack(self) -> bytes:
        return json.dumps(asdict(self)).encode()


def unpack(packed: bytes) -> Position:
    """The position that `pack` made this of."""
    try:
        fields = json.loads(packed)
        return Position(**fields | {"place": Place(**fields["place"])})
    except (ValueError, TypeError, KeyError) as error:
        raise SeedError(f"the position in the seeds is unreadable: {error}") from error
