"""Our own network is out, and no host is left that could show that it is back."""

import pytest

from tests.support.changing_site import Document
from tests.support.revisiting import Web
from tests.support.steered import steered
from webcrawl.net.errors import ConnectFailed, Sign

HOUR = 3600


class Answering(Web):
    """Each answer shows that there is a network."""

    def fetch(self, link):
        self.crawl.parts.uplink.record_answer(link.url, self.now)
        super().fetch(link)


def lose(crawl, now):
    """There is no route to three hosts."""
    error = ConnectFailed("no route")
    error.sign = Sign.NO_ROUTE
    for host in "xyz":
        crawl.parts.uplink.failed(f"http://{host}.test/", error, now, now)
    assert crawl.parts.uplink.out


def test_only_paused_hosts_are_left(tmp_path):
    """As with a network, the crawl ends when OUTAGE_END_WAIT is over: nobody would ever be requested."""
    with steered(tmp_path, OUTAGE_END_WAIT=900) as one:
        one.add("a", 3)
        lose(one.crawl, one.seconds)
        one.order("host a pause")
        one.run(3)
        assert one.crawl.pending
        assert one.run(901) == []
        assert not one.crawl.pending


def test_others_are_waited_for(tmp_path):
    """However long that takes."""
    with steered(tmp_path, OUTAGE_END_WAIT=900) as one:
        one.add("a", 3)
        one.add("b", 3)
        one.order("host a pause")
        lose(one.crawl, one.seconds)
        assert one.crawl.pending
        one.seconds += 10 * HOUR
        assert one.crawl.pending


@pytest.mark.parametrize("policy", ["fixed", "uniform"])
def test_pages_that_become_due(tmp_path, policy):
    """They show it, and a crawl that fetches pages again goes on."""
    pages = [f"http://{host}.test/" for host in "bcd"]
    one = Answering(
        tmp_path / "crawl", {"*": Document(b"<p>")}, REVISIT_POLICY=policy, REVISIT_AGE=HOUR
    )
    one.seed(*pages)
    one.run(10)
    lose(one.crawl, one.now)
    one.run(4.5 * HOUR)

    assert not one.crawl.parts.uplink.out
    assert all(len(one.times(page)) > 3 for page in pages)
    one.crawl.close()


def test_seeds_that_come(tmp_path):
    """What is found, or ordered, shows it, too."""
    one = Answering(tmp_path / "crawl", {"*": Document(b"<p>")}, REVISIT_POLICY="none")
    lose(one.crawl, one.now)
    one.seed(*(f"http://{host}.test/" for host in "abc"))
    one.run(100)

    assert not one.crawl.parts.uplink.out
    assert len(one.requested) == 3
    one.crawl.close()
