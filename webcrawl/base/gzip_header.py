"""Where the header of a gzip member ends (RFC 1952 2.3)."""

from __future__ import annotations

MAGIC = b"\x1f\x8b\x08"
SHORTEST = 10  # bytes of a header without optional fields
CHECKED, EXTRA, NAME, COMMENT = 2, 4, 8, 16  # flags, in its fourth byte: these fields follow
FIELDS = CHECKED | EXTRA | NAME | COMMENT


def header_end(data: bytes) -> int:
    """The length of the header that begins here, of which SHORTEST bytes are there; 0 if it does not end in here."""
    flags, end = data[3], SHORTEST
    if flags & EXTRA:
        end += 2 + int.from_bytes(data[end : end + 2], "little")
    for field in (NAME, COMMENT):
        if flags & field:
            end = data.find(b"\0", end) + 1
            if not end:
                return 0
    if flags & CHECKED:
        end += 2
    return end if end <= len(data) else 0
