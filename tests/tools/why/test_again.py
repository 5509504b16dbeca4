"""What `scrapy why` says of pages that are fetched again."""

import json

import pytest

from tests.support.changing_site import Document
from tests.support.revisiting import Web
from webcrawl.store.jobdir.crawl_line import read as log_line
from webcrawl.tools.why.answer import MAX_VISITS, OpenedCrawls
from webcrawl.tools.why.fact_finder import FactFinder
from webcrawl.tools.why.facts import UrlFacts
from webcrawl.tools.why.opened_crawl import OpenedCrawl
from webcrawl.tools.why.verdict import revisit_words, verdict_on
from webcrawl.tools.why.why_text import text_of

HOUR = 3600
URL = "http://a.test/"


@pytest.fixture(name="web")
def _web(tmp_path):
    made = Web(
        tmp_path, {"/": Document(b"<p>1", etag='"1"')}, HOST_PATIENCE=10, HOST_MAX_FAILURES=2
    )
    made.seed("/")
    yield made
    made.crawl.close()


def reason(web):
    """State and reason, as of a checkpoint that is taken now."""
    web.checkpoint()
    with OpenedCrawl(web.folder) as source:
        verdict = verdict_on(FactFinder(source).facts([URL], {})[0])
    return verdict.state, verdict.reason


def test_before(web):
    """A page that was fetched once is going to be fetched again."""
    web.run(10)
    state, said = reason(web)

    assert state == "fetched"
    assert said.endswith("; it will be fetched again when it is due")


def test_after(web):
    """What the last fetch found."""
    web.run(1.5 * HOUR)
    assert (
        "; it was fetched again then, and it had not changed; it will be fetched again"
        in reason(web)[1]
    )
    web.documents["/"] = Document(b"<p>2")
    web.run(HOUR)
    assert (
        "; it was fetched again then, and it had changed; it will be fetched again"
        in reason(web)[1]
    )


def test_a_page_that_has_no_record(tmp_path):
    """A page that a run without revisits has fetched is not said to be fetched again."""
    web = Web(tmp_path, {"/": Document(b"<p>1")}, REVISIT_POLICY="none")
    web.seed("/")
    web.run(10)
    web.checkpoint()
    web.crawl.close()
    web.open(REVISIT_POLICY="fixed").run(2 * HOUR)
    _, said = reason(web)
    web.crawl.close()

    assert ("fetched again" in said) is (len(web.requested) > 1)


def test_a_failure(web):
    """The last answer counts, and that the next fetch failed is said."""
    web.run(10)
    web.documents["/"] = None
    web.run(2 * HOUR)
    state, said = reason(web)

    assert state == "fetched"
    assert "answered 200" in said
    assert "; fetching it again failed at" in said
    assert "with status -2" in said


def test_its_turn_has_come(web):
    """It waits in a queue like any other URL, and is fetched all the same."""
    web.run(10)
    web.now += HOUR
    web.crawl.parts.revisiting.on_feed(web.now)
    state, said = reason(web)

    assert state == "fetched"
    assert "it is due to be fetched again" in said


def test_no_revisits():
    """Nothing is added to the answer of a crawl that fetches nothing again."""
    line = log_line(
        b"2026-11-21T19:20:11.123Z   200         10 http://a.test/ - - text/html #001 20261121192011000+10 sha1:A - -"
    )
    facts = UrlFacts(URL, json.loads("null"), log_lines=[line])

    assert revisit_words(facts, line) == ""


def test_many_visits(web):
    """Of a page that was fetched very often the last visits are shown, with how many there were."""
    web.run(130 * HOUR)
    web.checkpoint()
    with OpenedCrawls(web.folder, ask_running=False) as crawls:
        (answer,) = crawls.answers([URL])
    said, told = answer.to_json(), text_of(answer).splitlines()

    assert said["counts"] == {"log": len(web.requested), "archive": 0}
    assert len(web.requested) > MAX_VISITS == len(said["log"])
    assert sum(line in "\n".join(told) for line in said["log"]) == 5
    assert said["log"][-1] in "\n".join(told)
    assert any(line.endswith(f"and {len(web.requested) - 5} earlier ones") for line in told)
