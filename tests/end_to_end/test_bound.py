"""Real crawls name what bounds them."""

import json
import os
import re
import signal
import socket
import struct
import threading
import time
from contextlib import contextmanager
from functools import partial

import pytest

from tests.support.crawling import Crawl, wait_until
from tests.support.crowds import Crowd, served
from tests.support.examples import in_campaign
from tests.support.named_sites import sites
from tests.support.prepared import descriptors, start
from tests.support.slow_pipelines import Awaiting, Blocking
from webcrawl.crawl.bound import in_words

FAST = {"POLITENESS_FACTOR": 0, "POLITENESS_MIN_DELAY": 0}
NO_BUDGET = {"DOMAIN_BUDGET_PAGES": 1_000_000, "DOWNLOAD_TIMEOUT": 20}
LONG = 4  # seconds
FOCUS = "webcrawl.frontier.prioritizers.focus.ByFocus"


def links(host, number=20):
    return "".join(f'<a href="/{host}/{place}">{place}</a>' for place in range(number)).encode()


def slowly(host, path, _):
    """Answers after a while."""
    if path == "/robots.txt":
        return None
    time.sleep(1.5)
    return links(host)


def bound_by(crawl, cause, words):
    """Whether that is the cause of most of some seconds so far, in figures and in words."""
    stats = crawl.stats if (crawl.jobdir / "stats.json").exists() else {}
    seconds = {name: value for name, value in stats.items() if name.startswith("bound/")}
    most = max(seconds, key=seconds.__getitem__, default="")
    return (
        sum(seconds.values()) >= 2 and most == f"bound/{cause}" and re.match(words, stats["bound"])
    )


def sum_of_looks(crawl):
    """The seconds that have been charged to any cause."""
    return sum(value for name, value in crawl.stats.items() if name.startswith("bound/"))


def run_until_bound(crawl, cause, words="", begin=Crawl.start, **settings):
    """Runs a crawl until this is what bounds it, in figures and in words: a busy machine may need a
    while for that.
    """
    running = begin(crawl, CHECKPOINT_INTERVAL=0.5, **settings)
    try:
        wait_until(lambda: bound_by(crawl, cause, words), pause=0.2)
    except AssertionError as error:
        raise AssertionError(crawl.stats, crawl.output.read_text()[-3000:]) from error
    running.interrupt()
    assert running.wait() == 0


@contextmanager
def slow_names():
    """A name server that answers every name with 127.0.0.1, after more than half a second."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as names:
        names.bind(("127.0.0.1", 0))

        def answer():
            while True:
                data, peer = names.recvfrom(4096)
                if not data:
                    return
                threading.Timer(0.6, reply, (data, peer)).start()

        def reply(data, peer):
            end = data.index(b"\0", 12) + 5
            head = data[:2] + struct.pack(">5H", 0x8180, 1, 1, 0, 0)
            record = (
                b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 300, 4) + socket.inet_aton("127.0.0.1")
            )
            names.sendto(head + data[12:end] + record, peer)

        thread = threading.Thread(target=answer)
        thread.start()
        address = names.getsockname()
        try:
            yield f"127.0.0.1:{address[1]}"
        finally:
            names.sendto(b"", address)
            thread.join()
            for timer in threading.enumerate():
                if isinstance(timer, threading.Timer):
                    timer.cancel()


def test_politeness(tmp_path):
    """One host with many pages: the crawl waits for its turn. stats.json, the log and the counters
    say so.
    """
    with sites(lambda host, path, _: links(host) if path != "/robots.txt" else None) as web:
        crawl = web.crawl(
            tmp_path, ["one.test"], POLITENESS_MIN_DELAY=0.8, POLITENESS_MAX_DELAY=0.8
        )
        run_until_bound(crawl, "politeness", "politeness ")

    assert f"bound by {crawl.stats['bound']}" in crawl.output.read_text()
    before = crawl.stats["bound/politeness"]
    assert crawl.run(CLOSESPIDER_TIMEOUT=1) == 0
    assert crawl.stats["bound/politeness"] >= before  # of the whole crawl
    assert in_words(crawl.stats).startswith("politeness ")


@pytest.mark.campaign
def test_a_crawl_that_is_stopped_and_continued(tmp_path):
    """While a process is stopped (SIGSTOP, or Ctrl-Z) no pipeline and no host is to blame."""
    with sites(lambda host, path, _: links(host) if path != "/robots.txt" else None) as web:
        crawl = web.crawl(
            tmp_path, ["one.test"], POLITENESS_MIN_DELAY=0.8, POLITENESS_MAX_DELAY=0.8
        )
        running = crawl.start(CHECKPOINT_INTERVAL=0.5)
        wait_until(lambda: bound_by(crawl, "politeness", "politeness "))
        os.kill(running.process.pid, signal.SIGSTOP)
        time.sleep(LONG)
        os.kill(running.process.pid, signal.SIGCONT)
        looked = sum_of_looks(crawl)
        wait_until(lambda: sum_of_looks(crawl) > looked + 1)
        running.interrupt()
        assert running.wait() == 0

    assert crawl.stats.get("bound/pages", 0) < LONG


def test_slots(tmp_path):
    """Slow hosts, and more of them than downloads at once: CONCURRENT_REQUESTS."""
    with sites(slowly) as web:
        crawl = web.crawl(
            tmp_path, [f"h{number}.test" for number in range(20)], **FAST, CONCURRENT_REQUESTS=3
        )
        run_until_bound(crawl, "slots", ".*what helps: a higher CONCURRENT_REQUESTS$")


@pytest.mark.campaign
def test_few_descriptors(tmp_path):
    """The same with few slots because open files are few: these, and how many downloads fit."""
    with sites(slowly) as web:
        seeds = [f"h{number}.test" for number in range(60)]
        crawl = web.crawl(tmp_path, seeds, **FAST, CONCURRENT_REQUESTS=1000, FRONTIER_QUEUES=1000)
        run_until_bound(crawl, "files", begin=partial(start, prepare=descriptors(100)))

    (fit,) = re.findall(
        r"CONCURRENT_REQUESTS = 1000: only (\d+) are possible with", crawl.output.read_text()
    )
    assert crawl.stats["bound"].endswith(
        f"a higher ulimit -n: only {fit} of CONCURRENT_REQUESTS = 1000 fit"
    )


def test_answers(tmp_path):
    """The same hosts with a slot each: their own time to answer."""
    with sites(slowly) as web:
        crawl = web.crawl(tmp_path, [f"h{number}.test" for number in range(6)], **FAST)
        run_until_bound(crawl, "answers")


@pytest.mark.parametrize("pipeline", [Blocking, *in_campaign(Awaiting)])
def test_pages(tmp_path, pipeline):
    """Quick hosts and a slow pipeline: the pages, and neither hosts nor slots."""
    pipelines = json.dumps({f"{pipeline.__module__}.{pipeline.__qualname__}": 300})

    def page(host, path, _):
        """No two are alike: a pipeline sees the first of equal ones alone."""
        return links(host) + path.encode() if path != "/robots.txt" else None

    with sites(page) as web:
        seeds = [f"h{number}.test" for number in range(12)]
        crawl = web.crawl(tmp_path, seeds, CONCURRENT_REQUESTS=6, ITEM_PIPELINES=pipelines)
        run_until_bound(crawl, "pages", "the spider and the pipelines ")


def test_a_slow_reader(tmp_path):
    """Quick hosts and a process that takes long to read or score each page: that, and not callbacks
    or pipelines.
    """

    def page(host, path, _):
        return links(host) + path.encode() if path != "/robots.txt" else None

    with sites(page) as web:
        seeds = [f"h{number}.test" for number in range(12)]
        scorer = {"SCORER": "tests.support.scorers.slow", "FRONTIER_PRIORITIZER": FOCUS}
        crawl = web.crawl(tmp_path, seeds, **FAST, CONCURRENT_REQUESTS=6, **scorer)
        run_until_bound(crawl, "readers", "the readers of documents ")


@pytest.mark.campaign
def test_a_slow_name_server(tmp_path):
    """Many hosts of one page and a slow name server: DNS."""
    crowd = Crowd(lambda *_: b"<p>one page</p>")
    with served(crowd), slow_names() as nameserver:
        (tmp_path / "seeds.txt").write_text(
            "".join(f"http://h{n}.test:{crowd.port}/\n" for n in range(400))
        )
        settings = {
            **FAST,
            "DNS_NAMESERVERS": nameserver,
            "DNS_TIMEOUT": 20,
            "CONCURRENT_REQUESTS": 4,
        }
        crawl = Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, settings)
        run_until_bound(crawl, "names", ".*DNS_NAMESERVERS")


@pytest.fixture(name="large")
def _large():
    """Hosts with large pages, which cost their server nothing."""
    words = b"".join(
        b'<p>some words <a href="/%d?q=%d">a link</a></p>' % (n % 9000, n) for n in range(1500)
    )
    with served(Crowd(lambda host, path: f"<h1>{host}{path}</h1>".encode() + words)) as crowd:
        yield crowd


def large_crawl(tmp_path, crowd, **settings):
    (tmp_path / "seeds.txt").write_text(
        "".join(f"http://h{n}.test:{crowd.port}/\n" for n in range(40))
    )
    settings = {
        **FAST,
        "DNS_NAMESERVERS": crowd.nameserver,
        "TRAP_RULES": False,
        **NO_BUDGET,
        **settings,
    }
    return Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, settings)


@pytest.mark.campaign
def test_the_processor(tmp_path, large):
    """Large pages over loopback without a pause: the processor."""
    crawl = large_crawl(tmp_path, large)
    run_until_bound(crawl, "processor")


def test_bandwidth(tmp_path, large):
    """The same with BANDWIDTH_MAX: that."""
    crawl = large_crawl(tmp_path, large, BANDWIDTH_MAX="100kB")
    words = "BANDWIDTH_MAX .*what helps: a higher BANDWIDTH_MAX$"
    run_until_bound(crawl, "bandwidth", words)
