"""A crawl of hosts of which one answers whatever is requested with a page."""

import pytest

from tests.support.crawling import Crawl
from tests.support.crawling_sites import serving
from tests.support.fulltext import written

pytestmark = pytest.mark.xdist_group("soft404")  # one crawl for all tests

NAMES = ["soft.test", "hard.test", "small.test"]
SHOP = "<!doctype html><title>Our shop</title><p>Have a look at these. {}<p><a href=/found-there>more</a>"
TEXT = " ".join(f"offer{number}" for number in range(60))
PAGES = [str(number) for number in range(40)]
FEW = PAGES[:8]


def parts(url):
    host, _, path = url.removeprefix("http://").partition("/")
    return host, path


def answer(url):
    host, path = parts(url)
    if path == "robots.txt":
        return 404, "text/plain", b""
    known = FEW if host == "small.test" else PAGES
    if path in ("", *known):
        lost = [f"lost-{number}" for number in range(2 if host == "small.test" else 30)]
        links = "".join(
            f"<a href=/{number}>{number}</a>" for number in (known if not path else lost)
        )
        return 200, "text/html", f"<title>Page {path}</title><p>{host} page {path} {links}".encode()
    if host == "hard.test":
        return 404, "text/html", b"<title>Not found</title>"
    return 200, "text/html", SHOP.format(TEXT).encode()


@pytest.fixture(name="crawled", scope="module")
def _crawled(tmp_path_factory):
    """The crawl, what was requested, and the log's lines."""
    folder = tmp_path_factory.mktemp("soft")
    with serving(answer, folder, NAMES) as sites:
        (folder / "seeds.txt").write_text("".join(f"http://{name}/\n" for name in NAMES))
        settings = {
            "HOSTS_FILE": sites.hosts_file(folder / "hosts", NAMES),
            "OUTPUTS": "warc cdxj text",
        }
        settings |= {"CONTENT_SEEN": "process", "SOFT404_PROBE": 20}  # else the digest would do
        crawl = Crawl(folder / "job", {"seeds": folder / "seeds.txt"}, settings)
        assert crawl.run() == 0
        requested = [parts(url) for url in sites.requested]
    log = [line.split() for line in (crawl.jobdir / "logs/crawl.log").read_text().splitlines()]
    return crawl, requested, log


def test_a_host_is_asked_once_for_what_cannot_exist(crawled):
    """After 20 pages, in the folder of the last one; a small host is not."""
    crawl, _, log = crawled
    probes = [fields for fields in log if "probe" in fields[-1].split(",")]

    assert sorted(parts(fields[3])[0] for fields in probes) == ["hard.test", "soft.test"]
    assert all(fields[4].endswith("S") for fields in probes)
    assert crawl.stats["probes"] == 2
    assert crawl.stats["probes/soft404"] == 1


def test_pages_like_it_are_no_pages(crawled):
    """They are named in the log, and not in the text; real ones are."""
    crawl, _, log = crawled
    soft = {parts(fields[3]) for fields in log if fields[-1] == "soft404"}
    texts = {parts(line["url"]) for line in written(crawl.jobdir)}

    assert soft == {("soft.test", f"lost-{number}") for number in range(30)}
    assert {("soft.test", page) for page in PAGES} <= texts
    assert not texts & soft
    assert crawl.stats["soft404/by probe"] == len(soft)


def test_nothing_follows_from_them(crawled):
    """Neither from the probe; where nothing was learned, links are followed as ever."""
    _, requested, _ = crawled

    assert ("soft.test", "found-there") not in requested
    assert ("small.test", "found-there") in requested
