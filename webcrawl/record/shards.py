"""Divides archive files among runs that share them, on one machine or many."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Self

from webcrawl.store.output import OPEN

# K/N, as split, Jest and Playwright have it
_K_OF_N = re.compile(r"([0-9]{1,9})/([0-9]{1,9})")
# The key of the hashes of all shards, so that a body has the same digest in each. It need not be
# secret: two bodies with the same 128 bits of BLAKE3 take some 2^64 attempts, whatever the key.
# Only crawls need fingerprints of URLs, which are shorter.
SHARD_KEY = blake2b(b"webcrawl process --shard", digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class Shard:
    """One of `count` shares of the archive files; `number` is from 1 to `count`."""

    number: int
    count: int

    @classmethod
    def read(cls, text: str) -> Self:
        """Return the shard that is written K/N. Raise ValueError if K is not from 1 to N."""
        form = _K_OF_N.fullmatch(text)
        if form is not None:
            shard = cls(*map(int, form.groups()))
            if 1 <= shard.number <= shard.count:
                return shard
        raise ValueError(f"{text}: must be K/N, with K from 1 to N")

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def has(self, file: Path) -> bool:
        """Return whether an archive file belongs to this shard.

        Only the file's name decides, without its folder and `.open`: it is the same on every machine,
        and while the file is written.
        """
        name = file.name.removesuffix(OPEN).encode()
        digest = int.from_bytes(blake2b(name, digest_size=8).digest(), "big")
        return digest % self.count == self.number - 1
