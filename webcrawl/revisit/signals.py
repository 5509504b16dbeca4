"""Being told: what listings say has changed, and which hosts' word is worth a fetch.

A host is believed when enough of its signals turned out to be true (trust.py). One that nobody knows yet is tried with
a few of its signals at a time, and one that was found to lie is tried again now and then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random

from webcrawl.revisit.announcers import LISTINGS, Announcers
from webcrawl.revisit.listed import MOST, Listed, stamp
from webcrawl.revisit.trust import Trust
from webcrawl.store.crawldb import CrawlDB
from webcrawl.urls.fingerprint import Fingerprints
from webcrawl.urls.hosts import host_of

TOLD = 2000  # signals of one reading at most, the latest dates first; the others come with the next reading
PER_HOST = 2_000_000  # URLs of all listings of a host that are remembered: 20 MB on disk
SEARCHED = 200_000  # of a host whose listings have more URLs, each page counts as listed
SEARCHED_LISTINGS = 16  # and of one with more listings, which would take long to look through
SMALL = 1000  # URLs of a listing that is remembered although it has no dates: feeds

Dated = tuple[str, float | None]
"""A canonical URL, and when it changed by what its listing says."""


class Signals:
    """What a listing's dates have to say. Time is seconds since 1970."""

    def __init__(
        self, db: CrawlDB, fingerprints: Fingerprints, random: Random, counters: Counter[str] | None = None
    ) -> None:
        self._listed, self._announcers = Listed(db), Announcers(db)
        self._keys, self._random = fingerprints, random
        self.counters: Counter[str] = Counter() if counters is None else counters
        self.room: Callable[[str], int] = lambda _: TOLD  # for how many signals of a host there is room where they wait

    def __repr__(self) -> str:
        return f"<Signals {self._announcers!r}>"

    def read(self, listing: str, entries: Sequence[Dated], now: float, *, whole: bool = True) -> list[str]:
        """The URLs that are worth a fetch by what a listing says now, the latest first.

        All entries are of pages that it may speak for; `whole`: it has no others.
        """
        urls, dates = [url for url, _ in entries], [stamp(modified, now) for _, modified in entries]
        host, number = host_of(listing), self._keys([listing])[0]
        room = self._room(host, number)
        if room <= 0 or (len(urls) > SMALL and not any(dates)):
            return []
        most = min(TOLD, self.room(host)) if self._trust(host).is_believed else MOST
        found = self._listed.compare(number, self._keys(urls), dates, now, whole=whole, room=room, most=most)
        for named in {host, *map(host_of, urls[:SMALL])} if any(dates) else {host}:
            self._note(named, number, found.kept)
        if len(found.newer):
            self.counters["signals"] += len(found.newer)
        by_host: dict[str, list[str]] = {}
        for at in sorted(found.newer.tolist(), key=lambda at: -dates[at]):
            by_host.setdefault(host_of(urls[at]), []).append(urls[at])
        return [url for one, newer in by_host.items() for url in self._worth(one, newer, now)]

    def pushed(self, listing: str, entries: Sequence[Dated], now: float) -> list[str]:
        """The same of entries that a hub has sent: only those with news, so one without a date is news too."""
        number, urls = self._keys([listing])[0], [url for url, modified in entries if modified is None]
        known = [url for url, key in zip(urls, self._keys(urls), strict=True) if self._listed.holds(number, key)]
        return [*self.read(listing, entries, now, whole=False), *dict.fromkeys(known)]

    def followed(self, url: str, *, changed: bool) -> None:
        """A page was fetched because of a signal."""
        self.counters["signals/true" if changed else "signals/false"] += 1
        self._announcers.change(host_of(url)).trust.signalled(changed=changed)

    def unannounced(self, url: str) -> None:
        """A page that listings name was changed when its turn came, and no signal had told of it."""
        self.counters["signals/missed"] += 1
        self._announcers.change(host_of(url)).trust.found()

    def is_listed(self, url: str) -> bool:
        """Whether a listing of its site names this page with dates, so that a change may be announced."""
        announcer = self._announcers.get(host_of(url))
        if announcer is None or not announcer.listings:
            return False
        if len(announcer.listings) > SEARCHED_LISTINGS or announcer.entries > SEARCHED:
            return True
        key = self._keys([url])[0]
        return any(self._listed.holds(listing, key) for listing in announcer.listings)

    def has_listing(self, host: str) -> bool:
        """Whether a listing of this host was read."""
        announcer = self._announcers.get(host)
        return announcer is not None and bool(announcer.listings)

    def missed(self, url: str) -> float:
        """The share of this listed page's changes that no signal announces."""
        return self._trust(host_of(url)).missed

    # -- trust

    def _trust(self, host: str) -> Trust:
        announcer = self._announcers.get(host)
        return announcer.trust if announcer is not None else Trust()

    def _worth(self, host: str, newer: list[str], now: float) -> list[str]:
        trust = self._announcers.change(host).trust
        most = trust.worth(len(newer), now)
        if most >= len(newer):
            return newer
        self.counters["signals/ignored"] += len(newer) - most
        return self._random.sample(newer, most)

    # -- rows

    def _room(self, host: str, listing: int) -> int:
        """How many URLs of this listing can be remembered."""
        announcer = self._announcers.get(host)
        if announcer is None:
            return PER_HOST
        if listing not in announcer.listings and len(announcer.listings) >= LISTINGS:
            return 0
        return PER_HOST - announcer.entries + announcer.listings.get(listing, 0)

    def _note(self, host: str, listing: int, entries: int) -> None:
        listings = self._announcers.change(host).listings
        if listing in listings or len(listings) < LISTINGS:
            listings[listing] = entries
