"""Decodes content codings while the body arrives, with a bound on every stage's output."""

from __future__ import annotations

from collections.abc import Sequence

from webcrawl.net.codings import CODINGS, ERRORS, Coding

_PIECE = 65536  # bytes decoded at a time
_CHECKSUM = 8  # bytes, and the size; of gzip, whose is the longest
_MAX_CODINGS = 4  # nested; more is a bomb, not a page
_NOTHING = frozenset((b"identity", b"none", b""))  # labels that mean no coding


class UnknownCoding(Exception):  # noqa: N818 - a label, not a failure
    """An unknown coding, or too many of them."""


class Decoder:
    """Decodes piece by piece; holds at most `limit` bytes and one piece.

    An intermediate stage may output at most twice `limit`: otherwise gzip in gzip could expand a megabyte to a
    terabyte on the way to an empty page.
    """

    __slots__ = ("_limit", "_made", "_out", "_stages", "broken", "cut", "full")

    def __init__(self, codings: Sequence[bytes], limit: int) -> None:
        self._stages: list[Coding] = [CODINGS[name]() for name in reversed(codings)]
        self._made = [0] * len(codings)
        self._limit = limit
        self._out = bytearray()
        self.full = False  # the output exceeds `limit`
        self.broken = False  # the data is not in the coding that its label names
        self.cut = False  # the data ends before the coded stream does

    def feed(self, data: bytes) -> None:
        """Decode what arrived; ignored once full or broken."""
        if self.full or self.broken:
            return
        try:
            self._pump(0, data)
        except ERRORS:
            self.broken = True

    def finish(self) -> None:
        """Mark the body as complete: a coded stream that has not ended is broken, and cut if content is missing."""
        unended = next((stage for stage in self._stages if not stage.eof), None)
        if unended is not None and not self.full and not self.broken:
            self.broken, self.cut = True, not _lacks_checksum(unended)

    def grow(self, extra: int) -> None:
        """Hold so many bytes more, and go on; only with one coding, whose stage keeps what it has not decoded."""
        self._limit += extra
        if self.full:
            self.full = False
            self.feed(b"")

    @property
    def can_grow(self) -> bool:
        return len(self._stages) == 1

    @property
    def started(self) -> bool:
        """True if there is any output."""
        return bool(self._out)

    @property
    def body(self) -> bytes:
        return bytes(self._out[: self._limit])

    def _pump(self, index: int, data: bytes) -> None:
        stage = self._stages[index]
        last = index + 1 == len(self._stages)
        while not self.full:
            piece = stage.decompress(data, _PIECE)
            self._made[index] += len(piece)
            if last:
                self._out += piece
                self.full = len(self._out) > self._limit
            elif piece:
                self.full = self._made[index] > 2 * self._limit + _PIECE
                self._pump(index + 1, piece)
            if stage.needs_input:
                return
            data = b""


def _lacks_checksum(stage: Coding) -> bool:
    """Return whether only the checksum behind the content is missing, as some servers leave it out."""
    try:
        stage.decompress(bytes(_CHECKSUM), _PIECE)
    except ERRORS as error:
        return "checksum" in str(error)
    return stage.eof


def decoder(codings: Sequence[bytes], limit: int) -> Decoder | None:
    """A decoder for these codings, None if there is nothing to decode; raises UnknownCoding."""
    names = [name for name in codings if name not in _NOTHING]
    if len(names) > _MAX_CODINGS or not CODINGS.keys() >= set(names):
        raise UnknownCoding(b", ".join(names[:10]).decode("latin-1"))
    return Decoder(names, limit) if names else None
