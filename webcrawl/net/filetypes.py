"""Content types by file name, for protocols that do not send them."""

from __future__ import annotations

from mimetypes import MimeTypes

_TYPES = MimeTypes(())  # only Python's table: the system's differs between machines
_PACKED = {"gzip": "application/gzip", "bzip2": "application/x-bzip2", "xz": "application/x-xz"}


def type_of(name: bytes) -> str:
    """The content type for this file name; empty if unknown, and then the body may be sniffed."""
    ending = name[-20:].rpartition(b"/")[2].decode("latin-1")
    kind, packing = _TYPES.guess_type(f"x{ending}")
    return _PACKED.get(packing, "application/octet-stream") if packing else kind or ""
