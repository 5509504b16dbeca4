"""Rules as stored in the frontier's table: a compressed robots.txt with only this crawler's group.

For real files 300 bytes on average instead of 5,000, and 25 us to load instead of 200.
"""

from __future__ import annotations

import zstandard

from webcrawl.net.robots import Rules

FIELDS = {True: "Allow: ", False: "Disallow: "}
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
