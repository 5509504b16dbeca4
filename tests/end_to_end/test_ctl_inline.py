"""`scrapy ctl JOBDIR pause`, while pages await downloads of their own."""

import json
import time
from threading import Event, Thread

import pytest

from tests.support.commanding import Console
from tests.support.crawling import wait_until
from tests.support.named_sites import sites
from tests.support.projects import OURS, Project

CODE = """
import asyncio
from scrapy import Request
from scrapy.http import Response
from webcrawl.adapter.spiders.web import WebSpider


class Web(WebSpider):
    name = "web"

    async def parse(self, response):
        get = self.crawler.engine.download_async
        requested = (get(Request(f"{response.url}?{at}")) for at in range(40))
        found = await asyncio.gather(*requested, return_exceptions=True)
        yield {"got": sum(isinstance(one, Response) for one in found), "all": len(found)}
"""
HOSTS = ("a.test", "b.test")


def paused(tmp_path, slots, meanwhile, seeds=HOSTS, code=CODE):
    """Pauses a crawl whose pages await downloads, and lets it end.

    What it asked for, and what it gave.
    """
    told = Event()

    def answer(host, path, _):
        if "?" in path and len(site.requested) > 12:
            told.wait(60)  # else a slow console finds nothing left to pause
        return None if path == "/robots.txt" else b"<p>x"

    with sites(answer) as site:
        (tmp_path / "hosts").write_text("".join(f"127.0.0.1 {host}\n" for host in HOSTS))
        (tmp_path / "seeds.txt").write_text("\n".join(site.url(host) for host in seeds))
        more = {
            "HOSTS_FILE": str(tmp_path / "hosts"),
            "CONCURRENT_REQUESTS": slots,
            "FEEDS": {"items.jsonl": {"format": "jsonlines", "item_classes": ["builtins.dict"]}},
        }
        project = Project(tmp_path, OURS, code, **more)
        ended = []
        running = Thread(
            target=lambda: ended.append(project.run("crawl", "web", "-a", "seeds=seeds.txt"))
        )
        running.start()
        wait_until(lambda: len(site.requested) >= 12)
        console = Console(tmp_path / "crawls/web")
        console.ask("pause")
        told.set()
        held = len(site.requested) + len(HOSTS)  # one of each host may be on its way
        time.sleep(1.5)
        assert len(site.requested) <= held < 80
        held = meanwhile(console, len(site.requested))
        console.ask("resume")
        running.join(60)

    assert ended, "the crawl has not ended"
    assert ended[0][0] == 0, ended[0][1]
    return (
        held,
        site.requested,
        [json.loads(line) for line in (tmp_path / "items.jsonl").read_text().splitlines()],
    )


@pytest.mark.parametrize("slots", [16, 1])
def test_a_pause_holds_downloads_that_are_awaited(tmp_path, slots):
    """Nothing goes out but what was under way; after resume each of them is answered, and the page
    is done.
    """
    _, requested, items = paused(tmp_path, slots, lambda _, count: count)

    assert items == [{"got": 40, "all": 40}] * 2
    assert len({(host, path) for host, path, _ in requested if "?" in path}) == 80


def test_what_is_excluded_during_a_pause_is_not_requested_after_it(tmp_path):
    """A download that had its turn before the pause has lost it; the page gets errors in place of
    answers.
    """

    def exclude(console, count):
        for host in HOSTS:
            console.ask("exclude", host)
        return count

    both = CODE.replace(
        "{response.url}", "{response.url.replace('a.test', 'ab'[at % 2] + '.test')}"
    )
    # one has the slot, the other host's its turn
    held, requested, items = paused(tmp_path, 1, exclude, HOSTS[:1], both)

    assert len(requested) == held
    assert [one["all"] for one in items] == [40]
    assert items[0]["got"] < 40


WAITING = """
import asyncio
from scrapy import Request
from webcrawl.adapter.spiders.web import WebSpider


class Web(WebSpider):
    name = "web"

    async def parse(self, response):
        get = self.crawler.engine.download_async
        there = response.url.replace("a.test", "b.test")
        if KNOWN:
            await get(Request(there))
        first = asyncio.ensure_future(get(Request(f"{response.url}?first")))
        while not self.crawler.engine.downloader.active:
            await asyncio.sleep(0.01)
        found = await asyncio.gather(first, get(Request(f"{there}?second")), return_exceptions=True)
        yield {"found": [type(one).__name__ for one in found]}
"""


@pytest.mark.parametrize("known", [True, False], ids=["the page", "its robots.txt"])
def test_what_is_excluded_while_it_waits_for_a_slot_is_not_requested(tmp_path, known):
    """Its turn was given before: it is refused all the same, and its host hears nothing of it."""
    free = Event()

    def answer(host, path, _):
        if path == "/?first":
            free.wait(30)
        return None if path == "/robots.txt" else b"<p>x"

    with sites(answer) as site:
        (tmp_path / "hosts").write_text("".join(f"127.0.0.1 {host}\n" for host in HOSTS))
        (tmp_path / "seeds.txt").write_text(site.url("a.test"))
        more = {
            "HOSTS_FILE": str(tmp_path / "hosts"),
            "CONCURRENT_REQUESTS": 1,
            "FEEDS": {"items.jsonl": {"format": "jsonlines", "item_classes": ["builtins.dict"]}},
        }
        project = Project(tmp_path, OURS, WAITING.replace("KNOWN", str(known)), **more)
        ended = []
        running = Thread(
            target=lambda: ended.append(project.run("crawl", "web", "-a", "seeds=seeds.txt"))
        )
        running.start()
        wait_until(lambda: any(path == "/?first" for _, path, _ in site.requested))
        time.sleep(1)  # the other one's turn comes, and it waits for the slot
        Console(tmp_path / "crawls/web").ask("exclude", "b.test")
        free.set()
        running.join(60)

    assert ended, "the crawl has not ended"
    assert ended[0][0] == 0, ended[0][1]
    assert [path for host, path, _ in site.requested if host == "b.test"] == (
        ["/robots.txt", "/"] if known else []
    )
    assert json.loads((tmp_path / "items.jsonl").read_text())["found"][1] == "IgnoreRequest"
