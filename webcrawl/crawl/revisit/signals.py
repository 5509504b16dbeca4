"""Being told: what listings say has changed, and which hosts' word is worth a fetch.

A host is believed when enough of its signals turned out to be true (announcers.py). One that nobody knows yet is tried
with a few of its signals at a time, and one that was found to lie is tried again now and then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple

from webcrawl.base.url_text import host_of
from webcrawl.crawl.revisit.announcers import LISTINGS, Announcers, Trust
from webcrawl.crawl.revisit.listing_versions import MOST, Listed, stamp
from webcrawl.crawl.revisit.since_read import SinceRead, is_after
from webcrawl.store.crawldb import CrawlDB, Part
from webcrawl.urls.url_fingerprint import Fingerprints

TOLD = 2000  # signals of one reading at most, the latest dates first; the others come with the next reading
PER_HOST = 2_000_000  # URLs of all listings of a host that are remembered: 20 MB on disk
SEARCHED = 200_000  # of a host whose listings have more URLs, each page counts as listed
SEARCHED_LISTINGS = 16  # and of one with more listings, which would take long to look through
META = "revisit.since_read"
UNSURE = 10_000  # URLs of which a false signal may be none
SMALL = 1000  # URLs of a listing that is remembered although it has no dates: feeds

Dated = tuple[str, float | None]
"""A canonical URL, and when it changed by what its listing says."""


class Brought(NamedTuple):
    """The news that a fetch of a listing brought."""

    news: int  # pages that are fetched because of it, and new ones
    listings: int  # of its host


class Signals(Part):
    """The dates of listings, as signals of change. Time is the crawl's, in seconds since 1970."""

    def __init__(
        self,
        db: CrawlDB,
        fingerprints: Fingerprints,
        random: Random,
        counters: Counter[str] | None = None,
        wall: Callable[[float], float] = float,
    ) -> None:
        """`wall` gives what the machine's clock showed at such a time, with which dates are compared."""
        self._listed, self._announcers = Listed(db), Announcers(db)
        self._db, self._keys, self._random, self._wall = db, fingerprints, random, wall
        self._since = SinceRead(db.get(META) or b"")
        self._brought: dict[str, int] = {}  # by listing that was read and whose fetch has not ended
        self._unsure: set[str] = set()  # followed for a date that may be older than their last fetch
        self.counters: Counter[str] = Counter() if counters is None else counters
        self.room: Callable[[str], int] = lambda _: TOLD  # for how many signals of a host there is room where they wait
        db.join(self)

    def read(self, listing: str, entries: Sequence[Dated], now: float, *, whole: bool = True) -> list[str]:
        """The URLs that are worth a fetch by what a listing says now, the latest first.

        All entries are of pages that it may speak for; `whole`: it has no others.
        """
        shown = self._wall(now)
        urls, dates = [url for url, _ in entries], [stamp(modified, shown) for _, modified in entries]
        host, number = host_of(listing), self._keys([listing])[0]
        room = self._room(host, number)
        if room <= 0 or (len(urls) > SMALL and not any(dates)):
            return []
        most = min(TOLD, self.room(host)) if self._trust(host).is_believed else MOST
        keys = self._keys(urls)
        found = self._listed.compare(number, keys, dates, shown, whole=whole, room=room, most=most)
        for named in {host, *map(host_of, urls[:SMALL])} if any(dates) else {host}:
            self._note(named, number, found.kept)
        self._brought[listing] = 0 if found.first else len(found.new)
        if len(found.newer):
            self.counters["signals"] += len(found.newer)
        told = {keys[at]: at for at in found.newer.tolist()}
        for at in self._known(number, told, urls, dates, whole=whole):
            del told[keys[at]]
        return self._weighed([urls[at] for at in sorted(told.values(), key=lambda at: -dates[at])], now)

    def pushed(self, listing: str, entries: Sequence[Dated], now: float) -> list[str]:
        """Reads entries that a hub has sent: only those with news, so one without a date is news too.

        Without entries it is the page itself that has news. A hub is believed as its listing's host is.
        """
        if not entries:
            return self._weighed([listing], now)
        number, urls = self._keys([listing])[0], [url for url, modified in entries if modified is None]
        dates = {url: self._listed.date(number, key) for url, key in zip(urls, self._keys(urls), strict=True)}
        known = [url for url, date in dates.items() if date is not None]
        self.counters["signals"] += len(known)
        news = [*self.read(listing, entries, now, whole=False), *self._weighed(known, now)]
        self._brought.pop(listing, None)  # not by a reading
        return news

    def told(self, listing: str, count: int) -> None:
        """So many signals of this listing were worth a fetch, not of a host that is known to be wrong."""
        trust = self._trust(host_of(listing))
        if listing in self._brought and (trust.is_believed or not trust.is_judged):
            self._brought[listing] += count

    def brought(self, url: str) -> Brought | None:
        """The news of the fetch of a listing that ends here; None of any other page."""
        news = self._brought.pop(url, 0)
        announcer = self._announcers.get(host_of(url))
        if announcer is None or self._keys([url])[0] not in announcer.listings:
            return None
        return Brought(news, len(announcer.listings))

    def expected(self, listing: str, news: int, expected: float) -> None:
        """Takes what a reading brought, and what it should have brought: a host may fall silent."""
        self._announcers.change(host_of(listing)).trust.read(news, expected)

    def followed(self, url: str, at: float, *, changed: bool) -> None:
        """A page was fetched because of a signal."""
        host = host_of(url)
        if changed or url not in self._unsure:
            self.counters["signals/true" if changed else "signals/false"] += 1
            self._announcers.change(host).trust.signalled(changed=changed)
        self._unsure.discard(url)
        listings = self._naming(url, host) or ()
        if listings:
            self._since.note(self._keys([url])[0], [*listings], host, at, changed=changed, may_be_told=False)

    def visited(self, url: str, at: float, before: float, *, changed: bool) -> bool:
        """A page was fetched in its turn, for the last time before that at `before`, or never.

        True if a listing of its site names it with dates: changes may be announced.
        """
        host = host_of(url)
        listings = self._naming(url, host)
        if listings is None:
            if changed:
                self._missed(host)
            return True
        if listings and (changed or not before):
            last = self._wall(before)
            known = changed and before and any(date and is_after(date, last) for date in listings.values())
            if known:  # by a signal that was not followed
                self._announcers.change(host).trust.tells()
            new = bool(changed and before and not known)
            self._since.note(self._keys([url])[0], [*listings], host, at, changed=changed, may_be_told=new)
            while (overdue := self._since.overdue(at)) is not None:
                self._settle(overdue)
        return bool(listings)

    def unread(self, url: str) -> None:
        """A page is as it was when it was fetched last: if it is a listing, it tells of no change."""
        announcer = self._announcers.get(host_of(url))
        if announcer is not None and (number := self._keys([url])[0]) in announcer.listings:
            self._settle(number)

    def _naming(self, url: str, host: str) -> dict[int, int] | None:
        """The listings of its site that name this page, and their dates of it; None if there are too many to look."""
        announcer = self._announcers.get(host)
        if announcer is None or not announcer.listings:
            return {}
        if len(announcer.listings) > SEARCHED_LISTINGS or announcer.entries > SEARCHED:
            return None
        key = self._keys([url])[0]
        found = ((listing, self._listed.date(listing, key)) for listing in announcer.listings)
        return {listing: date for listing, date in found if date is not None}

    def _known(
        self, listing: int, told: dict[int, int], urls: Sequence[str], dates: Sequence[int], *, whole: bool
    ) -> list[int]:
        """A listing was read, and has these pages with later dates: their positions by key.

        Gives those that are no news, for the page was fetched since. `whole`: of other pages it tells nothing.
        """
        known = []
        for page, position in told.items():
            visit = self._since.of(page)
            if visit is None:
                continue
            if visit.left:
                visit.left = 0
                self._announcers.change(visit.host).trust.tells()
            at = self._wall(visit.at)
            if visit.changed and not is_after(dates[position], at):
                known.append(position)
            elif dates[position] <= at and len(self._unsure) < UNSURE:
                self._unsure.add(urls[position])
        if whole:
            self._settle(listing)
        return known

    def _settle(self, listing: int) -> None:
        """A listing tells of no other changes than those that it has told of by now."""
        for visit in self._since.take(listing):
            if visit.left:
                visit.left -= 1
                if not visit.left:
                    self._missed(visit.host)

    def _missed(self, host: str) -> None:
        """A page that listings name was changed, and no signal has told of it."""
        self.counters["signals/missed"] += 1
        self._announcers.change(host).trust.found()

    def has_listing(self, host: str) -> bool:
        """True if a listing of this host was read."""
        announcer = self._announcers.get(host)
        return announcer is not None and bool(announcer.listings)

    def missed(self, url: str) -> float:
        """The share of this listed page's changes that no signal announces."""
        return self._trust(host_of(url)).missed

    # -- trust

    def _trust(self, host: str) -> Trust:
        announcer = self._announcers.get(host)
        return announcer.trust if announcer is not None else Trust()

    def _weighed(self, urls: Sequence[str], now: float) -> list[str]:
        """Those of these news that are worth a fetch, by what their hosts' signals were worth."""
        by_host: dict[str, list[str]] = {}
        for url in urls:
            by_host.setdefault(host_of(url), []).append(url)
        return [url for host, newer in by_host.items() for url in self._worth(host, newer, now)]

    def _worth(self, host: str, newer: list[str], now: float) -> list[str]:
        trust = self._announcers.change(host).trust
        most = trust.worth(len(newer), now)
        if most >= len(newer):
            return newer
        self.counters["signals/ignored"] += len(newer) - most
        return self._random.sample(newer, most)

    # -- rows

    def _room(self, host: str, listing: int) -> int:
        """The number of URLs of this listing that can be remembered."""
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

    # -- the checkpoint

    def save(self) -> None:
        if self._since.is_stale:
            self._db.set(META, self._since.save())
