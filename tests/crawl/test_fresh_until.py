"""Owners that say for how long their pages hold, whatever the policy is, in a whole crawl without a
network.
"""

from itertools import pairwise

import pytest

from tests.support.changing_site import Document
from tests.support.examples import in_campaign
from tests.support.revisiting import HOST, START, Web
from webcrawl.base.dates import http_date

HOUR, DAY = 3600, 86_400
PAGES, ROUND = 20, 300
POLICIES = [*in_campaign("fixed", "uniform", "proportional", "history"), "optimal"]


@pytest.fixture(name="web")
def _web(tmp_path):
    """Makes a crawl whose budget suffices for each page every five minutes; all of them are closed
    in the end.
    """
    made = []

    def make(documents, **settings):
        rate = PAGES / ROUND
        settings = {
            "REVISIT_POLICY": "uniform",
            "REVISIT_RATE": rate,
            "POLITENESS_MIN_DELAY": 0,
            **settings,
        }
        made.append(
            Web(tmp_path / str(len(made)), {"*": Document(b"<p>"), **documents}, **settings)
        )
        made[-1].seed(*documents, *(f"/other/{number}" for number in range(PAGES)))
        return made[-1]

    yield make
    for one in made:
        assert one.damage() == []


def lasting(seconds):
    return Document(b"<p>lasts", headers={"Cache-Control": f"max-age={seconds}"})


def gaps(one, path):
    """Seconds between two fetches of a page."""
    return [
        after - before
        for before, after in pairwise(at for at, requested, _ in one.requested if requested == path)
    ]


@pytest.mark.parametrize("policy", POLICIES)
def test_no_policy_comes_before(web, policy):
    """A page is not fetched again before the time until which its owner says that it holds, and
    then it is.
    """
    one = web({"/a": lasting(HOUR)}, REVISIT_POLICY=policy, REVISIT_AGE=ROUND)
    one.run(4 * HOUR)

    assert min(gaps(one, "/a")) >= HOUR
    assert max(gaps(one, "/a")) < 1.5 * HOUR
    assert max(gaps(one, "/other/0")) < HOUR


@pytest.mark.parametrize("seconds", [*in_campaign(365 * DAY, "9" * 11), "9" * 400])
def test_a_day_at_most(web, seconds):
    """Of more than a day one day counts, however many digits it has."""
    one = web({"/a": lasting(seconds)}, REVISIT_RATE=0.004)
    one.run(2.5 * DAY)

    assert min(gaps(one, "/a")) >= DAY
    assert max(gaps(one, "/a")) < 1.2 * DAY


@pytest.mark.parametrize(
    ("headers", "holds"),
    [
        ({"Expires": http_date(int(START) + 3 * HOUR).decode()}, 3 * HOUR),
        ({"Expires": http_date(9000).decode(), "Date": http_date(1800).decode()}, 2 * HOUR),
        (
            {"Expires": http_date(9000).decode(), "Date": http_date(1800).decode(), "Age": "3600"},
            HOUR,
        ),
        (
            {
                "Expires": http_date(9000).decode(),
                "Date": http_date(1800).decode(),
                "Cache-Control": "no-cache",
            },
            0,
        ),
        ({"Expires": "0"}, 0),
        ({"Cache-Control": "max-age=7200", "Age": "3600"}, HOUR),
        ({"Cache-Control": "max-age=7200", "Age": "9" * 11}, 0),
        ({"Cache-Control": "max-age=7200, no-store"}, 0),
    ],
)
def test_how_it_is_said(web, headers, holds):
    """By `max-age`, or else by `Expires`, less what the answer has been under way; what says
    nothing holds nobody.
    """
    one = web({"/a": Document(b"<p>lasts", headers=headers)})
    one.run(holds + 0.5 * HOUR)

    first = one.times("/a")[1] - one.times("/a")[0]
    assert holds - 1 <= first < holds + 0.5 * HOUR


def test_what_is_left_of_the_budget_is_for_others(web):
    """Pages whose time has not come are passed over, others come more often, and none comes twice
    in a minute.
    """
    held = {f"/held/{number}": lasting(DAY) for number in range(2 * PAGES)}
    one = web(held, REVISIT_RATE=PAGES / ROUND)
    one.run(4 * HOUR)

    counted = one.counted()
    assert all(counted[path] == 1 for path in held)
    assert min(counted[f"/other/{number}"] for number in range(PAGES)) >= 0.8 * 4 * HOUR / ROUND
    assert min(gaps(one, "/other/0")) >= 60


def test_few_pages_beside_many_that_hold(web):
    """Where the budget suffices to fetch those that do not hold every minute, they wait until they
    are due.
    """
    held = {f"/held/{number}": lasting(DAY) for number in range(20 * PAGES)}
    one = web(held, REVISIT_RATE=2)
    one.run(0.5 * HOUR)

    assert one.counted()["/other/0"] < 12


def test_a_signal_is_followed(web):
    """It says more than the owner's promise; and what that fetch is told holds from then on."""
    one = web({"/a": lasting(3 * HOUR)})
    one.run(2 * HOUR)
    one.crawl.parts.revisiting.tell(one.url("/a"), one.now)
    one.run(4 * HOUR)

    told, own = gaps(one, "/a")
    assert told == pytest.approx(2 * HOUR, abs=60)
    assert 3 * HOUR <= own < 3.5 * HOUR


@pytest.mark.parametrize("wait", [60, HOUR], ids=["before its turn", "after it came in vain"])
def test_a_page_that_a_signal_found_gone(web, wait):
    """Its own turn knows of that, however long the page had promised to hold."""
    one = web({"/a": lasting(2 * HOUR)})
    one.run(wait)
    page, one.documents["/a"] = one.documents["/a"], Document(status=404)
    one.crawl.parts.revisiting.tell(one.url("/a"), one.now)
    one.run(120)
    one.documents["/a"] = page
    one.run(2 * HOUR)

    first, *gone, back = one.changes("/a")
    assert (first, {*gone}, back) == ("new", {"gone"}, "changed")


def test_a_listing(web):
    """A sitemap is not read again before, to the second."""
    body = f"<urlset><url><loc>{HOST}/0</loc><lastmod>2024-01-01</lastmod></url></urlset>".encode()
    listing = Document(body, media="text/xml", headers={"Cache-Control": f"max-age={2 * HOUR}"})
    robots = Document(f"Sitemap: {HOST}/map.xml".encode(), media="text/plain")
    one = web({"/robots.txt": robots, "/map.xml": listing}, SITEMAPS=True, ROBOTSTXT_OBEY=True)
    one.run(5 * HOUR)

    assert min(gaps(one, "/map.xml")) >= 2 * HOUR
    assert len(gaps(one, "/map.xml")) == 2


def test_what_a_page_holds_to_is_part_of_each_checkpoint(web):
    """What a page holds to is part of each checkpoint, whether its turn has come in vain by then or
    not.
    """
    one = web({"/a": lasting(3 * HOUR)})
    one.run(60)
    for _ in range(4):
        one.checkpoint()
        one.run(600)
        one.kill()
    one.run(5 * HOUR)

    assert min(gaps(one, "/a")) >= 3 * HOUR
    assert max(gaps(one, "/a")) < 3.5 * HOUR
    assert one.known == PAGES + 1


def test_a_crawl_that_stopped_for_a_month(web):
    """All promises are over then, and all pages have their turns."""
    held = {f"/held/{number}": lasting(DAY) for number in range(2 * PAGES)}
    one = web(held)
    one.run(HOUR)
    one.stop()
    one.now += 30 * DAY
    one.open()
    one.run(HOUR)

    assert {one.counted()[path] for path in held} == {2}
