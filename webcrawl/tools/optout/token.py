"""Tokens that a stranger publishes to prove control, signed with a key that lies in JOBDIR."""

from __future__ import annotations

import hmac
import os
import re
import secrets
import stat
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from pathlib import Path

from webcrawl.store.disk import Disk

LIFE = 7 * 86_400  # seconds for which a token counts
_TOKEN = re.compile(r"webcrawl-(leave|forget|return)-(\d{1,12})-([0-9a-f]{32})", re.ASCII)


class Wish(StrEnum):
    """The wish that a token stands for. One that asks to leave does not bring back."""

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
        """Without the key."""
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


NAME = "optout.key"
SIZE = 32
OTHERS = 0o077  # mode bits by which others than the owner reach a file


class BadSecret(ValueError):  # noqa: N818 - reads as what it is
    """A file that cannot be used, with the reason in a line."""


def secret_of(jobdir: Path, disk: Disk | None = None) -> bytes:
    """The key of this crawl or hive, made if there is none. Raises BadSecret or OSError.

    It has its name when it is whole and on disk: whoever is killed before leaves none.
    """
    disk, path = disk or Disk(), jobdir / NAME
    if not os.path.lexists(path):
        _make(path, disk)
    return _read(path)


def _make(path: Path, disk: Disk) -> None:
    new = path.with_name(f"{NAME}.{secrets.token_hex(4)}")
    descriptor = disk.create(new, 0o600)
    try:
        disk.write(descriptor, secrets.token_bytes(SIZE))
        disk.sync(descriptor)
        with suppress(FileExistsError):  # somebody else's is there by now
            os.link(new, path)
    finally:
        os.close(descriptor)
        disk.unlink(new)
    disk.sync_folder(path.absolute().parent)


def _read(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)  # a FIFO would wait
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode) or mode & OTHERS:
            raise BadSecret(f"{path}: must be a file of mode 600, which nobody else may read")
        key = os.read(descriptor, SIZE + 1)
    finally:
        os.close(descriptor)
    if len(key) != SIZE:
        raise BadSecret(f"{path}: has not {SIZE} bytes: remove it, and tokens issued before count no more")
    return key
