"""Crawls are looked at while somebody watches, once for all who do."""

import asyncio
import json
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.dashboards import FIGURES, Crawls, made
from webcrawl.tools.dashboard import crawls as watching
from webcrawl.tools.dashboard.crawls import CrawlFinder, CrawlWatch


@pytest.fixture(name="watched")
def _watched(tmp_path):
    """Runs a script with a watch of a crawl and the list of looks at it.

    `asks`: gets each question before the crawl, with the list and a function that asks the crawl.
    """
    (known,) = CrawlFinder([made(tmp_path / "web")], tmp_path).find()

    def run(script, asks=None):
        looks = []

        def ask(jobdir, command, *words):
            looks.append((command, *words))
            return Crawls({"status": FIGURES, "pause": "paused"}).ask(jobdir, command, *words)

        def question(*words):
            return asks(looks, ask, *words) if asks is not None else ask(*words)

        async def running():
            with ThreadPoolExecutor(4) as executor:
                await asyncio.wait_for(script(CrawlWatch(known, question, executor), looks), 120)

        asyncio.run(running())

    return run


def test_one_look_for_all_pages(watched, monkeypatch):
    """Twenty pages that are made at the same time, or soon after, get the same look; later ones
    another.
    """

    async def script(watch, looks):
        found = [*await asyncio.gather(*(watch.sample() for _ in range(20))), await watch.sample()]
        assert len(looks) == len({id(sample) for sample in found}) == 1
        monkeypatch.setattr(watching, "MAX_SAMPLE_AGE", 0)
        await watch.sample()
        assert len(looks) == 2

    watched(script)


def test_a_question_is_asked_once(watched):
    """Pages that ask the same at the same time, or soon after, share one answer, and one error."""
    asked, gate = [], threading.Event()

    def slow():
        asked.append(1)
        gate.wait(120)
        return "answer"

    def wrong():
        asked.append(2)
        raise OSError("no")

    async def script(watch, looks):
        tasks = [asyncio.create_task(watch.shared_answer("slow", slow)) for _ in range(5)]
        await asyncio.sleep(0)
        gate.set()
        assert await asyncio.gather(*tasks) == ["answer"] * 5
        for _ in range(3):
            with pytest.raises(OSError, match="no"):
                await watch.shared_answer("wrong", wrong)

    watched(script)
    assert asked == [1, 2]


def test_answers_are_few(watched):
    """However much is asked, only the last answers are kept; after a command none is."""

    async def script(watch, looks):
        computed = Counter()

        def ask(number):
            return watch.shared_answer(number, lambda: computed.update([number]) or number)

        for number in range(watching.MAX_KEPT_ANSWERS + 2):
            assert await ask(number) == number
        await ask(number)
        await ask(0)
        assert (computed[0], computed[number]) == (2, 1)
        await watch.order("pause")
        await ask(number)
        assert computed[number] == 2
        assert looks[-1] == ("pause",)

    watched(script)


def test_a_page_that_goes_away(watched):
    """Whoever stops waiting stops nobody else."""

    async def script(watch, looks):
        gone = asyncio.create_task(
            watch.shared_answer("same", lambda: time.sleep(0.05) or "answer")
        )
        await asyncio.sleep(0)
        other = asyncio.create_task(watch.shared_answer("same", lambda: "another"))
        await asyncio.sleep(0)
        gone.cancel()
        assert await other == "answer"

    watched(script)


def test_a_look_that_an_order_overtakes(watched):
    """What was seen before an order was carried out is not shown after it."""
    gate, begun = threading.Event(), threading.Event()

    def asks(looks, ask, jobdir, command, *words):
        state = "paused" if ("pause",) in looks else "running"
        if command == "status" and not begun.is_set():
            begun.set()
            gate.wait(120)
        looks.append((command, *words))
        return {**FIGURES, "state": state}

    async def script(watch, looks):
        slow = asyncio.create_task(watch.sample())
        await asyncio.to_thread(begun.wait, 20)
        await watch.order("pause")
        gate.set()
        assert (await slow).state == (await watch.sample()).state == "paused"

    watched(script, asks)


def test_a_look_that_fails(watched, monkeypatch):
    """Pages hear that a look failed; the one after may be well."""
    monkeypatch.setattr(watching, "MAX_SAMPLE_AGE", 0)
    lacks = [OSError("no descriptors")]

    def asks(looks, ask, *question):
        if lacks:
            raise lacks.pop()
        return ask(*question)

    async def script(watch, looks):
        with pytest.raises(OSError, match="no descriptors"):
            await watch.sample()
        assert (await watch.sample()).answers

    watched(script, asks)


def test_a_drone_that_begins_to_answer(tmp_path):
    """What it has fetched before is no sudden rate of its hive: moments are those of the same
    drones.
    """
    for number in (0, 1):
        made(tmp_path / f"hive/drone-{number}")
    (tmp_path / "hive/hive.json").write_text(
        json.dumps({"version": 1, "name": "web", "drones": [0, 1]})
    )
    (known,) = CrawlFinder([], tmp_path).find()
    crawls = Crawls({("drone-0", "status"): FIGURES})

    async def script():
        with ThreadPoolExecutor(4) as executor:
            watch, counts = CrawlWatch(known, crawls.ask, executor), []
            for _ in range(2):
                await watch.sample()
                watch.forget()
            counts.append(len(watch.moments()))
            crawls.answers["status"] = FIGURES
            await watch.sample()
            return [*counts, *(one.figures["pages"] for one in watch.moments())]

    assert asyncio.run(script()) == [2, 240]
