"""Splits blocks of bytes into lines, in bounded memory and with every byte accounted for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LONGEST = 131_072  # bytes per line: twice the longest URL that URL_MAX_LENGTH can allow


def lines(blocks: Iterable[bytes], longest: int = LONGEST) -> Iterator[tuple[bytes, int]]:
    r"""Yields each line with its end (`\n`, `\r\n` or `\r`), and the number of bytes dropped from its start.

    A line over `longest` is not held: only its end is yielded, with the count of the bytes before it. The lengths
    and the counts add up to the length of all blocks.
    """
    held, dropped = b"", 0
    for block in blocks:
        pieces = (held + block).splitlines(keepends=True)
        # hold back a last "\r" too: its "\n" may start the next block
        held = b"" if pieces[-1].endswith(b"\n") else pieces.pop()
        for piece in pieces:
            if dropped or len(piece) > longest:
                end = piece[-2:]
                yield end, dropped + len(piece) - len(end)
                dropped = 0
            else:
                yield piece, 0
        if len(held) > longest:
            keep = held[-1:] if held.endswith(b"\r") else b""
            dropped += len(held) - len(keep)
            held = keep
    if held or dropped:
        yield held, dropped
