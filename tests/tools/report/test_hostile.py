"""Nothing that a server, a page or a user's own list says can become markup, or reach out of the
page.
"""

import re
from base64 import b64encode
from collections import Counter
from hashlib import sha256

import pytest

from tests.support.reports import Report
from webcrawl.base.markup import Html, join, tag, text
from webcrawl.record.statistics import Statistics
from webcrawl.tools.report.log_summary import LogFindings
from webcrawl.tools.report.report_page import page
from webcrawl.tools.report.report_source import CrawlHosts, ReportSource, WaitingHost

EVIL = (
    "</title></style></script><script>alert(1)</script><img src=x onerror=alert(1)>"
    "\"' onload=alert(1) &lt;\u202e\x00\x1b[2J"
)
NOW = 1_700_000_000


@pytest.fixture(name="source")
def _source(tmp_path):
    """A crawl in which every text is hostile."""
    statistics = Statistics(bytes(16))
    for number in range(3):
        url = f"http://{EVIL.replace('/', '_')}.{number}x/"
        statistics.count_answer(200, url, "L", NOW * 1000, 5, 10, f"{EVIL}{number}")
        statistics.count_unanswered(-4, url, "L")
        statistics.truncated.add(EVIL, 5)
    state = CrawlHosts(
        hosts=3,
        deferred=[WaitingHost(EVIL, 3, 5, -2, NOW)],
        queues=[WaitingHost(EVIL, 3, 5, -2, NOW)],
        given_up=[(EVIL, -1)],
        given_up_by_status=Counter({-1: 1}),
        domains=[(EVIL, 3, 1)],
        over_budget=(1, 3),
    )
    names = {f"flaw/{EVIL}": 1, f"outcome/{EVIL}": 1, f"truncated/{EVIL}": 2}
    return ReportSource(
        jobdir=tmp_path / EVIL.replace("/", "_").replace("\x00", ""),
        key=bytes(16),
        statistics=statistics,
        has_full_statistics=True,
        counters=Counter(names),
        filtered=Counter({EVIL: 1}),
        frontier=Counter({"dropped/-9998": 1}),
        terms={"spider": EVIL, f"-a {EVIL}": EVIL, EVIL: EVIL, "MIN_FREE_DISK": EVIL},
        seeds={"src": EVIL, "good": 1, "place": EVIL},
        outputs={f"logs/{EVIL}": 5, f"{EVIL}/x.{EVIL}": 7},
        state=state,
        deferred=(3, 1),
        stats={"reason": EVIL, "errors": 1},
        unreadable=[EVIL],
        is_clean=True,
    )


@pytest.fixture(name="log")
def _log():
    log = LogFindings(
        lines=1, slowest=[(5, EVIL.encode())], largest=[(5, EVIL.encode())], damaged=1
    )
    log.seeds.add(EVIL.encode(), b"-", -2, 0)
    return log


def test_texts_stay_texts(source, log):
    """There is one script, the page's own; no attribute is an event, nothing is loaded, and no text
    is lost.
    """
    found = Report(page(source, log, {EVIL: "other"}, NOW))

    assert len(found.tree.xpath("//script")) == len(found.tree.xpath("//style")) == 1
    assert found.tree.xpath("//@*[starts-with(name(), 'on')]") == []
    assert found.tree.xpath("//img | //iframe | //object | //link | //base | //form | //@src") == []
    assert {link[0] for link in found.tree.xpath("//@href")} == {"#"}
    assert found.rows("type-table")[0][0].startswith("</title></style></script><script>alert(1)")
    assert "alert(1)" in found.tree.xpath("//title")[0].text_content()
    for name in ("host-table", "seed-table", "deferred-table", "terms-table", "slowest-table"):
        assert any(
            "<img src=x onerror=alert(1)>" in cell for row in found.rows(name) for cell in row
        ), name


def test_no_strange_character_is_left(source, log):
    """Control characters and marks that change the direction of text are spelled out."""
    made = page(source, log, {}, NOW)

    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e\u2066]", made)
    assert "\\x1b[2J" in made


def test_the_policy(source, log):
    """The page forbids itself to load anything, and to run any script but its own, by hash."""
    made = page(source, log, {}, NOW)
    found = Report(made)
    policy = found.tree.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")[0]
    script = re.search("<script>(.*?)</script>", made, re.DOTALL)[1]

    digest = b64encode(sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; ")


def test_only_markup_is_not_escaped():
    """Texts and values of attributes are escaped, what was made as markup is not."""
    made = tag("p", "<b>", Html("<i>"), None, title='"&')

    assert made == '<p title="&quot;&amp;">&lt;b&gt;<i></p>'
    assert join(text("a<"), "b<") == "a&lt;b&lt;"
    assert tag("br") == "<br>"
