"""`scrapy crawl web` requests from the synthetic web what the truth demands, as politely as its
server can tell.
"""

from collections import Counter, defaultdict
from itertools import accumulate, pairwise

import pytest

from tests.support.crawling import PATIENT, POLITE, Crawl, wait_until
from tests.support.examples import in_campaign
from tests.support.outages import without_late
from tests.support.quick_exclusion import FILTERS
from webcrawl.lab.simweb import (
    World,
    by_address,
    by_host,
    even,
    gaps,
    hostile,
    mercator,
    overlaps,
    robots_first,
    trap_hits,
    truth,
    wait_until_idle,
)
from webcrawl.lab.simweb.host_kinds import is_robots
from webcrawl.lab.simweb.mix import GROUPS
from webcrawl.lab.simweb.web_answers import WebRequest

SIZE, SLOW = (2000, 3000), 0.02
# look like any list or shop: only depth and page budgets bound them
ENDLESS = {"trap_numbers", "trap_facets"}
# a path of ten segments is not a trap yet: 250 pages per host, for which one test is enough
LONG = {"trap_growing"}
PAGE = [kind for kind in GROUPS["page"] if kind not in ENDLESS | LONG]
HOSTILE = {kind: share for kind, share in hostile().items() if kind not in ENDLESS | LONG} | even(
    GROUPS["scheme"], 0.3
)
TRAPS = [kind for kind in GROUPS["page"] if kind.startswith("trap_") and kind not in ENDLESS]
RETRY_WAIT = 0.1


@pytest.fixture(name="crawl")
def _crawl(tmp_path):
    """A crawl of these seeds of a server's world, by default of all."""

    def make(server, seeds=(), **options):
        seeds = seeds or server.world.seeds()
        (tmp_path / "seeds.txt").write_text("\n".join(seeds))
        settings = {
            "DNS_NAMESERVERS": server.nameserver,
            **PATIENT,
            **options.pop("settings", {}),
        }
        return Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt", **options}, settings)

    return make


@pytest.fixture(scope="module", autouse=True)
def _bombs():
    """Makes each bomb once in advance: it takes half a second, during which the server could not
    answer.
    """
    world = World(1, 1)
    for kind in PAGE:
        world.answer(WebRequest(0, f"/x/{kind}/0"))


def requests(server):
    """All requests so far."""
    wait_until_idle(server)
    return list(server.log.hits)


def rudeness(world, hits, key=by_host):
    """Everything that a server could complain about."""
    return [*overlaps(hits, key), *gaps(hits, mercator(world, **POLITE), key), *robots_first(hits)]


def hasty(hits):
    """Repeated requests for a URL that came sooner than retries are allowed."""
    requested = defaultdict(list)
    for hit in hits:
        if not is_robots(hit.path):
            requested[hit.url].append(hit.started)
    return [
        url
        for url, times in requested.items()
        for number, (first, second) in enumerate(pairwise(sorted(times)))
        if second - first < RETRY_WAIT * 2**number
    ]


class TestTruth:
    @pytest.mark.parametrize(
        ("hosts", "pages", "mix"),
        [
            pytest.param(20, 300, {}, id="plain"),
            pytest.param(
                60, 120, even(GROUPS["robots"]) | even(GROUPS["scheme"], 0.3), id="robots"
            ),
            pytest.param(40, 120, even(GROUPS["host"]), id="host", marks=pytest.mark.campaign),
            pytest.param(250, 320, even(PAGE), id="page", marks=pytest.mark.campaign),
            pytest.param(
                60,
                120,
                even(GROUPS["dns"]) | even(GROUPS["name"]),
                id="dns",
                marks=pytest.mark.campaign,
            ),
            pytest.param(5, 10, even(TRAPS), id="traps", marks=pytest.mark.campaign),
            pytest.param(250, 320, HOSTILE, id="hostile", marks=pytest.mark.campaign),
        ],
    )
    def test_every_kind_of_world(self, simweb, crawl, hosts, pages, mix):
        """Each required URL is requested once, no forbidden one; politely, robots.txt first, traps
        bounded.
        """
        server = simweb(hosts, pages, mix=mix, size=SIZE, slow=SLOW)

        # a handshake with 250 hosts at once takes longer than DOWNLOAD_TIMEOUT on a busy machine
        assert crawl(server).run(CONCURRENT_REQUESTS=30) == 0

        hits = requests(server)
        expected = truth(server.world, server.world.seeds())
        assert [*expected.complaints(without_late(hits, expected))] == []
        assert rudeness(server.world, hits) == []
        assert hasty(hits) == []
        assert (
            max(
                (count for (_, kind), count in trap_hits(hits).items() if kind not in LONG),
                default=0,
            )
            <= 30
        )
        assert max(trap_hits(hits).values(), default=0) <= 300

    def test_so_many_at_once_and_no_more(self, simweb, crawl):
        """With more hosts ready than CONCURRENT_REQUESTS that many requests run at a time, and
        never one more.
        """
        server = simweb(60, 120, size=SIZE, latency=0.05)

        assert crawl(server, settings={"CONCURRENT_REQUESTS": 7}).run() == 0

        moments = sorted(
            moment for hit in requests(server) for moment in ((hit.started, 1), (hit.ended, -1))
        )
        assert max(accumulate(change for _, change in moments)) == 7

    @pytest.mark.parametrize(
        "scope", [*in_campaign("any", "seeds"), "domain", *in_campaign("host")]
    )
    def test_scopes(self, simweb, crawl, scope):
        """Each scope requests what can be reached inside it, also below pages with the same body as
        another's.
        """
        mix = {"subdomain": 0.5} | even(
            ["redirect_elsewhere", "duplicate", "refresh", "refresh_loop"]
        )
        server = simweb(12, 120, mix=mix, size=SIZE)
        seeds = [f"{server.world.origin(host)}/" for host in (0, 1)]

        assert crawl(server, seeds, scope=scope).run() == 0

        hits = requests(server)
        expected = truth(server.world, seeds, scope)
        assert [*expected.complaints(hits)] == []
        assert (scope == "any") == ("out of scope" not in expected.excluded.values())

    def test_the_last_seed_is_known_before_the_first_link_is_judged(self, simweb, crawl):
        """With the scope `seeds` a link on the first page may lead to the domain of the last of
        many seeds.
        """
        server = simweb(3, 30, size=SIZE)
        seeds = [*[f"{server.world.origin(0)}/"] * 50_000, "http://absent.site2.test/"]

        assert crawl(server, seeds, scope="seeds").run() == 0

        hits = requests(server)
        expected = truth(server.world, [seeds[0], seeds[-1]], "seeds")
        assert {hit.host for hit in hits} == {"site0.test", "site2.test"}
        assert [*expected.complaints(hits)] == []

    def test_limit(self, simweb, crawl):
        """With limit=N the first N seeds are taken."""
        server = simweb(6, 60, size=SIZE)
        seeds = [*server.world.seeds()]

        assert crawl(server, seeds, scope="host", limit=2).run() == 0

        assert [*truth(server.world, seeds[:2], "host").complaints(requests(server))] == []


class TestRules:
    def test_hosts_of_one_address_take_turns(self, simweb, crawl):
        """With POLITENESS_PER_IP an address is treated as politely as a host, after each host's
        first request.
        """
        server = simweb(12, 60, size=SIZE, addresses=2)

        assert crawl(server, settings={"POLITENESS_PER_IP": True}).run() == 0

        hits = requests(server)
        first = {}
        for hit in sorted(hits, key=lambda hit: hit.started):
            first.setdefault(hit.host, hit)
        known = [hit for hit in hits if hit is not first[hit.host]]
        assert len(known) == 60
        assert rudeness(server.world, known, by_address) == robots_first(known)
        assert [*truth(server.world, server.world.seeds()).complaints(hits)] == []

    def test_page_budget(self, simweb, crawl):
        """No host gives more than HOST_MAX_PAGES pages, and each host that has that many gives
        them.
        """
        server = simweb(8, 120, size=SIZE)

        assert crawl(server, settings={"HOST_MAX_PAGES": 7}).run() == 0

        pages = Counter(hit.host for hit in requests(server) if not is_robots(hit.path))
        assert max(pages.values()) == 7
        assert pages["site0.test"] == 7
        assert len(pages) == 8

    def test_who_asks_to_be_left_alone_is(self, simweb, crawl, tmp_path):
        """A host added to URL_EXCLUDE_FILE during the crawl gets no more requests, queued URLs
        included.
        """
        server = simweb(4, 240, size=SIZE)
        excluded = tmp_path / "excluded.txt"
        excluded.write_text("# nobody yet\n")
        settings = {
            "URL_EXCLUDE_FILE": excluded,
            "URL_FILTERS": FILTERS,
            "POLITENESS_MIN_DELAY": 0.03,
        }

        running = crawl(server, settings=settings).start()
        wait_until(lambda: sum(hit.host == "site0.test" for hit in server.log.hits) > 5)
        excluded.write_text("site0.test\n")
        assert running.wait() == 0

        hits = requests(server)
        others = truth(
            server.world, server.world.seeds(), wanted=lambda url: "//site0.test" not in url
        )
        everything = truth(server.world, server.world.seeds())
        requested = {hit.url for hit in hits}
        assert others.must <= requested
        assert len({url for url in everything.must - requested if "//site0.test" in url}) > 50

    @pytest.mark.campaign
    def test_a_stopped_crawl_goes_on(self, simweb, crawl):
        """A crawl stopped by Ctrl-C and resumed, twice, fetches the rest and nothing again."""
        mix = even(["redirect_chain", "duplicate", "status_404", "redirect_elsewhere"])
        server = simweb(20, 120, mix=mix, size=SIZE)
        stopped = crawl(server)

        for share in (60, 150):
            running = stopped.start()
            wait_until(lambda: len(server.log.hits) > share)  # noqa: B023 - it is called here
            running.interrupt()
            assert running.wait() == 0
            assert len(requests(server)) < 220
        assert stopped.run() == 0

        hits = requests(server)
        assert [*truth(server.world, server.world.seeds()).complaints(hits)] == []
        assert max(Counter(hit.url for hit in hits).values()) == 1
        assert overlaps(hits) == []
