"""A crawl of every row of the table of odd statuses: of hosts that give nothing else, and of a URL
among good ones.
"""

import re
from collections import Counter

import pytest

from tests.support.crawling import wait_until
from tests.support.hostile import rows
from tests.support.named_sites import sites
from webcrawl.store.jobdir.host_row import Health, health_of, host_rows, read
from webcrawl.store.jobdir.job_dir import JobDir

pytestmark = pytest.mark.xdist_group("odd statuses")  # one crawl for all tests

ROWS = rows("Odd statuses")
# pages, more than make a host familiar (frontier/health.py); the odd one is found by the last of
# them
FAMILIAR = 14
PAGES = 2 * FAMILIAR
TIMES = {"once": 1, "3 times": 3, "6 times": 6}
FAILS = {Health.FAILING: "failing", Health.DEFERRED: "failing"}  # by the number of failures


def odd(row):
    """Status and headers of this row's answer."""
    status, *fields = row[0].split(", ", 1)
    return int(status), [tuple(field.split(": ", 1)) for field in fields]


def answer(host, path, _):
    """`only7.test` gives nothing but the seventh row's answer, `one7.test` gives it for one page."""
    kind, number = (
        host.removesuffix(".test").rstrip("0123456789"),
        int("".join(filter(str.isdigit, host))),
    )
    if path == "/robots.txt":
        return None
    if kind == "only" or path == "/odd":
        status, headers = odd(ROWS[number])
        return (
            status,
            headers,
            f"<!doctype html><title>What it is</title><p>These words say nothing: {host}".encode(),
        )
    page = int(path[1:] or 0)
    links = [*range(page + 1, PAGES + 1)[:1], *["odd"] * (page == FAMILIAR)]
    words = " ".join(f"<a href=/{link}>{link}</a>" for link in links)
    return f"<!doctype html><title>{host}</title><p>{host}{path}{words}".encode()


@pytest.fixture(name="crawled", scope="module")
def _crawled(tmp_path_factory):
    """How often each URL was requested, the last annotations of each, and the health of each host."""
    hosts = [f"{kind}{number}.test" for number in range(len(ROWS)) for kind in ("only", "one")]
    with sites(answer) as served:
        crawl = served.crawl(
            tmp_path_factory.mktemp("odd"), hosts, HOST_PATIENCE=100, OUTAGE_END_WAIT=100
        )
        running = crawl.start()
        wanted = Counter(
            {(f"one{number}.test", "/odd"): TIMES[row[3]] for number, row in enumerate(ROWS)}
        )
        wanted.update((f"one{number}.test", f"/{PAGES}") for number in range(len(ROWS)))
        wait_until(lambda: wanted <= Counter(served.pages()), pause=0.05)
        running.interrupt()
        assert running.wait() == 0
        requested = Counter(served.pages())
    notes = {}
    for line in (crawl.jobdir / "logs/crawl.log").read_text().splitlines():
        fields = line.split()
        if not fields[4].endswith("P"):
            notes[fields[3].split("/")[2].partition(":")[0], fields[3][-4:]] = fields[-1].split(",")
    with JobDir.open(crawl.jobdir).snapshot() as snapshot:
        health = {
            row.name.partition(":")[0]: health_of(row, 5) for row in map(read, host_rows(snapshot))
        }
    return requested, notes, health


@pytest.mark.parametrize("number", range(len(ROWS)), ids=[row[0] for row in ROWS])
class TestOddStatuses:
    def test_the_url(self, crawled, number):
        """Among good ones it is requested as often as the table says, and has these annotations."""
        requested, notes, _ = crawled
        _, _, noted, times, _ = ROWS[number]
        mine = [
            note for note in notes[f"one{number}.test", "/odd"] if not re.fullmatch(r"\d+t|-", note)
        ]

        assert requested[f"one{number}.test", "/odd"] == TIMES[times]
        assert mine == ([] if noted == "-" else noted.split(", "))
        assert all(requested[f"one{number}.test", f"/{page}"] == 1 for page in range(1, PAGES + 1))

    def test_the_host(self, crawled, number):
        """That gives nothing else, it is as the table says."""
        _, _, health = crawled
        found = health[f"only{number}.test"]

        assert FAILS.get(found, found.value) == ROWS[number][4]
