"""Rules as stored in the frontier's table: a compressed robots.txt with only this crawler's group.

For real files 300 bytes on average instead of 5,000, and 25 us to load instead of 200. The row of an origin whose
robots.txt is unreachable begins with `!`, the number of failures and the time of the first; rules that are still in
force follow after a semicolon.
"""

from __future__ import annotations

from typing import NamedTuple

import zstandard

from webcrawl.net.robots import Rules

FIELDS = {True: "Allow: ", False: "Disallow: "}
AWAY, IN_FORCE = b"!", b";"  # neither begins a zstd frame
_compressor = zstandard.ZstdCompressor(level=1, write_checksum=True)  # 4 bytes; SQLite has none
_decompressor = zstandard.ZstdDecompressor()


def pack(rules: Rules, agent: str) -> bytes:
    """The row for these rules; empty if everything is allowed."""
    if not len(rules) and not rules.crawl_delay:
        return b""
    lines = [f"User-agent: {agent or '*'}", f"Crawl-delay: {rules.crawl_delay!r}"]
    lines += [FIELDS[allow] + pattern for pattern, allow in rules.items()]
    return _compressor.compress("\n".join(lines).encode())


def unpack(data: bytes, agent: str) -> Rules | None:
    """The rules; None if they are another crawler's (USER_AGENT was changed) or unreadable."""
    if not data:
        return Rules({})
    try:
        head, delay, *lines = _decompressor.decompress(data).decode().split("\n")
        if head != f"User-agent: {agent or '*'}":
            return None
        return Rules({line.partition(" ")[2]: line[0] == "A" for line in lines}, float(delay.partition(" ")[2]))
    except (zstandard.ZstdError, ValueError):
        return None


class Away(NamedTuple):
    """Since when an origin's robots.txt is unreachable, and how many tries have failed; none if it is given up."""

    tries: int
    since: float


def pack_away(away: Away, rules: bytes | None) -> bytes:
    """The row of an unreachable robots.txt, with the packed rules in force; None if there are none."""
    head = AWAY + f"{away.tries} {away.since!r}".encode()
    return head if rules is None else head + IN_FORCE + rules


def split(row: bytes) -> tuple[Away | None, bytes | None]:
    """Whether robots.txt is away, and the packed rules in force; ValueError for a row that nobody wrote."""
    if not row.startswith(AWAY):
        return None, row
    head, in_force, rules = row[1:].partition(IN_FORCE)
    tries, since = head.split(b" ")
    return Away(int(tries), float(since)), rules if in_force else None
