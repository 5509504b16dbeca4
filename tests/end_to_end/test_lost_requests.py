"""Requests of a user's own spider that cannot be kept, or whose methods are gone: said in lines,
never a traceback.
"""

import json
import re
from collections import Counter

import pytest

from tests.support.crawling import Crawl, scrapy, wait_until
from tests.support.places import ROOT
from tests.support.plain_site import Site, serving

FAST = {"POLITENESS_FACTOR": 0, "POLITENESS_MIN_DELAY": 0, "CHECKPOINT_INTERVAL": 0.2}


@pytest.fixture(name="here", scope="module")
def _here():
    with serving(Site) as address:
        yield address


def crawl_of(tmp_path, here, spider, **settings):
    module = "renaming_spiders" if spider == "renaming" else "lost_spiders"
    given = {"SPIDER_MODULES": f"tests.support.{module}", **FAST, **settings}
    return Crawl(tmp_path / "job", {"here": here, "notes": tmp_path / "notes"}, given, spider)


def said(crawl):
    text = crawl.output.read_text()
    assert "Traceback" not in text
    return text


def noted(tmp_path):
    return Counter(
        what for what, *_ in map(json.loads, (tmp_path / "notes").read_text().splitlines())
    )


class TestLambdas:
    def test_they_are_said_and_counted(self, tmp_path, here):
        """Of each kind one line says what to do, the last lines how many are lost, and the exit
        status is 1.
        """
        crawl = crawl_of(tmp_path, here, "lambdas")

        assert crawl.run() == 1
        text = said(crawl)

        assert noted(tmp_path) == {"page": 3, "second": 1}
        (line,) = re.findall(r".*is not a method of the spider: use one, as in callback=.*", text)
        assert (
            "lambda/0> cannot be kept on disk: its callback Lambdas.parse.<locals>.<lambda>" in line
        )
        assert text.count("as in errback=self.parse_item") == 1
        assert (
            text.count("its cb_kwargs 'answer' has a TextResponse, which cannot be kept on disk")
            == 1
        )
        assert "4 requests of the spider lost, because they could not be kept on disk" in text
        assert crawl.stats["requests/unkept"] == 4
        assert crawl.stats["reason"] == "finished"

    def test_the_end_says_it_once(self, tmp_path, here):
        """A run that ends by Ctrl-C leaves it to the next one; one after that has lost nothing."""
        crawl = crawl_of(tmp_path, here, "lambdas", POLITENESS_MIN_DELAY=0.5)
        running = crawl.start()
        wait_until((tmp_path / "notes").exists)
        running.interrupt()

        assert [running.wait(), crawl.run(), crawl.run()] == [0, 1, 0]
        assert "4 requests of the spider lost" in said(crawl)


class TestValues:
    """Items, datetimes, Decimals, sets, tuples and Requests in `meta` vanished without a word."""

    def test_they_arrive(self, tmp_path, here):
        """Values that Scrapy's disk queues keep arrive as they were; others are in memory, with a
        warning for each.
        """
        crawl = crawl_of(tmp_path, here, "valued")

        assert crawl.run() == 0

        assert noted(tmp_path) == {"detail": 20, "held": 10, "page": 10}
        lines = [
            tuple(line) for line in map(json.loads, (tmp_path / "notes").read_text().splitlines())
        ]
        for number in range(10):
            shown = (
                "Product",
                str(number),
                "1.10",
                number,
                "2026-11-27T00:00:00+00:00",
                "failed",
                "tuple",
            )
            assert lines.count(("detail", *shown)) == 2
        text = said(crawl)
        assert (
            len(
                re.findall(
                    r"WARNING: .* 'selector' has a Selector, which cannot be kept on disk", text
                )
            )
            == 2
        )
        assert "values in memory" not in text

    def test_only_a_kill_loses_them(self, tmp_path, here):
        """After a kill values of the disk are there; requests with others end with -5005, and once
        with status 1. Their errbacks are called.
        """
        crawl = crawl_of(tmp_path, here, "valued", POLITENESS_MIN_DELAY=0.1)
        running = crawl.start()
        wait_until(
            lambda: (
                (tmp_path / "notes").exists()
                and len((tmp_path / "notes").read_text().splitlines()) > 3
            )
        )
        running.kill()
        (tmp_path / "notes").unlink()

        statuses = [crawl.run(POLITENESS_MIN_DELAY=0), crawl.run()]

        log = (crawl.jobdir / "logs/crawl.log").read_text()
        lost = re.findall(r" -5005 +\S+ \S+/held/\d ", log)
        assert len(lost) == crawl.stats["status/-5005"] > 0
        assert statuses == [1, 0]
        assert noted(tmp_path)["failed"] == len(lost)
        fetched = Counter(re.findall(r" 200 +\S+ \S+/(\w+)/\d ", log))
        assert (fetched["kept"], fetched["next"]) == (10, 10)
        assert len(lost) + fetched["held"] == 10

    def test_a_stop_says_what_it_loses(self, tmp_path, here):
        """A crawl that is stopped says that requests with values in memory are lost."""
        crawl = crawl_of(tmp_path, here, "valued", POLITENESS_MIN_DELAY=0.2)
        running = crawl.start()
        wait_until((tmp_path / "notes").exists)
        running.interrupt()

        assert running.wait() == 0
        assert "have values in memory only, so the next run will count them as lost" in said(crawl)


class TestRenamedMethods:
    def test_a_crawl_goes_on_without_them(self, tmp_path, here):
        """After a kill, requests that name methods which are gone end with -5005, in one line each;
        status 1, once.
        """
        crawl = crawl_of(tmp_path, here, "renaming", POLITENESS_MIN_DELAY=0.05)
        running = crawl.start()
        wait_until(
            lambda: (
                (tmp_path / "notes").exists()
                and len((tmp_path / "notes").read_text().splitlines()) > 10
            )
        )
        running.kill()
        (tmp_path / "notes").unlink()
        crawl.environment["RENAMED"] = "1"

        assert crawl.run() == 1
        text = said(crawl)

        found, log = noted(tmp_path), (crawl.jobdir / "logs" / "crawl.log").read_text()
        ended = re.findall(r" -5005 +\S+ (\S+)", log)
        assert len(ended) == len({*ended}) == crawl.stats["status/-5005"]
        assert {url.split("/")[-2] for url in ended} == {"renamed", "unheard"}
        # their errbacks are still there
        assert found["failed"] == sum("/renamed/" in url for url in ended)
        assert (
            text.count("the spider has no method item, which a request names as its callback") == 1
        )
        assert (
            text.count("the spider has no method lost, which a request names as its errback") == 1
        )
        assert (
            f"{len(ended)} requests ended with status -5005: the spider no longer has a method"
            in text
        )
        assert len(re.findall(r" 200 +\S+ \S+/stays/", log)) == 20

        output = tmp_path / "output"
        assert scrapy(["verify", str(crawl.jobdir)], ROOT, output) == 0, output.read_text()
        scrapy(["why", str(crawl.jobdir), ended[0]], ROOT, output)
        assert (
            "its request names a method or value that the spider no longer had"
            in output.read_text()
        )
        assert crawl.run() == 0
