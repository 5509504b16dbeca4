"""What stands in the first line: a depth limit, a body that was truncated, a robots.txt that cannot
be fetched.
"""

import gzip
import shutil
from contextlib import closing
from types import SimpleNamespace

import msgpack
import pytest

from tests.support.crawling import Crawl
from tests.support.jobs import stopped
from tests.support.tampering import tampered
from webcrawl.base.model import Link
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.jobdir import crawl_line, meta_row
from webcrawl.store.jobdir.log_lines import LINKS_LOG, link_lines
from webcrawl.tools.why.answer import OpenedCrawls
from webcrawl.tools.why.fact_finder import FactFinder
from webcrawl.tools.why.facts import RobotsState, RobotsVerdict, UrlFacts
from webcrawl.tools.why.places import HOST, RETRY, QueuePlace
from webcrawl.tools.why.url_rules import CanonicalForm
from webcrawl.tools.why.verdict import verdict_on

pytestmark = pytest.mark.xdist_group("why first line")  # one crawl for all


NOWHERE = "no logged link leads to it"


@pytest.fixture(name="shallow", scope="module")
def _shallow(tmp_path_factory):
    """A finished crawl of seeds alone, without the links on them."""
    from webcrawl.lab.simweb import World, running

    folder = tmp_path_factory.mktemp("shallow")
    with running(World(3, 150, size=(600, 900), port=0, addresses=4), latency=0.0) as server:
        (folder / "seeds.txt").write_text("\n".join(server.world.seeds()))
        settings = {
            "DNS_NAMESERVERS": server.nameserver,
            "OUTPUTS": "warc,cdxj,links,tables",
            "URL_MAX_DEPTH": 0,
        }
        assert Crawl(folder / "job", {"seeds": folder / "seeds.txt"}, settings).run() == 0
    return folder / "job"


def beyond(job):
    """Links within a site that were not followed."""
    links = [line.split("\t") for line in (job / "logs/links.log").read_text().splitlines()]
    return sorted(
        {to for page, _, to, kind, _ in links if kind == "a" and to.startswith(page)}
        - {page for page, *_ in links}
    )


def test_links_that_are_too_deep(shallow):
    """A link beyond URL_MAX_DEPTH is refused as too deep, on a page that is named, with the limit
    and its depth.
    """
    urls = beyond(shallow)[:20]
    with OpenedCrawls(shallow) as crawls:
        answers = [*crawls.answers(urls)]

    assert len(urls) == 20
    for answer in answers:
        assert (answer.state, answer.kind) == ("refused", "too deep"), answer.reason
        assert answer.reason.startswith(
            "it is too deep: the URL filter depth leaves it out, on http://"
        )
        assert answer.reason.endswith(
            ": URL_MAX_DEPTH = 0: 1 link within its site, 0 sites from the seed"
        )


def test_what_no_page_links_to(shallow):
    """A URL that no page links to stays unknown, however deep the crawl went."""
    with OpenedCrawls(shallow) as crawls:
        (answer,) = crawls.answers(["http://site0.test/nobody/knows/it.html"])

    assert answer.state == "unknown"
    assert answer.reason.endswith(NOWHERE)


@pytest.mark.parametrize(
    ("name", "what", "line"),
    [
        (
            "logs/links.log",
            None,
            "logs/links.log: No such file or directory: its information is missing here",
        ),
        ("tables/links-00000.parquet", None, "the table links, except for 1 file no longer here"),
        ("tables/links-00000.parquet", b"PAR1", "the table links, except for its damaged parts"),
    ],
)
def test_what_no_page_links_to_as_far_as_one_can_see(shallow, tmp_path, name, what, line):
    """Where not all links are here, nobody says that no page has this one."""
    job = shutil.copytree(shallow, tmp_path / "job")
    (job / name).unlink()
    if what is not None:
        (job / name).write_bytes(what)

    with OpenedCrawls(job) as crawls:
        (answer,) = crawls.answers(["http://site0.test/nobody/knows/it.html"])

    assert answer.reason == "the crawl has not found a link to it that it could follow"
    assert line in answer.details["odd"] + answer.details["looked"]


def test_an_archive_that_was_taken_away(tmp_path):
    """An answer without a record says how many index files were not there to be searched."""
    job = stopped(tmp_path / "job")
    first, *others = (job / "warc").glob("*.cdxj")
    first.rename(tmp_path / first.name)

    with OpenedCrawls(job) as crawls:
        (without_one,) = crawls.answers(["http://nobody.test/"])
        for path in others:
            path.rename(tmp_path / path.name)
        (without_any,) = crawls.answers(["http://nobody.test/"])

    line = "the archive, except for {} no longer in the folder"
    assert line.format("1 index file") in without_one.details["looked"]
    assert line.format(f"{1 + len(others)} index files") in without_any.details["looked"]


@pytest.mark.parametrize("name", ["crawl.log", "links.log"])
def test_what_no_page_links_to_as_far_as_a_short_log_says(shallow, tmp_path, name):
    """Where a log ends before the last checkpoint's end, a note says so, and nobody says that no
    page has the link.
    """
    job = shutil.copytree(shallow, tmp_path / "job")
    log = job / "logs" / name
    log.write_bytes(log.read_bytes()[:-100])

    with OpenedCrawls(job) as crawls:
        (answer,) = crawls.answers(["http://site0.test/nobody/knows/it.html"])

    assert answer.reason == "the crawl has not found a link to it that it could follow"
    assert answer.details["odd"] == [
        f"logs/{name}: it ends 100 bytes too early: their information is missing here"
    ]


def test_links_beyond_the_first_ones(tmp_path):
    """Of a page with too many links, it is said that some were not followed; without the link log,
    that nobody can tell which.
    """
    job = stopped(tmp_path / "job")
    page, url = "http://h0.test/large", "http://h0.test/late"
    cut = crawl_line.line(
        1e9, Link(page), SimpleNamespace(status=200, seconds=0.1), None, ["links_cut:300"]
    )
    for name, line in ((crawl_line.LOG, cut), (LINKS_LOG, link_lines(page, [("a", url, url, "")]))):
        with (job / name).open("ab") as file:
            file.write(line)
        size = (job / name).stat().st_size
        tampered(job / "state/crawl.db", f"UPDATE output SET length = {size} WHERE path = '{name}'")
    with closing(CrawlDB(job / "state")) as db:
        db.set(meta_row.COUNTERS, msgpack.packb({"crawl": {"links/cut": 300}}))
        db.checkpoint()

    with OpenedCrawls(job) as crawls:
        (logged,) = crawls.answers([url])
    tampered(job / "state/crawl.db", f"DELETE FROM output WHERE path = '{LINKS_LOG}'")
    with OpenedCrawls(job) as crawls:
        (unlogged,) = crawls.answers([url])

    assert logged.reason == (
        f"{page} links to it, but that link (of the kind a) was not followed; 300 links of that "
        "page were not, because it has too many (links_cut in crawl.log)"
    )
    assert (
        "links that were not followed, because their pages have too many (links_cut in crawl.log): "
        "none of 300"
    ) in unlogged.details["looked"]


@pytest.mark.parametrize(
    ("note", "words"),
    [
        ("truncated:length", "its body was truncated: longer than DOWNLOAD_TRUNCATE"),
        ("truncated:time", "its body was truncated: not complete in time"),
        ("truncated:disconnect", "its body was truncated: connection ended early"),
        ("duplicate:digest", "another URL had the same body before (CONTENT_SEEN"),
    ],
)
def test_a_body_that_was_truncated_or_is_known(note, words):
    """The reason says why not all of the body was taken, or why nothing was done with it."""
    data = crawl_line.line(
        1e9, Link("http://a.test/"), SimpleNamespace(status=200, seconds=0.1), None, [note]
    )
    facts = UrlFacts(
        "http://a.test/", CanonicalForm("http://a.test/"), log_lines=[crawl_line.read(data)]
    )

    assert f"; {words}" in verdict_on(facts).reason


def test_a_robots_txt_that_cannot_be_fetched():
    """The reason of a URL that waits says that its host's robots.txt is out of reach, and how often
    it was tried.
    """
    robots = RobotsVerdict(RobotsState.UNREACHABLE, "http://a.test", tries=3)
    place = QueuePlace(HOST, Link("http://a.test/x").pack(), 2, 5)

    facts = UrlFacts(
        "http://a.test/x", CanonicalForm("http://a.test/x"), place=place, robots=robots
    )

    assert verdict_on(facts).reason.endswith(
        "; http://a.test/robots.txt could not be fetched, tried 3 times, and without it nothing may be fetched"
    )


RECORD = (
    b"WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.test/x\r\nWARC-Date: 2026-01-02T03:04:05Z\r\n"
    b"WARC-Record-ID: <urn:x>\r\nContent-Type: application/http; msgtype=response\r\n"
    b"%bContent-Length: %d\r\n\r\n%b\r\n\r\n"
)


@pytest.mark.parametrize(
    ("head", "more", "words"),
    [
        (
            b"HTTP/1.1 200 OK",
            b"WARC-Truncated: disconnect\r\n",
            "its last answer, 200, was truncated: connection ended early",
        ),
        (b"HTTP/1.1 503 No", b"", "its last answer was 503"),
        (b"HTTP/1.1 200 OK", b"", "for a retry"),
    ],
)
def test_how_one_failed_that_will_be_tried_again(tmp_path, head, more, words):
    """The archive has the last answer of a URL that is in no log yet; its reason ends with what was
    wrong.
    """
    block = head + b"\r\nContent-Type: text/html\r\n\r\n<p>"
    (tmp_path / "warc").mkdir()
    (tmp_path / "warc/x.warc.gz").write_bytes(gzip.compress(RECORD % (more, len(block), block)))
    place = QueuePlace(RETRY, Link("http://a.test/x", attempt=1).pack(), 0, 1)
    entry = SimpleNamespace(file="x.warc.gz", offset=0)
    facts = UrlFacts(
        "http://a.test/x", CanonicalForm("http://a.test/x"), place=place, index_entries=[entry]
    )
    FactFinder._read_last_tries(SimpleNamespace(_source=SimpleNamespace(jobdir=tmp_path)), [facts])

    assert verdict_on(facts).reason.endswith(words)
