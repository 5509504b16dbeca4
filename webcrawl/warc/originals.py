"""Where recent payloads were written, so that a revisit record can refer to the original."""

from __future__ import annotations

LIMIT = 1 << 15  # about 300 bytes each


class Originals:
    """The payloads written or found most recently, between `limit / 2` and `limit` of them.

    There are two generations. A full new generation replaces the old one; a payload found in the old generation moves
    to the new one. So popular payloads are never dropped, like popular URLs in Mercator's cache.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self._half = max(1, limit // 2)
        self._new: dict[str, bytes] = {}
        self._old: dict[str, bytes] = {}

    def __repr__(self) -> str:
        return f"<Originals {len(self)} at most {2 * self._half}>"

    def __len__(self) -> int:
        return len(self._new) + len(self._old)

    def find(self, digest: str) -> tuple[str, str, str] | None:
        """Identifier, address and date of the record that holds this payload, if still remembered."""
        packed = self._new.get(digest)
        if packed is None:
            packed = self._old.pop(digest, None)
            if packed is None:
                return None
            self._put(digest, packed)
        identifier, address, date = packed.decode().split(" ")
        return identifier, address, date

    def add(self, digest: str, identifier: str, address: str, date: str) -> None:
        """None of the three may contain a blank: they are stored as one string."""
        self._old.pop(digest, None)
        self._put(digest, f"{identifier} {address} {date}".encode())

    def _put(self, digest: str, packed: bytes) -> None:
        if len(self._new) >= self._half and digest not in self._new:
            self._old, self._new = self._new, {}
        self._new[digest] = packed
