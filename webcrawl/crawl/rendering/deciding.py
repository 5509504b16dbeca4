"""Decides which pages a browser renders, and learns from what came of each."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

import msgpack

from webcrawl.base.model import Exchange
from webcrawl.base.url_text import host_of
from webcrawl.content.html.encodings import encoding_of
from webcrawl.content.html.link_reader import LinkReader
from webcrawl.content.html.shown_text import resolved, visible
from webcrawl.content.recognise import PAGE, SHELL, Recogniser
from webcrawl.crawl.rendering.places import BY_REQUEST
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.host_table import HostTable

# pages in a row that are the same without scripts; from then on not all are rendered. With fewer,
# and one in 16 from the start, the first 15 pages of a site whose texts come by script are lost.
ALIKE_UNTIL_SURE = 4
MAX_ALIKE = 13  # pages in a row up to which these are counted; then one in 1024 is rendered


@dataclass(slots=True)
class RenderPace:
    """How often pages of one kind are rendered: all, or one in 2, 4 … 1024 after equal ones.

    A page is the same if scripts add no text and no links to it. After one that is not, all are
    rendered again.
    """

    same: int = 0  # in a row
    passed: int = 0  # pages since the last that was rendered

    @property
    def gap(self) -> int:
        """Return in how many pages one is rendered."""
        # A host of n pages that need nothing costs 4 + log2(n / 4) renderings.
        return 1 if self.same < ALIKE_UNTIL_SURE else 2 << (self.same - ALIKE_UNTIL_SURE)

    def comes(self) -> bool:
        """Count a page, and return whether it is to be rendered."""
        self.passed += 1
        return self.passed >= self.gap

    def rendered(self, *, same: bool) -> None:
        """Learn from a page that was rendered."""
        self.passed = 0
        self.same = min(self.same + 1, MAX_ALIKE) if same else 0


@dataclass(slots=True)
class Need:
    """One host that has sent a shell: its shells and its other pages, which may need scripts too."""

    shells: RenderPace = field(default_factory=RenderPace)
    others: RenderPace = field(default_factory=RenderPace)  # those without scripts do not count
    rendered: int = 0  # pages
    changed: int = 0  # of these, with more text or links than the server sent
    gained: int = 0  # characters of text
    milliseconds: int = 0  # of the browser's time

    def pace(self, *, is_shell: bool) -> RenderPace:
        return self.shells if is_shell else self.others

    @property
    def worth(self) -> float:
        """Return the characters that a millisecond of the browser's time has brought."""
        return self.gained / max(self.milliseconds, 1)

    def record_rendering(
        self, gained: int, milliseconds: int, *, is_shell: bool, same: bool
    ) -> None:
        """Take what came of one page."""
        self.pace(is_shell=is_shell).rendered(same=same)
        self.rendered += 1
        self.changed += not same
        self.gained += gained
        self.milliseconds += milliseconds

    def in_words(self) -> str:
        """Return it for an operator, in one line."""
        often = f"{_how_often(self.shells)} shells, {_how_often(self.others)} others"
        found = f"{self.changed} of {self.rendered} had more text or links than the server sent"
        return f"{often}; {found}, in {self.milliseconds / 1000:.1f} s of browser time"

    def pack(self) -> bytes:
        paces = (self.shells.same, self.shells.passed, self.others.same, self.others.passed)
        return bytes(
            msgpack.packb((*paces, self.rendered, self.changed, self.gained, self.milliseconds))
        )

    @classmethod
    def unpack(cls, data: bytes) -> Need:
        """Return what `pack` has packed. Raise ValueError for other values, or an error of msgpack's."""
        counts = msgpack.unpackb(data)
        for count in counts:
            if not isinstance(count, int) or count < 0:
                raise ValueError("not valid counts")
        shells_same, shells_passed, others_same, others_passed, *rest = counts
        shells = RenderPace(shells_same, shells_passed)
        others = RenderPace(others_same, others_passed)
        return cls(shells, others, *rest)


def _how_often(pace: RenderPace) -> str:
    return "all" if pace.gap == 1 else f"one in {pace.gap} of the"


KINDS = ("a", "area", "frame", "iframe")  # links that lead to other pages
# A text that has grown by less than a tenth, or by less than 20 characters, such as a clock's, is
# the same.
SLIGHT = 10
FEW_CHARACTERS = 20


class Gain(NamedTuple):
    """Text and links that only scripts bring."""

    text: int  # characters of the lines that are new
    links: int  # to other pages of its host: what others put into a page leads elsewhere
    whole: int  # characters of the page as it was sent

    @property
    def is_slight(self) -> bool:
        """Return whether the page as it was sent says the same."""
        return not self.links and self.text < max(self.whole / SLIGHT, FEW_CHARACTERS)


class Comparison:
    """Compares documents with the pages that they were made of."""

    def __init__(self) -> None:
        self._reader = LinkReader(KINDS)

    def gain(self, page: bytes, document: bytes, content_type: str, url: str) -> Gain:
        """Return what a document has that its page has not.

        `page`: as the server has sent it. `document`: what the browser made of it.
        """
        plain = _lines(page, content_type, url)
        known = set(plain)
        # each new line once, however often a script repeats it
        more = [
            line for line in dict.fromkeys(_lines(document, content_type, url)) if line not in known
        ]
        links = self._links(document, content_type, url) - self._links(page, content_type, url)
        return Gain(sum(map(len, more)), len(links - {url}), sum(map(len, plain)))

    def _links(self, body: bytes, content_type: str, url: str) -> set[str]:
        """Return the URLs of other pages of the host that a page links to, without fragments."""
        found = self._reader.links(body, content_type, url)
        host = host_of(url)
        targets = (resolved(link[1], found.base).partition("#")[0] for link in found.links)
        of_web = [target for target in targets if target.startswith(("http://", "https://"))]
        return {target for target in of_web if host_of(target) == host}


def _lines(body: bytes, content_type: str, url: str) -> list[str]:
    """Return the visible text of a page by lines; none if it shows none."""
    return (visible(body, content_type, encoding_of(body, content_type, url)) or "").splitlines()


TABLE = "rendering"
# a page without any is the same in a browser
SCRIPT = re.compile(rb"<script|\bon\w+ *=", re.IGNORECASE)


@dataclass(slots=True, frozen=True)
class Wanted:
    """A page that is to be rendered."""

    host: str
    is_shell: bool
    worth: float  # characters that a millisecond of the browser's time may bring


class Deciding:
    """Decides which pages are rendered.

    A shell is a page that shows next to nothing without its scripts. Hosts are learnt of from their
    first shell on: all others are fetched as without a browser.
    """

    def __init__(
        self, db: CrawlDB, counters: Counter[str], recogniser: Recogniser, *, every: bool = False
    ) -> None:
        """`every`: each page is rendered and keeps its document, and nothing is learnt of hosts."""
        self.hosts = HostTable(db, TABLE, Need, Need.unpack)
        self._every = every
        self._counters = counters
        self._recogniser = recogniser
        self._comparison = Comparison()

    def wanted(self, exchange: Exchange) -> Wanted | None:
        """Return None for a page that stays as it was sent.

        A block page is never rendered: a browser might get past it.
        """
        kind = self._recogniser.recognise(
            exchange.status, exchange.headers, exchange.body, names=exchange.names
        )
        exchange.state.recognised = kind
        is_shell = kind == SHELL
        if not is_shell and kind != PAGE:
            return None
        host = host_of(exchange.url)
        if self._every:
            return Wanted(host, is_shell, BY_REQUEST)
        # A page in a browser takes 0.25 s of CPU or more, one without 0.4 ms: so a host is left
        # alone until it sends a shell, which is recognised anyway.
        has_sent_shell = is_shell or self.hosts.get(host) is not None
        if not has_sent_shell:
            return None
        if not is_shell and not SCRIPT.search(exchange.body):
            return None
        need = self.hosts.change(host)
        if not need.pace(is_shell=is_shell).comes():
            return None
        return Wanted(host, is_shell, need.worth if need.rendered else self._mean_worth())

    def _mean_worth(self) -> float:
        """Return the worth to expect of a host without rendered pages: the mean of all hosts."""
        return self._counters["rendering/gained"] / max(self._counters["browser/milliseconds"], 1)

    def record_rendering(
        self, wanted: Wanted, page: bytes, exchange: Exchange, milliseconds: int
    ) -> bool:
        """Take what became of a page: the exchange has the document, or still the page.

        Return whether the page keeps the document.
        """
        gain = self._comparison.gain(page, exchange.body, exchange.content_type, exchange.url)
        differs = exchange.rendered and not gain.is_slight
        text = gain.text if differs else 0
        # A page that is the same stays as it was sent: one in a few that was rendered would have
        # another digest than its neighbours, and seem changed when it is fetched again.
        keeps = exchange.rendered and (differs or self._every)
        if keeps:
            # The recogniser has seen the page, not the document.
            exchange.state.recognised = None
        if not self._every:
            self.hosts.change(wanted.host).record_rendering(
                text, milliseconds, is_shell=wanted.is_shell, same=not differs
            )
        self._counters.update(
            {
                "rendering/pages": int(exchange.rendered),
                "rendering/changed": int(differs),
                "rendering/gained": text,
            }
        )
        return keeps

    def in_words(self, host: str) -> str:
        """Return what is known of a host, in a line; empty if it has sent no shell."""
        need = self.hosts.get(host)
        return need.in_words() if need is not None else ""
