"""Tokens that a stranger publishes to prove control: signed, so that nothing need be kept of who asked for one."""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256

LIFE = 7 * 86_400  # seconds for which a token counts
_TOKEN = re.compile(r"webcrawl-(leave|forget|return)-(\d{1,12})-([0-9a-f]{32})", re.ASCII)


class Wish(StrEnum):
    """What a token asks for. One that asks to leave does not bring back."""

    LEAVE = "leave"
    FORGET = "forget"  # leave, and what is stored is not shown any more
    RETURN = "return"


@dataclass(frozen=True, slots=True)
class Proof:
    """A token of ours that was found, and where."""

    wish: Wish
    issued: int
    place: str

    @property
    def ends(self) -> int:
        return self.issued + LIFE


class Tokens:
    """Issues and recognises them, each for one rule and one wish."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def __repr__(self) -> str:
        return "<Tokens>"

    def issue(self, rule: str, wish: Wish, now: float) -> str:
        return f"webcrawl-{wish}-{int(now)}-{self._mac(rule, wish, int(now))}"

    def found(self, rule: str, lines: Iterable[str], place: str) -> list[Proof]:
        """Those among these lines that were issued for this rule, expired or not."""
        parts = (match.groups() for line in lines if (match := _TOKEN.fullmatch(line.strip())))
        return [
            Proof(Wish(wish), int(issued), place)
            for wish, issued, mac in parts
            if hmac.compare_digest(mac, self._mac(rule, wish, int(issued)))
        ]

    def _mac(self, rule: str, wish: str, issued: int) -> str:
        return hmac.new(self._key, f"{wish}\n{issued}\n{rule}".encode(), sha256).hexdigest()[:32]


def counts(proofs: Iterable[Proof], now: float) -> Proof | None:
    """Of several, the one issued last: who leaves and comes back need not find the older token. None if it is over."""
    last = max(proofs, key=lambda one: one.issued, default=None)
    return last if last is not None and now < last.ends else None
