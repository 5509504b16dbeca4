"""Pages that change by known processes, with honest and with odd servers."""

import gzip
import re
from collections import Counter
from email.utils import formatdate, parsedate_to_datetime
from html import unescape
from itertools import pairwise
from math import exp, inf
from statistics import mean
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.simweb_wire import connect, drain, get, logged, request
from webcrawl.content.formats.listings import read as read_listing
from webcrawl.content.formats.listings import read_date
from webcrawl.content.html.shown_text import visible_text
from webcrawl.content.near_duplicates import DISTANCE, fingerprint
from webcrawl.lab.simweb import World, changing, truth
from webcrawl.lab.simweb.changing_pages import (
    GONE,
    NEVER,
    bursts,
    dice_of,
    moved_path,
    original_path,
    poisson,
    random_rate,
    regular,
)
from webcrawl.lab.simweb.random_content import path
from webcrawl.lab.simweb.web_answers import WebRequest

START = 1_700_000_000.0
DAY = 86_400.0
LONG = 4000.0  # days


class Clock:
    """The time is what the test says."""

    def __init__(self, now=START):
        self.now = now

    def __call__(self):
        return self.now


def world(*kinds, hosts=1, pages=40, clock=None, **options):
    """A web in which everything is of these kinds."""
    options = {"changes": 1.0, "size": (4000, 5000), **options}
    return World(hosts, pages, mix=dict.fromkeys(kinds, 1.0), clock=clock or Clock(), **options)


def ask(web, page=1, host=0, **headers):
    return web.answer(WebRequest(host, page if isinstance(page, str) else path(page), **headers))


def header(answer, name):
    """The value of a header line, "" without one."""
    return next(
        (line.partition(": ")[2] for line in answer.headers if line.startswith(f"{name}: ")), ""
    )


PROCESSES = {
    "poisson": poisson(0.5, dice_of(1, 2, 3)),
    "daily": regular(1.0, dice_of(1, 2, 3)),
    "weekly": regular(7.0, dice_of(1, 2, 3)),
    "bursts": bursts(0.5, dice_of(1, 2, 3)),
    "never": NEVER,
}


class TestProcesses:
    @pytest.mark.parametrize("name", PROCESSES)
    def test_changes_come_at_their_rate(self, name):
        """In the long run a process changes as often as its rate says."""
        process = PROCESSES[name]

        count = sum(1 for _ in process.between(0.0, LONG))

        assert 0.85 * process.rate * LONG <= count <= 1.15 * process.rate * LONG

    @pytest.mark.parametrize("name", PROCESSES)
    @given(begin=st.floats(-500, 500), length=st.floats(0, 50))
    def test_the_last_change_agrees_with_all_changes(self, name, begin, length):
        """The last change before a moment is the last of those that were listed, or that before all
        of them.
        """
        process = PROCESSES[name]

        found = [*process.between(begin, begin + length)]

        assert found == sorted(found)
        assert process.last(begin + length) == (found[-1] if found else process.last(begin))
        assert all(process.last(moment) == moment for moment in found)

    def test_poisson_processes_have_no_memory(self):
        """The waits between changes are exponential: e^-1 of them are longer than the mean."""
        waits = [b - a for a, b in pairwise(PROCESSES["poisson"].between(0.0, LONG))]

        usual = mean(waits)
        assert abs(sum(wait > usual for wait in waits) / len(waits) - exp(-1)) < 0.03

    def test_bursts_come_together(self):
        """Of the waits between changes in bursts, most are shorter than a tenth of the mean."""
        waits = [b - a for a, b in pairwise(PROCESSES["bursts"].between(0.0, LONG))]

        usual = mean(waits)
        assert sum(wait < 0.1 * usual for wait in waits) > 0.8 * len(waits)

    def test_regular_changes_are_near_their_time_of_day(self):
        """All daily changes of a page fall into the same tenth of the day."""
        times = [moment % 1.0 for moment in PROCESSES["daily"].between(0.0, 100.0)]

        assert len(times) == 100
        assert max(times) - min(times) <= 0.1

    def test_rates_are_log_normal(self):
        """Half of the rates are above the median, a sixth more than e^2 times as high."""
        rates = [random_rate(0.1, dice_of(0, 0, page)(0)[0]) for page in range(4000)]

        assert 0.47 < sum(rate > 0.1 for rate in rates) / len(rates) < 0.53
        assert 0.13 < sum(rate > 0.1 * exp(2) for rate in rates) / len(rates) < 0.19


class TestEditions:
    @pytest.mark.parametrize(("size", "links"), [((4000, 5000), 40), ((0, 0), 40), ((0, 0), 10)])
    def test_a_page_is_the_same_until_it_changes(self, size, links):
        """The body at a moment follows from the edition at that moment, and other editions have
        other texts.
        """
        clock = Clock()
        web = world("change_poisson", clock=clock, size=size, links=links)
        bodies = {}
        for step in range(300):
            clock.now = START + step * DAY / 10
            answer = ask(web)
            assert bodies.setdefault(answer.edition, answer.body) == answer.body
            assert answer.edition == web.changing_pages.edition(0, 1, clock.now)
        texts = [fingerprint(visible_text(body, "text/html")) for body in bodies.values()]

        assert len(set(bodies.values())) == len(bodies) > 5
        assert all((a ^ b).bit_count() > DISTANCE for a, b in pairwise(texts))

    def test_a_second_server_shows_the_same(self):
        """What a page is like follows from seed, page and time alone, not from what was requested
        before.
        """
        times = [START + step * DAY for step in (0, 9, 3, 30, 3)]
        clocks = [Clock(), Clock()]
        webs = [world("change_poisson", clock=clock) for clock in clocks]
        bodies = []
        for web, clock, order in zip(webs, clocks, (times, times[::-1]), strict=True):
            found = {}
            for clock.now in order:
                found[clock.now] = ask(web).body
            bodies.append(found)

        assert bodies[0] == bodies[1]

    def test_links_stay(self):
        """Another edition has the same links, and a size within the world's bounds."""
        clock = Clock()
        web = world("change_daily", clock=clock)
        hrefs = []
        for clock.now in (START, START + 3 * DAY):
            body = ask(web).body
            assert 4000 <= len(body) <= 5000
            hrefs.append(re.findall(rb'href="([^"]*)"', body))

        assert hrefs[0] == hrefs[1]

    def test_turns_are_when_the_edition_changes(self):
        """Between two turns a page has one edition."""
        mix = changing() | {"odd_etag_only": 0.0}
        web = World(3, 90, mix=mix, changes=0.5, clock=Clock())
        for page in range(30):
            turns = [
                START,
                *web.changing_pages.change_times(0, page, START, START + 20 * DAY),
                START + 20 * DAY,
            ]
            for begin, end in pairwise(turns):
                moments = [begin + (end - begin) * share for share in (0.01, 0.5, 0.99)]
                assert (
                    len({web.changing_pages.edition(0, page, moment) for moment in moments}) == 1
                    or end - begin < 1e-3
                )

    def test_a_day_may_pass_in_a_second(self):
        """With a time scale the same changes come sooner."""
        slow, fast = (world("change_poisson", time_scale=scale) for scale in (1.0, DAY))

        slowly, soon = (
            [*web.changing_pages.change_times(0, 1, START, START + days)]
            for web, days in ((slow, 30 * DAY), (fast, 30))
        )

        assert len(slowly) > 5
        assert [(turn - START) / DAY for turn in slowly] == pytest.approx(
            [turn - START for turn in soon], abs=1e-5
        )

    def test_only_the_advert_changes(self):
        """An advert is another one in each answer, by so few words that the text counts as the
        same.
        """
        clock = Clock()
        web = world("change_advert", "validator_both", clock=clock)
        first = ask(web)
        clock.now += 1
        second = ask(web)

        one, two = (
            fingerprint(visible_text(answer.body, answer.type)) for answer in (first, second)
        )
        assert first.body != second.body
        assert first.edition == second.edition
        assert (one ^ two).bit_count() <= DISTANCE
        assert first.headers == ()

    @pytest.mark.parametrize("status", [404, 410])
    def test_pages_go_for_good(self, status):
        """A page that goes is there on the first day, and ten days later it is gone."""
        clock = Clock()
        web = world(f"change_gone_{status}", clock=clock)

        assert ask(web).status == 200
        clock.now += 10 * DAY
        assert (ask(web).status, ask(web).edition) == (status, GONE)
        assert ask(web, 0).status == 200, "roots stay"

    def test_pages_come_back(self):
        """A page that returns is away for two days of six."""
        clock = Clock()
        web = world("change_returns", clock=clock)
        statuses = Counter()
        for hour in range(60 * 24):
            clock.now = START + hour * 3600 + 1800
            statuses[ask(web).status] += 1

        assert statuses[404] == pytest.approx(20 * 24, abs=1)
        assert statuses.keys() == {200, 404}

    def test_pages_move(self):
        """A page that moves redirects permanently to a URL that was unknown before, where it goes
        on changing.
        """
        clock = Clock()
        web = world("change_moves", clock=clock)
        new = moved_path(path(1))
        assert [ask(web, one).status for one in (path(1), new)] == [200, 404]

        clock.now += 10 * DAY
        answer = ask(web)

        assert (answer.status, answer.location) == (301, web.origin(0) + new)
        assert ask(web, new).edition == web.changing_pages.edition(0, 1, clock.now)
        assert web.changing_pages.page_at(0, new) == 1

    @given(st.integers(0, 10**6))
    def test_moved_urls_name_their_first_one(self, page):
        """The URL that a page had before it moved can be told from the new one."""
        assert original_path(moved_path(path(page))) == original_path(path(page)) == path(page)


class TestValidators:
    @pytest.mark.parametrize(
        "kind", ["validator_strong", "validator_weak", "validator_modified", "validator_both"]
    )
    def test_a_304_is_the_truth(self, kind):
        """A copy's validators get a 304 as long as its edition is live, and the new edition
        afterwards.
        """
        clock = Clock(START + 0.5)
        web = world("change_poisson", kind, clock=clock, time_scale=DAY)
        pause = 0.2 / web.changing_pages.rate(0, 1)  # a fifth of the time between changes
        counts, copy = Counter(), ask(web)
        for step in range(400):
            clock.now = START + 0.5 + step * pause
            answer = ask(web, etag=header(copy, "ETag"), since=header(copy, "Last-Modified"))
            counts[answer.status] += 1
            assert (answer.status == 304) <= (
                copy.edition == web.changing_pages.edition(0, 1, clock.now)
            )
            if header(copy, "ETag") or header(copy, "Last-Modified"):
                assert (answer.status == 304) == (
                    copy.edition == web.changing_pages.edition(0, 1, clock.now)
                )
            copy = answer if answer.status == 200 else copy

        assert counts[304] > 40 < counts[200]

    def test_a_tag_goes_before_a_date(self):
        """If-Modified-Since does not count beside If-None-Match."""
        web = world("change_never", "validator_both")

        assert ask(web, etag='"other"', since=formatdate(START, usegmt=True)).status == 200
        assert ask(web, since=formatdate(START, usegmt=True)).status == 304
        assert ask(web, etag=f'"x", {header(ask(web), "ETag")}').status == 304

    def test_without_validators_there_is_no_304(self):
        """A host without validators sends none and heeds no condition."""
        web = world("change_never")

        answer = ask(web, etag="*", since=formatdate(START, usegmt=True))

        assert (answer.status, answer.headers) == (200, ())


class TestOddServers:
    def test_304_always(self):
        """One answers 304 to every request for a page, also without a condition; no link of it is
        owed.
        """
        web = world("odd_304_always", hosts=2, pages=20)

        assert ask(web).status == ask(web, etag='"x"').status == 304
        assert truth(web, web.seeds()).must == {*web.seeds()}

    def test_304_to_every_condition(self):
        """One takes every condition for met, whatever has changed."""
        clock = Clock()
        web = world("odd_304_conditional", "change_daily", clock=clock)
        first = ask(web)
        clock.now += 5 * DAY

        assert ask(web, etag=header(first, "ETag")).status == 304
        assert ask(web).edition != first.edition

    def test_conditions_that_are_ignored(self):
        """One sends validators and answers 200 all the same."""
        web = world("odd_ignores", "change_never")
        first = ask(web)

        second = ask(web, etag=header(first, "ETag"), since=header(first, "Last-Modified"))

        assert (second.status, second.body, second.headers) == (200, first.body, first.headers)

    def test_a_tag_for_each_answer(self):
        """One has another ETag in each answer."""
        clock = Clock()
        web = world("odd_etag_fresh", "change_never", clock=clock)
        first = ask(web)
        clock.now += 1
        second = ask(web, etag=header(first, "ETag"))

        assert (second.status, second.body) == (200, first.body)
        assert header(second, "ETag") != header(first, "ETag")

    def test_a_new_tag_and_the_old_body(self):
        """One has a new ETag at each change, but always the same body: nothing has changed."""
        clock = Clock()
        web = world("odd_etag_only", "change_daily", clock=clock)
        first = ask(web)
        clock.now += 5 * DAY
        second = ask(web, etag=header(first, "ETag"))

        assert (second.status, second.body, second.edition) == (200, first.body, first.edition)
        assert header(second, "ETag") != header(first, "ETag")
        assert ask(web, etag=header(second, "ETag")).status == 304
        assert web.changing_pages.rate(0, 1) == 0.0

    @pytest.mark.parametrize(("kind", "years"), [("odd_future", 10), ("odd_years", -12)])
    def test_clocks_that_are_wrong(self, kind, years):
        """One has modified its pages in ten years' time, another lives twelve years ago; their 304s
        are right.
        """
        web = world(kind, "change_weekly", clock=Clock(START + 100 * DAY))
        first = ask(web)
        seen = parsedate_to_datetime(header(first, "Last-Modified")).timestamp()

        assert abs((seen - START - 100 * DAY) / (365.25 * DAY) - years) < 0.03
        told = parsedate_to_datetime(first.date).timestamp()
        assert (told < START) == (kind == "odd_years")
        assert (told < seen) == (kind == "odd_future")
        assert ask(web, since=header(first, "Last-Modified")).status == 304

    def test_a_304_with_a_body(self, simweb):
        """One sends the whole page with its 304."""
        server = simweb(1, 5, mix={"odd_304_body": 1.0, "change_never": 1.0}, size=(2000, 2100))
        _, headers, body = get(server)

        with connect(server) as client:
            client.sendall(
                request(server, "/", f"If-None-Match: {headers['ETag']}", "Connection: close")
            )
            got, _ = drain(client)

        assert got.startswith(b"HTTP/1.1 304 Not Modified\r\n")
        assert got.endswith(b"\r\n\r\n" + body)


class TestListings:
    @pytest.mark.parametrize("kind", ["sitemap_plain", "sitemap_unnamed", "sitemap_index"])
    def test_honest_sitemaps(self, kind):
        """A sitemap lists the pages that are there, where they are, and when each changed last."""
        clock = Clock(START)
        web = World(
            1, 700, clock=clock, mix=dict.fromkeys((kind, "change_poisson"), 1.0), changes=1.0
        )
        clock.now += 12 * DAY
        listed = _listed(web, "/sitemap_index.xml" if kind == "sitemap_index" else "/sitemap.xml")

        changed = {
            web.origin(0) + path(page): web.changing_pages.modified(0, page, clock.now)
            for page in range(700)
        }
        assert listed == pytest.approx(changed, rel=0, abs=1e-3)

    def test_what_is_gone_is_not_listed(self):
        """Pages that are gone are left out, and those that have moved are listed at their new URLs."""
        clock = Clock()
        mix = {"sitemap_plain": 1.0, "change_gone_404": 0.5, "change_moves": 0.5}
        web = World(1, 40, clock=clock, mix=mix, changes=1.0)
        clock.now += 12 * DAY

        listed = _listed(web, "/sitemap.xml")

        there = [
            page
            for page in range(40)
            if page == 0 or web.changing_pages.kind(0, page) == "change_moves"
        ]
        assert [*listed] == [
            web.origin(0) + (moved_path(path(page)) if page else "/") for page in there
        ]

    @pytest.mark.parametrize("kind", ["sitemap_now", "sitemap_random", "sitemap_frozen"])
    def test_sitemaps_that_lie(self, kind):
        """One dates everything now, one at random, one never moves a date."""
        clock = Clock()
        web = world(kind, "change_never", clock=clock)
        first = _listed(web, "/sitemap.xml")
        clock.now += DAY
        second = _listed(web, "/sitemap.xml")

        assert first.keys() == second.keys()
        assert (first == second) == (kind == "sitemap_frozen")
        assert all(at == clock.now for at in second.values()) == (kind == "sitemap_now")

    @pytest.mark.parametrize(
        ("kind", "line"),
        [
            ("sitemap_plain", "/sitemap.xml"),
            ("sitemap_index", "/sitemap_index.xml"),
            ("sitemap_unnamed", ""),
        ],
    )
    def test_robots_txt_names_them(self, kind, line):
        """robots.txt names a host's sitemap, unless it is there to be found by its name."""
        web = world(kind)

        text = ask(web, "/robots.txt").body.decode()

        assert re.findall(r"Sitemap: (.*)", text) == ([web.origin(0) + line] if line else [])

    @pytest.mark.parametrize(
        ("kind", "target"), [("feed_atom", "/feed.atom"), ("feed_rss", "/feed.rss")]
    )
    def test_feeds_have_the_newest_changes(self, kind, target):
        """The root names the feed, which has the twenty pages that changed last, with the times."""
        clock = Clock()
        web = world(kind, "change_poisson", clock=clock, pages=60)
        clock.now += 3 * DAY
        times = {
            web.origin(0) + path(page): web.changing_pages.modified(0, page, clock.now)
            for page in range(60)
        }

        answer = ask(web, target)
        entries = read_listing(answer.body, answer.type, web.origin(0) + target).entries

        newest = sorted(times, key=times.__getitem__)[:-21:-1]
        assert [unescape(entry.url) for entry in entries if entry.role == "item"] == newest
        assert f'<link rel="alternate" href="{target}">'.encode() in ask(web, 0).body
        assert target.encode() not in ask(web, 1).body

    def test_listings_have_tags(self):
        """A sitemap that has not changed answers 304 to its own ETag."""
        web = world("sitemap_plain", "change_never")

        assert ask(web, "/sitemap.xml", etag=header(ask(web, "/sitemap.xml"), "ETag")).status == 304


def _listed(web, target):
    """URLs and times of a sitemap, or of those that an index names."""
    answer = ask(web, target)
    body = gzip.decompress(answer.body) if target.endswith(".gz") else answer.body
    text = body.decode()
    found = re.findall(r"<(?:url|sitemap)><loc>(.*?)</loc><lastmod>(.*?)</lastmod>", text)
    if "<sitemapindex" in text:
        return {
            url: at for part, _ in found for url, at in _listed(web, urlsplit(part).path).items()
        }
    return {unescape(url): round(read_date(at), 4) for url, at in found}


class TestServed:
    def test_the_log_has_the_editions(self, simweb):
        """The log says of each request which edition it got, and whether it had a condition."""
        server = simweb(
            1, 9, mix={"validator_strong": 1.0, "change_poisson": 1.0}, size=(2000, 3000)
        )
        _, headers, _ = get(server, path(3))
        get(server, path(3), **{"If-None-Match": headers["ETag"]})

        first, second = logged(server)

        assert (first.status, first.conditional, first.edition) == (
            200,
            False,
            server.world.changing_pages.edition(0, 3, first.wall),
        )
        assert (second.status, second.conditional, second.edition) == (304, True, "")

    @pytest.mark.parametrize(
        "options", [{"changes": -1.0}, {"changes": 1e9}, {"time_scale": 0.0, "changes": 1.0}]
    )
    def test_impossible_rates_are_refused(self, options):
        """Rates and time scales have bounds."""
        with pytest.raises(ValueError, match="must be more than 0 and at most"):
            World(1, 1, **options)

    def test_kinds_of_change_need_no_rate(self):
        """With kinds of change in the mix pages change, by default half of them more than once a
        day.
        """
        assert World(1, 5, mix={"feed_rss": 1.0}).changing_pages.rate(0, 1) > 0
        assert World(1, 5).changing_pages is None
        assert inf > World(1, 5, changes=2.0).changing_pages.rate(0, 1) > 0
