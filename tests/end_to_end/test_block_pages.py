"""A crawl of sites whose answers are not the pages that were requested."""

import pytest

from tests.support.crawling import Crawl
from tests.support.crawling_sites import serving
from tests.support.fulltext import written
from webcrawl.tools.report.report_page import report

pytestmark = pytest.mark.xdist_group("block pages")  # one crawl for all tests

NAMES = [
    "open.test",
    "blocked.test",
    "parked.test",
    "locked.test",
    "later.test",
    "odd.test",
    "denied.test",
]
ANUBIS = """<!doctype html><title>Making sure you're not a bot!</title><link rel=stylesheet
href="/.within.website/x/xess/xess.css"><h1>Making sure you're not a bot!</h1><a href=/beyond>x</a>"""
PARKED = """<!doctype html><title>parked.test is for sale</title><p>This domain is for sale.
<a href=/loans>Loans</a> <a href=/cars>Cars</a>"""
MISSING = "<!doctype html><title>Page not found</title><h1>Page not found</h1><a href=/beyond>x</a>"
SHELL = '<!doctype html><title>{}</title><div id="root"></div><script src=/app.js></script><a href=/linked></a>'
DENIAL = b"""<!doctype html><title>Request blocked</title><h1>Request blocked</h1>
<p>Our security system has blocked your request.<p>Reference: 18.7e1d3417.1741680"""
INSTEAD = {"blocked.test": ANUBIS, "parked.test": PARKED}  # of all but robots.txt
HOME = """<!doctype html><title>Home</title><p>words <a href=/missing>a</a><a href=/shell>b</a><a href=/plain>c</a>
<a href=/denied>d</a><a href=/private>e</a>"""
FORBIDDEN = b"<title>403 Forbidden</title><h1>Forbidden</h1>"


def named(url):
    """Host and path."""
    host, _, path = url.removeprefix("http://").partition("/")
    return host, path


def answer(url):
    host, path = named(url)
    if host == "denied.test" or path == "denied":
        return (403, "text/html", DENIAL)
    if path == "private":
        return (403, "text/html", FORBIDDEN)
    if host == "locked.test" or (host in INSTEAD and path != "robots.txt"):
        return (200, "text/html", INSTEAD.get(host, ANUBIS).encode())
    if path == "robots.txt" and host in ("later.test", "odd.test"):
        return (202 if host == "later.test" else 200, "text/html", b"<title>Home</title><p>Welcome")
    if path == "robots.txt":
        return (403, "text/html", FORBIDDEN)
    pages = {"": HOME, "missing": MISSING, "shell": SHELL.format(host)}
    page = pages.get(path, f"<title>{path}</title><p>{path} words")
    return (200, "text/html", f"{page}<!-- {host} -->".encode())


@pytest.fixture(name="crawled", scope="module")
def _crawled(tmp_path_factory):
    """The sites, and what a crawl with text files has logged: status and annotations by URL's host
    and path.
    """
    folder = tmp_path_factory.mktemp("block pages")
    with serving(answer, folder, NAMES) as sites:
        seeds = [f"http://{name}/\n" for name in NAMES] + [
            f"http://denied.test/{number}\n" for number in range(9)
        ]
        (folder / "seeds.txt").write_text("".join(seeds))
        settings = {
            "HOSTS_FILE": sites.hosts_file(folder / "hosts", NAMES),
            "OUTPUTS": "warc cdxj text",
        }
        crawl = Crawl(folder / "job", {"seeds": folder / "seeds.txt"}, settings)
        assert crawl.run() == 0
        requested = [named(url) for url in sites.requested]
    lines = [line.split() for line in (crawl.jobdir / "logs/crawl.log").read_text().splitlines()]
    log = {named(line[3]): (line[1], line[-1]) for line in lines}
    return crawl, requested, log


def test_the_log_says_what_an_answer_is(crawled):
    """As an annotation, with its vendor; pages have none."""
    _, _, log = crawled

    assert log["blocked.test", ""] == ("200", "wall:anubis")
    assert log["open.test", "missing"] == ("200", "soft404")
    assert log["open.test", "shell"] == ("200", "shell")
    assert log["open.test", ""] == log["open.test", "plain"] == ("200", "-")


def test_pages_that_need_scripts_are_named(crawled):
    """In the last lines, with the setting that renders them, and in the report, by host."""
    crawl, _, _ = crawled

    assert "2 pages of 2 hosts seem to need scripts: use -s RENDER=auto" in crawl.output.read_text()
    told = report(crawl.jobdir, {}, 0.0).partition("Hosts whose pages seem to need scripts")[2]
    assert "open.test" in told.partition("</table>")[0]


def test_links_of_block_pages_are_not_followed(crawled):
    """Those of a shell are, and of what its words alone call a soft 404: words may err."""
    _, requested, _ = crawled

    assert ("blocked.test", "beyond") not in requested
    assert ("open.test", "linked") in requested
    assert ("open.test", "beyond") in requested


def test_a_parked_domain_is_one_answer(crawled):
    """Its links lead to more of the same; it is in no text, but in the archive."""
    crawl, requested, log = crawled
    (index,) = [path.read_text() for path in (crawl.jobdir / "warc").glob("*.cdxj")]

    assert log["parked.test", ""] == ("200", "parked")
    assert {path for host, path in requested if host == "parked.test"} == {"robots.txt", ""}
    assert not any("parked" in line["url"] for line in written(crawl.jobdir))
    assert '"http://parked.test/"' in index


@pytest.mark.parametrize("purpose", ["archive", "search"])
def test_links_of_block_pages_are_not_followed_where_owners_words_are_looked_for(purpose, tmp_path):
    """A crawl with a purpose reads each document for what its owner says of its use."""
    with serving(answer, tmp_path, ["blocked.test"]) as sites:
        (tmp_path / "seeds.txt").write_text("http://blocked.test/\n")
        settings = {
            "HOSTS_FILE": sites.hosts_file(tmp_path / "hosts", ["blocked.test"]),
            "PURPOSE": purpose,
        }
        crawl = Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, settings)
        assert crawl.run() == 0

        assert {path for _, path in map(named, sites.requested)} == {"robots.txt", ""}
    assert crawl.stats["recognised/wall/anubis"] >= 1


def test_block_pages_are_not_in_the_text(crawled):
    """All that is recognised is counted."""
    crawl, _, _ = crawled

    assert not any("blocked" in line["url"] for line in written(crawl.jobdir))
    assert crawl.stats["recognised/soft404"] == 2
    assert any("plain" in line["url"] for line in written(crawl.jobdir))


def test_block_pages_are_in_the_archive(crawled):
    """Every answer is kept, whatever it says."""
    crawl, _, _ = crawled
    (index,) = [path.read_text() for path in (crawl.jobdir / "warc").glob("*.cdxj")]

    assert '"http://blocked.test/"' in index
    assert '"http://open.test/missing"' in index


def test_a_challenge_for_robots_txt_allows_nothing(crawled):
    """It is an answer of neither the site nor its owner.

    A plain 403 allows everything, as RFC 9309 says.
    """
    _, requested, _ = crawled

    assert {path for host, path in requested if host == "locked.test"} == {"robots.txt"}
    assert ("open.test", "plain") in requested


def test_a_page_in_place_of_robots_txt_allows_everything_but_with_202(crawled):
    """A 202 puts off; any other page says nothing of what is allowed."""
    _, requested, _ = crawled

    assert {path for host, path in requested if host == "later.test"} == {"robots.txt"}
    assert ("odd.test", "plain") in requested


def test_a_host_whose_robots_txt_puts_off_is_deferred(tmp_path):
    """As one whose robots.txt has no answer: a crawl in which only such hosts are left ends."""
    names = ["later.test", "odd.test"]
    with serving(answer, tmp_path, names) as sites:
        (tmp_path / "seeds.txt").write_text("http://later.test/\nhttp://odd.test/\n")
        settings = {
            "HOSTS_FILE": sites.hosts_file(tmp_path / "hosts", names),
            "HOST_MAX_FAILURES": 2,
            "HOST_RETRY_WAIT": 1,
            "HOST_PATIENCE": 1000,
            "OUTAGE_END_WAIT": 0.5,
            "CLOSESPIDER_TIMEOUT": 20,
        }
        crawl = Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, settings)
        assert crawl.run() == 0

    assert (crawl.stats["deferred"], crawl.stats["queued"]) == (1, 1)
    assert "later.test (politeness)" not in crawl.output.read_text()


def test_a_host_whose_every_page_is_a_denial_is_left_alone(crawled):
    """Its first page shows it, whatever its robots.txt is: an error that is no challenge allows
    everything.
    """
    crawl, _, log = crawled

    assert log["denied.test", "robots.txt"] == ("403", "wall:denial")
    assert {
        what for (host, path), what in log.items() if host == "denied.test" and path != "robots.txt"
    } == {("403", "wall:denial")}
    assert crawl.stats["deferred"] == 11  # ten of it, and one of another host: none has ended


def test_a_host_with_one_denied_page_is_well(crawled):
    """That page has ended, all others are fetched; what the server itself forbids is no block page."""
    _, requested, log = crawled

    assert log["open.test", "denied"] == ("403", "wall:denial")
    assert log["open.test", "private"] == ("403", "-")
    assert {"denied", "private", "missing", "shell", "plain", "linked", "beyond"} < {
        path for host, path in requested if host == "open.test"
    }
