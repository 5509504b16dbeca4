"""A crawl of blocked hosts, killed once: some let it in after a while, one never does."""

from collections import Counter
from itertools import islice

import pyarrow.parquet as pq
import pytest

from tests.support.crawling import Crawl, scrapy, wait_until
from tests.support.crawling_sites import serving
from tests.support.fulltext import written
from tests.support.places import ROOT
from tests.support.reports import Report
from webcrawl.tools.report.report_page import report
from webcrawl.tools.verify_crawl import verify

pytestmark = pytest.mark.xdist_group("unblocked hosts")  # one crawl for all tests

NAMES = ["gate.test", "shop.test", "shut.test"]
ANUBIS = b'<!doctype html><title>Not a bot?</title><script id="anubis_challenge"></script><h1>Not a bot?</h1>'
CHALLENGE = b"<!doctype html><title>Just a moment...</title><script>window._cf_chl_opt={}</script>"
PAGES = ["", *"123456789"]
LINKS = "".join(f"<a href=/{page}>{page}</a>" for page in PAGES)
# which answers
BLOCKED_HOSTS = {"gate.test": range(4), "shop.test": range(4, 9), "shut.test": range(1 << 30)}


class Doors:
    """Answers requests for pages, counted by host."""

    def __init__(self):
        self.pages = dict.fromkeys(NAMES, 0)

    def __call__(self, url):
        host, _, path = url.removeprefix("http://").partition("/")
        if path == "robots.txt":
            return 404, "text/plain", b""
        self.pages[host] += 1
        if self.pages[host] - 1 not in BLOCKED_HOSTS[host]:
            return 200, "text/html", f"<title>{path}</title>{LINKS}<p>{host} page {path}".encode()
        return (503, "text/html", CHALLENGE) if host == "gate.test" else (200, "text/html", ANUBIS)


@pytest.fixture(name="crawled", scope="module")
def _crawled(tmp_path_factory):
    """The crawl, and for each URL its annotations in the log."""
    folder, doors = tmp_path_factory.mktemp("block pages"), Doors()
    with serving(doors, folder, NAMES) as sites:
        (folder / "seeds.txt").write_text(
            "".join(f"http://{name}/\n" for name in NAMES) + "http://shut.test/1\n"
        )
        settings = {
            "HOSTS_FILE": sites.hosts_file(folder / "hosts", NAMES),
            "OUTPUTS": "warc cdxj text tables",
            "CHECKPOINT_INTERVAL": 1,
        }
        crawl = Crawl(folder / "job", {"seeds": folder / "seeds.txt"}, settings)
        running = crawl.start()
        wait_until(lambda: doors.pages["gate.test"] > 1 and doors.pages["shop.test"] > 5)
        running.kill()
        doors.pages["gate.test"] = 3  # one more block page: those before may not have been kept
        assert crawl.run() == 0
    log = {}
    for line in (crawl.jobdir / "logs/crawl.log").read_text().splitlines():
        fields = line.split()
        log.setdefault(fields[3], []).append(fields[-1])
    return crawl, log


def test_what_was_blocked_is_fetched_once_the_host_is_open(crawled):
    """All pages of these hosts are in the text; no block page is, whatever its status."""
    crawl, log = crawled
    texts = [line["url"] for line in written(crawl.jobdir)]

    assert sorted(texts) == sorted(f"http://{host}/{page}" for host in NAMES[:2] for page in PAGES)
    assert all(log[url][-1] == "-" for url in texts)
    assert "wall:cloudflare" in {notes for host in texts for notes in log[host]}


def test_what_stays_blocked_stays_queued(crawled):
    """The last lines say so, and the crawl ends."""
    crawl, log = crawled

    assert set(log["http://shut.test/"]) == {"wall:anubis"}
    assert crawl.stats["reason"] == "finished"
    assert crawl.stats["deferred"] == 2
    assert "2 URLs of 1 deferred host; 1 host behind block pages" in crawl.output.read_text()


def test_the_index_names_what_is_no_page(crawled):
    """Replay tools find it beside the status."""
    crawl, _ = crawled
    (path,) = islice((crawl.jobdir / "warc").glob("*.cdxj"), 1)
    lines = [line for file in path.parent.glob("*.cdxj") for line in file.read_text().splitlines()]

    assert any('"recognised": "wall:anubis"' in line for line in lines if "shut" in line)
    assert not any('"recognised"' in line for line in lines if "robots" in line)


def test_the_table_of_pages_names_them_too(crawled):
    """Each answer has its row, and those that are pages have nothing there."""
    crawl, log = crawled
    files = (crawl.jobdir / "tables").glob("pages-*.parquet")
    rows = [
        row
        for path in files
        for row in pq.read_table(path, columns=["url", "recognised"]).to_pylist()
    ]
    shut = {row["recognised"] for row in rows if row["url"] == "http://shut.test/"}

    assert shut == {"wall:anubis"}
    assert sum(row["recognised"] is None for row in rows if "robots" not in row["url"]) == 20
    assert len(rows) == sum(map(len, log.values()))


def test_why_says_that_its_host_is_blocked(crawled, tmp_path):
    """In one clear answer."""
    crawl, _ = crawled

    assert scrapy(["why", str(crawl.jobdir), "http://shut.test/"], ROOT, tmp_path / "out") == 0
    said = " ".join((tmp_path / "out").read_text().split())
    assert "queued" in said
    assert "its host answers with block pages (anubis)" in said


def test_the_report_names_hosts_and_vendors(crawled, tmp_path):
    """With what an owner can do."""
    crawl, _ = crawled

    assert (
        scrapy(
            ["report", str(crawl.jobdir), "-o", str(tmp_path / "r.html")], ROOT, tmp_path / "out"
        )
        == 0
    )
    page = (tmp_path / "r.html").read_text()
    assert "1 host behind block pages (anubis: 1)" in page
    assert "Web Bot Auth" in page


def test_the_report_counts_each_url_once(crawled):
    """However often a block page came for it; what waits for its blocked host has not ended."""
    crawl, _ = crawled

    page = Report(report(crawl.jobdir, {}, 0.0))
    assert page.tiles()["URLs ended"] == page.tiles()["pages"] == "20"
    assert [row[0] for row in page.rows("outcome-table")] == ["200"]
    assert {row[0]: row[2:5] for row in page.numbers("seed-table")} == {
        **{f"http://{host}/": [10, 10, 0] for host in NAMES[:2]},
        **{f"http://shut.test/{page}": [0, 0, 0] for page in ("", "1")},
    }


def test_nothing_is_damaged(crawled):
    """After a kill too."""
    crawl, _ = crawled

    assert list(verify(crawl.jobdir, Counter())) == []
