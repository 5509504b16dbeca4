"""A site that leaves in the middle of a crawl: killed, resumed, searched."""

import pytest

from tests.support.commands import command
from tests.support.crawling import Crawl, wait_until
from webcrawl.crawl.control.client import Client

OUT = "site1.test"
FAST = {
    "POLITENESS_FACTOR": 0,
    "POLITENESS_MIN_DELAY": 0,
    "CONCURRENT_REQUESTS": 8,
    "CHECKPOINT_INTERVAL": 0.3,
}


@pytest.fixture(name="made")
def _made(tmp_path, simweb):
    server = simweb(4, 2000, latency=0.05)
    (tmp_path / "seeds.txt").write_text("".join(f"{url}\n" for url in server.world.seeds()))
    settings = {"DNS_NAMESERVERS": server.nameserver, "OUTPUTS": "warc cdxj index", **FAST}
    return server, Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, settings)


def found(jobdir):
    """The answers of a search, as text."""
    done = command("scrapy", "search", jobdir, "host:" + OUT, "--json", "-n", "1000")
    assert done.returncode == 0, done.stderr
    return done.stdout


def requested(server):
    return sum(hit.host == OUT for hit in server.log.hits)


def test_it_stays_away(made):
    """What was answered survives kill -9; no request follows in the next run; a search does not
    find what is stored.
    """
    server, crawl = made
    running = crawl.start()
    wait_until(lambda: requested(server) > 20 and (crawl.jobdir / "control.sock").is_socket())
    wait_until(lambda: command("scrapy", "search", crawl.jobdir, "host:" + OUT, "--json").stdout)
    words = (
        "exclude",
        OUT,
        "--by",
        "joe",
        "--reason",
        "a letter",
        "--until",
        "2999-12-31",
        "--forget",
    )
    done = command("scrapy", "ctl", crawl.jobdir, *words)
    assert (done.returncode, done.stdout.split(";")[0]) == (
        0,
        f"{OUT} is excluded until 3000-01-01T00:00:00Z",
    )
    record = Client(crawl.jobdir).ask("excluded")
    running.kill()

    before, begun = requested(server), len(server.log.hits)
    assert found(crawl.jobdir) == ""
    running = crawl.start()
    wait_until(lambda: len(server.log.hits) > begun + 100)
    again, why = (
        Client(crawl.jobdir).ask("excluded"),
        command("scrapy", "why", crawl.jobdir, f"http://{OUT}/new"),
    )
    running.kill()

    assert again == record
    assert [(one["rule"], one["by"], one["why"], one["holds"]) for one in record["excluded"]] == [
        (OUT, "joe", "a letter", True)
    ]
    assert requested(server) == before
    assert "by joe" in why.stdout
