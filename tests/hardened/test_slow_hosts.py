"""Hosts that answer slowly do not take the other hosts' turns."""

# Pages of the good hosts in 6 s with the others and without them, before slots were kept for hosts
# that answer: 0 of
# 584 where everything drips, 20 of 548 where robots.txt does not, 20 of 584 where only the bodies
# do.

import pytest

from tests.support.crawling import Crawl
from tests.support.crowds import HEAD, Crowd, served, side_by_side

SECONDS = 6
GOOD = [f"good{number}.test" for number in range(20)]
SLOW = [f"slow{number}.test" for number in range(150)]
SETTINGS = {
    "CONCURRENT_REQUESTS": 16,
    "DOWNLOAD_TIMEOUT": 30,
    "POLITENESS_FACTOR": 0,
    "POLITENESS_MIN_DELAY": 0.2,
    "TRAP_RULES": False,
}


def page(host, path):
    number = int(path.strip("/") or 0)
    links = "".join(f'<a href="/{10 * number + one}">x</a>' for one in range(1, 11))
    return f"<title>{host} {number}</title>{links}".encode()


def pages(crowd):
    """Those of the good hosts."""
    return sum(crowd.requested[host] for host in GOOD)


@pytest.mark.parametrize(
    ("robots", "at_once"),
    [
        pytest.param(True, 0, id="all"),
        pytest.param(False, 0, id="heads"),
        pytest.param(False, len(HEAD), id="bodies"),
    ],
)
def test_hosts_that_drip_leave_the_others_their_turns(tmp_path, robots, at_once):
    """Beside 150 hosts whose answers come a byte per second, 20 good ones give 60 % of what they
    give without them.
    """

    def drips(host, path):
        return at_once if host.startswith("slow") and (robots or path != "/robots.txt") else None

    alone, beside = Crowd(page), Crowd(page, drips)
    side_by_side(tmp_path, SECONDS, [(alone, GOOD), (beside, GOOD + SLOW)], **SETTINGS)

    assert pages(beside) >= 0.6 * pages(alone)


def test_an_answer_that_is_cancelled_is_requested_again(tmp_path):
    """With one slot, a host whose first answer drips gives it up to the others; nothing is lost,
    and nobody charged.
    """
    dripped = []

    def drips(host, path):
        if host == "late.test" and path == "/" and not dripped:
            dripped.append(path)
            return 0
        return None

    def pages(host, path):
        links = (
            "".join(f'<a href="/{number}">x</a>' for number in range(1, 6)) if path == "/" else ""
        )
        return f"<title>{host}{path}</title>{links}".encode()

    crowd = Crowd(pages, drips)
    port = crowd.port
    with served(crowd):
        (tmp_path / "seeds.txt").write_text(
            "".join(f"http://{host}:{port}/\n" for host in [*GOOD, "late.test"])
        )
        settings = {
            "DNS_NAMESERVERS": crowd.nameserver,
            "CONCURRENT_REQUESTS": 1,
            "DOWNLOAD_TIMEOUT": 300,
        }
        crawl = Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, settings)
        assert crawl.run() == 0

    assert crowd.requested == dict.fromkeys(GOOD, 6) | {"late.test": 7}
    assert crawl.stats["frontier/cut"] == 1
    assert crawl.stats["failures"] == 0
    lines = (crawl.jobdir / "logs/crawl.log").read_text().splitlines()
    assert [
        line.split()[1] for line in lines if line.split()[3].endswith(f"late.test:{port}/")
    ] == ["200"]
