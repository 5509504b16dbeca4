"""The archives of a hive, made by hand: pages, near-duplicates, duplicates, and rules for use."""

from random import Random

from tests.support.hive_jobs import named
from tests.support.warc_crawl import Archive, exchange
from webcrawl.base.model import Link

DRONES, PAGES = 3, 24  # of each drone
WORDS = [f"word{number}" for number in range(900)]
ROBOTS = b"User-agent: *\nContent-Signal: ai-train=no\n"


def archived_hive(root):
    """A hive's folder. Each drone has a host of its own, and several files.

    Every fourth page of a drone has a body that all drones have, every other fourth one is nearly
    the page before. The robots.txt of a host is in the drone's first file.
    """
    for drone in range(DRONES):
        host = f"http://{'abc'[drone]}.test"
        archive = Archive(
            root / f"drone-{drone}", max_size=9000, prefix=f"web-{drone:03}", seed=drone
        )
        archive.write(
            exchange(f"{host}/robots.txt", ROBOTS, head=b"HTTP/1.1 200 OK\r\n\r\n"),
            Link(f"{host}/robots.txt", "P"),
        )
        for number in range(PAGES):
            archive.write(
                exchange(f"{host}/{number}", body(drone, number)),
                Link(f"{host}/{number}"),
                duplicate=number % 4 == 0,
            )
        archive.stop()
    named(root, range(DRONES))
    return root


def body(drone, number):
    """The page with this number of a drone."""
    if number % 4 == 0:
        return _prose(Random(number // 12))  # the same on all drones
    own = Random(1000 * drone + number - (number % 4 == 2))
    return _prose(own, b"and more" if number % 4 == 2 else b"")


def _prose(chance, more=b""):
    words = [" ".join(chance.choices(WORDS, k=60)) for _ in range(5)]
    return b"<title>t</title>" + b"".join(b"<p>%s.</p>" % text.encode() for text in words) + more


def bodies():
    """All different pages."""
    return {body(drone, number) for drone in range(DRONES) for number in range(PAGES)}
