"""Places in a stream, as the server numbers its entries: milliseconds, a hyphen, a sequence number."""

from __future__ import annotations

BEGINNING = "0-0"  # before the first entry


def order(place: str) -> int:
    """A number by which places compare."""
    milliseconds, _, sequence = place.partition("-")
    return int(milliseconds) << 64 | int(sequence)
