"""Digests as archives and logs write them: `sha1:` and 32 letters of base 32, and SHA-256."""

from __future__ import annotations

import hashlib
import re
from base64 import b32decode, b32encode

TOGETHER = 3  # labels made at once
# RFC 4648 6: five bits per letter. Here each letter's number occupies one byte.
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".ljust(256)
_ROOM = bytes(12)  # a digest has 20 bytes, its letters have 32


def sha1(block: bytes, rest: bytes = b"") -> bytes:
    """Return the digest of a block in one part or two."""
    digest = hashlib.sha1(block, usedforsecurity=False)
    if rest:
        digest.update(rest)
    return digest.digest()


def label(digest: bytes) -> str:
    """Return the label of a digest: the letters that base64.b32encode gives, in half the time."""
    return f"sha1:{_letters(digest)}"


def labels(one: bytes, two: bytes, three: bytes) -> tuple[str, str, str]:
    """Return the labels of three digests (one page's records) in the time of one and a half."""
    letters = _letters(_ROOM.join((one, two, three)))
    return f"sha1:{letters[:32]}", f"sha1:{letters[32:64]}", f"sha1:{letters[64:]}"


SHA1, SHA256 = "sha1", "sha256"
_WRITTEN = re.compile(
    r"(?:sha-?1:)?(?:(?P<sha1>[A-Z2-7]{32})|(?P<hex1>[0-9A-F]{40}))"
    r"|(?:sha-?256:)?(?:(?P<sha256>[A-Z2-7]{52})(?:====)?|(?P<hex256>[0-9A-F]{64}))",
    re.IGNORECASE,
)


def sha256_label(block: bytes) -> str:
    """Return the label of a block's SHA-256, as browsers' crawlers write it: in hexadecimal."""
    return f"{SHA256}:{hashlib.sha256(block).hexdigest()}"


def normal(digest: str) -> str:
    """Return a SHA-1 as `label`, a SHA-256 as `sha256_label` writes it; empty for other digests."""
    found = _WRITTEN.fullmatch(digest)
    if found is None:
        return ""
    if letters := found["sha1"]:
        return f"{SHA1}:{letters.upper()}"
    if found["hex1"]:
        return f"{SHA1}:{b32encode(bytes.fromhex(found['hex1'])).decode()}"
    if letters := found["sha256"]:
        return f"{SHA256}:{b32decode(f'{letters.upper()}====').hex()}"
    return f"{SHA256}:{found['hex256'].lower()}"


def labelled(digest: str) -> str:
    """Return a digest that `normal` knows with its algorithm, which some indexes leave out."""
    return digest if ":" in digest else f"{algorithm(normal(digest))}:{digest}"


def algorithm(digest: str) -> str:
    return digest.partition(":")[0]


def _halves(letters: int) -> tuple[int, int]:
    """Return the mask of the upper halves of numbers, and the factor that moves the halves apart.

    The numbers have 2 * `letters` letters. Adding a number 2^n - 1 times to itself shifts it by n
    bits.
    """
    five, eight = 5 * letters, 8 * letters
    low = sum(((1 << five) - 1) << 2 * eight * at for at in range(TOGETHER * 16 // letters))
    return low << five, (1 << eight - five) - 1


_SPREAD = [_halves(letters) for letters in (16, 8, 4, 2, 1)]


def _letters(digests: bytes) -> str:
    """Halve the number, and move the halves apart, until every letter has its own byte.

    A table of letter pairs takes as little code, but its 60 KB evict other data from the
    processor's cache.
    """
    number = int.from_bytes(digests, "big")
    for high, times in _SPREAD:
        number += (number & high) * times
    return number.to_bytes(len(digests) + len(_ROOM), "big").translate(_LETTERS).decode()
