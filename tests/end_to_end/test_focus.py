"""A focused crawl: good pages first, by a SCORER or by language; whatever the scorer does, no page
is lost.
"""

import json
import re
import time
from collections import Counter

import pytest

from tests.support.commands import command
from tests.support.crawling import Crawl, wait_until
from tests.support.examples import in_campaign
from tests.support.plain_site import serving
from tests.support.tables import rows
from tests.support.topic_site import PAGES, Tongues, Topics, is_good, links
from webcrawl.tools.verify_crawl import verify

FOCUS = "webcrawl.frontier.prioritizers.focus.ByFocus"
SETTINGS = {
    "POLITENESS_FACTOR": 0,
    "POLITENESS_MIN_DELAY": 0,
    "TRAP_RULES": 0,
    "OUTPUTS": "warc cdxj",
}


def crawl_of(folder, site, arguments=(), **settings):
    (folder / "seeds.txt").write_text(f"{site}/\n")
    given = {"seeds": folder / "seeds.txt", **dict(arguments)}
    return Crawl(folder / "job", given, {**SETTINGS, **settings})


def lines(crawl):
    found = [line.split() for line in (crawl.jobdir / "logs/crawl.log").read_text().splitlines()]
    return [
        (fields[3].rpartition("/")[2], fields[-1])
        for fields in found
        if not fields[3].endswith("robots.txt")
    ]


def pages(crawl):
    return [int(name or 0) for name, _ in lines(crawl)]


EARLY = 60  # pages
# meanwhile links are found to be new
WAITS = {"POLITENESS_MIN_DELAY": 0.06, "CLOSESPIDER_PAGECOUNT": EARLY + 1}
pytestmark = pytest.mark.xdist_group("focus")  # one crawl for several tests


def early(crawl, **settings):
    """How many good pages are among the first ones; breadth first has 11 of the 20."""
    assert crawl.run(**WAITS, **settings) == 0, crawl.output.read_text()
    return sum(map(is_good, pages(crawl)[:EARLY]))


@pytest.fixture(name="focused", scope="module")
def _focused(tmp_path_factory):
    """A crawl, the good pages that it had early, and what was said then of URLs that it did not
    have.
    """
    with serving(Topics) as site:
        crawl = crawl_of(
            *(tmp_path_factory.mktemp("focus"), site),
            SCORER="tests.support.scorers.lamps",
            FRONTIER_PRIORITIZER=FOCUS,
            OUTPUTS="warc cdxj tables",
        )
        good, urls = early(crawl), crawl.jobdir.with_name("urls.txt")
        urls.write_text(
            "\n".join(f"{site}/{page}" for page in range(PAGES) if page not in pages(crawl))
        )
        *answers, _ = map(
            json.loads,
            command("scrapy", "why", crawl.jobdir, "--file", urls, "--json").stdout.splitlines(),
        )
        assert crawl.run(OUTPUTS="warc cdxj tables documents") == 0, crawl.output.read_text()
    return crawl, good, answers


def test_good_pages_come_first(focused):
    """Most of them are there before a third of all pages; in the end all are."""
    crawl, good, _ = focused
    assert good >= 15
    assert {*pages(crawl)} == {*range(PAGES)}


def test_scores_are_in_tables_and_logs(focused):
    """Of each page, in the tables of pages and of documents and in crawl.log; the last lines have
    their mean.
    """
    crawl, _, _ = focused
    truth = {str(page): float(is_good(page)) for page in range(1, PAGES)}
    for table in ("pages", "documents"):
        found = {row["url"].rpartition("/")[2]: row["score"] for row in rows(crawl.jobdir, table)}
        assert found.items() <= {**truth, "0": 0.0, "": 0.0}.items() | {("robots.txt", None)}
        assert len(found) > PAGES / 2
    notes = {name: note for name, note in lines(crawl) if name in truth}
    assert notes == {name: f"score:{score:.3f}" for name, score in truth.items()}
    assert re.search(r"20\d pages scored, 0\.10 on average", crawl.output.read_text())
    assert [str(damage) for damage in verify(crawl.jobdir, Counter())] == []


def test_why_says_scores(focused):
    """The page's own, and its site's."""
    url = next(row["url"] for row in rows(focused[0].jobdir, "pages") if row["url"].endswith("/3"))
    scores = json.loads(command("scrapy", "why", focused[0].jobdir, url, "--json").stdout)["scores"]
    assert (scores["score"], scores["worth"]) == (1.0, None)
    assert scores["site"] == pytest.approx(0.1, abs=0.02)


def test_why_says_what_waiting_urls_are_worth(focused):
    """Those that a good page links to are worth more than all others."""
    answers = focused[2]
    requested = {int(one["url"].rpartition("/")[2]) for one in answers}
    followed = {
        link
        for page in range(PAGES)
        if is_good(page) and page not in requested
        for link in links(page)
    }
    waits = {
        int(one["url"].rpartition("/")[2]): one["scores"]["worth"]
        for one in answers
        if one["state"] == "queued"
    }
    linked = [worth for page, worth in waits.items() if page in followed]
    others = [worth for page, worth in waits.items() if page not in followed]
    assert others
    assert all(worth > max(others) for worth in linked)


def test_wanted_languages_come_first(tmp_path):
    """`-a languages=` needs no scorer: a tenth of the pages is Slovene, and most of it comes early."""
    pytest.importorskip("resiliparse")
    with serving(Tongues) as site:
        assert early(crawl_of(tmp_path, site, {"languages": "sl,hr"})) >= 15


@pytest.mark.parametrize(
    ("scorer", "said"),
    [
        ("picky", "ValueError: no bread"),
        *in_campaign(("few", "scores for 1 documents"), ("words", "could not convert")),
    ],
)
def test_a_scorer_that_fails_loses_no_page(tmp_path, scorer, said):
    """Its pages are fetched, kept and followed without a score; the log and the last lines say so."""
    with serving(Topics) as site:
        crawl = crawl_of(
            tmp_path, site, SCORER=f"tests.support.scorers.{scorer}", FRONTIER_PRIORITIZER=FOCUS
        )
        assert crawl.run() == 0, crawl.output.read_text()
    assert {*pages(crawl)} == {*range(PAGES)}
    output = crawl.output.read_text()
    assert said in output
    assert f"{crawl.stats['scores/failed']} pages fetched and kept, but not scored" in output
    assert output.count("No score for") == 5


def test_a_scorer_that_cannot_be_made(tmp_path):
    """The crawl does not start, and says why in a line."""
    with serving(Topics) as site:
        crawl = crawl_of(tmp_path, site, SCORER="tests.support.scorers.Broken")
        assert crawl.run() == 1
    output = crawl.output.read_text()
    assert "FileNotFoundError: no model.bin" in output
    assert "Traceback" not in output


@pytest.mark.campaign
def test_killed_and_resumed(tmp_path):
    """After kill -9 no page is lost, each is scored once, and what was learnt is still known."""
    with serving(Topics) as site:
        crawl = crawl_of(
            *(tmp_path, site),
            SCORER="tests.support.scorers.lamps",
            FRONTIER_PRIORITIZER=FOCUS,
            CHECKPOINT_INTERVAL=0.1,
            POLITENESS_MIN_DELAY=0.01,
        )
        for most in (30, 80):
            running, log = crawl.start(), crawl.jobdir / "logs/crawl.log"
            wait_until(lambda: log.exists() and log.read_text().count("\n") > most)  # noqa: B023 - called at once
            time.sleep(0.05)
            running.kill()
        assert crawl.run() == 0, crawl.output.read_text()
    found = pages(crawl)
    scored = [note for _, note in lines(crawl) if "score:" in note]
    assert sorted({*found}) == [*range(PAGES)]
    assert len(found) == len({*found}) + found.count(0) - 1
    assert crawl.stats["scores/pages"] == len(scored) == len(found)
    assert crawl.stats["scores/thousandths"] == 1000 * sum(map(is_good, found))
    assert [str(damage) for damage in verify(crawl.jobdir, Counter())] == []
