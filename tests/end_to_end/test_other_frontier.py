"""A crawl with another frontier than ours."""

import pytest

from tests.support.commands import command
from tests.support.crawling import POLITE, Crawl, wait_until
from tests.support.places import ROOT
from webcrawl.lab.simweb import gaps, mercator, overlaps, robots_first, truth, wait_until_idle

FIFO = "fifo_frontier.FifoFrontier"
EXAMPLE = ROOT / "docs/examples/frontier"


def crawl_of(tmp_path, server, **settings):
    (tmp_path / "seeds.txt").write_text("".join(f"{url}\n" for url in server.world.seeds()))
    settings = {
        "DNS_NAMESERVERS": server.nameserver,
        "FRONTIER": FIFO,
        "CHECKPOINT_INTERVAL": 0.3,
        **settings,
    }
    environment = {"SCRAPY_SETTINGS_MODULE": "webcrawl.settings"}
    return Crawl(
        tmp_path / "job",
        {"seeds": tmp_path / "seeds.txt"},
        settings,
        project=EXAMPLE,
        environment=environment,
    )


def test_a_plain_one_fetches_each_page_politely(tmp_path, simweb):
    """The crawl fetches what it has to, each URL once, one at a time per host, robots.txt first;
    verify is content.

    But it says that it has not looked at the URLs that wait: they are not in a form that it knows.
    """
    server = simweb(6, 60)
    crawl = crawl_of(tmp_path, server)

    assert crawl.run() == 0, crawl.output.read_text()

    wait_until_idle(server)
    hits = list(server.log.hits)
    assert [*truth(server.world, server.world.seeds()).complaints(hits)] == []
    assert [
        *overlaps(hits),
        *gaps(hits, mercator(server.world, **POLITE)),
        *robots_first(hits),
    ] == []
    verified = command("scrapy", "verify", crawl.jobdir)
    assert verified.returncode == 0
    assert f"frontier: the URLs of {FIFO} were not checked, " in verified.stdout


def test_a_kill_loses_nothing(tmp_path, simweb):
    """After kill -9 it goes on from its last checkpoint, and every page is in the log once."""
    server = simweb(6, 90)
    crawl = crawl_of(tmp_path, server)
    running = crawl.start()
    wait_until(lambda: (crawl.jobdir / "stats.json").exists() and crawl.stats["pages"] > 15)
    running.kill()

    assert crawl.run() == 0, crawl.output.read_text()

    logged = [
        line.split()[3] for line in (crawl.jobdir / "logs/crawl.log").read_text().splitlines()
    ]
    wanted = truth(server.world, server.world.seeds())
    assert wanted.must <= set(logged)
    assert len(logged) == len(set(logged))


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("REVISIT_POLICY", "fixed"),
        ("HIVE_DRONES", 2),
        ("HOST_CONNECTIONS", "a.test=2"),
        ("POLITENESS_PER_IP", "on"),
    ],
)
def test_what_it_cannot_do_is_refused_in_a_line(tmp_path, setting, value):
    """The line names the setting, its value and what is needed."""
    words = (
        "-s",
        f"FRONTIER={FIFO}",
        "-s",
        f"{setting}={value}",
        "-s",
        f"JOBDIR={tmp_path / 'job'}",
    )
    words += ("--user-agent", "tests/1 (+http://tests.test/)")
    done = command("webcrawl", "crawl", "web", "-a", "seeds=http://a.test/", *words, cwd=EXAMPLE)

    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"{setting} = ")
    assert line.endswith(f"(with FRONTIER = {FIFO})")
