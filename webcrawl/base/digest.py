"""SHA-1 digests as archives and logs write them: `sha1:` and 32 letters of base 32."""

from __future__ import annotations

import hashlib

TOGETHER = 3  # labels made at once
# RFC 4648 6: five bits per letter. Here each letter's number occupies one byte.
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".ljust(256)
_ROOM = bytes(12)  # a digest has 20 bytes, its letters have 32


def sha1(block: bytes, rest: bytes = b"") -> bytes:
    """The digest of a block in one part or two."""
    digest = hashlib.sha1(block, usedforsecurity=False)
    if rest:
        digest.update(rest)
    return digest.digest()


def label(digest: bytes) -> str:
    """Return the label of a digest: the letters that base64.b32encode gives, in half the time."""
    return f"sha1:{_letters(digest)}"


def labels(one: bytes, two: bytes, three: bytes) -> tuple[str, str, str]:
    """The labels of three digests (one page's records) in the time of one and a half."""
    letters = _letters(_ROOM.join((one, two, three)))
    return f"sha1:{letters[:32]}", f"sha1:{letters[32:64]}", f"sha1:{letters[64:]}"


def _halves(letters: int) -> tuple[int, int]:
    """For numbers of 2 * `letters` letters: a mask of the upper halves, and the factor that moves them apart.

    Adding a number 2^n - 1 times to itself shifts it by n bits.
    """
    five, eight = 5 * letters, 8 * letters
    low = sum(((1 << five) - 1) << 2 * eight * at for at in range(TOGETHER * 16 // letters))
    return low << five, (1 << eight - five) - 1


_SPREAD = [_halves(letters) for letters in (16, 8, 4, 2, 1)]


def _letters(digests: bytes) -> str:
    """Halves the number and moves the halves apart until every letter has its own byte.

    A table of letter pairs takes as little code, but its 60 KB evict other data from the processor's cache.
    """
    number = int.from_bytes(digests, "big")
    for high, times in _SPREAD:
        number += (number & high) * times
    return number.to_bytes(len(digests) + len(_ROOM), "big").translate(_LETTERS).decode()
