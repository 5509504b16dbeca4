"""The owner's account against the server's own log."""

import csv
import io
from collections import defaultdict

import pytest

from tests.support.commands import command
from tests.support.crawling import Crawl, wait_until
from webcrawl.frontier.wait_words import FOR_OWNERS
from webcrawl.lab.simweb import World, running, wait_until_idle
from webcrawl.tools.account_page import page
from webcrawl.tools.site_account import account_of, may_have_lost_end, site_of

pytestmark = pytest.mark.xdist_group("account")  # one crawl for all tests

KINDS = ("robots_disallow", "robots_delay", "robots_missing", "robots_nothing", "robots_recovers")


@pytest.fixture(scope="module", name="crawled")
def _crawled(tmp_path_factory):
    """A crawl that was killed once and then ended, and what its server saw."""
    folder = tmp_path_factory.mktemp("account")
    world = World(
        10, 120, port=0, tls_port=0, addresses=4, mix=dict.fromkeys(KINDS, 1 / len(KINDS))
    )
    with running(world) as server:
        (folder / "seeds.txt").write_text("\n".join(world.seeds()))
        settings = {
            "DNS_NAMESERVERS": server.nameserver,
            "OUTPUTS": "warc requests",
            "CHECKPOINT_INTERVAL": 0.3,
        }
        crawl = Crawl(folder / "job", {"seeds": folder / "seeds.txt"}, settings)
        first = crawl.start()
        wait_until(lambda: server.log.count >= 60)
        first.kill()
        wait_until_idle(server)
        assert crawl.run() == 0, crawl.output.read_text()
        wait_until_idle(server)
    return crawl.jobdir, server.log.hits


def by_host(hits):
    found = defaultdict(list)
    for hit in sorted(hits, key=lambda hit: hit.started):
        found[hit.host].append(hit)
    return found


def test_it_is_the_servers_own_log(crawled):
    """Line for line, with every status, for each host, but for what the window of the kill leaves
    open.
    """
    jobdir, hits = crawled
    for host, seen in by_host(hits).items():
        account = account_of(jobdir, site_of(host))
        known = [one for one in account.requests if not may_have_lost_end(account, one)]
        (since, until, _), *others = account.gaps
        # a server may hear of it later
        lines = {id(hit): one.at for one, hit in paired(account.requests, seen)}
        clear = [hit for hit in seen if not since - 1 <= lines.get(id(hit), hit.wall) <= until]

        assert others == []
        assert {hit.url for hit in seen} == {one.url for one in account.requests}
        assert [hit.url for hit in clear] == [
            one.url for one in known if not since - 1 <= one.at <= until
        ]
        assert all(
            one.end.status == hit.status for one, hit in paired(known, seen) if one.end is not None
        )
        assert 0 <= len(account.requests) - len(seen) <= 1


def paired(known, seen):
    """Requests with the hits at their times."""
    for one in known:
        yield (
            one,
            min(
                (hit for hit in seen if hit.url == one.url), key=lambda hit: abs(hit.wall - one.at)
            ),
        )


def test_waits_and_their_rules(crawled):
    """No request is sooner after the host's last answer than its rule says; a Crawl-delay is named
    where it decides.
    """
    jobdir, hits = crawled
    rules = set()
    for host in by_host(hits):
        for one in account_of(jobdir, site_of(host)).requests:
            rules.add(one.rule)
            assert one.rule in FOR_OWNERS
            assert one.waited is None or one.rule == "new" or one.waited >= one.needed - 0.005

    assert rules >= {"new", "politeness", "crawl-delay", "retry-after"}


def test_the_page_and_the_sheet(crawled, tmp_path):
    """Both have every request; the page says what is not known, how the site was found, and what
    robots.txt forbids.
    """
    jobdir, _ = crawled
    done = command("scrapy", "account", jobdir, "site2.test", "-o", tmp_path / "it.html")
    assert (done.returncode, done.stderr) == (0, "")
    assert (
        command(
            "scrapy", "account", jobdir, "http://SITE2.test/x", "-o", tmp_path / "it.csv"
        ).returncode
        == 0
    )
    account = account_of(jobdir, site_of("site2.test"))
    text = (tmp_path / "it.html").read_text()
    rows = [*csv.DictReader(io.StringIO((tmp_path / "it.csv").read_text()))]

    assert [row["url"] for row in rows] == [one.url for one in account.requests]
    assert text.count("<tr>") > len(account.requests)
    assert "stopped abruptly" in text
    assert "a list of addresses from which the crawl started" in text
    forbidden = account_of(jobdir, site_of("site0.test")).forbidden + account.forbidden
    assert all(f"{end.url}" in page(account, 0.0) for end in account.forbidden)
    assert forbidden
