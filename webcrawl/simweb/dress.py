"""Hosts that work, but send every answer in an unusual form."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from isal import isal_zlib

from webcrawl.simweb.answers import Answer, Ask, Ending

if TYPE_CHECKING:
    from webcrawl.simweb.world import World


def gzip(data: bytes, level: int = 1) -> bytes:
    packer = isal_zlib.compressobj(level, wbits=31)
    return bytes(packer.compress(data) + packer.flush())


def _slow(world: World, _: Ask, answer: Answer) -> Answer:
    answer.delay += world.slow
    return answer


def _close(_: World, __: Ask, answer: Answer) -> Answer:
    if answer.script is None:
        answer.ending = Ending.CLOSE
    return answer


def _chunked(_: World, __: Ask, answer: Answer) -> Answer:
    answer.chunked = bool(answer.body)
    return answer


def _gzip(_: World, ask: Ask, answer: Answer) -> Answer:
    if answer.script is None and answer.body and "gzip" in ask.accept and "Content-Encoding" not in str(answer.headers):
        answer.body = gzip(answer.body)
        answer.headers += ("Content-Encoding: gzip",)
    return answer


DRESSES: dict[str, Callable[[World, Ask, Answer], Answer]] = {
    "host_slow": _slow,
    "host_close": _close,
    "host_chunked": _chunked,
    "host_gzip": _gzip,
}
