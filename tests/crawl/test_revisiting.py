"""The life of a page that is fetched again, in a whole crawl without a network."""

from collections import Counter
from email.utils import formatdate
from functools import partial
from itertools import pairwise

import pytest

from tests.support.changing_site import Document
from tests.support.examples import in_campaign
from tests.support.revisiting import HOST, START, Web
from webcrawl.base.model import Link, Outcome, Status
from webcrawl.crawl.hive_parts import ItemDelivery
from webcrawl.crawl.revisit import budget

HOUR, DAY = 3600, 86_400


@pytest.fixture(name="web")
def _web(tmp_path):
    """Makes such a crawl; all of them are closed in the end."""
    made = []

    def make(documents, *seeds, **settings):
        made.append(Web(tmp_path / str(len(made)), documents, **settings))
        made[-1].seed(*(seeds or ("/",)))
        return made[-1]

    yield make
    for one in made:
        one.crawl.close()


class TestWhen:
    def test_fixed(self, web):
        """With `fixed` a page is fetched again when it is as old as REVISIT_AGE."""
        one = web({"/": Document(b"<p>1")})
        one.run(3.5 * HOUR)

        assert one.times("/") == pytest.approx([0, HOUR, 2 * HOUR, 3 * HOUR], abs=5)

    @pytest.mark.parametrize(("before", "after", "least"), [(5, HOUR, 60), (HOUR, 5, 5)])
    def test_another_age_by_command(self, web, before, after, least):
        """No page is fetched twice within a minute, or within REVISIT_AGE if that is less: as it is
        now.
        """
        one = web(
            {"/": Document(b"<p>1")}, REVISIT_POLICY="uniform", REVISIT_RATE=1, REVISIT_AGE=before
        )
        one.run(70)
        one.crawl.parts.in_force.set("REVISIT_AGE", str(after))
        one.run(200)
        one.requested.clear()
        one.run(600)

        waits = [later - at for at, later in pairwise(one.times("/"))]
        assert waits == pytest.approx([least] * len(waits), abs=3)
        assert len(waits) > 5

    @pytest.mark.parametrize("policy", ["uniform", "fixed"])
    def test_idle_capacity(self, web, policy):
        """While nothing new is to be fetched each page has its turn once per REVISIT_AGE, whoever
        looks in between.
        """
        one = web({"/": Document(b"<p>1")}, REVISIT_POLICY=policy, REVISIT_AGE=HOUR)
        one.run(2 * DAY)

        assert len(one.times("/")) == pytest.approx(48, abs=2)

    def test_nothing_is_due(self, web):
        """A crawl with nothing to do now goes on, and says when there will be something."""
        one = web({"/": Document(b"<p>1")})
        one.run(60)

        assert one.crawl.next_link(one.now) is None
        assert one.crawl.pending
        assert one.crawl.next_ready() == pytest.approx(START + HOUR, abs=5)

    def test_nothing_was_ever_fetched(self, web):
        """A crawl of which no page could be fetched ends."""
        one = web({"/": Document(status=404)})
        one.run(60)

        assert not one.crawl.pending

    def test_without_a_policy_nothing_is_fetched_again(self, web):
        """Without a policy nothing is fetched again, and the crawl ends."""
        one = web({"/": Document(b"<p>1")}, REVISIT_POLICY="none")
        one.run(3 * HOUR)

        assert (one.times("/"), one.crawl.pending, one.crawl.parts.revisiting) == ([0], False, None)

    def test_rate(self, web):
        """REVISIT_RATE bounds how many are fetched again."""
        one = web(
            {"*": Document(b"<p>1")}, *(f"http://h{n}.test/" for n in range(60)), REVISIT_RATE=0.01
        )
        one.run(2 * HOUR)

        again = len(one.requested) - 60
        assert again == pytest.approx(HOUR * 0.01, abs=4)


class TestSplit:
    @pytest.mark.parametrize("share", [*in_campaign(0.2, 0.5), 0.8])
    def test_of_one_host(self, web, share):
        """In its host's queue a page that is due neither waits for all new URLs nor stops them."""
        links = b"".join(b"<a href=/%d>" % n for n in range(3000))
        old = {f"/{n}": Document(b"<p>%d" % n) for n in range(3000)}
        one = web(
            {"/": Document(links), **old}, REVISIT_AGE=300, REVISIT_SHARE=share, TRAP_RULES=False
        )
        one.run(2500)

        late = [path for at, path, _ in one.requested if at - START > 1000]
        again = Counter(path for _, path, _ in one.requested)
        old = sum(again[path] > 1 for path in late)
        assert len(late) == pytest.approx(1430, rel=0.1)
        seen, revisits = set(), 0
        for at, path, _ in one.requested:
            revisits += path in seen and at - START > 1000
            seen.add(path)
        assert old
        assert revisits / len(late) == pytest.approx(share, abs=0.08)

    def test_budgets_are_about_new_pages(self, web):
        """A host that has given HOST_MAX_PAGES gives no new ones; those that it gave are fetched
        again, politely.
        """
        links = b"".join(b"<a href=/%d>" % n for n in range(10))
        one = web({"/": Document(links), "*": Document(b"<p>")}, HOST_MAX_PAGES=3)
        one.run(4 * HOUR)

        counted = one.counted()
        assert len(counted) == 3
        assert set(counted.values()) == {4}
        times = sorted(at for at, _, _ in one.requested)
        assert min(after - before for before, after in pairwise(times)) >= 1.0
        assert one.is_sound()


class TestSlowHosts:
    BIG, SMALL = (
        tuple(f"http://big.test/{n}" for n in range(300)),
        tuple(f"http://s{n}.test/" for n in range(10)),
    )

    @pytest.fixture(name="slow", params=[*in_campaign("fixed", "uniform"), "optimal"])
    def _slow(self, request, web, monkeypatch):
        """A crawl with a host that has three times as many pages as it can give in a round of 100
        seconds.
        """
        for name, value in (("MAX_WAITING", 50), ("COUNTED_OF_HOST", 5), ("MAX_OF_HOST", 20)):
            monkeypatch.setattr(budget, name, value)
        settings = {"fixed": {"REVISIT_AGE": 100}}.get(request.param, {"REVISIT_RATE": 3.1})
        documents = {"*": Document(b"<p>1")}
        return web(
            documents,
            *self.BIG,
            *self.SMALL,
            REVISIT_POLICY=request.param,
            TRAP_RULES=False,
            **settings,
        )

    def waits(self, one, urls, since):
        """Seconds between two fetches of each page."""
        times = {
            url: [at - START for at, requested, _ in one.requested if requested == url]
            for url in urls
        }
        return [later - at for one in times.values() for at, later in pairwise(one) if at > since]

    def test_a_host_that_cannot_keep_up(self, slow):
        """Its pages come as often as politeness allows; others' as if it were not there; after a
        restart, too.
        """
        slow.run(1000, most=100_000)
        assert slow.is_sound()
        slow.run(1000, most=100_000)

        assert max(self.waits(slow, self.SMALL, 400)) < 130
        assert sum(at - START > 1000 and url in self.BIG for at, url, _ in slow.requested) > 900

    def test_a_host_that_is_away(self, slow):
        """Nobody waits for it; its pages come again when it does."""
        slow.run(500, most=100_000)
        slow.documents.update((url, None) for url in self.BIG)
        slow.run(1000, most=100_000)
        slow.documents.clear()
        slow.documents["*"] = Document(b"<p>1")
        slow.run(3000, most=100_000)

        assert max(self.waits(slow, self.SMALL, 400)) < 130
        assert {url for at, url, _ in slow.requested if at - START > 1500} == {
            *self.BIG,
            *self.SMALL,
        }


class TestAnswers:
    def test_304(self, web):
        """What a server does not repeat is unchanged; its validators are sent each time."""
        one = web({"/": Document(b"<p>1", etag='"1"', modified="Sun, 06 Nov 1994 08:49:37 GMT")})
        one.run(2.5 * HOUR)

        sent = {"If-None-Match": b'"1"', "If-Modified-Since": b"Sun, 06 Nov 1994 08:49:37 GMT"}
        assert one.conditions("/") == [{}, sent, sent]
        assert one.changes("/") == ["new", "unchanged", "unchanged"]
        assert [page.revisit for page in one.pages] == [0, 1, 2]

    def test_a_page_that_says_how_long_it_holds(self, web):
        """It is not fetched again before, but a day later at the latest, whatever it says."""
        hours, year = (
            {"Cache-Control": f"public, max-age={seconds}"} for seconds in (3 * 3600, 365 * 86_400)
        )
        one = web(
            {
                "/": Document(b"<a href=/year>", headers=hours),
                "/year": Document(b"<p>", headers=year),
            }
        )
        one.run(30 * HOUR)

        first, *later = [at for at, path, _ in one.requested if path == "/"]
        assert min(after - before for before, after in pairwise([first, *later])) >= 3 * HOUR - 1
        assert len(later) >= 8
        assert len([at for at, path, _ in one.requested if path == "/year"]) == 2

    @pytest.mark.parametrize("policy", ["fixed", *in_campaign("uniform")])
    def test_a_sitemap_that_says_how_long_it_holds(self, web, policy):
        """The same where listings have a rule of their own."""
        body = (
            f"<urlset><url><loc>{HOST}/0</loc><lastmod>2024-01-01</lastmod></url></urlset>".encode()
        )
        listing = Document(
            body, media="text/xml", headers={"Cache-Control": f"max-age={12 * HOUR}"}
        )
        settings = {
            "REVISIT_POLICY": policy,
            "REVISIT_RATE": 0.02,
            "SITEMAPS": True,
            "ROBOTSTXT_OBEY": True,
        }
        robots = Document(f"Sitemap: {HOST}/map.xml".encode(), media="text/plain")
        documents = {"/robots.txt": robots, "/map.xml": listing, "*": Document(b"<p>")}
        one = web(documents, *(f"/{number}" for number in range(100)), **settings)
        one.run(2 * DAY)

        times = one.times("/map.xml")
        assert min(after - before for before, after in pairwise(times)) >= 12 * HOUR
        assert len(times) >= 4

    def test_the_same_bytes(self, web):
        """A page without validators is unchanged if its bytes are."""
        one = web({"/": Document(b"<a href=/a>")})
        one.run(1.5 * HOUR)

        assert one.changes("/") == ["new", "unchanged"]
        assert not one.pages[-1].duplicate

    def test_other_bytes(self, web):
        """A page with other bytes has changed, and its links are followed."""
        one = web({"/": Document(b"<p>1", etag='"1"')})
        one.run(0.5 * HOUR)
        one.documents |= {"/": Document(b"<a href=/a>", etag='"2"'), "/a": Document(b"<p>a")}
        one.run(HOUR)

        assert one.changes("/") == ["new", "changed"]
        assert one.times("/a") == pytest.approx([HOUR], abs=5)

    def test_an_advert(self, web):
        """From a page's second change on, other bytes that show the same count as unchanged for the
        policy.
        """
        text = " ".join(f"word{n}" for n in range(200)).encode()
        one = web({"/": Document(b"<p>1")})
        for turn in range(5):
            one.documents["/"] = Document(b"<!-- %d --><p>%b" % (turn, text))
            one.run(HOUR)

        found = [page.exchange.state.revisit for page in one.pages]
        assert [str(each.change) for each in found] == [
            "new",
            "changed",
            "changed",
            "changed",
            "changed",
        ]
        assert [each.by for each in found] == [None, "text", "digest", "digest", "digest"]

    def test_a_liar_by_nature(self, web):
        """304 to a request without a condition is a failure of that URL: no page."""
        one = web({"/": Document(always=True)})
        one.run(HOUR)

        assert one.known == 0

    def test_304_without_a_condition_later(self, web):
        """It is no sign that the page is as it was; the page stays."""
        one = web({"/": Document(b"<p>1")})
        one.run(0.5 * HOUR)
        one.documents["/"] = Document(always=True)
        one.run(HOUR)

        assert one.changes("/") == ["new", "unchanged"]  # the second is a 304, and nobody's page
        assert one.pages[-1].exchange.state.revisit is None
        assert one.known == 1

    def test_an_etag_that_is_a_wildcard(self, web):
        """It is not sent back, where it would ask whether there is any page at all."""
        one = web({"/": Document(b"<p>1", etag="*")})
        one.run(3.5 * HOUR)

        assert one.conditions("/") == [{}] * 4

    def test_restless_etags(self, web):
        """A server whose ETag changes with each answer is asked with the last one; the bytes
        decide.
        """
        one = web({"/": Document(b"<p>1", restless=True)})
        one.run(2.5 * HOUR)

        assert one.changes("/") == ["new", "unchanged", "unchanged"]
        assert [each.get("If-None-Match") for each in one.conditions("/")] == [None, b'"0"', b'"1"']

    def test_weak_etags(self, web):
        """A weak ETag is sent as it is."""
        one = web({"/": Document(b"<p>1", etag='W/"1"')})
        one.run(1.5 * HOUR)

        assert one.conditions("/")[1] == {"If-None-Match": b'W/"1"'}
        assert one.changes("/") == ["new", "unchanged"]

    def test_a_date_in_the_future(self, web):
        """A Last-Modified that is not over yet is not sent: a server that compares dates would say
        304 until then.
        """
        one = web({"/": Document(b"<p>1", modified="Fri, 06 Nov 2099 08:49:37 GMT")})
        one.run(1.5 * HOUR)

        assert one.conditions("/") == [{}, {}]

    def test_dates_after_the_machine_slept(self, web):
        """The crawl's own time stands meanwhile: whether a Last-Modified is over is seen by the
        machine's clock.
        """
        one = web({"/": Document(b"<p>1")})
        one.run(10)
        one.slept = 40 * DAY
        modified = formatdate(one.now + one.slept - DAY, usegmt=True)
        one.documents["/"] = Document(b"<p>2", modified=modified)
        one.run(2.5 * HOUR)

        assert one.conditions("/") == [{}, {}, {"If-Modified-Since": modified.encode()}]

    def test_half_a_body(self, web):
        """What was truncated by the loss of its connection says nothing: the page is as it was, and
        is tried again later.
        """
        one = web({"/": Document(b"<p>1")})
        one.run(HOUR - 1)
        one.now += 2
        link = one.crawl.next_link(one.now)
        exchange, outcome = one.answered(link)
        exchange.truncated, exchange.payload = "disconnect", b"<p>"
        one.finish(link, exchange, outcome)
        one.run(3 * HOUR)

        assert exchange.state.revisit is None
        assert one.changes("/")[-1] == "unchanged"

    def test_an_empty_body(self, web):
        """A page that has become empty has changed, and stays."""
        one = web({"/": Document(b"<p>1")})
        one.run(0.5 * HOUR)
        one.documents["/"] = Document(b"")
        one.run(2 * HOUR)

        assert one.changes("/") == ["new", "changed", "unchanged"]


class TestGone:
    def test_a_page_that_is_gone(self, web):
        """It is tried again at intervals that double, then forgotten, at the earliest after a week."""
        one = web({"/": Document(b"<p>1"), "/stays": Document(b"<p>2")}, "/", "/stays")
        one.run(0.5 * HOUR)
        one.documents["/"] = Document(status=410)
        one.run(40 * DAY)

        assert one.times("/")[1:] == pytest.approx(
            [HOUR * 2**n for n in range(len(one.times("/")) - 1)], abs=60
        )
        assert one.times("/")[-1] >= 7 * DAY
        assert one.times("/")[-1] < 16 * DAY
        assert one.known == 1

    def test_a_page_that_comes_back(self, web):
        """It has changed, even if it is as before: who heard that it is gone hears of its return,
        with its body.
        """
        page = Document(b"<p>1", headers={"ETag": '"1"'})
        one = web({"/": page})
        one.run(0.5 * HOUR)
        one.documents["/"] = Document(status=404)
        one.run(HOUR)
        one.documents["/"] = page
        one.run(3 * HOUR)

        assert one.changes("/") == ["new", "gone", "changed", "unchanged", "unchanged"]
        assert [(back.body, back.duplicate) for back in one.pages if back.change == "changed"] == [
            (b"<p>1", False)
        ]
        assert one.conditions("/")[2:4] == [{}, {"If-None-Match": b'"1"'}]

    @pytest.mark.parametrize(
        "document", [Document(status=500), Document(status=403), Document(status=302), None]
    )
    def test_a_page_that_fails(self, web, document):
        """Whatever else comes of it, or nothing, the page stays, and is tried again at intervals
        that double.
        """
        one = web({"/": Document(b"<p>1")}, HOST_MAX_FAILURES=100)
        one.run(0.5 * HOUR)
        one.documents["/"] = document
        one.run(20 * HOUR)

        assert one.known == 1
        assert one.times("/")[-1] >= 7.9 * HOUR
        one.documents["/"] = Document(b"<p>2")
        one.run(40 * HOUR)
        assert "changed" in one.changes("/")


class TestMoves:
    def moved(self, status):
        return {
            "/": Document(b"<p>1", status=status, headers={"Location": "/there"}),
            "/there": Document(b"<p>2"),
        }

    @pytest.mark.parametrize("status", [301, 308])
    def test_for_good(self, web, status):
        """The target takes over what is known of a page that has moved; that is forgotten like one
        that is gone.
        """
        one = web({"/": Document(b"<p>1")})
        one.run(2.5 * HOUR)
        one.documents |= self.moved(status)
        one.run(3 * HOUR)

        assert one.times("/") == pytest.approx([0, HOUR, 2 * HOUR, 3 * HOUR, 4 * HOUR], abs=20)
        assert one.times("/there") == pytest.approx([3 * HOUR, 4 * HOUR, 5 * HOUR], abs=20)
        assert one.changes("/there") == ["new", "unchanged", "unchanged"]
        assert one.known == 2
        one.run(20 * DAY)
        assert one.known == 1
        assert one.times("/")[-1] < 12 * DAY

    def test_by_mistake(self, web):
        """A site that leads all its pages to one for an hour loses none."""
        pages = {f"/{n}": Document(b"<p>%d" % n) for n in range(5)}
        one = web(dict(pages), *pages)
        one.run(0.5 * HOUR)
        one.documents = {
            path: Document(status=301, headers={"Location": "/down"}) for path in pages
        }
        one.documents["/down"] = Document(b"<p>down")
        one.run(HOUR)
        one.documents = {**pages, "/down": Document(status=404)}
        one.run(2 * HOUR)

        assert all(one.changes(path)[-1] == "unchanged" for path in pages)

    def test_for_now(self, web):
        """A page that is somewhere else for now stays, and so does what is there."""
        one = web({"/": Document(b"<p>1")})
        one.run(0.5 * HOUR)
        one.documents |= self.moved(302)
        one.run(HOUR)

        assert one.known == 2

    def test_out_of_the_crawl(self, web):
        """A page stays if what it has moved to is not fetched."""
        one = web({"/": Document(b"<p>1")}, URL_SCHEMES="http")
        one.run(0.5 * HOUR)
        one.documents["/"] = Document(status=301, headers={"Location": "https://a.test/"})
        one.run(HOUR)

        assert one.known == 1

    def test_an_endless_chain(self, web):
        """A page that has moved is followed no further than REDIRECT_MAX_HOPS, however many hops
        have been found.
        """

        class Chain(dict):
            def get(self, path, other=None):
                hop = Document(status=301, headers={"Location": f"/{int(path[1:] or 0) + 1}"})
                return super().get(path, hop if path[1:].isdecimal() else other)

        one = web({"/": Document(b"<p>1")}, REDIRECT_MAX_HOPS=3)
        one.run(0.5 * HOUR)
        one.documents = Chain({"/": Document(status=301, headers={"Location": "/1"})})
        one.run(2 * DAY, most=1000)

        assert set(one.counted()) == {"/", "/1", "/2", "/3"}
        assert one.known == 4
        assert one.is_sound()

    def test_another_target_each_time(self, web):
        """A page hands on what is known of it once: all later targets are new pages, and within
        their host's budget.
        """
        one = web({"/": Document(b"<p>1"), "*": Document(b"<p>2")}, HOST_MAX_PAGES=2)
        for number in range(6):
            one.documents["/"] = Document(b"<p>1")
            one.run(1.5 * HOUR)
            one.documents["/"] = Document(status=301, headers={"Location": f"/{number}"})
            one.run(1.5 * HOUR)

        assert len(one.counted()) == 3
        assert one.known == 3

    def test_a_target_that_fails_at_first(self, web):
        """It is tried again soon, at growing intervals, like a page that was there before."""
        one = web({"/": Document(b"<p>1")})
        one.run(0.5 * HOUR)
        one.documents |= {**self.moved(301), "/there": Document(status=404)}
        one.run(HOUR)
        one.documents["/there"] = Document(b"<p>2")
        one.run(DAY)

        assert one.changes("/there")[-1] == "unchanged"
        assert one.known == 2
        assert one.is_sound()

    def test_what_was_not_due_does_not_count(self, web):
        """The target of a page that has moved is not taken for one of the pages that were due."""
        pages = {f"/{n}": Document(b"<p>%d" % n) for n in range(9)}
        one = web(dict(pages), *pages)
        one.run(0.5 * HOUR)
        one.documents |= {
            path: Document(status=301, headers={"Location": f"{path}/there"})
            for path in list(pages)[:3]
        }
        one.documents |= {f"{path}/there": Document(b"<p>there") for path in pages}
        one.run(HOUR, most=15)

        assert (
            one.crawl.parts.revisiting.now().waiting
            == len(one.crawl.parts.revisiting._records_of_due)
            > 0
        )


class TestCookies:
    """A site that gives nothing without a cookie, and sets another one at each visit."""

    class Cookies(Document):
        """Redirects to `to` whoever brings no cookie."""

        to = "/"

        def answer(self, requested, serial):
            if "Cookie" in requested:
                return super().answer(requested, serial)
            return 302, {"Location": self.to, "Set-Cookie": f"sid={serial}; Path=/"}, b""

    def test_a_page_that_redirects_to_itself(self, web):
        """It is fetched again with its new cookie, as the same page, under its usual conditions."""
        one = web({"/": self.Cookies(b"<p>1", etag='"1"')})
        one.run(2.5 * HOUR)
        one.documents["/"] = self.Cookies(b"<p>2", etag='"2"')
        assert one.is_sound()
        one.run(2 * HOUR)

        assert one.changes("/")[1::2] == ["new", "unchanged", "unchanged", "changed", "unchanged"]
        assert one.conditions("/")[3] == {"If-None-Match": b'"1"'}
        assert one.known == 1
        assert one.is_sound()

    def test_the_way_does_not_grow(self, web):
        """Redirects of earlier visits do not count towards REDIRECT_MAX_HOPS."""
        one = web({"/": self.Cookies(b"<p>1")}, REDIRECT_MAX_HOPS=2)
        for _ in range(4):
            one.run(1.5 * HOUR)
            one.checkpoint()
            one.kill()

        assert one.changes("/")[1::2] == ["new", *["unchanged"] * (len(one.changes("/")) // 2 - 1)]
        assert len(one.changes("/")) > 8

    def test_without_end(self, web):
        """A page that never stops redirecting stays, as one that could not be fetched."""
        one = web({"/": Document(b"<p>1")})
        one.run(0.5 * HOUR)
        one.documents["/"] = endless = self.Cookies()
        endless.answer = lambda _, serial: (
            302,
            {"Location": "/", "Set-Cookie": f"sid={serial}"},
            b"",
        )
        one.run(HOUR)

        assert len(one.times("/")) == 1 + 6
        assert one.known == 1
        assert one.crawl.parts.revisiting.now().waiting == 0

    def test_by_way_of_another_page(self, web):
        """A page that is reached again by a new address each time has one record all the same."""
        one = web({"/": self.Cookies(b"<p>1")})
        one.run(0.5 * HOUR)
        for number in range(5):
            one.documents["/"].to = f"/set{number}"
            one.documents[f"/set{number}"] = Document(
                status=302, headers={"Location": "/", "Set-Cookie": f"sid=x{number}; Path=/"}
            )
            one.run(3 * HOUR)

        assert one.known == 1


class TestNothingIsLostOrDoubled:
    def test_kill(self, web):
        """After kill -9 everything is as of the last checkpoint: a page that was in flight is
        fetched again, once.
        """
        one = web({"/": Document(b"<p>1", etag='"1"')})
        one.run(HOUR - 1)
        one.now += 2
        link = one.crawl.next_link(one.now)
        assert link.history
        one.checkpoint()
        one.kill()
        one.run(10)
        assert one.conditions("/") == [{}, {"If-None-Match": b'"1"'}]
        assert one.is_sound()
        one.run(HOUR)
        assert len(one.requested) == 3
        assert one.known == 1

    def test_kill_after_the_answer(self, web):
        """What was not in a checkpoint is done again."""
        one = web({"/": Document(b"<p>1")})
        one.run(HOUR - 1)
        one.checkpoint()
        one.run(10)
        one.kill()
        one.run(10)

        assert len(one.requested) == 3
        assert one.known == 1
        assert one.is_sound()

    def test_stop(self, web):
        """A crawl that was stopped goes on with all pages, and late ones at once."""
        one = web({"/": Document(b"<p>1")})
        one.run(10)
        one.stop()
        one.now += 2 * HOUR
        one.open()
        one.run(10)

        assert one.times("/")[1] == pytest.approx(2 * HOUR + 10, abs=10)

    def test_put_back_and_cancelled(self, web):
        """A page that could not be tried, or was cancelled, comes again with all that is known of it."""
        one = web({"/": Document(b"<p>1", etag='"1"')})
        one.run(HOUR - 1)
        one.now += 2
        for status in (0, -50):
            link = one.crawl.next_link(one.now)
            assert one.crawl.parts.revisiting.next_headers(link)
            one.finish(link, None, Outcome(status, 0.05, at=one.now, ended=one.now))
            one.now += 100
        one.run(10)

        assert one.changes("/") == ["new", "unchanged"]
        assert one.known == 1

    def test_all_hosts_are_away(self, web):
        """A crawl whose pages are all of hosts that do not answer goes on, however long that takes."""
        one = web({"/": Document(b"<p>1")}, HOST_MAX_FAILURES=2, OUTAGE_END_WAIT=10)
        one.run(HOUR - 10)
        one.documents["/"] = None
        one.run(HOUR)

        assert one.crawl.pending
        assert one.known == 1

    def test_a_host_that_is_away(self, web):
        """Pages of a host that is given up stay, and are tried a day later; then all is as before."""
        one = web({"/": Document(b"<p>1")}, HOST_PATIENCE=10, HOST_MAX_FAILURES=2)
        one.run(HOUR - 10)
        one.documents["/"] = None
        one.run(DAY)
        assert one.known == 1
        one.documents["/"] = Document(b"<p>2")
        one.run(4 * DAY)

        assert "changed" in one.changes("/")
        assert one.known == 1
        assert one.is_sound()

    def test_a_host_that_leads_inside(self, web, monkeypatch):
        """Pages of a host whose name led to a forbidden address for a time are tried again like
        those of one away.
        """
        paths = ["/", "/2", "/3", "/4"]
        documents = {path: Document(path.encode()) for path in [*paths, "/robots.txt"]}
        one = web(documents, *paths, ROBOTSTXT_OBEY=True)
        one.run(DAY)
        refused = partial(Outcome, Status.EXCLUDED, 0.05, permanent=True)
        with monkeypatch.context() as changed:
            changed.setattr(
                one, "answered", lambda _link: (None, refused(at=one.now, ended=one.now))
            )
            one.run(2 * DAY)
        one.run(6 * DAY)

        assert one.known == 4
        assert all(one.times(path)[-1] > 4 * DAY for path in paths)

    def test_excluded(self, web, tmp_path):
        """A page that was excluded meanwhile is forgotten, and never requested."""
        rules = tmp_path / "excluded"
        rules.write_text("")
        one = web({"/": Document(b"<p>1")}, URL_EXCLUDE_FILE=str(rules))
        one.run(10)
        one.checkpoint()
        rules.write_text("a.test\n")
        one.kill()
        one.run(2 * HOUR)

        assert (one.times("/"), one.known) == ([0], 0)
        assert not one.crawl.pending

    def test_a_host_that_was_dropped_by_command(self, web):
        """Its URLs end; its pages keep their records, whenever their turns come, and are fetched
        again after a day.
        """
        pages = {f"/{number}": Document(b"<p>%d" % number) for number in range(5)}
        one = web(pages, *pages, REVISIT_AGE=6 * HOUR)
        one.run(0.5 * HOUR)
        one.crawl.parts.hosts.drop("a.test")
        one.run(20 * HOUR)
        assert len(one.requested) == 5
        one.checkpoint()
        one.kill()
        one.run(60 * HOUR)

        assert one.known == 5
        assert all(one.changes(path)[:2] == ["new", "unchanged"] for path in pages)
        assert min(one.times(path)[1] for path in pages) >= DAY
        assert one.is_sound()

    def test_switched_off_and_on(self, web):
        """With REVISIT_POLICY = none the records stay, and the crawl ends; with a policy again they
        go on.
        """
        one = web({"/": Document(b"<p>1")})
        one.run(10)
        one.stop()
        one.open(REVISIT_POLICY="none")
        one.run(2 * HOUR)
        assert (len(one.requested), one.crawl.pending, one.known) == (1, False, 1)
        one.stop()
        one.open(REVISIT_POLICY="uniform")
        one.run(10 * DAY)
        assert len(one.requested) > 1

    def test_switched_off_while_pages_are_due(self, web):
        """What waits in the frontier then is fetched, and comes back to the records."""
        one = web({"/": Document(b"<p>1"), "/2": Document(b"<p>2")}, "/", "/2")
        one.run(HOUR - 1)
        one.now += 10
        one.crawl.parts.revisiting.split.idle(one.now)
        one.crawl.parts.revisiting.on_feed(one.now)
        assert one.crawl.stats()["queued"] == 2
        one.stop()
        one.open(REVISIT_POLICY="none")
        one.run(2 * HOUR)

        assert (len(one.requested), one.known) == (4, 2)
        assert one.is_sound()

    def test_switched_on_later(self, web, caplog):
        """Pages that were fetched before have no record: that is said, and new ones are fetched
        again.
        """
        one = web({"/": Document(b"<p>1"), "/2": Document(b"<p>2")}, REVISIT_POLICY="none")
        one.run(10)
        one.stop()
        one.open(REVISIT_POLICY="fixed")
        assert "have no record" in caplog.text
        one.seed("/2")
        one.run(2.5 * HOUR)

        assert (len(one.times("/")), len(one.times("/2"))) == (1, 3)


class TestHonesty:
    def test_a_liar_is_found_out(self, web):
        """A server that says 304 to whatever is requested with a condition does not keep its
        changes for itself.
        """
        pages = {f"/{n}": Document(b"<p>0", etag='"0"', liar=True) for n in range(10)}
        one = web(pages, *pages)
        for turn in range(60):
            for page in pages.values():
                page.body, page.etag = b"<p>%d" % turn, f'"{turn}"'
            one.run(HOUR)

        late = [found for path in pages for found in one.changes(path)[-10:]]
        assert set(late) == {"changed"}

    def test_a_server_that_bears_no_conditions(self, web):
        """After a 412 a page is requested without a condition."""
        one = web({"/": Document(b"<p>1", etag='"1"')})
        one.run(0.5 * HOUR)
        one.documents["/"] = Document(status=412)
        one.run(HOUR)
        one.documents["/"] = Document(b"<p>2")
        one.run(2 * HOUR)

        assert one.conditions("/")[-1] == {}
        assert one.changes("/")[-1] in ("changed", "unchanged")


class TestHive:
    def test_a_page_of_another_drone(self, web):
        """Its record is kept here from now on, and due as if it had been fetched here."""
        one, other = (
            web({"/": Document(b"<p>1", etag='"1"')}),
            web({"/": Document(b"<p>1")}, "http://b.test/"),
        )
        one.run(0.5 * HOUR)
        assert one.crawl.parts.revisiting.drain()
        assert not one.crawl.parts.revisiting.drain()
        record = one.crawl.parts.frontier.core.queues.front.pop_old()
        other.now = one.now
        parts = other.crawl.parts
        delivery = ItemDelivery(
            parts.discovery, parts.frontier, parts.seeding, parts.clock, None, parts.revisiting
        )
        delivery.queued([record, Link("http://a.test/new").pack()])
        other.documents = {"*": Document(b"<p>2", etag='"2"')}
        other.run(HOUR)

        assert other.conditions("/")[0] == {"If-None-Match": b'"1"'}
        assert other.times("/")[0] == pytest.approx(HOUR, abs=20)
        assert "/new" in other.counted()
