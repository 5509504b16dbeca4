"""`scrapy crawl web -a since=cdx+http://…`: a crawl that stores what a CDX server's archive does
not have.
"""

import time
from collections import Counter

import pytest

from tests.end_to_end.test_since import PAGES, Tree, logged, records
from tests.support.cdx_server import cdx_server
from tests.support.crawling import Crawl, scrapy, wait_until
from tests.support.hive_server import stream_server
from tests.support.hives import Hive
from tests.support.named_sites import sites
from tests.support.reports import Report
from tests.support.wayback import needs_pywb, wayback
from webcrawl.base.dates import digits
from webcrawl.tools.verify_crawl import verify


class Pages(Tree):
    """With a robots.txt that has a payload."""

    def __call__(self, host, path, headers):
        return (
            b"User-agent: *\n" if path == "/robots.txt" else super().__call__(host, path, headers)
        )


def archived(crawl, index):
    """Crawls, and has the server know what that stored."""
    assert crawl.run() == 0
    index.add_crawl(crawl.jobdir)
    latest = max(line.split(b" ")[1].decode() for line in index.lines)
    # what is of the same second may be the later crawl's own
    wait_until(lambda: digits(time.time())[:14] > latest)


@pytest.fixture(name="months")
def _months(tmp_path):
    """A site, crawls of it, and the index of what the first one has."""
    tree = Pages()
    with sites(tree, all_headers=True) as served, cdx_server() as index:

        def crawl(name, since=None, **settings):
            (tmp_path / name).mkdir()
            made = served.crawl(tmp_path / name, ["site.test"], **settings)
            if since:
                made.arguments["since"] = since
            return made

        crawl.tree, crawl.index = tree, index
        crawl.first = crawl("jan")
        archived(crawl.first, index)
        yield crawl


def kinds(crawl):
    return Counter(
        record.kind for record in records(crawl) if record.kind in ("response", "revisit")
    )


@pytest.mark.parametrize("pywb", [False, True])
def test_of_an_unchanged_web_nothing_is_stored(months, pywb):
    """Every answer is a revisit record, by the words of OutbackCDX and of pywb, and refers to the
    record it repeats.
    """
    months.index.pywb = pywb
    second = months("feb", months.index.address)
    assert second.run() == 0, second.output.read_text()

    assert kinds(second) == {"revisit": len(logged(second))}
    assert second.stats["since/identical"] == len(logged(second))
    assert logged(second).keys() == logged(months.first).keys()
    assert {note for _, note in logged(second).values()} == {"since:digest"}
    whole = {
        one.fields["WARC-Target-URI"]: one.fields
        for one in records(months.first)
        if one.kind == "response"
    }
    for record in records(second):
        if record.kind == "revisit":
            original = whole[record.fields["WARC-Refers-To-Target-URI"]]
            assert record.fields["WARC-Payload-Digest"] == original["WARC-Payload-Digest"]
            assert original["WARC-Date"].startswith(record.fields["WARC-Refers-To-Date"][:-1])
    assert len(months.index.requested) == 2, "once at the start, once for the host"
    assert [*verify(second.jobdir, Counter())] == []


def test_what_changed_is_stored(months):
    """Every fifth page is new each month."""
    months.tree.month = 2
    second = months("feb", months.index.address)
    assert second.run() == 0

    changed = sum(number % 5 == 4 for number in range(PAGES))
    assert kinds(second)["response"] == changed
    assert logged(second)["/4"] == ("200", "-")


@pytest.mark.campaign
def test_a_crawl_and_a_server_together(months):
    """A third crawl needs the second only, which knows the server: what neither of them has is
    stored.
    """
    months.tree.month = 2
    second = months("feb", months.index.address)
    assert second.run() == 0
    third = months("mar", second.jobdir)
    assert third.run() == 0

    assert kinds(third) == {"revisit": len(logged(third))}
    assert third.stats["since/identical"] + third.stats["since/unmodified"] == len(logged(third))


@pytest.mark.campaign
def test_each_drone_of_a_hive_asks_for_its_own_hosts(tmp_path):
    """No host is requested by two, and of an unchanged web nothing is stored."""
    names = [f"d{number}.test" for number in range(8)]
    (tmp_path / "hosts").write_text("".join(f"127.0.0.1 {name}\n" for name in names))
    settings = {"HOSTS_FILE": tmp_path / "hosts", "POLITENESS_FACTOR": 0, "POLITENESS_MIN_DELAY": 0}

    def page(host, path, _):
        return f"{host} {path} <a href=/1><a href=/2>".encode()

    with (
        sites(page, all_headers=True) as served,
        cdx_server() as index,
        stream_server(tmp_path / "server") as server,
    ):
        seeds = [served.url(name) for name in names]
        (tmp_path / "seeds.txt").write_text("\n".join(seeds))
        first = Crawl(tmp_path / "jan", {"seeds": tmp_path / "seeds.txt"}, settings)
        archived(first, index)
        requested = len(index.requested)
        arguments = {"since": index.address}
        hive = Hive(
            tmp_path / "feb", None, server.url, 2, settings, arguments, seeds=seeds
        ).start_all()
        assert hive.wait() == [0, 0]

    assert sum((kinds(drone) for drone in hive.crawls), Counter()) == {
        "revisit": kinds(first)["response"]
    }
    assert min(kinds(drone).total() for drone in hive.crawls) > 0
    assert len(index.requested) - requested == len(hive.crawls) + len(names), (
        "each drone once at its start, then each host once"
    )


@pytest.mark.campaign
def test_a_server_that_fails_costs_no_page(months, tmp_path):
    """Pages are stored whole while it does not answer, counted, and told of at the end."""
    second = months("feb", months.index.address)
    requested = len(months.index.requested)

    def fail(site):
        if len(months.index.requested) - requested > 1:  # not the check at the start
            site.say(500, b"")
        else:
            site.say(200, b"")

    months.index.fail = fail
    assert second.run() == 0

    assert kinds(second) == {"response": len(logged(second))}
    assert logged(second).keys() == logged(months.first).keys()
    unanswered = second.stats["since/unasked"]
    assert unanswered == len(logged(second))
    said = second.output.read_text()
    assert (
        said.count(
            "status 500; until it answers, pages that only this server knows are stored in full"
        )
        == 1
    )
    counted = (
        f"{unanswered} answers stored in full, because the CDX server of -a since did not answer"
    )
    assert counted in said
    assert (
        scrapy(
            ["report", str(second.jobdir), "-o", str(tmp_path / "r.html")],
            second.project,
            tmp_path / "out",
        )
        == 0
    )
    said = Report((tmp_path / "r.html").read_text()).section("wrong")
    assert counted in said


def test_a_server_that_is_not_there(months):
    """A new crawl does not begin, with one line; one that has begun goes on."""
    second = months("feb", months.index.address.replace("months", "mouths"))
    assert second.run() == 1
    assert "mouths: status 404" in second.output.read_text()
    assert "Traceback" not in second.output.read_text()
    second.arguments["since"] = months.index.address
    second.settings["CLOSESPIDER_PAGECOUNT"] = 3
    assert second.run() == 0
    del second.settings["CLOSESPIDER_PAGECOUNT"]
    months.index.fail = lambda site: site.say(503, b"")

    assert second.run() == 0
    assert logged(second).keys() == logged(months.first).keys()


@pytest.mark.campaign
def test_kill_9_leaves_no_reference_to_what_is_lost(months):
    """An indexer adds what the crawl has just written.

    Of that a kill takes a part, to which no record may refer.
    """
    months.index.lines = []  # nothing but the crawl's own
    second = months("feb", months.index.address, OUTPUTS="warc cdxj", CLOSESPIDER_PAGECOUNT=3)
    assert second.run() == 0
    second.settings.pop("CLOSESPIDER_PAGECOUNT")
    running = second.start(CHECKPOINT_INTERVAL=60, POLITENESS_MIN_DELAY=0.1)

    def has_added():
        months.index.lines = []
        months.index.add_crawl(second.jobdir)
        return len(months.index.lines) > 5

    wait_until(has_added)
    running.kill()
    assert second.run() == 0

    assert kinds(second) == {"response": len(logged(months.first))}
    urls = [
        record.fields["WARC-Target-URI"] for record in records(second) if record.kind == "response"
    ]
    assert len(urls) == len({*urls})
    assert [*verify(second.jobdir, Counter())] == []


@needs_pywb
def test_with_a_real_pywb(months, tmp_path):
    """Its collection has January's archive; of an unchanged web nothing is stored in February."""
    collection = tmp_path / "pywb/collections/months"
    (collection / "archive").mkdir(parents=True)
    (collection / "indexes").mkdir()
    (collection / "indexes/index.cdxj").write_bytes(b"".join(sorted(months.index.lines)))
    with wayback(tmp_path / "pywb") as address:
        second = months("feb", f"cdx+{address}/cdx")
        assert second.run() == 0, second.output.read_text()

    assert kinds(second) == {"revisit": len(logged(second))}
