"""Content codings undone while the body arrives, with a bound on every byte they make."""

from __future__ import annotations

from collections.abc import Sequence

from webcrawl.net.codings import CODINGS, ERRORS, Coding

_PIECE = 65536  # bytes asked of a coding at a time
_MAX_CODINGS = 4  # nested; more is no page but a bomb
_NOTHING = frozenset((b"identity", b"none", b""))  # labels that say: no coding


class UnknownCoding(Exception):  # noqa: N818 - a label, no failure
    """A coding that we do not know, or too many of them."""


class Decoder:
    """Undoes codings piece by piece; holds `limit` bytes and one piece at the most.

    A stage in the middle may make no more than `limit` twice over: gzip in gzip would else turn a megabyte
    into a terabyte on its way to nothing.
    """

    __slots__ = ("_limit", "_made", "_out", "_stages", "broken", "full")

    def __init__(self, codings: Sequence[bytes], limit: int) -> None:
        self._stages: list[Coding] = [CODINGS[name]() for name in reversed(codings)]
        self._made = [0] * len(codings)
        self._limit = limit
        self._out = bytearray()
        self.full = False  # more than `limit` came out
        self.broken = False  # what came is not what its label says

    def feed(self, data: bytes) -> None:
        """Take what arrived; once full or broken, nothing is done with it."""
        if self.full or self.broken:
            return
        try:
            self._pump(0, data)
        except ERRORS:
            self.broken = True

    def finish(self) -> None:
        """The body is complete; a coded stream that is not is broken."""
        if not self.full and not self.broken and not all(stage.eof for stage in self._stages):
            self.broken = True

    @property
    def started(self) -> bool:
        """True if anything came out."""
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


def decoder(codings: Sequence[bytes], limit: int) -> Decoder | None:
    """A decoder for these codings, None if there is nothing to undo; raises UnknownCoding."""
    names = [name for name in codings if name not in _NOTHING]
    if len(names) > _MAX_CODINGS or not CODINGS.keys() >= set(names):
        raise UnknownCoding(b", ".join(names[:10]).decode("latin-1"))
    return Decoder(names, limit) if names else None
