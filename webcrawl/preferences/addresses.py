"""Addresses of licences (RSL) and policies (TDMRep): recorded, and never fetched."""

from __future__ import annotations

LONGEST = 500  # characters
RSL = "application/rsl+xml"


def address(value: str) -> str:
    """The address as it was written, if it is an absolute one on the web; empty otherwise."""
    found = value.strip()
    known = found[:8].lower().startswith(("http://", "https://"))
    return found if known and len(found) <= LONGEST and found.isprintable() and " " not in found else ""
