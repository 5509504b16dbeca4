"""Lines out of blocks of bytes, in bounded memory and with every byte accounted for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LONGEST = 131_072  # bytes of a line: twice the longest URL that URL_MAX_LENGTH can allow


def lines(blocks: Iterable[bytes], longest: int = LONGEST) -> Iterator[tuple[bytes, int]]:
    r"""Each line with its end (`\n`, `\r\n` or `\r`), and how many bytes of it were dropped before.

    A line over `longest` is not held: its end comes with the count of what went before it. The lengths
    and the counts together are the length of all blocks.
    """
    held, dropped = b"", 0
    for block in blocks:
        pieces = (held + block).splitlines(keepends=True)
        # a last "\r" waits too: its "\n" may open the next block
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
