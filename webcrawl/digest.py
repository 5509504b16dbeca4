"""SHA-1 as archives and logs write it: `sha1:` and 32 letters."""

from __future__ import annotations

# RFC 4648 6: five bits a letter. Here each letter's number is a byte of its own.
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".ljust(256)


def _halves(letters: int) -> tuple[int, int, int]:
    """For numbers of twice so many letters: how far the upper half of each moves, and what keeps the two halves."""
    five, eight = 5 * letters, 8 * letters
    low = sum(((1 << five) - 1) << 2 * eight * at for at in range(16 // letters))
    return eight - five, low, low << five


_SPREAD = [_halves(letters) for letters in (16, 8, 4, 2, 1)]


def label(sha1: bytes) -> str:
    """As base64.b32encode has it, in half of the time: a page has four of these.

    The number is halved, and its halves moved apart, until each letter has its byte; a table of letter pairs is as
    short a way, but it is 60 KB that others lose from the processor's cache.
    """
    number = int.from_bytes(sha1, "big")
    for far, low, high in _SPREAD:
        number = number & low | (number & high) << far
    return "sha1:" + number.to_bytes(32, "big").translate(_LETTERS).decode()
