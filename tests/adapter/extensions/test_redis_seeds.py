"""Seeds from a key of a Redis server, in crawls as users start them."""

import asyncio
import json
import re
from types import SimpleNamespace

import pytest
from redis import Redis

from tests.crawl.hive.conftest import started, url  # noqa: F401
from tests.support.crawling import Crawl, scrapy, wait_until
from tests.support.places import ROOT
from tests.support.plain_site import Site, serving
from webcrawl.adapter.extensions.redis_seeds import RedisSeeds

pytestmark = pytest.mark.xdist_group("redis seeds")


@pytest.fixture
def site():
    requested = []

    class Requested(Site):
        def answer(self):
            requested.append(self.path)
            self.say(404 if self.path == "/robots.txt" else 200, self.path.encode())

        def do_POST(self):  # noqa: N802 - its name in the library
            body = self.rfile.read(int(self.headers["Content-Length"]))
            requested.append(f"{self.path} {body.decode()}")
            self.say(200, b"posted")

    with serving(Requested) as address:
        yield address, requested


@pytest.fixture
def server(url):  # noqa: F811
    with Redis.from_url(url) as client:
        yield client


def crawl_of(tmp_path, url, **settings):  # noqa: F811
    fast = {"POLITENESS_FACTOR": 0, "POLITENESS_MIN_DELAY": 0, "OUTPUTS": "warc"}
    return Crawl(tmp_path / "job", {}, {"REDIS_URL": url, **fast, **settings})


def pages(requested):
    return sorted(path for path in requested if path != "/robots.txt")


def said(crawl):
    return crawl.output.read_text()


def test_what_scripts_of_scrapy_redis_push(tmp_path, url, server, site):  # noqa: F811
    """URLs and JSON are fetched, once each, bad entries are counted, and nothing is left in the
    server.
    """
    address, requested = site
    form = json.dumps({"url": f"{address}/form", "method": "POST", "q": "x"})
    server.lpush(
        "web:start_urls",
        f"{address}/a",
        f"{address}/a",
        json.dumps({"url": f"{address}/b"}),
        form,
        "no url",
    )
    crawl = crawl_of(tmp_path, url)

    assert crawl.run() == 0, said(crawl)

    assert pages(requested) == ["/a", "/b", "/form q=x"]
    assert server.keys() == []
    assert (crawl.stats["redis_seeds"], crawl.stats["redis_seeds/bad"]) == (4, 1)
    assert re.search(
        r"web:start_urls: skipped an entry that is neither a URL nor a domain|contains a space",
        said(crawl),
    )


def test_more_than_may_be_held():
    """A crawl that takes no more before its next checkpoint does not end: the key may have seeds."""

    class Full:
        is_full = True

        async def take_batch(self):
            return 0

    seeds = RedisSeeds(
        SimpleNamespace(), {"MAX_IDLE_TIME_BEFORE_CLOSE": None}, lambda: None, "utf-8"
    )
    seeds._taker = Full()
    asyncio.run(seeds._take_seeds(SimpleNamespace()))

    assert seeds.expects()


def test_forged_seeds(tmp_path, url, server, site):  # noqa: F811
    """Seeds that name a proxy, or other things that are the spider's alone, are refused, counted
    and told.
    """
    address, requested = site
    crawl = crawl_of(tmp_path, url)
    crawl.environment["TRAP"] = str(tmp_path / "imported")
    with serving(Site) as proxy:
        metas = [
            *(
                {"proxy": proxy},
                {"_auth_proxy": proxy},
                {"depth": 10**9},
                {"webcrawl": {"link": 1}, "proxy": proxy},
            ),
            *(
                {"playwright": 1, "playwright_context_kwargs": {"proxy": {"server": proxy}}},
                {"cookiejar": []},
            ),
        ]
        forged = [
            {"url": f"{address}/forged/{number}", "meta": meta} for number, meta in enumerate(metas)
        ]
        named = {"_class": "tests.support.trap.thing", "callback": "absent"}
        fields = [
            {"url": f"{address}/form", "method": "POST", **named},
            {"url": f"{address}/good", "meta": {"job": 1}},
        ]
        server.lpush("web:start_urls", *map(json.dumps, [*forged, *fields]))

        assert crawl.run() == 0, said(crawl)

    assert pages(requested) == ["/form _class=tests.support.trap.thing&callback=absent", "/good"]
    assert (crawl.stats["redis_seeds"], crawl.stats["redis_seeds/bad"]) == (2, len(forged))
    assert (
        "skipped an entry that is refused: meta proxy: only the spider's own code may set it"
        in said(crawl)
    )
    assert f"{len(forged)} seeds from the server refused" in said(crawl)
    assert "Traceback" not in said(crawl)
    assert not (tmp_path / "imported").exists()


def test_an_empty_key(tmp_path, url):  # noqa: F811
    """A crawl that finds no seeds ends."""
    crawl = crawl_of(tmp_path, url)
    assert crawl.run() == 0
    assert crawl.stats["pages"] == 0


def test_a_crawl_that_waits(tmp_path, url, server, site):  # noqa: F811
    """With MAX_IDLE_TIME_BEFORE_CLOSE = 0 it takes what comes, until it is stopped."""
    address, requested = site
    running = crawl_of(
        tmp_path, url, MAX_IDLE_TIME_BEFORE_CLOSE=0, REDIS_START_URLS_KEY="mine"
    ).start()
    for number in range(2):
        server.sadd("mine", f"{address}/{number}")
        wait_until(lambda number=number: f"/{number}" in requested)
    running.interrupt()

    assert running.wait() == 0
    assert server.keys() == []


def test_idle_seconds(tmp_path, url, server, site):  # noqa: F811
    """It waits so long for more, and then ends."""
    address, requested = site
    running = crawl_of(tmp_path, url, MAX_IDLE_TIME_BEFORE_CLOSE=2).start()
    server.zadd("web:start_urls", {f"{address}/a": 1})
    wait_until(lambda: "/a" in requested)
    server.delete("web:start_urls")

    assert running.wait() == 0


def test_a_kill_loses_no_seed(tmp_path, url, server, site):  # noqa: F811
    """What a killed crawl had taken is fetched by the next run, and pages that a checkpoint has are
    not again.
    """
    address, requested = site
    crawl = crawl_of(tmp_path, url, MAX_IDLE_TIME_BEFORE_CLOSE=0, CHECKPOINT_INTERVAL=3600)
    running = crawl.start()
    server.rpush("web:start_urls", f"{address}/a", f"{address}/b")
    wait_until(lambda: {"/a", "/b"} <= set(requested))
    running.kill()
    assert server.llen("web:start_urls") == 0

    assert crawl.run(MAX_IDLE_TIME_BEFORE_CLOSE="none") == 0, said(crawl)

    assert pages(requested) == ["/a", "/a", "/b", "/b"]
    assert crawl.stats["pages"] == 2
    assert server.keys() == []


def test_a_wrong_password(tmp_path, url):  # noqa: F811
    """The crawl ends with a line and status 1."""
    crawl = crawl_of(
        tmp_path, url, REDIS_PARAMS=json.dumps({"username": "nobody", "password": "wrong-word"})
    )
    assert crawl.run() == 1
    assert "CRITICAL: REDIS_URL: the server refuses the login" in said(crawl)
    assert "wrong-word" not in said(crawl)


def test_impossible_settings(tmp_path, url):  # noqa: F811
    """They are refused before the start, in one line."""
    for name, value in (
        ("REDIS_START_URLS_KEY", "%(nmae)s:x"),
        ("MAX_IDLE_TIME_BEFORE_CLOSE", "-1"),
    ):
        crawl = crawl_of(tmp_path, url, **{name: value})
        assert crawl.run() == 1
        assert re.fullmatch(rf"webcrawl: {name} = .*\n|.*{name}.*\n", said(crawl)), said(crawl)


def test_items_in_redis(tmp_path, url, server, site):  # noqa: F811
    """scrapy-redis' own pipeline pushes each page as JSON."""
    address, _ = site
    server.rpush("web:start_urls", f"{address}/a")
    crawl = crawl_of(tmp_path, url, ITEM_PIPELINES='{"scrapy_redis.pipelines.RedisPipeline": 300}')

    assert crawl.run() == 0, said(crawl)

    (item,) = map(json.loads, server.lrange("web:items", 0, -1))
    assert (item["url"], item["status"]) == (f"{address}/a", 200)


def test_a_spider_of_a_project(tmp_path, url, server, site):  # noqa: F811
    """Any spider on this frontier takes seeds, as its own requests if it makes them itself."""
    address, requested = site
    (tmp_path / "project").mkdir()
    (tmp_path / "project/scrapy.cfg").write_text("[settings]\ndefault = mine\n")
    (tmp_path / "project/mine.py").write_text(
        'ADDONS = {"webcrawl.WebcrawlAddon": 300}\nSPIDER_MODULES = ["spiders"]\nBOT_NAME = "mine"\n'
    )
    (tmp_path / "project/spiders.py").write_text(
        "import scrapy\n\n"
        "class Mine(scrapy.Spider):\n"
        '    name = "mine"\n'
        "    def make_request_from_data(self, data):\n"
        "        return scrapy.Request(data.decode() + '?made', dont_filter=True, callback=self.found)\n"
        "    def found(self, response):\n"
        '        yield {"found": response.url}\n'
    )
    server.rpush("mine:start_urls", f"{address}/a", f"{address}/a")
    crawl = crawl_of(
        tmp_path, url, FEEDS=json.dumps({str(tmp_path / "items.json"): {"format": "json"}})
    )
    crawl.spider, crawl.project = "mine", tmp_path / "project"

    assert crawl.run() == 0, said(crawl)

    assert pages(requested) == ["/a?made"]
    assert json.loads((tmp_path / "items.json").read_text()) == [{"found": f"{address}/a?made"}]


def test_drones_share_them(tmp_path, url, server, site):  # noqa: F811
    """In a hive each seed is taken by one drone, and fetched once, by the one whose host it is."""
    address, requested = site
    server.rpush("web:start_urls", *(f"{address}/{number}" for number in range(30)))
    crawls = [
        crawl_of(tmp_path / f"{drone}", url, HIVE_DRONES=2, HIVE_DRONE=drone, CHECKPOINT_INTERVAL=1)
        for drone in (0, 1)
    ]
    running = [crawl.start() for crawl in crawls]

    assert [one.wait() for one in running] == [0, 0], "\n".join(map(said, crawls))

    assert pages(requested) == sorted(f"/{number}" for number in range(30))
    assert sorted(crawl.stats["pages"] for crawl in crawls) == [0, 30]
    assert sum(crawl.stats.get("redis_seeds", 0) for crawl in crawls) == 30
    assert not server.keys("*taken*")


def test_archives_need_no_seeds(tmp_path, url, server, site):  # noqa: F811
    """`scrapy process` takes none: it asks nobody."""
    address, _ = site
    server.rpush("mine", f"{address}/a")
    crawl = crawl_of(tmp_path, url, REDIS_START_URLS_KEY="mine")
    assert crawl.run() == 0, said(crawl)
    server.rpush("mine", f"{address}/b")
    settings = [f"JOBDIR={tmp_path / 'read'}", f"REDIS_URL={url}", "REDIS_START_URLS_KEY=mine"]
    options = [word for setting in settings for word in ("-s", setting)]

    assert (
        scrapy(
            ["process", *map(str, crawl.jobdir.rglob("*.warc.gz")), *options],
            ROOT,
            tmp_path / "out",
        )
        == 0
    )

    assert server.lrange("mine", 0, -1) == [f"{address}/b".encode()]
