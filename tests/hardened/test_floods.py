"""One site's links, however many, do not keep a crawl from the other sites."""

# Seen on 2026-11-21, before this was fixed, pages of the good hosts with the flood and without it: 172 of 596 beside
# the endless domain; 80 to 90 of 380 beside the six pages (200 of 375 beside four). Each of these stops the event
# loop three times: while it is read (0.15 s on an idle machine), while its links are submitted (0.2 s), and while
# they enter the frontier (0.3 s).

from itertools import count

from tests.support.crowds import Crowd, side_by_side
from tests.support.known import known_fault

pytestmark = known_fault

GOOD = [f"good{number}.test" for number in range(20)]
SETTINGS = {"CONCURRENT_REQUESTS": 16, "POLITENESS_FACTOR": 0, "POLITENESS_MIN_DELAY": 0.2}


def page(host, path):
    """Two new pages of the same host."""
    number = int(path.strip("/") or 0)
    links = "".join(f'<a href="/{one}">x</a>' for one in (2 * number + 1, 2 * number + 2))
    return f"<title>{host} {number}</title>{links}".encode()


def pages(crowd):
    """Those of the good hosts."""
    return sum(crowd.asked[host] for host in GOOD)


def test_a_domain_of_endless_hosts_leaves_the_others_their_turns(tmp_path):
    """Beside a domain whose every page links to 200 new hosts of its own, 20 good hosts give 60 % of their pages."""
    numbers = count()

    def flood(host, path):
        if host in GOOD:
            return page(host, path)
        links = "".join(f'<a href="http://h{next(numbers)}.evil.test:{beside.port}/">x</a>' for _ in range(200))
        return f"<title>{host}</title>{links}".encode()

    alone, beside = Crowd(page), Crowd(flood)
    seeds = [f"www{number}.evil.test" for number in range(5)]
    side_by_side(tmp_path, 6, [(alone, GOOD), (beside, GOOD + seeds)], **SETTINGS)

    assert sum(beside.asked.values()) > pages(beside)
    assert pages(beside) >= 0.6 * pages(alone)


def test_pages_of_84_000_links_leave_the_others_their_turns(tmp_path):
    """While the links of six pages of 2 MB each are taken in, 20 good hosts give 60 % of their pages."""
    links = "".join(f'<a href="/{number}">x</a>' for number in range(84_000)).encode()

    def flood(host, path):
        return page(host, path) if host in GOOD else host.encode() + (links if path == "/" else path.encode())

    alone, beside = Crowd(page), Crowd(flood)
    big = [f"big{number}.test" for number in range(6)]
    side_by_side(tmp_path, 4, [(alone, GOOD), (beside, big + GOOD)], **SETTINGS)

    assert sum(beside.asked.values()) > pages(beside)
    assert pages(beside) >= 0.6 * pages(alone)
