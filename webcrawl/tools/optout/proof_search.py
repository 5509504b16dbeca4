"""Looks for tokens where control of a name is proven: in a file of its web server, and in its zone."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

from webcrawl.net.errors import AddressRefused, DnsFailed, FetchError, PortRefused, Untried
from webcrawl.net.protocols import Options, ProtocolModule
from webcrawl.tools.optout.subject import Subject

LARGEST = 4096  # bytes of a file that are looked at
TIMEOUT = 10.0  # seconds for each place; all are asked at once
MOST_LINES = 50
PLACE = Options(timeout=TIMEOUT, maxsize=LARGEST, cut=True)

Texts = Callable[[str], Awaitable[list[bytes]]]
"""The TXT records of a name; raises DnsFailed or NoSocket."""


@dataclass(frozen=True, slots=True)
class Found:
    """The tokens at one place. `lines` are never shown: a check must not become a way to read what others cannot."""

    place: str
    kind: str
    lines: list[str]
    trouble: str = ""  # why there are none, in words that say little
    ours: bool = False  # the trouble is this machine's


class Looking:
    """Asks once: no redirect is followed, so nobody is asked but the authority that the wish is about."""

    def __init__(self, web: ProtocolModule, texts: Texts) -> None:
        self._web, self._texts = web, texts

    async def look(self, subject: Subject) -> list[Found]:
        asked = [self._file(url) for url in subject.files]
        if subject.record:
            asked.append(self._record(subject.record))
        return await asyncio.gather(*asked)

    async def _file(self, url: str) -> Found:
        try:
            async with asyncio.timeout(2 * TIMEOUT):
                answer = await self._web.fetch(url, options=PLACE)
        except (FetchError, TimeoutError) as error:
            return Found(url, "file", [], _words(error), isinstance(error, Untried))
        if 300 <= answer.status < 400:
            return Found(url, "file", [], "redirects, which are not followed")
        if answer.status != 200:
            return Found(url, "file", [], f"answers with status {answer.status}")
        return Found(url, "file", [*_lines(answer.body[:LARGEST])])

    async def _record(self, name: str) -> Found:
        try:
            async with asyncio.timeout(2 * TIMEOUT):
                records = await self._texts(name)
        except (FetchError, TimeoutError) as error:
            return Found(name, "TXT", [], "no answer of the name servers", isinstance(error, Untried))
        return Found(name, "TXT", [line for one in records[:MOST_LINES] for line in _lines(one[:LARGEST])])


def _lines(data: bytes) -> Iterator[str]:
    text = data.decode("utf-8-sig", "replace")
    return (line for line in text.splitlines()[:MOST_LINES])


def _words(error: Exception) -> str:
    """Which of the ways a connection can fail is nobody's business but the owner's: strangers could scan ports."""
    if isinstance(error, (AddressRefused, PortRefused)):
        return "is at an address or port that this crawl does not ask"
    return "no address" if isinstance(error, DnsFailed) and error.permanent else "no answer"
