"""Whatever a crawl waits for, somebody wakes it: small random crawls, without a network and in
simulated time.
"""

from collections import Counter
from random import Random

import pytest

from tests.support.crawling import wait_until
from tests.support.examples import in_campaign
from tests.support.timed_crawl import assembled
from webcrawl.base.model import Exchange, Outcome, Status, Timings
from webcrawl.base.url_text import host_of
from webcrawl.crawl import crawl as crawl_module
from webcrawl.crawl.ground import Surroundings
from webcrawl.frontier.seen import disk
from webcrawl.frontier.seen.protocol import Layout
from webcrawl.net.errors import ConnectTimeout
from webcrawl.urls.seeds.seed_reader import Seeds

START = 1.7e9
VAIN = 5000  # looks without a link, while time passes
# With one failure more a host is deferred, and a crawl may end while it waits for it; with one more
# a URL is given up. The web is of five domains, too few to tell that an outage is our own.
HOST_FAILURES = 4  # HOST_MAX_FAILURES - 1
URL_FAILURES = 2  # RETRY_TIMES


class Small:
    """A small web and a crawl of it, with slices and stores so small that each step is one of many."""

    slots = 0  # downloads at once; 0: drawn for each run
    steps = 100_000

    def __init__(self, folder, random):
        self.folder, self.random, self.seconds = folder, random, 0.0
        hosts, each, most = (
            random.choice([1, 3, 12]),
            random.choice([1, 3, 30]),
            random.choice([0, 1, 5]),
        )
        pages = [
            f"http://h{host}.d{host % 5}.test/{page}"
            for host in range(hosts)
            for page in range(each)
        ]
        self.links = {url: random.choices(pages, k=random.randrange(most + 1)) for url in pages}
        self.seeds = {
            name: random.choices(pages, k=random.choice([1, 5, 60, 300]))
            for name in ("a", "b", "later")
        }
        for name, urls in self.seeds.items():
            (folder / f"{name}.txt").write_text("".join(f"{url}\n" for url in urls))
        self.sown = ["a", "b"]  # the lists that the crawl has been given
        self.slow = set(random.sample(pages, len(pages) // 10))  # these answer the second time
        self.away = -1.0  # until then nobody answers
        self.requested, self.fetched = set(), []
        self.host_failures = Counter()  # in a row
        self.url_failures = Counter()
        sizes = {"chunk": (2, 20), "budget": (3, 100), "largest": (5, 200), "least": (1, 1000)}
        sizes |= {"row": (2, 64), "fresh": (2, 100), "at_once": (1, 5, 4096)}
        self.sizes = Layout(**{name: random.choice(some) for name, some in sizes.items()})
        self.settings = {
            "JOBDIR": str(folder / "job"),
            "OUTPUTS": "",
            "ROBOTSTXT_OBEY": random.random() < 0.5,
            "SOFT404_PROBE": random.choice([0, 1]),
            "POLITENESS_FACTOR": 0,
            "POLITENESS_MIN_DELAY": random.choice([0, 1, 10]),
            "HOST_RETRY_WAIT": random.choice([1, 60]),
        }
        self.open()

    def open(self):
        around = Surroundings(
            seeds=Seeds(f"{self.folder}/a.txt,{self.folder}/b.txt"), awaits_ends=True
        )
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(disk, "layout", lambda _: self.sizes)
            wall, steady = (lambda: START + self.seconds), (lambda: self.seconds)
            self.crawl, self.visitor = assembled(self.settings, wall, steady, around)
        self.crawl.begin()

    def restart(self):
        self.crawl.checkpoint(last=True)
        self.crawl.close()
        self.open()

    def end(self, link):
        """A download ends, and its page's links are found."""
        self.seconds += 0.01
        outcome = Outcome(200, 0.1, at=START + self.seconds, ended=self.seconds)
        uplink = self.crawl.parts.uplink
        if self.fails(link):
            wait = uplink.failed(link.url, ConnectTimeout(""), self.seconds - 0.01, self.seconds)
            outcome.status, outcome.doubtful = Status.CONNECT_FAILED, wait is None
            if wait is not None:
                outcome.status, outcome.wait = Status.UNTRIED, wait
            elif link.is_prerequisite:
                self.visitor.robots_said(link, outcome.status)
            self.crawl.finish(link, outcome, None)
            return
        uplink.record_answer(link.url, self.seconds)
        exchange = self.answer(link.url)
        self.visitor.follow(self.visitor.visit(link, exchange))
        outcome.status = exchange.status
        if exchange.status == 200:
            self.fetched.append(link.url)
        self.crawl.finish(link, outcome, exchange)

    def fails(self, link):
        """Whether this download fails: the first of a slow page, and those in an outage as long as
        host and URL bear it.
        """
        host, url = host_of(link.url), link.url
        is_slow = url in self.slow - self.requested
        self.requested.add(url)
        is_borne = (
            self.host_failures[host] < HOST_FAILURES and self.url_failures[url] < URL_FAILURES
        )
        if is_borne and (is_slow or self.seconds < self.away):
            self.host_failures[host] += 1
            self.url_failures[url] += 1
            return True
        self.host_failures[host] = 0
        return False

    def answer(self, url):
        status, body = 404, b""
        if url in self.links:
            status, body = (
                200,
                "".join(f'<a href="{link}">x</a>' for link in self.links[url]).encode(),
            )
        headers = [(b"Content-Type", b"text/html")]
        head = b"HTTP/1.1 %d x\r\n\r\n" % status
        return Exchange(
            url, b"", status, head, headers, body, body, body, "127.0.0.1", START, Timings()
        )

    def run(self):
        """To the end; AssertionError if it waits for nobody."""
        running, vain = [], 0
        slots = self.slots or self.random.choice([1, 8])
        for step in range(self.steps):
            self.happens(step, running)
            link = self.take() if len(running) < slots else None
            running += [link] if link is not None else []
            if link is None and len(running) < slots:
                running += self.look_between()
            if running and (link is None or self.random.random() < 0.5):
                self.end(running.pop(self.random.randrange(len(running))))
                vain = 0
            elif link is None:
                # before the other look: the thread may end between the two
                merging = self.crawl.parts.seen.busy
                ready = self.crawl.next_ready()
                if self.is_over():
                    return
                vain += 1
                if ready is None and not merging:
                    self.nobody_wakes()
                assert vain < VAIN, "it is woken in vain"
                wait_until(lambda: not self.crawl.parts.seen.busy)
                self.seconds = max(self.seconds, (ready or 0.0) - START + 1e-6)

    def take(self):
        return self.crawl.next_link(self.crawl.parts.clock())

    def look_between(self):
        """Return the links of a look before the crawl is woken."""
        return []

    def is_over(self):
        return not self.crawl.pending

    def nobody_wakes(self):
        raise AssertionError("nobody wakes it")

    def happens(self, step, running):
        """What comes between: more seeds, a checkpoint, another run, an outage, a pause."""
        chance = self.random.random()
        if step == 50:
            self.crawl.parts.seeding.add(str(self.folder / "later.txt"))
            self.sown.append("later")
        elif chance < 0.002:
            self.crawl.checkpoint()
        elif chance < 0.003 and not running:
            self.restart()
        elif chance < 0.0035:
            self.away = self.seconds + self.random.choice([5, 100])

    def reachable(self):
        found, left = set(), [url for name in self.sown for url in self.seeds[name]]
        while left:
            url = left.pop()
            left += self.links[url] if url not in found else ()
            found.add(url)
        return found


@pytest.mark.parametrize("seed", [*range(4), *in_campaign(*range(4, 300))])
def test_a_crawl_comes_to_its_end_and_has_all(tmp_path, monkeypatch, seed):
    """However seeds, links, merges, failures and restarts follow each other: all that can be
    reached, and once.
    """
    random = Random(seed)
    for module in (crawl_module,):
        monkeypatch.setattr(module, "SLICE", random.choice([1, 3, 500]))
    small = Small(tmp_path, random)
    try:
        small.run()
    finally:
        small.crawl.close()

    assert sorted(small.fetched) == sorted(small.reachable())
