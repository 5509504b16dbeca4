"""Crawls are looked at while somebody watches, once for all who do."""

import asyncio
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.dashboards import FIGURES, Crawls, made
from webcrawl.tools.dashboard import crawl_watch as watching
from webcrawl.tools.dashboard.crawl_states import Finder
from webcrawl.tools.dashboard.crawl_watch import Watch


@pytest.fixture(name="watched")
def _watched(tmp_path, monkeypatch):
    """Runs a script with a watch of a crawl and the list of looks at it, one in a hundredth of a second at most."""
    monkeypatch.setattr(watching, "INTERVAL", 0.01)
    monkeypatch.setattr(watching, "FRESH", 0)
    (known,) = Finder([made(tmp_path / "web")], tmp_path).look()

    def run(script):
        looks = []

        def ask(jobdir, command, *words):
            looks.append((command, *words))
            return Crawls({"status": FIGURES, "pause": "paused"}).ask(jobdir, command, *words)

        async def running():
            with ThreadPoolExecutor(4) as executor:
                watch = Watch(known, ask, executor)
                try:
                    await asyncio.wait_for(script(watch, looks), 120)
                finally:
                    await watch.close()

        asyncio.run(running())

    return run


def test_one_look_for_all_pages(watched):
    """Twenty pages that wait for the next look get the same one."""

    async def script(watch, looks):
        for _ in range(3):
            before = len(looks)
            found = await asyncio.gather(*(watch.next(before) for _ in range(20)))
            assert {number for number, _ in found} == {before + 1}
            assert len({id(sample) for _, sample in found}) == 1

    watched(script)


def test_nobody_watches(watched):
    """When the last page is closed, the crawl is soon left alone; the next page begins anew."""

    async def script(watch, looks):
        await watch.next(0)
        for _ in range(500):
            await asyncio.sleep(0.01)
            if (ended := watch._loop is None) and len(looks) < 10:
                break
        assert ended
        number, sample = await watch.next(len(looks))
        assert number == len(looks)
        assert sample.answers

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
        tasks = [asyncio.create_task(watch.answer("slow", slow)) for _ in range(5)]
        await asyncio.sleep(0)
        gate.set()
        assert await asyncio.gather(*tasks) == ["answer"] * 5
        for _ in range(3):
            with pytest.raises(OSError, match="no"):
                await watch.answer("wrong", wrong)

    watched(script)
    assert asked == [1, 2]


def test_answers_are_few(watched):
    """However much is asked, only the last answers are kept; after a command none is."""

    async def script(watch, looks):
        for number in range(200):
            assert await watch.answer(number, lambda number=number: number) == number
        assert len(watch._answers) <= watching.MOST_ANSWERS + 1
        await watch.order("pause")
        assert watch._answers == {}
        assert looks[-1] == ("pause",)

    watched(script)


def test_a_page_that_goes_away(watched):
    """Whoever stops waiting stops nobody else."""

    async def script(watch, looks):
        gone = asyncio.create_task(watch.answer("same", lambda: time.sleep(0.05) or "answer"))
        await asyncio.sleep(0)
        other = asyncio.create_task(watch.answer("same", lambda: "another"))
        await asyncio.sleep(0)
        gone.cancel()
        assert await other == "answer"

    watched(script)


def test_a_look_that_an_order_overtakes(watched):
    """What was seen before an order was carried out is not shown after it."""

    async def script(watch, looks):
        gate, begun = threading.Event(), threading.Event()

        def ask(jobdir, command, *words):
            state = "paused" if ("pause",) in looks else "running"
            if command == "status" and not begun.is_set():
                begun.set()
                gate.wait(120)
            looks.append((command, *words))
            return {**FIGURES, "state": state}

        watch._ask = ask
        slow = asyncio.create_task(watch.sample())
        await asyncio.to_thread(begun.wait, 20)
        await watch.order("pause")
        gate.set()
        assert (await slow).state == (await watch.sample()).state == "paused"

    watched(script)


def test_a_page_that_waits_while_an_order_is_given(watched):
    """A page that is behind gets the last look at once, also right after an order."""

    async def script(watch, looks):
        await watch.sample()
        await watch.order("pause")
        number, sample = await watch.next(0)
        assert (number, sample.answers) == (1, True)

    watched(script)


def test_a_look_that_fails(watched):
    """Pages that wait for the next look hear that it failed, and do not wait for ever; the one after may be well."""

    async def script(watch, looks):
        asks, lacks = watch._ask, [OSError("no descriptors")] * 2

        def ask(*question):
            if len(looks) and lacks:
                raise lacks.pop()
            return asks(*question)

        watch._ask = ask
        await watch.next(0)
        with pytest.raises(OSError, match="no descriptors"):
            await asyncio.wait_for(watch.next(1), 10)
        assert (await watch.next(1))[0] == 2

    watched(script)


def test_a_drone_that_begins_to_answer(tmp_path):
    """What it has fetched before is no sudden rate of its hive: moments are those of the same drones."""
    for number in (0, 1):
        made(tmp_path / f"hive/drone-{number}")
    (tmp_path / "hive/hive.json").write_text(json.dumps({"version": 1, "name": "web", "drones": [0, 1]}))
    (known,) = Finder([], tmp_path).look()
    crawls = Crawls({("drone-0", "status"): FIGURES})

    async def script():
        with ThreadPoolExecutor(4) as executor:
            watch, counts = Watch(known, crawls.ask, executor), []
            for _ in range(2):
                await watch.sample()
                watch.forget()
            counts.append(len(watch.moments()))
            crawls.answers["status"] = FIGURES
            await watch.sample()
            return [*counts, *(one.pages for one in watch.moments())]

    assert asyncio.run(script()) == [2, 240]
