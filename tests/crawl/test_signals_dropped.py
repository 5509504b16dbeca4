"""Signals that wait when their host is given up by command."""

from tests.support.steered import Steered
from webcrawl.crawl.revisit.record import PageRecord

HOSTS, MINUTES = ("a", "b"), 5


def test_of_a_host_that_is_dropped(tmp_path):
    """None of its pages is fetched, none of its signals waits for ever, and those of other hosts
    have their turns.
    """
    world = Steered(tmp_path, REVISIT_POLICY="fixed", REVISIT_AGE=86_400, REVISIT_RATE=1)
    revisiting, now = world.crawl.parts.revisiting, world.crawl.parts.clock()
    pages = [f"http://{host}/{number}" for host in HOSTS for number in range(2)]
    for url in pages:  # fetched just now: their signals have to wait
        revisiting.revisits.keep(PageRecord(url, "L", now, digest=1), now)
        assert revisiting.tell(url, now)
    assert len(revisiting.revisits) == 2 * len(pages)

    assert world.order("host a drop").startswith("a is given up")
    requested = world.run(60 * MINUTES)

    assert [host for host, _ in requested] == ["b", "b"]
    assert len(revisiting.revisits) == len(pages)
    assert world.crawl.parts.frontier.queued == 0
    world.end()
    log = (tmp_path / "job/logs/crawl.log").read_text().splitlines()
    ended = {line.split()[3]: line.split()[1] for line in log}
    assert ended == {url: "-5002" if "//a/" in url else "200" for url in pages}
