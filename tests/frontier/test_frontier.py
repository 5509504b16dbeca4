"""The frontier: URLs go in by priority and come out politely."""

from collections import Counter
from contextlib import closing

import pytest

from tests.support.frontiers import OK, add, drain, make
from webcrawl.base.model import Link, Outcome, Status
from webcrawl.base.url_text import host_of
from webcrawl.frontier import frontier as frontier_module
from webcrawl.frontier import host_state, url_selection
from webcrawl.frontier.addresses import Addresses
from webcrawl.frontier.booking import Limits
from webcrawl.store.crawldb import CrawlDB

LOST = Outcome(Status.CONNECT_FAILED)


@pytest.fixture
def db(tmp_path):
    db = CrawlDB(tmp_path)
    yield db
    db.close()


def request(url, priority, path=""):
    """The packed link of an ordinary Scrapy request."""
    return Link(url, path, request=f"{priority}.word" if priority else "word").pack()


class TestPoliteness:
    def test_a_host_is_requested_once_at_a_time(self, db):
        """While a URL of a host is in flight, no other URL of that host is handed out."""
        frontier = make(db)
        add(frontier, "http://a/1", "http://a/2")
        assert frontier.take(0).url == "http://a/1"
        assert frontier.take(1e9) is None

    def test_which_url_is_in_flight(self, db):
        """From when it is handed out to when it is done; no other URL of its host is."""
        frontier = make(db)
        add(frontier, "http://a/1", "http://a/2")
        link = frontier.take(0)
        requested = ("http://a/1", "http://a/2", "http://b/1")
        assert [frontier.look.in_flight(url) for url in requested] == [True, False, False]
        frontier.done(link, OK, 0.2)
        assert not any(map(frontier.look.in_flight, requested))

    def test_a_host_rests_ten_times_the_download(self, db):
        """After an answer the host waits for the policy's time, counted from the end of the
        download.
        """
        frontier = make(db)
        add(frontier, "http://a/1", "http://a/2")
        link = frontier.take(100)
        frontier.done(link, Outcome(200, 0.5), 100.5)
        assert frontier.take(105.4) is None
        assert frontier.next_ready() == 105.5
        assert frontier.take(105.5).url == "http://a/2"

    def test_hosts_do_not_wait_for_each_other(self, db):
        """Each host has its own schedule."""
        frontier = make(db)
        add(frontier, "http://a/1", "http://b/1", "http://c/1", "http://d/1")
        assert {frontier.take(0).url[7] for _ in range(4)} == set("abcd")

    def test_ports_and_schemes_of_a_host_are_one_host(self, db):
        """Politeness is per host, whatever the port and the scheme."""
        frontier = make(db)
        add(frontier, "http://a/1", "https://a/2", "http://a:8080/3")
        assert frontier.take(0) is not None
        assert frontier.take(0) is None

    def test_crawl_delay_raises_the_wait(self, db):
        """A robots.txt Crawl-delay raises the wait."""
        frontier = make(db)
        add(frontier, "http://a/1", "http://a/2")
        link = frontier.take(0)
        frontier.crawl_delay("a", 30)
        frontier.done(link, OK, 0.2)
        assert frontier.next_ready() == 30.2

    def test_crawl_delay_is_bounded(self, db):
        """A robots.txt cannot impose a delay above CRAWL_DELAY_MAX."""
        frontier = make(db, Limits(1, 10, crawl_delay_max=50))
        add(frontier, "http://a/1", "http://a/2")
        link = frontier.take(0)
        frontier.crawl_delay("a", 1e6)
        frontier.done(link, OK, 0)
        assert frontier.next_ready() == 50

    def test_retry_after_raises_the_wait(self, db):
        """A Retry-After raises the wait."""
        frontier = make(db)
        add(frontier, "http://a/1", "http://a/2")
        frontier.done(frontier.take(0), Outcome(503, 0.1, wait=120), 0)
        assert frontier.next_ready() == 120

    def test_an_emptied_host_keeps_its_wait(self, db):
        """A host whose queue ran empty is not contacted too early when a new URL arrives (Mischel)."""
        frontier = make(db)
        add(frontier, "http://a/1")
        frontier.done(frontier.take(0), OK, 0.2)
        add(frontier, "http://a/2")
        assert frontier.take(1) is None
        assert frontier.take(2.2).url == "http://a/2"

    def test_a_url_not_polite_to_take_moves_only_once(self, db):
        """URLs of a waiting host move to its queue once and are never appended again (Nielsen's
        domain clumping).
        """
        frontier = make(db)
        add(frontier, *(f"http://a/{i}" for i in range(50)))
        frontier.take(0)
        for now in range(1000):
            frontier.take(now)
        assert frontier.counters["added"] == 50
        assert frontier.queued == 49


class TestOrder:
    def test_urls_of_a_host_keep_their_order(self, db):
        """Within a level and a host, URLs come out in order."""
        frontier = make(db)
        urls = [f"http://a/{i}" for i in range(20)]
        add(frontier, *urls)
        assert [link.url for _, link in drain(frontier, 0)] == urls

    def test_high_levels_come_sooner(self, db):
        """With equally many links per level, most of those at the first level come out first."""
        frontier = make(db, Limits(queues=1, max_queues=1))
        for i in range(200):
            add(frontier, f"http://deep{i}/", path="LLL")
            add(frontier, f"http://near{i}/")
        first = [link.url for _, link in drain(frontier, 0)][:200]
        assert Counter(url[7] for url in first)["n"] > 140

    def test_urgent_urls_go_before_the_others_of_their_host(self, db):
        """Requests with a priority above 0 pass all URLs in their host's queue, and keep their
        order.
        """
        frontier = make(db, Limits(queues=2, max_queues=2))
        add(frontier, *(f"http://a/{i}" for i in range(20)))
        first = frontier.take(0)
        assert frontier.take(0) is None  # moves the others to the host's queue
        frontier.add(request(f"http://a/urgent{i}", 10) for i in range(3))
        frontier.done(first, OK, 0)
        urls = [link.url for _, link in drain(frontier, 0)]

        assert urls == [
            *(f"http://a/urgent{i}" for i in range(3)),
            *(f"http://a/{i}" for i in range(1, 20)),
        ]

    def test_priorities_order_the_urls_of_a_host(self, db):
        """Of the URLs in a host's queue the highest priority goes first; those of equal priority
        keep their order.
        """
        frontier = make(db, Limits(queues=2, max_queues=2))
        add(frontier, "http://a/first")
        first = frontier.take(0)
        priorities = [0, 3, -2, 10**15, 0, 1, 3, -(10**15), -1, 2]
        frontier.add(request(f"http://a/{at}", priority) for at, priority in enumerate(priorities))
        assert frontier.take(0) is None  # moves them to the host's queue
        frontier.done(first, OK, 0)
        order = [int(link.url.rpartition("/")[2]) for _, link in drain(frontier, 0)]

        assert order == sorted(range(len(priorities)), key=lambda at: -priorities[at])

    def test_many_priorities_share_queues(self, db):
        """A host keeps sixteen priorities apart on each side of 0; a further one shares the nearest
        one's turn.
        """
        frontier = make(db, Limits(queues=2, max_queues=2))
        add(frontier, "http://a/first")
        first = frontier.take(0)
        frontier.add(
            request(f"http://a/{priority}", priority)
            for priority in (*range(10, 170, 10), 171, 49, -3, 0, 12)
        )
        assert frontier.take(0) is None
        frontier.done(first, OK, 0)
        order = [int(link.url.rpartition("/")[2]) for _, link in drain(frontier, 0)]

        assert order == [160, 171, *range(150, 50, -10), 50, 49, 40, 30, 20, 10, 12, 0, -3]

    def test_a_retry_whose_time_has_come_goes_before_urgent_urls(self, db):
        """A due retry goes before urgent URLs."""
        frontier = make(db, Limits(queues=2, max_queues=2, retry_wait=1))
        add(frontier, "http://a/1")
        frontier.done(frontier.take(0), Outcome(500, 0.1), 0)
        frontier.add([request("http://a/urgent", 10)])

        assert [link.url for _, link in drain(frontier, 1000)] == ["http://a/1", "http://a/urgent"]

    @pytest.mark.parametrize(
        ("priority", "depth", "level"),
        [(0, 1, 1), (1, 1, 0), (1, 2, 1), (99, 2, 0), (-1, 0, 1), (-99, 0, 2)],
    )
    def test_a_priority_changes_the_level(self, db, priority, depth, level):
        """A priority of n lifts a request by n levels, to level 0 at most."""
        frontier = make(db, levels=3)
        frontier.add([request("http://a/", priority, "L" * depth)])

        assert [len(queue) for queue in frontier.core.queues.front.queues] == [
            number == level for number in range(3)
        ]

    def test_urgent_urls_outlive_a_checkpoint(self, tmp_path):
        """URLs of several priorities, more than fit in memory, keep their order over a restart;
        each comes once.
        """
        limits, pad = Limits(queues=20, max_queues=20), "x" * 90
        db = CrawlDB(tmp_path)
        frontier = make(db, limits, memory=8192)
        for name in "ab":
            add(frontier, *(f"http://{name}/{i}/{pad}" for i in range(300)))
            frontier.add(
                request(f"http://{name}/urgent{i}/{pad}", 1 + (i < 150)) for i in range(300)
            )
            frontier.add([request(f"http://{name}/last/{pad}", -1)])
        links = [frontier.take(0), frontier.take(0)]
        while frontier.take(0) is not None or frontier.core.queues.front.filled:
            pass  # all move to their hosts
        for link in links:
            frontier.done(link, OK, 0)
        db.checkpoint()
        db.close()

        db = CrawlDB(tmp_path)
        urls = [link.url for _, link in drain(make(db, limits, memory=8192), 100.0, most=2000)]
        db.close()
        assert len(urls) == len(set(urls)) == 1200
        first = [link.url for link in links]
        for name in "ab":
            mine, taken = (
                [url.split("/")[3] for url in some if f"//{name}/" in url] for some in (urls, first)
            )
            order = [*(f"urgent{i}" for i in range(300)), *map(str, range(300)), "last"]
            assert mine == [one for one in order if one not in taken]

    def test_the_same_seed_repeats_the_run(self, tmp_path):
        """Two runs with the same seed hand out the same URLs in the same order."""
        runs = []
        for name in ("one", "two"):
            db = CrawlDB(tmp_path / name)
            frontier = make(db, seed=7)
            for i in range(100):
                add(frontier, f"http://h{i % 17}/{i}", path="L" * (i % 4))
            runs.append([link.url for _, link in drain(frontier, 0)])
            db.close()
        assert runs[0] == runs[1]


class TestFailures:
    def test_a_failed_url_is_tried_three_times(self, db):
        """A URL that fails by itself goes back to its host's queue, at most twice."""
        frontier = make(db)
        add(frontier, "http://a/1")
        attempts = [link.attempt for _, link in drain(frontier, 0, Outcome(501))]
        assert attempts == [0, 1, 2]

    @pytest.mark.parametrize(("retries", "attempts"), [(None, 3), (0, 1), (1, 2), (4, 5)])
    def test_a_request_may_say_how_often(self, db, retries, attempts):
        """An outcome that says how often its URL may be tried again comes before the limit of all."""
        frontier = make(db)
        add(frontier, "http://a/")

        outcome = Outcome(501, 0.1, retries=retries)
        assert len(list(drain(frontier, 0, outcome))) == attempts

    def test_a_host_that_answers_in_part_has_not_failed(self, db):
        """An answer that broke off is tried again like one without an answer, but does not count
        against the host.
        """
        frontier = make(db, Limits(1, 10, host_failures=1))
        add(frontier, "http://a/")

        outcome = Outcome(Status.CONNECTION_LOST, 0.1, answered=True)
        assert len(list(drain(frontier, 0, outcome))) == 3
        assert frontier.counters["hosts deferred"] == 0

    @pytest.mark.parametrize(("status", "attempts"), [(403, 3), (500, 1), (Status.TIMEOUT, 3)])
    def test_the_statuses_may_be_others(self, db, status, attempts):
        """With statuses of the user's these are tried again and no other; what is no status is as
        ever.
        """
        frontier = make(db, Limits(1, 10, retry_codes=frozenset((403,))))
        add(frontier, "http://a/good", "http://a/")
        frontier.done(frontier.take(0), OK, 0)

        assert len(list(drain(frontier, 10, Outcome(status, 0.1)))) == attempts
        assert len(frontier) == 0

    def test_done_tells_whether_the_url_comes_again(self, db):
        """`done` returns True if the URL is finished, False if it will be retried."""
        frontier = make(db)
        add(frontier, "http://a/1")
        assert frontier.done(frontier.take(0), LOST, 0) is False
        assert frontier.done(frontier.take(100), OK, 100) is True

    def test_an_unreachable_host_waits_twice_as_long_each_time(self, db):
        """Each failure in a row doubles the host's wait."""
        frontier = make(db, Limits(1, 10, retry_wait=60, host_failures=9))
        add(frontier, "http://a/1")
        times = [now for now, _ in drain(frontier, 0, LOST, most=4)]
        assert times == [0, 60, 180, 420]

    def test_an_answer_ends_the_row_of_failures(self, db):
        """After an answer, the next failure waits as long as the first one did."""
        frontier = make(db)
        add(frontier, "http://a/1", "http://a/2", "http://a/3", "http://a/4")
        frontier.done(frontier.take(0), LOST, 0)
        frontier.done(frontier.take(60), OK, 60)
        frontier.done(frontier.take(100), LOST, 100)
        assert frontier.next_ready() == 160

    @pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, -1, -2, -3, -4])
    def test_passing_errors_are_tried_again(self, db, status):
        """No answer, a reset, 408, 429 and 5xx are retried."""
        frontier = make(db)
        add(frontier, "http://a/1")
        assert frontier.done(frontier.take(0), Outcome(status), 0) is False

    @pytest.mark.parametrize("status", [200, 204, 301, 304, 400, 401, 403, 404, 410, 451])
    def test_answers_are_final(self, db, status):
        """Any other answer is final."""
        frontier = make(db)
        add(frontier, "http://a/1")
        assert frontier.done(frontier.take(0), Outcome(status), 0) is True

    def test_a_broken_page_does_not_stop_its_host(self, db):
        """A 500 delays its URL, and the host's other URLs for one turn of twice the usual wait."""
        frontier = make(db)
        add(frontier, "http://a/bad", "http://a/good")
        frontier.done(frontier.take(0), Outcome(500, 0.1), 0)
        assert frontier.take(1) is None
        assert frontier.take(2).url == "http://a/good"

    def test_a_new_url_does_not_wait_for_a_retry(self, db):
        """A host that only waits for a retry hands out a new URL at once."""
        frontier = make(db)
        add(frontier, "http://a/bad")
        frontier.done(frontier.take(0), Outcome(500, 0.1), 0)
        add(frontier, "http://a/good")
        assert frontier.take(2).url == "http://a/good"

    def test_a_page_budget_ends_a_host(self, db):
        """After HOST_MAX_PAGES answers the host's other URLs are dropped and counted."""
        frontier = make(db, Limits(1, 10, host_pages=3))
        add(frontier, *(f"http://a/{i}" for i in range(10)))
        assert len(drain(frontier, 0)) == 3
        assert frontier.counters[f"dropped/{Status.HOST_BUDGET}"] == 7

    @pytest.mark.parametrize(("own", "path"), [("http://a/robots.txt", "P"), ("http://a/xyz", "S")])
    def test_what_the_crawl_requests_for_itself_is_no_url(self, db, own, path):
        """A robots.txt or a probe of a host that has ended is not counted among the URLs that ended."""
        frontier = make(db, Limits(1, 10, host_pages=3))
        told = []
        frontier.core.dropped.append(lambda link, status: told.append(link.url))
        add(frontier, *(f"http://a/{i}" for i in range(4)))
        drain(frontier, 0)
        add(frontier, own, path=path)
        drain(frontier, 0)
        assert told == ["http://a/3", own]
        assert frontier.counters[f"dropped/{Status.HOST_BUDGET}"] == 1

    @pytest.mark.parametrize(
        "first", [Outcome(200, short="disconnect"), Outcome(200, short="time"), Outcome(408)]
    )
    def test_an_answer_that_is_tried_again_is_no_page_yet(self, db, first):
        """A URL counts once towards HOST_MAX_PAGES, at its end: truncated pages at first take
        nothing from others.
        """
        frontier = make(db, Limits(1, 10, host_pages=3))
        add(frontier, "http://a/1", "http://a/2", "http://a/3")
        ends = [
            frontier.done(frontier.take(at), first if at == 0 else OK, at)
            for at in (0, 1000, 2000, 3000)
        ]
        assert ends == [False, True, True, True]
        assert not frontier.counters[f"dropped/{Status.HOST_BUDGET}"]

    def test_done_without_take_is_an_error(self, db):
        """`done` raises ValueError for a link that was not handed out."""
        frontier = make(db)
        add(frontier, "http://a/1", "http://a/2")
        link = frontier.take(0)
        frontier.done(link, OK, 0)
        with pytest.raises(ValueError, match="not handed out"):
            frontier.done(link, OK, 0)


class TestGate:
    def test_a_refused_url_is_dropped_with_its_status(self, db):
        """A URL that admission rejects ends with the Status that admission returned."""
        ended = []
        frontier = make(
            db,
            admission=lambda link, now: Status.EXCLUDED if "bad" in link.url else 0,
            dropped=lambda link, status: ended.append((link.url, status)),
        )
        add(frontier, "http://a/bad", "http://a/good", "http://b/bad")
        assert [link.url for _, link in drain(frontier, 0)] == ["http://a/good"]
        assert sorted(ended) == [
            ("http://a/bad", Status.EXCLUDED),
            ("http://b/bad", Status.EXCLUDED),
        ]

    def test_a_refusal_costs_the_host_no_wait(self, db):
        """A rejected URL causes no wait."""
        frontier = make(db, admission=lambda link, now: -1 if "bad" in link.url else 0)
        add(frontier, "http://a/bad1", "http://a/bad2", "http://a/good")
        assert frontier.take(0).url == "http://a/good"

    def test_dear_refusals_cost_the_host_a_rest(self, db, monkeypatch):
        """A host whose verdicts take long is left alone for ten times as long; a turn ends, whoever
        else is due.
        """
        spent, requested = [0.0], Counter()

        def admission(link, now):
            requested[host_of(link.url)] += 1
            spent[0] += 0.04
            return Status.ROBOTS_FORBIDDEN if "bad" in link.url else 0

        for module in (frontier_module, url_selection):
            monkeypatch.setattr(module, "thread_time", lambda: spent[0])
        frontier = make(db, Limits(queues=9, max_queues=9), admission=admission)
        add(
            frontier,
            *(f"http://{name}/bad{number}" for name in "abcd" for number in range(9)),
            "http://e/",
        )

        assert (frontier.take(1), requested) == (None, {"a": 1, "b": 1})
        assert (frontier.take(1), requested) == (None, dict.fromkeys("abcd", 1))
        assert frontier.take(1).url == "http://e/"
        assert frontier.take(1.39) is None
        assert requested["a"] == 1
        assert frontier.next_ready() == pytest.approx(1.4)

    def test_a_prerequisite_is_handed_out_first(self, db):
        """A URL's prerequisite is fetched before it, politely; then the URL is handed out."""
        known = set()

        def admission(link, now):
            return None if known or link.path.endswith("P") else Link("http://a/robots.txt", "P")

        frontier = make(db, admission=admission)
        add(frontier, "http://a/1", "http://a/2")
        first = frontier.take(0)
        assert first.url == "http://a/robots.txt"
        known.add("a")
        assert frontier.done(first, OK, 0.2) is True
        assert frontier.take(1) is None
        assert [(now, link.url) for now, link in drain(frontier, 0.2)] == [
            (2.2, "http://a/1"),
            (4.4, "http://a/2"),
        ]

    def test_a_prerequisite_is_no_page(self, db):
        """robots.txt does not count towards HOST_MAX_PAGES, and a failed one is retried only when a
        URL needs it.
        """
        frontier = make(
            db,
            Limits(1, 10, host_pages=1),
            admission=lambda link, now: Link("http://a/robots.txt", "P"),
        )
        add(frontier, "http://a/1")
        assert frontier.done(frontier.take(0), Outcome(500), 0) is True
        assert frontier.take(100).url == "http://a/robots.txt"
        assert frontier.queued == 1

    def test_a_url_may_have_to_wait(self, db):
        """If admission returns a time, the host waits until then, and the URL stays its first."""
        frontier = make(db, admission=lambda link, now: None if now >= 50 else 50.0)
        add(frontier, "http://a/1", "http://a/2")
        now, link = next(iter(drain(frontier, 0)))
        assert (now, link.url) == (50, "http://a/1")

    def test_what_others_wait_for_goes_first(self, db):
        """An expedited link passes all that its host has queued, but waits until the host is due."""
        frontier = make(db)
        add(frontier, "http://a/1", "http://a/2")
        frontier.done(frontier.take(0), OK, 0.2)
        frontier.expedite(Link("http://a/robots.txt", "P").pack())
        frontier.expedite(Link("http://new/robots.txt", "P").pack())
        assert frontier.take(1).url == "http://new/robots.txt"
        assert [link.url for _, link in drain(frontier, 0.2)] == [
            "http://a/robots.txt",
            "http://a/2",
        ]


class TestWidth:
    def test_queues_grow_while_fetchers_starve(self, db):
        """N grows beyond FRONTIER_QUEUES when a fetcher would otherwise get nothing."""
        frontier = make(db, Limits(queues=2, max_queues=50))
        add(frontier, *(f"http://h{i}/" for i in range(80)))
        taken = [frontier.take(0) for _ in range(80)]
        assert sum(link is not None for link in taken) == 50
        assert frontier.core.width == 50

    def test_queues_shrink_when_there_are_too_many(self, db):
        """N shrinks when due hosts wait long for a fetcher."""
        frontier = make(db, Limits(queues=2, max_queues=50))
        add(frontier, *(f"http://h{i}/{j}" for j in range(20) for i in range(50)))
        for link in [frontier.take(0) for _ in range(50)]:
            frontier.done(link, OK, 0)
        assert frontier.core.width == 50
        for now in range(100, 500):
            frontier.done(frontier.take(now), OK, now)
        assert frontier.core.width < 20

    def test_hosts_that_give_way_and_come_back_outlive_a_crash(self, tmp_path, monkeypatch):
        """Whenever a checkpoint is taken, the crawl that goes on from there has all URLs that were
        not finished.
        """
        monkeypatch.setattr(host_state, "STAY", 2)
        urls = {f"http://{name}/{number}" for number in range(6) for name in "abcd"}
        for steps in range(24):
            with closing(CrawlDB(tmp_path / str(steps))) as db:
                frontier, now = make(db, Limits(queues=2, max_queues=2)), 0.0
                add(frontier, *sorted(urls))
                left = set(urls)
                for _ in range(steps):
                    while (link := frontier.take(now)) is None:
                        now = max(now, frontier.next_ready())
                    frontier.done(link, OK, now)
                    left.remove(link.url)
                    db.checkpoint()
                db.checkpoint()

                assert {
                    link.url for _, link in drain(make(db, Limits(queues=2, max_queues=2)), now)
                } == left

    def test_a_host_far_over_its_share_gives_way(self, db, monkeypatch):
        """With no room for more queues, huge hosts give way to others before they are done."""
        monkeypatch.setattr(host_state, "STAY", 10)
        frontier = make(db, Limits(queues=2, max_queues=2))
        add(frontier, *(f"http://{name}/{i}" for name in ("huge", "vast") for i in range(100)))
        add(frontier, *(f"http://small{i}/" for i in range(5)))
        hosts = [link.url.split("/")[2] for _, link in drain(frontier, 0)]
        assert max(hosts.index(f"small{i}") for i in range(5)) < 100
        assert Counter(hosts) == {"huge": 100, "vast": 100, **{f"small{i}": 1 for i in range(5)}}


class TestAddresses:
    def test_hosts_of_one_address_take_turns(self, db):
        """With politeness per address, two hosts known to share an address are not contacted at the
        same time.
        """
        frontier = make(db, addresses=Addresses())
        add(frontier, "http://a/1", "http://b/1", "http://a/2", "http://b/2")
        for _ in range(2):
            link = frontier.take(0)
            frontier.done(link, Outcome(200, 0.1, ip="127.0.0.1"), 0)
        assert frontier.take(1) is not None
        assert frontier.take(1) is None

    def test_the_wait_is_the_address_s(self, db):
        """After a download from one host, the next host at the same address waits as it would after
        its own.
        """
        frontier = make(db, addresses=Addresses())
        add(frontier, *(f"http://{name}/{i}" for i in range(5) for name in "abc"))
        busy_until, seen = {}, []
        now = 0.0
        for _ in range(3):
            link = frontier.take(now)
            frontier.done(link, Outcome(200, 0.1, ip="127.0.0.1"), now)
        for when, link in drain(frontier, 10, Outcome(200, 0.1, ip="127.0.0.1")):
            assert when >= busy_until.get("ip", 0)
            busy_until["ip"] = when + 0.1 + 1.0 - 1e-6
            seen.append(link.url)
        assert len(seen) == len(set(seen)) == 12

    def test_nobody_waits_for_ever(self, db):
        """A host that is woken but then has no URL to fetch wakes the next one at its address."""
        vetoed = {"http://b/2"}
        frontier = make(
            db, addresses=Addresses(), admission=lambda link, now: -1 if link.url in vetoed else 0
        )
        add(frontier, *(f"http://{name}/{i}" for i in range(3) for name in "abcd"))
        taken = drain(frontier, 0, Outcome(200, 0.1, ip="127.0.0.1"))
        assert len(taken) == 11
        assert len(frontier) == 0


class TestReopen:
    def test_everything_is_there_again(self, tmp_path):
        """A reopened frontier has every URL of the checkpoint, and its hosts keep their waits."""
        db = CrawlDB(tmp_path)
        frontier = make(db)
        add(frontier, *(f"http://h{i % 7}/{i}" for i in range(100)))
        first = {frontier.take(0).url for _ in range(3)}
        link = frontier.take(0)
        frontier.done(link, Outcome(200, 3.0), 3.0)
        db.checkpoint()
        db.close()
        db = CrawlDB(tmp_path)
        frontier = make(db)
        assert len(frontier) == 99
        taken = drain(frontier, 4)
        assert first < {link.url for _, link in taken}
        assert len(taken) == len({link.url for _, link in taken}) == 99
        host = link.url.split("/")[2]
        assert min(now for now, other in taken if other.url.split("/")[2] == host) == 33.0
        db.close()

    def test_a_crash_goes_back_to_the_checkpoint(self, tmp_path):
        """After a crash, URLs taken or done since the last checkpoint are handed out again."""
        db = CrawlDB(tmp_path)
        frontier = make(db)
        add(frontier, *(f"http://h{i}/" for i in range(10)))
        db.checkpoint()
        assert len(drain(frontier, 0)) == 10
        db.close()
        db = CrawlDB(tmp_path)
        assert len(drain(make(db), 0)) == 10
        db.close()

    def test_fewer_levels_lose_nothing(self, tmp_path):
        """URLs in levels that FRONTIER_LEVELS no longer has are still handed out."""
        db = CrawlDB(tmp_path)
        frontier = make(db, levels=8)
        for depth in range(12):
            add(frontier, f"http://h{depth}/", path="L" * depth)
        db.checkpoint()
        db.close()
        db = CrawlDB(tmp_path)
        frontier = make(db, levels=2)
        add(frontier, "http://new/", path="LLLL")
        assert len(drain(frontier, 0)) == 13
        db.close()

    def test_a_link_keeps_its_history(self, tmp_path):
        """Path, via, seed, attempt and history go through queues and checkpoints unchanged."""
        db = CrawlDB(tmp_path)
        link = Link("http://a/x", "LRL", "http://b/", "b.example", 1, "cu")
        make(db).add([link.pack()])
        db.checkpoint()
        db.close()
        db = CrawlDB(tmp_path)
        assert make(db).take(0) == link
        db.close()
