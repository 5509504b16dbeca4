"""SHA-1 as archives and logs write it: `sha1:` and 32 letters."""

from __future__ import annotations

import hashlib

TOGETHER = 3  # labels made at once
# RFC 4648 6: five bits a letter. Here each letter's number is a byte of its own.
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".ljust(256)
_ROOM = bytes(12)  # a digest's letters are longer by so much


def sha1(block: bytes, rest: bytes = b"") -> bytes:
    """Of what comes in one part or two."""
    digest = hashlib.sha1(block, usedforsecurity=False)
    if rest:
        digest.update(rest)
    return digest.digest()


def label(digest: bytes) -> str:
    """As base64.b32encode has it, in half of the time."""
    return f"sha1:{_letters(digest)}"


def labels(one: bytes, two: bytes, three: bytes) -> tuple[str, str, str]:
    """The same of three, as many as a page's records have, in the time of one and a half."""
    letters = _letters(_ROOM.join((one, two, three)))
    return f"sha1:{letters[:32]}", f"sha1:{letters[32:64]}", f"sha1:{letters[64:]}"


def _halves(letters: int) -> tuple[int, int]:
    """For numbers of twice so many letters: what keeps the upper halves, and how many times these are added.

    To add a number 2^n - 1 times to itself is to move it by n.
    """
    five, eight = 5 * letters, 8 * letters
    low = sum(((1 << five) - 1) << 2 * eight * at for at in range(TOGETHER * 16 // letters))
    return low << five, (1 << eight - five) - 1


_SPREAD = [_halves(letters) for letters in (16, 8, 4, 2, 1)]


def _letters(digests: bytes) -> str:
    """A number is halved, and its halves moved apart, until each letter has its byte.

    A table of letter pairs is as short a way, but it is 60 KB that others lose from the processor's cache.
    """
    number = int.from_bytes(digests, "big")
    for high, times in _SPREAD:
        number += (number & high) * times
    return number.to_bytes(len(digests) + len(_ROOM), "big").translate(_LETTERS).decode()
