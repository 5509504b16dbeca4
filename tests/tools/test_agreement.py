"""All commands say the same of a crawl: of its hosts, of its URLs, and of how many there were."""

import json
import shutil
from collections import Counter
from contextlib import ExitStack
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest

from tests.support.commanding import Console
from tests.support.crawling import Crawl, wait_until
from webcrawl.base.url_text import host_of
from webcrawl.frontier.fifo import Blocks, Pool
from webcrawl.frontier.health import HealthRules
from webcrawl.frontier.hosts import HostTable
from webcrawl.lab.simweb import World, running
from webcrawl.record.fulltext.text_search import SearchAll
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.jobdir import crawl_line, index_line
from webcrawl.store.jobdir.host_row import Health, health_of, host_rows, read
from webcrawl.store.jobdir.job_dir import JobDir
from webcrawl.tools.optout_records import RecordFinder
from webcrawl.tools.report.log_summary import LogFindings
from webcrawl.tools.report.report_source import read_source
from webcrawl.tools.site_account import RequestedSite, account_of
from webcrawl.tools.verify_crawl import verify
from webcrawl.tools.why.answer import OpenedCrawls
from webcrawl.urls.exclusion_rules import Forgotten

pytestmark = pytest.mark.xdist_group("agreement")  # one crawl for all
MANY = 20
MIX = dict.fromkeys(
    ("redirect_301", "status_404", "status_500", "duplicate", "robots_disallow"), 0.1
)
MOST = HealthRules().failures


@pytest.fixture(name="crawled", scope="module")
def _crawled(tmp_path_factory):
    """A finished crawl whose hosts may give few pages; nobody may write there."""
    folder = tmp_path_factory.mktemp("agreement")
    with ExitStack() as stack:
        world = World(24, 400, mix=MIX, size=(600, 900), port=0, addresses=4)
        server = stack.enter_context(running(world, latency=0.0))
        (folder / "seeds.txt").write_text("\n".join([*world.seeds(), "http://nowhere.test/"]))
        settings = {
            "DNS_NAMESERVERS": server.nameserver,
            "OUTPUTS": "warc,cdxj,links,tables,requests,index",
            "HOST_MAX_PAGES": 12,
            "HOST_PATIENCE": 0,
            "HOST_RETRY_WAIT": 0.1,
            "RETRY_TIMES": 0,
        }
        assert Crawl(folder / "job", {"seeds": folder / "seeds.txt"}, settings).run() == 0
    job, found = folder / "job", Counter()
    damages = list(verify(job, found))
    with JobDir.open(job).snapshot() as snapshot:
        hosts = {one.name: one for one in map(read, host_rows(snapshot))}
    lines = [
        one
        for one in map(crawl_line.read, (job / "logs/crawl.log").read_bytes().splitlines())
        if one
    ]
    return SimpleNamespace(
        job=job, damages=damages, found=found, hosts=hosts, lines=lines, source=read_source(job)
    )


@pytest.fixture(name="answers", scope="module")
def _answers(crawled):
    """What `why` says of the last URL of each of some hosts, of all kinds there are."""
    kinds = {}
    for line in crawled.lines:
        if not line.is_prerequisite:
            kinds[line.status, host_of(line.url)] = line
    chosen = [*dict.fromkeys(sorted(kinds.values(), key=lambda line: (line.status, line.url)))]
    step = max(len(chosen) // MANY, 1)
    some = chosen[::step][: MANY + 5]
    with OpenedCrawls(crawled.job) as crawls:
        return list(zip(some, crawls.answers([line.url for line in some]), strict=True))


def table(job, name):
    paths = sorted((job / "tables").glob(f"{name}-*.parquet"))
    return [row for path in paths for row in pq.read_table(path).to_pylist()]


def test_verify_finds_nothing_wrong(crawled):
    """The crawl is whole, and has hosts of each kind that the others are asked about."""
    assert crawled.damages == []
    assert {health_of(one, MOST) for one in crawled.hosts.values()} >= {
        Health.SPENT,
        Health.HEALTHY,
        Health.GIVEN_UP,
    }
    assert len(crawled.hosts) > MANY


def test_all_commands_agree_on_a_host(crawled, answers, tmp_path):
    """A host's health, pages and queue are the same in the crawl's memory, the table, the report
    and `why`.
    """
    shutil.copytree(crawled.job / "state", tmp_path / "state")
    db = CrawlDB(tmp_path / "state")
    crawl, rows = HostTable(db, Pool(Blocks(db), 1 << 20), 100), {}
    for row in table(crawled.job, "hosts"):
        rows[row["url_host_name"]] = row
    given_up = dict(crawled.source.state.given_up)
    for name, host in crawled.hosts.items():
        word = HealthRules().health(crawl.get(name)).value
        assert (rows[name]["health"], health_of(host, MOST).value) == (word, word), name
        assert (rows[name]["pages"], rows[name]["queued"]) == (host.pages, host.waiting), name
        assert (name in given_up) is (word == "given up"), name
    db.close()
    for line, answer in answers:
        said, name = answer.details["host"], host_of(line.url)
        assert said["health"] == rows[name]["health"], name
        assert (said["pages"], said["queued"]) == (rows[name]["pages"], rows[name]["queued"]), name


def test_urls(crawled, answers):
    """A URL's status, size and record are the same in the log, the table, the index, the account
    and `why`.
    """
    pages = {}
    for row in table(crawled.job, "pages"):
        pages[row["url"]] = row
    index = {}
    for path in (crawled.job / "warc").glob("*.cdxj"):
        for one in map(index_line.check, path.read_bytes().splitlines(keepends=True)):
            index.setdefault(one.url, []).append((one.file, one.offset, one.length))
    assert len(answers) >= MANY
    for line, answer in answers:
        row = pages[line.url]
        assert (row["fetch_status"], answer.details["log"][-1]) == (line.status, line.text)
        account = account_of(crawled.job, RequestedSite(host_of(line.url)))
        ends = [one.end for one in account.requests if one.end is not None] + account.not_requested
        assert [one for one in ends if one.url == line.url][-1] == line
        if line.size is None:
            assert answer.details["archive"] == []
            continue
        place = (row["warc_filename"], row["warc_record_offset"], row["warc_record_length"])
        assert index[line.url][-1] == place
        last = answer.details["archive"][-1]
        assert (last["file"].rpartition("/")[2], last["offset"], last["length"]) == place
        places = {
            (one.file.name, one.offset, one.length) for one in RecordFinder(crawled.job, line.url)
        }
        assert place in places


def test_numbers(crawled):
    """Lines, hosts and URLs that wait are as many for the log, verify, the report and stats.json."""
    stats, source = json.loads((crawled.job / "stats.json").read_text()), crawled.source
    log = LogFindings()
    log.read(crawled.job / crawl_line.LOG, source.outputs[crawl_line.LOG])
    ended = Counter(line.status for line in crawled.lines if not line.is_prerequisite)

    lines = (len(crawled.lines), log.lines, crawled.found[crawl_line.LOG], source.statistics.lines)
    assert set(lines) == {stats["statistics"]["urls"]} == {len(table(crawled.job, "pages"))}
    assert (
        source.statistics.outcomes
        == ended
        == {int(status): n for status, n in stats["statistics"]["outcomes"].items()}
    )
    assert (
        source.state.hosts
        == crawled.found["hosts"]
        == len(crawled.hosts)
        == len(table(crawled.job, "hosts"))
    )
    assert source.queued == crawled.found["queued"] == stats["queued"]


def test_search(crawled, answers):
    """`search` has the documents that the log, the table of pages and `why` have as fetched, host
    by host.
    """
    fetched = {row["url"]: row for row in table(crawled.job, "pages") if row["fetch_status"] == 200}
    kept = set()
    for line in crawled.lines:
        if (
            line.status == 200
            and line.mime == "text/html"
            and crawl_line.DUPLICATE not in line.annotations
        ):
            kept.add(line.url)
    search = SearchAll([crawled.job], Forgotten([]))
    for name in sorted({host_of(url) for url in kept})[:MANY]:
        total, found = search.find(f"host:{name}", 1000)
        urls = {answer.url for answer in found}
        assert total == len(urls)
        assert urls == {url for url in kept if host_of(url) == name}
        assert urls <= fetched.keys()
    for line, answer in answers:
        _, found = search.find(f"host:{host_of(line.url)}", 1000)
        if line.url in {one.url for one in found}:
            assert (answer.state, answer.kind) == ("fetched", "answered 200")


@pytest.fixture(name="paused", scope="module")
def _paused(tmp_path_factory):
    """A crawl that runs, has stopped fetching, and has just taken a checkpoint."""
    folder = tmp_path_factory.mktemp("paused")
    world = World(MANY, 800, mix={"status_404": 0.1}, size=(600, 900), port=0, addresses=4)
    with running(world, latency=0.02) as server:
        (folder / "seeds.txt").write_text("\n".join(world.seeds()))
        settings = {"DNS_NAMESERVERS": server.nameserver, "POLITENESS_MIN_DELAY": 0.05}
        crawl = Crawl(folder / "job", {"seeds": folder / "seeds.txt"}, settings).start()
        log, ask = folder / "job" / crawl_line.LOG, Console(folder / "job")
        wait_until(lambda: log.exists() and log.read_bytes().count(b"\n") > 4 * MANY)
        wait_until(lambda: ask("status")["queued"] > 8 * MANY)
        ask("pause")
        wait_until(lambda: not ask("status")["in_flight"])
        ask("checkpoint")
        yield SimpleNamespace(job=folder / "job", ask=ask, source=read_source(folder / "job"))
        ask("stop")
        assert crawl.wait() == 0


def test_status_of_a_crawl_that_runs(paused):
    """`ctl status` counts what stats.json, verify and the report count as of the same moment."""
    status, found = paused.ask("status"), Counter()
    assert list(verify(paused.job, found)) == []
    stats = json.loads((paused.job / "stats.json").read_text())

    for name in ("pages", "answers", "queued", "hosts", "failures"):
        assert status[name] == stats[name], name
    assert status["state"] == "paused"
    assert status["queued"] == found["queued"] == paused.source.queued > 0
    assert status["answers"] == found[crawl_line.LOG] == paused.source.statistics.lines
    assert 0 < status["pages"] == paused.source.statistics.documents < status["answers"]
    assert status["seen/keys"] == found["keys"]


def test_hosts_of_a_crawl_that_runs(paused):
    """`ctl host` and `ctl queue` say what the state and `why` say of twenty hosts, and of the first
    URLs they have.
    """
    with JobDir.open(paused.job).snapshot() as snapshot:
        rows = {one.name: one for one in map(read, host_rows(snapshot))}
    assert len(rows) == MANY
    said = {name: paused.ask(f"host {name}") for name in rows}
    queues = {name: paused.ask(f"queue {name} -n 3")["urls"] for name in rows}
    first = {
        row["url"]: (name, place) for name in rows for place, row in enumerate(queues[name], 1)
    }
    with OpenedCrawls(paused.job) as crawls:
        answers = {answer.url: answer for answer in crawls.answers([*first])}

    for name, row in rows.items():
        assert (said[name]["pages"], said[name]["queued"]) == (row.pages, row.waiting), name
        assert health_of(row, MOST) is Health.HEALTHY
    assert len(first) > MANY
    for url, (name, place) in first.items():
        answer = answers[url]
        assert (answer.state, answer.details["queue"]["place"]) == ("queued", place), url
        record = answer.details["host"]
        for key in ("host", "health", "failures", "pages", "queued", "address"):
            assert record[key] == said[name][key], (name, key)
        assert record["delay"]["crawl_delay"] == said[name]["delay"]["crawl_delay"], name
        assert answer.details["budget"] == said[name]["budget"], name


def test_urls_of_a_crawl_that_runs(paused):
    """`ctl about` knows what the log has, and `why` says that it was fetched."""
    lines = [
        one
        for one in map(crawl_line.read, (paused.job / crawl_line.LOG).read_bytes().splitlines())
        if one
    ]
    urls = [one.url for one in lines if not one.is_prerequisite][:MANY]
    about = paused.ask(f"about {' '.join(urls)}")
    with OpenedCrawls(paused.job) as crawls:
        answers = [*crawls.answers(urls)]

    assert [about[url]["in_flight"] for url in urls] == [False] * MANY
    assert [answer.state for answer in answers] == ["fetched"] * MANY
    assert [answer.details["live"] for answer in answers] == [about[url] for url in urls]
