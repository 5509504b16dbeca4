"""Places in the back-end are shared by registered domain, address and origin; time is simulated."""

import heapq
from itertools import count

import pytest

from tests.support.examples import in_campaign
from tests.support.frontiers import OK, add, drain, make
from tests.support.saving import prepared
from webcrawl.base.model import Link, Outcome
from webcrawl.frontier import place_shares
from webcrawl.frontier.booking import Limits
from webcrawl.frontier.hosts import Host
from webcrawl.frontier.politeness.mercator import Mercator
from webcrawl.store.crawldb import CrawlDB

PAGE = 0.05  # seconds that a page takes


def two_labels(host):
    """The registered domain, as far as these tests need it."""
    return ".".join(host.split(".")[-2:])


def flooded(db, queues=64, fetchers=0, **limits):
    return make(db, Limits(queues, 30_000, fetchers, **limits), domain=two_labels, memory=16 << 20)


def evil(frontier):
    """The active hosts of the domain that floods."""
    return [host for host in frontier.core.back.active if host.endswith(".evil.test")]


def hosts_of(links):
    return [link.url.split("/")[2] for link in links]


class Web:
    """Good hosts, whose pages have two links each, and whatever `evil(host)` adds; `pages` counts
    by host.
    """

    def __init__(self, db, evil, seeds, slots=16, share=16, good=60):
        self.good = {f"good{number}.test" for number in range(good)}
        limits = Limits(3 * slots, 30_000, slots, domain_share=share)
        politeness = Mercator(0, 1.0, 300)
        self.frontier = make(db, limits, domain=two_labels, memory=16 << 20, politeness=politeness)
        self.evil, self.slots, self.numbers, self.pages = (
            evil,
            slots,
            count(),
            dict.fromkeys(self.good, 0),
        )
        add(self.frontier, *(f"http://{host}/" for host in (*seeds, *sorted(self.good))))

    def links(self, link):
        host = link.url.split("/")[2]
        own = (f"http://{host}/{next(self.numbers)}" for _ in range(2))
        urls = own if host in self.good else self.evil(host, self.numbers)
        return [Link(url, f"{link.path}L", link.url).pack() for url in urls]

    def run(self, seconds):
        now, flying, serial = 0.0, [], count()
        while now < seconds:
            while len(flying) < self.slots and (link := self.frontier.take(now)) is not None:
                heapq.heappush(flying, (now + PAGE, next(serial), link))
            times = [flying[0][0]] if flying else []
            if len(flying) < self.slots and (ready := self.frontier.next_ready()) is not None:
                times.append(ready)
            now = max(now, min(times))
            while flying and flying[0][0] <= now:
                end, _, link = heapq.heappop(flying)
                host = link.url.split("/")[2]
                self.pages[host] = self.pages.get(host, 0) + 1
                self.frontier.add(self.links(link))
                self.frontier.done(link, Outcome(200, PAGE, ip=f"ip of {host}"), end)
        return sum(self.pages[host] for host in self.good)


def endless_hosts(host, numbers):
    """200 new hosts of its domain."""
    return [f"http://h{next(numbers)}.evil.test/" for _ in range(200)]


def endless_hosts_and_pages(host, numbers):
    """The same, and 20 pages of its own."""
    return [*endless_hosts(host, numbers), *(f"http://{host}/{next(numbers)}" for _ in range(20))]


def new_domains(host, numbers):
    """A page with links to 2,000 domains that nobody has seen, each of which has one page."""
    return [f"http://d{next(numbers)}.test/" for _ in range(2000)] if host.startswith("www") else []


class TestFloods:
    @pytest.mark.parametrize(
        "evil", [endless_hosts, *in_campaign(endless_hosts_and_pages, new_domains)]
    )
    def test_good_hosts_keep_four_fifths_of_their_pages(self, tmp_path, evil):
        """In 15 seconds with 6 slots a flood costs 30 good hosts less than a fifth of their pages."""
        found = {}
        for name, seeds in {
            "alone": [],
            "beside": [f"www{number}.evil.test" for number in range(5)],
        }.items():
            db = CrawlDB(tmp_path / name)
            web = Web(db, evil, seeds, slots=6, good=30)
            found[name] = web.run(15)
            db.close()

        assert sum(web.pages.values()) > found["beside"] + 300
        assert found["beside"] >= 0.8 * found["alone"]

    def test_a_flood_alone_has_all_slots(self, db):
        """If nobody else wants the slots, hosts of one domain use them all."""
        web = Web(db, endless_hosts, ["www.evil.test"], slots=4, good=0)
        web.run(5)

        assert sum(web.pages.values()) > 0.9 * 4 * 5 / PAGE


class TestShares:
    def test_a_domain_has_its_share_while_others_wait(self, db):
        """Hosts beyond the share of their domain let those behind them in."""
        frontier = flooded(db)
        add(
            frontier,
            *(f"http://h{number}.evil.test/" for number in range(100)),
            "http://a.test/",
            "http://b.test/",
        )
        taken = [frontier.take(0) for _ in range(6)]

        assert hosts_of(taken) == [
            "h0.evil.test",
            "h1.evil.test",
            "h2.evil.test",
            "h3.evil.test",
            "a.test",
            "b.test",
        ]

    def test_a_share_is_a_part_of_the_queues(self, db):
        """The share says in how many places a domain has one."""
        frontier = flooded(db, queues=64, domain_share=8)
        add(frontier, *(f"http://h{number}.evil.test/" for number in range(100)), "http://a.test/")
        taken = [frontier.take(0) for _ in range(9)]

        assert hosts_of(taken)[7:] == ["h7.evil.test", "a.test"]

    def test_there_may_be_no_limit(self, db):
        """With a share of 1 hosts enter in the order in which they were found."""
        frontier = flooded(db, domain_share=1)
        add(frontier, *(f"http://h{number}.evil.test/" for number in range(100)), "http://a.test/")

        assert [frontier.take(0).url for _ in range(101)][-1] == "http://a.test/"

    def test_domains_take_turns(self, db):
        """A domain with many hosts waiting gets one place in turn, like any other."""
        frontier = flooded(db, queues=4)
        for domain in ("x.test", "y.test", "z.test"):
            add(
                frontier,
                *(
                    f"http://h{number}.{domain}/"
                    for number in range(50 if domain == "x.test" else 6)
                ),
            )
        taken = [two_labels(host) for host in hosts_of([frontier.take(0) for _ in range(18)])]

        assert taken[12:] == ["x.test", "y.test", "z.test"] * 2

    def test_a_domain_gives_places_back(self, db):
        """A host beyond the share of its domain leaves when others are due, and its URLs come
        later.
        """
        frontier = flooded(db, fetchers=0)
        add(
            frontier,
            *(f"http://h{number}.evil.test/{page}" for page in range(2) for number in range(10)),
        )
        flying = [frontier.take(0) for _ in range(10)]
        assert len(evil(frontier)) == 10
        add(frontier, *(f"http://good{number}.test/" for number in range(3)))
        for link in flying:
            frontier.done(link, OK, 0)

        assert len(evil(frontier)) == 4
        assert sorted(link.url for _, link in drain(frontier, 100) if "evil" in link.url) == [
            f"http://h{number}.evil.test/1" for number in range(10)
        ]

    def test_an_address_has_a_share_too(self, db):
        """Hosts that answered from one address have four times a domain's share while hosts of
        others are active.
        """
        frontier = flooded(db)
        names = [f"d{number}.test" for number in range(20)]
        add(frontier, *(f"http://{name}/" for name in names), "http://else.test/")
        for link in [frontier.take(0) for _ in range(21)]:
            ip = "192.0.2.1" if link.url != "http://else.test/" else "192.0.2.2"
            frontier.done(link, Outcome(200, 0.1, ip=ip), 0)
        add(
            frontier,
            "http://else.test/1",
            *(f"http://{name}/1" for name in names),
            "http://new.test/",
        )
        taken = hosts_of([frontier.take(10) for _ in range(18)])

        assert taken == ["else.test", *names[:16], "new.test"]

    def test_an_origin_has_a_share_too(self, db):
        """New hosts that one site has named have four times a domain's share, whatever their
        domains.
        """
        frontier = flooded(db)
        frontier.add(
            [
                Link(f"http://d{number}.test/", "L", "http://evil.test/").pack()
                for number in range(20)
            ]
        )
        add(frontier, "http://good.test/", path="L")
        taken = hosts_of([frontier.take(0) for _ in range(17)])

        assert taken == [*(f"d{number}.test" for number in range(16)), "good.test"]

    def test_a_host_counts_for_its_address_and_for_its_origin(self):
        """A host whose address is known, and that gets an origin, counts for both until it leaves.

        The origin took the address's place, and one host too few was counted among those with an
        address.
        """
        shares = place_shares.PlaceShares(two_labels, 64, 16)
        host = Host("a.d.test", None, ip="192.0.2.1")
        shares.add(host)
        shares.set_origin(host, "<evil.test")

        assert all(map(shares.has_active, ("d.test", "@192.0.2.1", "<evil.test")))
        assert shares.remove(host) == "<evil.test"
        assert not any(map(shares.has_active, ("d.test", "@192.0.2.1", "<evil.test")))

    def test_what_waits_costs_no_host_record(self, db):
        """A URL beyond the share waits in its domain's line, and its host has no record until then."""
        frontier = flooded(db)
        add(frontier, *(f"http://h{number}.evil.test/" for number in range(100)), "http://a.test/")
        for _ in range(5):
            frontier.take(0)
        prepared(db)
        db.checkpoint()

        assert len(db.query("SELECT 1 FROM host")) == 5
        assert len(frontier) == 101

    def test_more_domains_than_lines(self, db, monkeypatch):
        """Domains that find no line of their own share one, and lose nothing."""
        monkeypatch.setattr(place_shares, "MAX_QUEUES", 2)
        frontier = flooded(db, queues=4)
        urls = [f"http://h{number}.d{domain}.test/" for number in range(10) for domain in range(8)]
        add(frontier, *urls)

        assert sorted(link.url for link in iter(lambda: frontier.take(0), None)) == sorted(urls)


class TestBusy:
    def test_hosts_beyond_the_share_wait_while_others_are_late(self, db):
        """If a host that answers had to wait, fetchers or processor are busy: for a moment nobody
        else is let in.
        """
        frontier = flooded(db)
        add(frontier, "http://good.test/", "http://good.test/1")
        frontier.done(frontier.take(0), OK, 0)
        add(frontier, *(f"http://h{number}.evil.test/" for number in range(10)))
        assert len(list(iter(lambda: frontier.take(0), None))) == 10

        add(frontier, *(f"http://h{number}.evil.test/1" for number in range(10, 20)))
        assert frontier.take(2.2).url == "http://good.test/1"
        assert frontier.take(2.2) is None
        ready = frontier.next_ready()
        assert 2.2 < ready < 3
        assert frontier.take(ready) is not None

    def test_a_share_need_not_wait(self, db):
        """Hosts within the share of their domain are let in all the same."""
        frontier = flooded(db)
        add(frontier, "http://good.test/", "http://good.test/1")
        frontier.done(frontier.take(0), OK, 0)
        assert frontier.take(2.2).url == "http://good.test/1"
        add(frontier, *(f"http://h{number}.evil.test/" for number in range(10)))

        assert len(list(iter(lambda: frontier.take(2.2), None))) == 4


class TestState:
    def test_lines_are_saved(self, tmp_path):
        """URLs and parked hosts in lines are part of the checkpoint, and come out once after a
        crash.
        """
        db = CrawlDB(tmp_path)
        frontier = flooded(db, fetchers=0)
        urls = [f"http://h{number}.evil.test/{page}" for number in range(30) for page in range(2)]
        add(frontier, *urls[:40])
        done = [frontier.take(0) for _ in range(10)]
        add(frontier, *urls[40:], "http://good.test/", "http://good2.test/")
        frontier.take(1)
        for link in done:
            frontier.done(link, OK, 1)
        db.checkpoint()
        db.close()

        db = CrawlDB(tmp_path)
        frontier = flooded(db, fetchers=0)
        left = []
        for now in range(100, 110):
            for link in iter(lambda now=now: frontier.take(now), None):
                left.append(link.url)
                frontier.done(link, Outcome(200, 0.0), now)
        db.close()

        assert sorted(left) == sorted(
            {*urls, "http://good.test/", "http://good2.test/"} - {link.url for link in done}
        )
        assert len(frontier) == 0
