"""The interface that the crawl needs of a frontier, so that another one may take the place of ours.

`Frontier` is all of it. docs/examples/frontier has a simple one, with an answer for each part that
it does without. `tests/frontier/test_contract.py` is the contract.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Protocol

from webcrawl.base.model import Link, Outcome, Packed
from webcrawl.frontier.booking import Limits
from webcrawl.frontier.core import Decision, Heard, Hooks, Rules, Shape
from webcrawl.frontier.demand import R
from webcrawl.frontier.politeness import Politeness
from webcrawl.frontier.wait_words import Waits
from webcrawl.store.crawldb import CrawlDB

InFlight = Callable[[Packed], tuple[Outcome, float] | None]


class Queue(Protocol):
    """Links go in, come out when their hosts may be requested, and end.

    Never two of a host are out at once.

    All of it is saved with every checkpoint: what was out by then comes out again.
    """

    counters: Counter[str]  # at least `added`, `taken` and `finished`

    @property
    def queued(self) -> int:
        """The number of URLs that wait."""

    @property
    def in_flight(self) -> int:
        """The number of URLs that are out: handed out, and not ended."""

    def __len__(self) -> int:
        """Return the number of URLs that are not finished."""

    def add(self, records: Iterable[Packed]) -> None:
        """Queue packed links that are known to be new."""

    def expedite(self, record: Packed) -> None:
        """Queue a packed link that others wait for: it comes out before all others of its host."""

    def take(self, now: float, *, spare: bool = True) -> Link | None:
        """Return a link whose host is due, and which the admission check lets through.

        If `spare` is false, do not return a link that may wait.
        """

    def next_ready(self) -> float | None:
        """Return the time at which `take` may return a link (0 is now), or None until something is
        added or done.
        """

    def done(self, link: Link, outcome: Outcome, now: float) -> bool:
        """Book how a download ended; False if the link comes again."""

    def will_retry(self, link: Link, outcome: Outcome, now: float) -> bool:
        """Return whether `done` would return False."""

    def end_without_request(self, link: Link, now: float) -> None:
        """End a link for which no host was requested."""

    def put_back(self, link: Link, now: float, wait: float = 0.0) -> None:
        """Take back a link that could not be requested for so many seconds.

        It comes first again, as it was.
        """

    def cancelled(self, link: Link, seconds: float, now: float) -> None:
        """Take back a link that had its slot for too long.

        It comes again, and its host is requested later.
        """

    def crawl_delay(self, name: str, seconds: float) -> None:
        """Set the delay that a host's robots.txt asks for; 0 withdraws it."""


class DiscoverySink(Protocol):
    """Gets all links of a page that pass the filters, or where it is redirected, instead of the
    seen store.
    """

    def __call__(self, page: Link, records: Sequence[Packed], /, *, redirect: bool) -> None: ...


class Lends(Protocol):
    """Hosts for downloads that somebody awaits: `lending.py`."""

    def lend(self, link: Link, now: float, in_flight: InFlight) -> Decision: ...

    def give_back(self, name: str, outcome: Outcome | None, now: float) -> None: ...

    def release(self, name: str, now: float) -> None: ...

    def ready_at(self, name: str) -> float: ...

    def wait(self, name: str) -> float: ...

    def is_retired(self, name: str) -> bool: ...

    def is_failing(self, url: str) -> bool: ...

    def again(self, link: Link, outcome: Outcome) -> bool: ...


class Looks(Protocol):
    """What is known of what waits, and of single hosts: `host_inspection.py`."""

    def figures(self) -> dict[str, int | float]:
        """Return the numbers of those that wait, by what they wait for: for stats.json."""

    def levels(self) -> list[int]:
        """Return the number of URLs in each queue, from the highest priority down."""

    def ready(self, now: float) -> int:
        """Return the number of hosts that are due."""

    def record(self, name: str) -> tuple[int, bool, str]:
        """Return the number of its failures in a row, True if it was ever requested, and its
        address if that is known.
        """

    def reached(self) -> list[str]:
        """Return the names of a few hosts that earlier runs have reached."""

    def pause(self, name: str) -> tuple[float, str]:
        """Return for how long it was left alone before the request of now, and by which rule."""

    def next_turn(self, link: Link) -> float | None:
        """Estimate the seconds until the next request to the host of a link just taken.

        None if none of its URLs wait.
        """

    def waits(self, now: float) -> Waits:
        """Return for which hosts the crawl waits, and why."""

    def in_flight(self, url: str) -> bool:
        """Return whether this URL is out."""


class Demands(Protocol):
    """Who wants a slot: `demand.py`."""

    def holds_back(self, now: float) -> bool:
        """Return whether there are links, and others should go before them if there are any."""

    def wants_hosts(self, now: float) -> bool:
        """Return whether links of any new host would go before those."""

    def takes_new(self) -> bool:
        """Return whether a host that was never requested would get a slot."""

    def paused_until(self, now: float) -> None:
        """Take note that nothing was taken until now, though hosts may have been due."""

    def set_slots(self, slots: int) -> None:
        """Divide so many slots from now on; 0: no limit."""

    def overstaying(self, running: Sequence[R], *, full: bool) -> list[R]:
        """Return the downloads that may be cancelled for others; `full`: no slot is free."""

    def starved(self, now: float, *, full: bool) -> int:
        """Return the number of hosts that wait for a slot."""


class Outages(Protocol):
    """While our own network is out, and what that has cost: `outage_pardon.py`."""

    def probe(self, now: float, *, anyone: bool) -> Link | None:
        """Return a link of a host that answered last time, or with `anyone` of another."""

    def pardon(self, since: float) -> int:
        """Take back all failures that were booked since then, and return how many there were."""


class Notes(Protocol):
    """What is kept of single hosts: `answers.py`."""

    def when_grown(self, pages: int, tell: Callable[[Link], None]) -> None:
        """Call `tell` with the page with which a host has given so many.

        Never, if the frontier does not count them.
        """

    def missing(self, name: str, shown: bytes | None = None) -> bytes:
        """Return what is kept of a host's answer for a URL that cannot exist.

        It is replaced by `shown`, if that is given.
        """

    def http2(self, name: str, *, learned: bool = False, by_page: bool = False) -> bool:
        """Return whether a host speaks only HTTP/2, as far as is known.

        `learned`: an answer says so, which is noted. `by_page`: only its answer to one URL says so,
        which counts for nothing if the host has given pages by HTTP/1.1. With `by_page` alone, return
        whether that is known, or such an answer would count.
        """

    def take_listed(self, url: str, urls: int) -> int:
        """Return how many of the `urls` that the sitemap `url` names its host may have.

        They are counted, and from now on take turns with the URLs that pages link to.
        """


class Domained(Protocol):
    """Registered domains: `domains.py`."""

    @property
    def heard(self) -> Heard | None:
        """A function that takes each page and the URLs it links to; None if nothing wants them."""

    def vote(self, source: str, url: str) -> None:
        """Count a link to this URL from a page of this domain that another drone has fetched."""

    def new_body(self, link: Link, body: bytes = b"") -> None:
        """Note that the answer to a link that is out has a body that was not seen before."""


class Frontier(Queue, Protocol):
    """A queue, and what it may do beyond."""

    found: DiscoverySink | None  # the links of pages go here

    @property
    def lending(self) -> Lends: ...

    @property
    def look(self) -> Looks: ...

    @property
    def demand(self) -> Demands: ...

    @property
    def outage(self) -> Outages: ...

    @property
    def notes(self) -> Notes: ...

    @property
    def domains(self) -> Domained: ...

    def resting(self) -> bool:
        """Return whether nothing is left but what need not be done now."""

    def may_recover(self) -> bool:
        """Return whether a host that answered before is requested again although the crawl rests."""

    @property
    def over_budget(self) -> int:
        """The number of URLs that can only wait for a larger budget.

        With nothing else left, the crawl ends.
        """

    def change(self, politeness: Politeness, limits: Limits) -> None:
        """Let another politeness and other limits hold from now on."""


class FrontierFactory(Protocol):
    """The value of FRONTIER: a class or function that opens a frontier as of the last checkpoint."""

    def __call__(
        self,
        db: CrawlDB,
        shape: Shape,
        rules: Rules,
        hooks: Hooks,
        *,
        random: Random,
        now: float = 0.0,
    ) -> Frontier:
        """`now`: the time from which every host waits its turn, after a run that did not stop cleanly.

        It is 0 if the run did.
        """
