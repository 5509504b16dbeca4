"""Requests to four hosts over time, and the waits between them, computed by the default policy."""

from __future__ import annotations

from collections.abc import Iterator

from docs.pictures.draw import Picture
from webcrawl.base.settings import DEFAULTS
from webcrawl.frontier.politeness.mercator import Mercator

LEFT, TOP, SECOND = 160, 44, 17.5  # pixels
LASTS = 33.0  # seconds
FAST, SLOW = 0.1, 2.0  # seconds that a download takes
RETRY_AFTER = 30.0  # seconds of a Retry-After
CONNECTIONS = 4


def drawn() -> str:
    picture = Picture("Requests to four hosts, and the waits between them", 320)
    for second in range(0, int(LASTS) + 1, 5):
        x = LEFT + second * SECOND
        picture.path((x, TOP - 8), (x, 272), look="grid")
        picture.text(x, 291, f"{second} s", "quiet", "middle")
    factor, least = DEFAULTS["POLITENESS_FACTOR"], DEFAULTS["POLITENESS_MIN_DELAY"]
    policy = Mercator(factor, least, DEFAULTS["POLITENESS_MAX_DELAY"])

    _named(picture, TOP, "a fast host", f"{FAST:g} s per answer")
    _row(picture, TOP, FAST, policy.wait([FAST]))

    _named(picture, TOP + 54, "a slow host", f"{SLOW:g} s per answer")
    wait = policy.wait([SLOW])
    _row(picture, TOP + 54, SLOW, wait)
    _span(picture, TOP + 54, SLOW, wait, f"{wait:g} s: {factor:g} times the answer's time")

    _named(picture, TOP + 108, "Retry-After: 30", "in the answer")
    _row(picture, TOP + 108, FAST, RETRY_AFTER)
    _span(picture, TOP + 108, FAST, RETRY_AFTER, f"{RETRY_AFTER:g} s, as the host asks")

    _named(picture, TOP + 170, f"{CONNECTIONS} connections", "to one host")
    wait = policy.wait([FAST])
    for lane in range(CONNECTIONS):
        begin = lane * (FAST + wait) / CONNECTIONS
        _row(picture, TOP + 158 + 14 * lane, FAST, wait, begin, 10)

    picture.bar(LEFT, 302, 14, 10, "c0")
    picture.text(LEFT + 20, 312, "a request, from its start to the end of the answer", "quiet")
    return picture.svg()


def _named(picture: Picture, y: float, name: str, more: str) -> None:
    picture.text(LEFT - 12, y + 10, name, "strong", "end")
    picture.text(LEFT - 12, y + 28, more, "quiet", "end")


def _row(
    picture: Picture, y: float, takes: float, wait: float, begin: float = 0.0, high: float = 22
) -> None:
    for start in _starts(begin, takes + wait):
        wide = max(min(takes, LASTS - start) * SECOND, 2.5)
        picture.bar(round(LEFT + start * SECOND, 1), y, wide, high, "c0")


def _starts(begin: float, every: float) -> Iterator[float]:
    while begin < LASTS - 0.2:
        yield begin
        begin += every


def _span(picture: Picture, y: float, begin: float, lasts: float, words: str) -> None:
    left, right = LEFT + begin * SECOND + 4, LEFT + (begin + lasts) * SECOND
    picture.arrow((left, y + 22), (right, y + 22))
    picture.text((left + right) / 2, y + 14, words, "quiet", "middle")
