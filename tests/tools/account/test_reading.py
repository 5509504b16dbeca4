"""What the account makes of lines."""

import csv
import io
from contextlib import closing

import msgpack
import pytest

from webcrawl.base.dates import digits, iso, read_digits, read_iso
from webcrawl.base.model import Exchange, Link, Outcome, Status, Timings
from webcrawl.crawl.checks import check
from webcrawl.crawl.hive.hive_folder import Founding, HiveFolder
from webcrawl.crawl.last_run import terms_of
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.jobdir.crawl_line import LOG, CrawlLine
from webcrawl.store.jobdir.crawl_line import line as crawl_line
from webcrawl.store.jobdir.log_lines import last_sent
from webcrawl.store.jobdir.log_lines import request_line as line
from webcrawl.store.outputs import Outputs
from webcrawl.store.requests_log import KEY
from webcrawl.tools.account_page import csv_lines, kept, page
from webcrawl.tools.site_account import (
    AccountRow,
    NoSite,
    RequestedSite,
    SiteAccount,
    UnknownTime,
    account_of,
    ends_of,
    join_ends,
    may_have_lost_end,
    requests_of,
    site_of,
)

AT = 1_795_312_744.514


def end(started, status=200, **more):
    given = {
        "size": 10,
        "url": "http://a.test/",
        "path": "",
        "via": "",
        "mime": "text/html",
        "notes": "",
        **more,
    }
    return CrawlLine(
        "", "", started + 0.1, status, started=started, seconds=0.1, digest="", seed="", **given
    )


def requested(at, tries=0, url="http://a.test/"):
    return AccountRow(at, "GET", url, "", tries)


def test_times_are_read_as_they_are_written():
    """To the millisecond, in both forms."""
    assert read_iso(iso(AT)) == pytest.approx(AT, abs=1e-3)
    assert read_digits(digits(AT)) == pytest.approx(AT, abs=1e-3)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("A.test", "a.test"),
        ("http://a.test:80/x", "a.test"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("[::1]", "[::1]"),
        ("a.test.", "a.test"),
    ],
)
def test_the_name_of_a_site(text, name):
    """As URLs have it; any URL of the site will do."""
    assert site_of(text) == RequestedSite(name)


@pytest.mark.parametrize("text", ["", "a b", "http://"])
def test_no_name(text):
    """One line says so."""
    with pytest.raises(NoSite, match="not the name of a site"):
        site_of(text)


def test_a_site_has_the_names_below_it():
    """But no other name that ends alike."""
    site = site_of("a.test")

    assert site.has("https://www.a.test:8443/")
    assert site.has("http://a.test.:8080/")
    assert not site.has("http://ba.test/a.test")


def test_an_answer_belongs_to_the_last_request_before_its_end():
    """Retries before it have none; neither has a request that was sent after it."""
    first, again, later = requested(1.0), requested(2.0, 1), requested(5.0)
    ends = [end(1.99), end(9.0, url="http://a.test/other")]

    assert join_ends([first, again, later], ends) == [ends[1]]
    assert (first.end, again.end, later.end) == (None, ends[0], None)


def test_an_answer_belongs_to_its_request_where_the_clock_was_set_back():
    """Then lines are not in the order of their times; still no request has the answer of another
    one.
    """
    ahead, later = requested(1000.0), requested(500.0)
    ends = [end(1000.01), end(500.01, 404)]

    assert join_ends([ahead, later], ends) == []
    assert (ahead.end, later.end) == tuple(ends)


def test_lines_of_other_sites_and_damaged_lines_are_left_out(tmp_path):
    """A torn line is no request, and a first request has no wait."""
    log = tmp_path / "requests.log"
    time = iso(AT)
    log.write_text(
        f"{time}\tGET\thttp://a.test/\t-\t0\t-\t0.000\tnew\n{time}\tGET\thttp://b.test/?a.test\t-\t0\t-\t0.000\tnew\n"
        f"{time}\tGET\thttp://a.test/x"
        f"\n{time}\tGET\thttp://a.test/y\tP\t1\t0.500\t0.250\tpoliteness\n{time}\tGE"
    )
    found = [*requests_of(log, site_of("a.test"))]

    assert [(one.url, one.path, one.tries, one.waited, one.needed, one.rule) for one in found] == [
        ("http://a.test/", "", 0, None, 0.0, "new"),
        ("http://a.test/y", "P", 1, 0.5, 0.25, "politeness"),
    ]
    assert [*ends_of(tmp_path / "none", 100, site_of("a.test"))] == []


def test_only_what_a_kill_may_have_taken_is_unknown(tmp_path):
    """A request without an outcome outside all windows was tried again, or had no whole answer."""
    account = SiteAccount(tmp_path, RequestedSite("a.test"), gaps=[UnknownTime(10.0, 20.0)])
    answered = requested(15.0)
    answered.end = end(15.0)

    assert [
        may_have_lost_end(account, one)
        for one in (requested(5.0), requested(15.0), requested(30.0), answered)
    ] == [
        False,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("notes", "status", "words"),
    [
        ("-", 200, "head and body"),
        ("truncated:length", 200, "head and part of the body"),
        ("duplicate:digest", 200, "head, and a body that another page has too"),
        ("revisit,unchanged", 304, "a note that it has not changed"),
        ("revisit,unchanged", 200, "head, and a body that has not changed"),
        ("since:digest", 200, "head, and a body that an earlier crawl has"),
        ("withheld:header+document", 200, "only the head: the owner forbids the rest"),
    ],
)
def test_what_was_kept(notes, status, words):
    """From the annotations of crawl.log."""
    one = requested(1.0)
    one.end = end(1.0, status, notes=notes)

    assert kept(one) == words
    assert kept(requested(1.0)) == "the answer, if one came"


def test_answers_before_a_retry(tmp_path):
    """They are not counted, so the answers that are counted are not said to be all."""
    retried, answered = requested(1.0), requested(2.0, 1)
    answered.end = end(2.0)
    text = page(SiteAccount(tmp_path, RequestedSite("a.test"), [retried, answered]), 0.0)

    assert "2 requests, 0 of them for robots.txt; 1 with a final answer" in text


def test_a_crawl_without_archive(tmp_path):
    """Of what such a crawl has requested, nobody says that head and body are kept; nor that an answer
    is kept that a kill may have taken.
    """
    answered, failed, lost = requested(1.0), requested(2.0), requested(9.0)
    answered.end, failed.end = end(1.0), end(2.0, -2, size=None)
    account = SiteAccount(tmp_path, RequestedSite("a.test"), [answered, failed, lost])
    account.gaps = [UnknownTime(8.0, 10.0)]
    rows = csv.DictReader(io.StringIO("".join(csv_lines(account))))

    assert [row["kept"] for row in rows] == ["not archived", "nothing", "not known"]


@pytest.mark.parametrize(
    ("saved", "words"),
    [
        (None, ["Between its start and now the crawler was running or stopped abruptly"]),
        ((AT - 9, [], True), ["Between ", " and now the crawler was running or stopped abruptly"]),
        ((AT + 9, [], True), []),
    ],
)
def test_a_kill_before_the_first_checkpoint(tmp_path, saved, words):
    """A run of which nothing but lines in requests.log is left has a window, whether or not it was
    the first.
    """
    db = CrawlDB(tmp_path / "state")
    if saved is not None:
        db.set(KEY, msgpack.packb(saved))
    db.checkpoint()
    db.close()
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "requests.log").write_bytes(line(AT, "GET", "http://a.test/", None))
    account = account_of(tmp_path, site_of("a.test"))
    text = page(account, 0.0)

    assert [may_have_lost_end(account, one) for one in account.requests] == [bool(words)]
    assert all(word in text for word in words)
    assert ("stopped abruptly" in text) == bool(words)


def drone_of(hive, number, *requests, gap=(0, 10), logged=True):
    """A drone that was killed, and these requests of its log, as URL and seconds after AT."""
    folder = hive / f"drone-{number}"
    db = CrawlDB(folder / "state")
    since, until = gap
    db.set(KEY, msgpack.packb((AT + 60, [(AT + since, AT + until)], True)))
    db.checkpoint()
    db.close()
    (folder / "logs").mkdir()
    if logged:
        lines = [line(AT + after, "GET", url, None) for url, after in requests]
        (folder / "logs" / "requests.log").write_bytes(b"".join(lines))


class TestHives:
    def test_a_kill_of_another_drone_leaves_nothing_unknown(self, tmp_path):
        """Drones that never asked the site have no part in its account."""
        drone_of(tmp_path, 0, ("http://b.test/", 5))
        drone_of(tmp_path, 1)
        account = account_of(tmp_path, site_of("a.test"))

        assert account.gaps == []
        assert "stopped abruptly" not in page(account, 0.0)

    def test_the_gaps_of_each_drone_are_its_own(self, tmp_path):
        """Of a site that has changed hands, a request is unknown by the kills of the drone that
        sent it.
        """
        drone_of(tmp_path, 0, ("http://a.test/first", 5), ("http://a.test/later", 30))
        drone_of(
            tmp_path, 1, ("http://www.a.test/second", 6), ("http://a.test/last", 40), gap=(35, 45)
        )
        account = account_of(tmp_path, site_of("a.test"))
        lost = [
            one.url.rpartition("/")[2]
            for one in account.requests
            if may_have_lost_end(account, one)
        ]

        assert lost == ["first", "last"]
        assert (
            "the part of the crawler called drone-0 was running or stopped abruptly. All its "
            "requests from that time are listed" in page(account, 0.0)
        )

    def test_a_drone_without_the_log(self, tmp_path):
        """What it requested before it was killed is not known at all, so its gap is named."""
        drone_of(tmp_path, 0, ("http://a.test/", 30))
        drone_of(tmp_path, 1, logged=False)
        account = account_of(tmp_path, site_of("a.test"))

        assert [gap.drone for gap in account.gaps] == ["drone-0", "drone-1"]
        assert account.without_log == ["drone-1"]
        assert "or it was moved away" in page(account, 0.0)
        assert "All its requests from that time are listed" not in page(account, 0.0)

    def test_a_drone_that_is_not_here(self, tmp_path):
        """Nobody knows what it requested: it is named, and what is listed is not said to be all."""
        drone_of(tmp_path, 0, ("http://a.test/", 30))
        HiveFolder(tmp_path).write(Founding("web", "web", "domain", 2, (0, 1)))
        account = account_of(tmp_path, site_of("a.test"))

        assert account.absent == ["drone-1"]
        assert "All requests to this site" not in page(account, 0.0)


@pytest.mark.parametrize(("logged", "partly"), [((0, 10), []), ((10,), ["job"])])
def test_a_log_of_requests_that_is_not_whole(tmp_path, logged, partly):
    """It was begun later than the crawl, or rotated: what was requested before is listed, and not
    said to be all.
    """
    job = tmp_path / "job"
    with closing(CrawlDB(job / "state")) as db:
        log = Outputs(db, job).open(LOG)
        for after in (0, 10):
            link, sent = Link(f"http://a.test/{after}"), AT + after
            answer = Exchange(link.url, b"", 200, b"", [], b"", b"", b"", "", sent, Timings())
            log.write(crawl_line(sent, link, Outcome(200, seconds=0.1), answer, []))
        db.set(KEY, msgpack.packb((AT + 60, [], True)))
        db.checkpoint()
    requests = [line(AT + after, "GET", f"http://a.test/{after}", None) for after in logged]
    (job / "logs/requests.log").write_bytes(b"".join(requests))
    account = account_of(job, site_of("a.test"))

    assert [one.url[-2:] for one in account.requests] == ["/0", "10"]
    assert account.with_partial_log == partly
    assert ("The log of requests is incomplete" in page(account, 0.0)) is bool(partly)


def test_several_connections_are_said(tmp_path):
    """Who may have several requests at once waits less than the rule says: the page says so, of
    this site alone.
    """
    rules = {
        "HOST_CONNECTIONS test": "2",
        "HOST_CONNECTIONS www.a.test": "4",
        "HOST_CONNECTIONS b.test": "8",
    }
    text = page(SiteAccount(tmp_path, RequestedSite("a.test"), [requested(1.0)], terms=rules), 0.0)

    assert "each of several connections has its own waits" in text
    assert "HOST_CONNECTIONS test=2" in text
    assert "HOST_CONNECTIONS www.a.test=4" in text
    assert "b.test" not in text


def test_an_owner_is_told_no_more_than_is_so(tmp_path):
    """A crawl that reads no robots.txt is not said to; what it kept no log of is not said to be
    all.
    """

    def said(**more):
        return page(SiteAccount(tmp_path, RequestedSite("a.test"), [requested(1.0)], **more), 0.0)

    assert "All requests to this site" in said()
    assert "All requests to this site" not in said(without_log=["drone-1"])
    assert "All requests to this site" not in said(with_partial_log=["job"])
    for obeys in (True, False):
        terms = terms_of("web", {}, check({"ROBOTSTXT_OBEY": obeys}))
        assert ("robots.txt before anything else, and again when" in said(terms=terms)) is obeys


def test_a_page_that_was_not_requested(tmp_path):
    """The first page that was found may be one that robots.txt forbids: it is not said to be
    requested for.
    """
    forbidden = end(1.0, Status.ROBOTS_FORBIDDEN, url="http://a.test/forbidden")
    text = page(
        SiteAccount(
            tmp_path,
            RequestedSite("a.test"),
            [requested(0.5, url="http://a.test/robots.txt")],
            [forbidden],
        ),
        0.0,
    )

    assert "The first page found was http://a.test/forbidden, through a list" in text
    assert "asked for was" not in text
    assert "not requested: robots.txt forbids it" in text


def test_no_text_of_a_server_is_a_formula_or_markup(tmp_path):
    """The page escapes, and the sheet puts an apostrophe before what a spreadsheet would reckon
    out.
    """
    one = requested(1.0, url="http://a.test/<script>")
    one.end = end(1.0, url=one.url, notes="=1+1")
    account = SiteAccount(tmp_path, RequestedSite("a.test"), [one])
    row = next(csv.DictReader(io.StringIO("".join(csv_lines(account)))))

    assert row["notes"] == "'=1+1"
    assert "<script>" not in page(account, 0.0)


def test_when_the_last_request_was_sent(tmp_path):
    """By the last whole line of the log; a torn one says nothing."""
    log = tmp_path / "requests.log"
    assert last_sent(log) == 0.0
    log.write_bytes(
        line(AT - 1, "GET", "http://a.test/", None)
        + line(AT, "GET", "http://a.test/", None)
        + b"2026-"
    )

    assert last_sent(log) == pytest.approx(AT, abs=1e-3)
