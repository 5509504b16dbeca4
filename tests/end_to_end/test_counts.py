"""A crawl whose pages are tried again: all commands count the same pages and failures."""

import gzip
import json
import re
from collections import Counter

from pyarrow import parquet

from tests.support.all_outputs import HAS_DOCUMENTS
from tests.support.crawling import Crawl, scrapy
from tests.support.failing_site import TRUNCATED, WHOLE, FailingHosts
from tests.support.places import ROOT
from webcrawl.store.jobdir import crawl_line
from webcrawl.tools.report.report_source import read_source
from webcrawl.tools.verify_crawl import verify

PAGES = 14
SETTINGS = {
    "PRIVATE_NETWORKS_ALLOWED": "127.0.0.0/8",
    "POLITENESS_FACTOR": 0,
    "POLITENESS_MIN_DELAY": 0.02,
}


def behave(_host, path, times):
    """One page comes at the third attempt, one is truncated once, one never comes, and one is not
    there.
    """
    fails = {
        "/3": 503 if times < 3 else WHOLE,
        "/5": TRUNCATED if times == 1 else WHOLE,
        "/13": 503,
        "/7": 404,
    }
    return fails.get(path, WHOLE)


def pages_of(jobdir, kind):
    """The URLs of a table's rows."""
    files = sorted((jobdir / "tables").glob(f"{kind}-*.parquet"))
    return [row["url"] for row in parquet.read_table(files).to_pylist()]


def lines_of(path, number):
    return [line.split("\t")[number] for line in path.read_text().splitlines()]


def test_every_output_has_a_page_once(tmp_path):
    """Outputs and feeds have the answer that ended a URL, however often that was requested, and no
    other.
    """
    with FailingHosts(1, PAGES, behave).serving() as hosts:
        (tmp_path / "hosts").write_text(hosts.hosts_file)
        (tmp_path / "seeds.txt").write_text(hosts.seeds())
        outputs = "warc cdxj tables text neardup pagefiles" + " documents" * HAS_DOCUMENTS
        settings = {
            "HOSTS_FILE": tmp_path / "hosts", "PORTS_ALLOWED": hosts.port, "OUTPUTS": outputs,
            "FEEDS": json.dumps({str(tmp_path / "pages.jsonl"): {"format": "jsonlines"}}),
        }  # fmt: skip
        crawl = Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, {**SETTINGS, **settings})
        assert crawl.run() == 0
    job = crawl.jobdir
    texts = b"".join(
        gzip.decompress(path.read_bytes()) for path in sorted((job / "text").iterdir())
    )
    found = {
        "feed": [
            json.loads(line)["url"] for line in (tmp_path / "pages.jsonl").read_text().splitlines()
        ],
        "text": [json.loads(line)["url"] for line in texts.splitlines()],
        "pages": pages_of(job, "pages"),
        "neardup": lines_of(job / "logs/neardup.log", 1),
        "pagefiles": lines_of(job / "logs/store.log", 1),
        **({"documents": pages_of(job, "documents")} if HAS_DOCUMENTS else {}),
    }

    assert {
        name: [url for url, count in Counter(urls).items() if count > 1]
        for name, urls in found.items()
    } == {name: [] for name in found}
    assert len(found["feed"]) == PAGES
    # /7 and /13 are errors
    assert {len(found[name]) for name in ("text", "neardup", "pagefiles")} == {PAGES - 2}
    assert [*verify(job, Counter())] == []


def test_all_commands_count_the_same(tmp_path):
    """Answers are lines of crawl.log, pages those of status 2xx but robots.txt, failures attempts
    that failed.

    Nine pages were counted of a site of six: with robots.txt, a redirect and a page that was not
    there.
    """
    with FailingHosts(1, PAGES, behave).serving() as hosts:
        (tmp_path / "hosts").write_text(hosts.hosts_file)
        (tmp_path / "seeds.txt").write_text(hosts.seeds())
        names = {
            "HOSTS_FILE": tmp_path / "hosts",
            "PORTS_ALLOWED": hosts.port,
            "OUTPUTS": "warc cdxj tables",
        }
        crawl = Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, {**SETTINGS, **names})
        assert crawl.run() == 0
    found = Counter()
    assert list(verify(crawl.jobdir, found)) == []
    words = ["process", crawl.jobdir, "-s", f"JOBDIR={tmp_path / 'read'}", "-s", "OUTPUTS="]
    assert scrapy(list(map(str, words)), ROOT, tmp_path / "process.out") == 0
    lines = list(map(crawl_line.read, (crawl.jobdir / crawl_line.LOG).read_bytes().splitlines()))
    (pages, answers, failures) = (crawl.stats[name] for name in ("pages", "answers", "failures"))
    said, statistics = crawl.output.read_text(), read_source(crawl.jobdir).statistics

    answered = PAGES + 1  # with robots.txt
    assert answered == answers == len(lines) == found["rows"] == statistics.lines
    assert pages == PAGES - 2 == statistics.documents  # /7 is not there, /13 an error
    assert f" {pages} pages in " in said
    assert f" {pages} pages in " in (tmp_path / "process.out").read_text()
    assert "1 answer gave no page (404: 1)" in said
    again = sum(hosts.requested.values()) - answered
    assert (
        f"{again} answers left out, because their URLs were fetched again later"
        in (tmp_path / "process.out").read_text()
    )
    assert failures == 5  # 503, of two pages
    assert ", 5 failures" in said
    assert re.search(r"server errors: 5, retries included \(503: 5\); 1 URL ended with one", said)
