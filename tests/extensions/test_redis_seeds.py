"""Seeds from a key of a Redis server, in crawls as users start them."""

import json
import re

import pytest
from redis import Redis

from tests.hive.conftest import started, url  # noqa: F401
from tests.support.crawling import Crawl, wait_until
from tests.support.plain_site import Site, serving

pytestmark = pytest.mark.xdist_group("redis seeds")


@pytest.fixture
def site():
    asked = []

    class Asked(Site):
        def answer(self):
            asked.append(self.path)
            self.say(404 if self.path == "/robots.txt" else 200, self.path.encode())

        def do_POST(self):  # noqa: N802 - its name in the library
            body = self.rfile.read(int(self.headers["Content-Length"]))
            asked.append(f"{self.path} {body.decode()}")
            self.say(200, b"posted")

    with serving(Asked) as address:
        yield address, asked


@pytest.fixture
def server(url):  # noqa: F811
    with Redis.from_url(url) as client:
        yield client


def crawl_of(tmp_path, url, **settings):  # noqa: F811
    fast = {"POLITENESS_FACTOR": 0, "POLITENESS_MIN_DELAY": 0, "OUTPUTS": "warc"}
    return Crawl(tmp_path / "job", {}, {"REDIS_URL": url, **fast, **settings})


def pages(asked):
    return sorted(path for path in asked if path != "/robots.txt")


def said(crawl):
    return crawl.output.read_text()


def test_what_scripts_of_scrapy_redis_push(tmp_path, url, server, site):  # noqa: F811
    """URLs and JSON are fetched, once each, bad entries are counted, and nothing is left in the server."""
    address, asked = site
    form = json.dumps({"url": f"{address}/form", "method": "POST", "q": "x"})
    server.lpush("web:start_urls", f"{address}/a", f"{address}/a", json.dumps({"url": f"{address}/b"}), form, "no url")
    crawl = crawl_of(tmp_path, url)

    assert crawl.run() == 0, said(crawl)

    assert pages(asked) == ["/a", "/b", "/form q=x"]
    assert server.keys() == []
    assert (crawl.stats["redis_seeds"], crawl.stats["redis_seeds/bad"]) == (4, 1)
    assert re.search(r"web:start_urls: an entry is neither a URL nor a domain|contains a space", said(crawl))


def test_an_empty_key(tmp_path, url):  # noqa: F811
    """A crawl that finds no seeds ends."""
    crawl = crawl_of(tmp_path, url)
    assert crawl.run() == 0
    assert crawl.stats["pages"] == 0


def test_a_crawl_that_waits(tmp_path, url, server, site):  # noqa: F811
    """With MAX_IDLE_TIME_BEFORE_CLOSE = 0 it takes what comes, until it is stopped."""
    address, asked = site
    running = crawl_of(tmp_path, url, MAX_IDLE_TIME_BEFORE_CLOSE=0, REDIS_START_URLS_KEY="mine").start()
    for number in range(2):
        server.sadd("mine", f"{address}/{number}")
        wait_until(lambda number=number: f"/{number}" in asked)
    running.interrupt()

    assert running.wait() == 0
    assert server.keys() == []


def test_idle_seconds(tmp_path, url, server, site):  # noqa: F811
    """It waits so long for more, and then ends."""
    address, asked = site
    running = crawl_of(tmp_path, url, MAX_IDLE_TIME_BEFORE_CLOSE=2).start()
    server.zadd("web:start_urls", {f"{address}/a": 1})
    wait_until(lambda: "/a" in asked)
    server.delete("web:start_urls")

    assert running.wait() == 0


def test_a_kill_loses_no_seed(tmp_path, url, server, site):  # noqa: F811
    """What a killed crawl had taken is fetched by the next run, and pages that a checkpoint has are not again."""
    address, asked = site
    crawl = crawl_of(tmp_path, url, MAX_IDLE_TIME_BEFORE_CLOSE=0, CHECKPOINT_INTERVAL=3600)
    running = crawl.start()
    server.rpush("web:start_urls", f"{address}/a", f"{address}/b")
    wait_until(lambda: {"/a", "/b"} <= set(asked))
    running.process.kill()
    running.process.join()
    assert server.llen("web:start_urls") == 0

    assert crawl.run(MAX_IDLE_TIME_BEFORE_CLOSE="none") == 0, said(crawl)

    assert pages(asked) == ["/a", "/a", "/b", "/b"]
    assert crawl.stats["pages"] == 3  # with robots.txt
    assert server.keys() == []


def test_a_wrong_password(tmp_path, url):  # noqa: F811
    """The crawl ends with a line and status 1."""
    crawl = crawl_of(tmp_path, url, REDIS_PARAMS=json.dumps({"username": "nobody", "password": "wrong-word"}))
    assert crawl.run() == 1
    assert "CRITICAL: REDIS_URL: the server does not let us in" in said(crawl)
    assert "wrong-word" not in said(crawl)


def test_impossible_settings(tmp_path, url):  # noqa: F811
    """They are refused before the start, in one line."""
    for name, value in (("REDIS_START_URLS_KEY", "%(nmae)s:x"), ("MAX_IDLE_TIME_BEFORE_CLOSE", "-1")):
        crawl = crawl_of(tmp_path, url, **{name: value})
        assert crawl.run() == 1
        assert re.fullmatch(rf"webcrawl: {name} = .*\n|.*{name}.*\n", said(crawl)), said(crawl)
