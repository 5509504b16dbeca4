"""Signals of change: what listings say has changed, and which hosts' word is worth a fetch.

A host is believed when enough of its signals turned out to be true. A new host is tried with a few
of its signals at a time, and one that was found to lie is tried again now and then.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

import msgpack

from webcrawl.base.url_text import host_of
from webcrawl.crawl.revisit.listings import MAX_URLS, Listed, date_stamp
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.host_table import HostTable
from webcrawl.urls.url_fingerprint import Fingerprints

# signals of one reading at most, the latest dates first; the others come with the next reading
SIGNALS_PER_READING = 2000
PER_HOST = 2_000_000  # URLs of all listings of a host that are remembered: 20 MB on disk
NOTED = 50_000  # changes found in pages' turns that are remembered
# URLs of a listing, at most, that is remembered although it has no dates: a feed is as small
SMALL = 1000
DAY = 86_400

LAYOUT = struct.Struct("<2f")
FADE = 0.98  # what is known loses so much of its weight with each thing that is learned
PRIOR = 1.0  # signals, true and false, that a host is given before anything is known
TRIED = 4.0  # signals that must have been followed before a host is judged
# share of them that must have been true: at a random time, most pages have changed since the last
# visit
BELIEVED = 0.8
# signals of one reading of a listing that are followed, of a host that is not judged yet
TRY = 8
# share of the readings and pushes of a host that is not believed of which one signal is followed
DISTRUSTED_FOLLOWED_SHARE = 0.1

LISTINGS = 1000  # of one host that are remembered

Dated = tuple[str, float | None]
"""A canonical URL, and when it changed by what its listing says."""


@dataclass(slots=True)
class Announcer:
    """A host with listings. `listings`: the number of URLs of each that dates its pages, by key.

    Signals that were true or false fade, so that a host that changes its ways is judged by the new
    ones.
    """

    true: float = 0.0  # signals after which the page was changed
    false: float = 0.0
    listings: dict[int, int] = field(default_factory=dict)

    @property
    def tried(self) -> float:
        return self.true + self.false

    @property
    def precision(self) -> float:
        """Return the share of its signals that are true."""
        return (self.true + PRIOR) / (self.tried + 2 * PRIOR)

    @property
    def is_judged(self) -> bool:
        """Return whether enough of its signals were followed."""
        return self.tried >= TRIED

    @property
    def is_believed(self) -> bool:
        """Return whether each of its signals is worth a fetch."""
        return self.is_judged and self.precision >= BELIEVED

    @property
    def entries(self) -> int:
        """Return the number of URLs of all its listings."""
        return sum(self.listings.values())

    def worth(self, signals: int, random: Random) -> int:
        """Return the number of these signals, of one reading or push, that are worth a fetch."""
        if self.is_believed:
            return signals
        if not self.is_judged:
            return min(TRY, signals)
        return min(1, signals) if random.random() < DISTRUSTED_FOLLOWED_SHARE else 0

    def signalled(self, *, changed: bool) -> None:
        """Learn whether a page that was fetched because of a signal had changed."""
        self.true = FADE * self.true + changed
        self.false = FADE * self.false + (not changed)

    def pack(self) -> bytes:
        return bytes(msgpack.packb((LAYOUT.pack(self.true, self.false), self.listings)))

    @classmethod
    def unpack(cls, data: bytes) -> Announcer:
        """Return what `pack` has packed; in states of earlier crawls more follows the two numbers."""
        counts, listings = msgpack.unpackb(data, strict_map_key=False)
        true, false = LAYOUT.unpack_from(counts)
        return cls(true, false, listings)


class Announcers(HostTable[Announcer]):
    """The table `announcer`. It has None for a host of which no listing was ever read."""

    def __init__(self, db: CrawlDB) -> None:
        super().__init__(db, "announcer", Announcer, Announcer.unpack)


class Brought(NamedTuple):
    """The news that a fetch of a listing brought."""

    news: int  # pages that are fetched because of it, and new ones
    listings: int  # of its host


class Signals:
    """The dates of listings, as signals of change. Time is the crawl's, in seconds since 1970.

    A listing is a sitemap or a feed, an announcer a host whose pages listings name. What is kept of
    a URL is its fingerprint, of 64 bits.
    """

    def __init__(
        self,
        db: CrawlDB,
        fingerprints: Fingerprints,
        random: Random,
        counters: Counter[str] | None = None,
        wall: Callable[[float], float] = float,
    ) -> None:
        """`wall` gives what the machine's clock showed at a time of the crawl's.

        The dates of listings are compared with it.
        """
        self._listed = Listed(db)
        self._announcers = Announcers(db)
        self._fingerprints = fingerprints
        self._random = random
        self._wall = wall
        # pages that a reading brought, by URL of the listing, until its fetch has ended
        self._news_of_readings: dict[str, int] = {}
        # when listed pages were found changed in their turns, by fingerprint, the oldest first; in
        # memory only
        self._changed_at: dict[int, float] = {}
        self.counters: Counter[str] = Counter() if counters is None else counters

    def read(
        self, listing: str, entries: Sequence[Dated], now: float, *, whole: bool = True
    ) -> list[str]:
        """Return the URLs that are worth a fetch by what a listing says now, the latest first.

        All entries are of pages that it may speak for; `whole`: it has no others.
        """
        shown = self._wall(now)
        urls = [url for url, _ in entries]
        dates = [date_stamp(modified, shown) for _, modified in entries]
        has_dates = any(dates)
        host = host_of(listing)
        number = self._fingerprints([listing])[0]  # stands for the listing in the tables
        room = self._room(host, number)
        is_worth_memory = has_dates or len(urls) <= SMALL
        if room <= 0 or not is_worth_memory:
            return []
        most = SIGNALS_PER_READING if self._announcer(host).is_believed else MAX_URLS
        keys = self._fingerprints(urls)
        found = self._listed.compare(number, keys, dates, shown, whole=whole, room=room, most=most)
        # The hosts of its pages, which may be others than its own: only dates make it their listing.
        named_hosts = map(host_of, urls[:SMALL]) if has_dates else ()
        for named in {host, *named_hosts}:
            self._note(named, number, found.kept)
        # Of a first reading all pages are new, which tells nothing of how often news come.
        self._news_of_readings[listing] = 0 if found.first else len(found.new)
        self.counters["signals"] += len(found.newer)
        # Positions in `urls`, `keys` and `dates`.
        newer = [at for at in found.newer.tolist() if not self._is_known(keys[at], dates[at])]
        newer.sort(key=lambda at: -dates[at])
        return self._weighed([urls[at] for at in newer])

    def pushed(self, listing: str, entries: Sequence[Dated], now: float) -> list[str]:
        """Return the URLs that are worth a fetch by the entries that a hub has sent.

        A hub sends only news, so that an entry without a date is news, too. Without entries the
        page itself has news. A hub is believed as the host of its listing is.
        """
        if not entries:
            return self._weighed([listing])
        urls = [url for url, modified in entries if modified is None]
        # Before `read`, after which the listing has all of them.
        listed = self._listed.holds(self._fingerprints([listing])[0], self._fingerprints(urls))
        known = [url for url, is_listed in zip(urls, listed, strict=True) if is_listed]
        self.counters["signals"] += len(known)
        news = [*self.read(listing, entries, now, whole=False), *self._weighed(known)]
        # A push says nothing of what a reading brings.
        self._news_of_readings.pop(listing, None)
        return news

    def count_news(self, listing: str, count: int) -> None:
        """Count so many signals of this listing as news, unless its host is known to be wrong.

        Only while the fetch of its reading has not ended.
        """
        announcer = self._announcer(host_of(listing))
        is_known_to_be_wrong = announcer.is_judged and not announcer.is_believed
        if listing in self._news_of_readings and not is_known_to_be_wrong:
            self._news_of_readings[listing] += count

    def brought(self, url: str) -> Brought | None:
        """Return the news of the fetch of a listing that ends here, or None for any other page.

        They are forgotten with that.
        """
        news = self._news_of_readings.pop(url, 0)
        announcer = self._announcers.get(host_of(url))
        if announcer is None or self._fingerprints([url])[0] not in announcer.listings:
            return None
        return Brought(news, len(announcer.listings))

    def followed(self, url: str, *, changed: bool) -> None:
        """Learn whether to believe a host, from a page that was fetched because of a signal.

        If it has not changed, the signal was no lie if the page's own turn had found a change,
        perhaps of that date.
        """
        was_changed = self._changed_at.pop(self._fingerprints([url])[0], None) is not None
        if was_changed and not changed:
            return
        self.counters["signals/true" if changed else "signals/false"] += 1
        self._announcers.change(host_of(url)).signalled(changed=changed)

    def changed(self, url: str, at: float) -> None:
        """Note that a page was found changed in its turn: a listing that says so is no news."""
        # Without that, a third of an honest sitemap's signals found nothing.
        if self.has_listing(host_of(url)):
            key = self._fingerprints([url])[0]
            # Removed first, so that it moves to the end: the first entry is the one to be forgotten.
            self._changed_at.pop(key, None)
            self._changed_at[key] = at
            if len(self._changed_at) > NOTED:
                del self._changed_at[next(iter(self._changed_at))]

    def has_listing(self, host: str) -> bool:
        """Return whether a listing of this host was read."""
        announcer = self._announcers.get(host)
        return announcer is not None and bool(announcer.listings)

    def _is_known(self, page: int, date: int) -> bool:
        """Return whether a change with this date was found in the page's turn."""
        at = self._changed_at.get(page)
        if at is None:
            return False
        has_time_of_day = date % DAY != 0
        # A date without a time may be any time of its day, up to the end.
        end = date if has_time_of_day else date + DAY
        return end <= self._wall(at)

    def _announcer(self, host: str) -> Announcer:
        """Return what is known of a host, to be looked at; a new one is in no table yet."""
        return self._announcers.get(host) or Announcer()

    def _weighed(self, urls: Sequence[str]) -> list[str]:
        """Return the URLs that are worth a fetch, by what their hosts' signals were worth."""
        by_host: dict[str, list[str]] = {}
        for url in urls:
            by_host.setdefault(host_of(url), []).append(url)
        return [url for host, newer in by_host.items() for url in self._worth(host, newer)]

    def _worth(self, host: str, newer: list[str]) -> list[str]:
        """Return those of a host's URLs that are worth a fetch; of too many, some at random."""
        most = self._announcer(host).worth(len(newer), self._random)
        if most >= len(newer):
            return newer
        self.counters["signals/ignored"] += len(newer) - most
        return self._random.sample(newer, most)

    def _room(self, host: str, listing: int) -> int:
        """Return the number of URLs of this listing that can be remembered."""
        announcer = self._announcer(host)
        if listing not in announcer.listings and len(announcer.listings) >= LISTINGS:
            return 0
        return PER_HOST - announcer.entries + announcer.listings.get(listing, 0)

    def _note(self, host: str, listing: int, entries: int) -> None:
        """Note how many URLs of a listing are remembered, for a host that it names."""
        listings = self._announcers.change(host).listings
        if listing in listings or len(listings) < LISTINGS:
            listings[listing] = entries
