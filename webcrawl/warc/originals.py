"""Where payloads were written lately, so that a revisit record can name the one that it stands for."""

from __future__ import annotations

LIMIT = 1 << 15  # about 300 bytes each


class Originals:
    """The last payloads written or met again, between half of `limit` and all of it.

    Two generations: a full one becomes the old one, what is met in the old one joins the new one. Payloads that come
    often stay for ever, as popular URLs do in Mercator's cache.
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
        """Identifier, address and date of the record that holds this payload, if it is remembered."""
        packed = self._new.get(digest)
        if packed is None:
            packed = self._old.pop(digest, None)
            if packed is None:
                return None
            self._put(digest, packed)
        identifier, address, date = packed.decode().split(" ")
        return identifier, address, date

    def add(self, digest: str, identifier: str, address: str, date: str) -> None:
        """None of the three has a blank: they are kept as one string."""
        self._old.pop(digest, None)
        self._put(digest, f"{identifier} {address} {date}".encode())

    def _put(self, digest: str, packed: bytes) -> None:
        if len(self._new) >= self._half and digest not in self._new:
            self._old, self._new = self._new, {}
        self._new[digest] = packed
