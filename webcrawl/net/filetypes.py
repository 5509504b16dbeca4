"""The content type of a file whose protocol does not say it, by its name."""

from __future__ import annotations

from mimetypes import MimeTypes

_TYPES = MimeTypes(())  # Python's own table: the machine's would make crawls differ from machine to machine
_PACKED = {"gzip": "application/gzip", "bzip2": "application/x-bzip2", "xz": "application/x-xz"}


def type_of(name: bytes) -> str:
    """Empty if the ending says nothing; then the body's beginning may."""
    ending = name[-20:].rpartition(b"/")[2].decode("latin-1")
    kind, packing = _TYPES.guess_type(f"x{ending}")
    return _PACKED.get(packing, "application/octet-stream") if packing else kind or ""
