"""The loop of a crawl: each URL passes all steps in their order, and nothing under way is lost when
it ends.
"""

import asyncio

import pytest

from tests.support.waiting import eventually
from tests.support.warc_crawl import exchange
from webcrawl.base.model import Link, Outcome
from webcrawl.crawl import barrier as module
from webcrawl.crawl.barrier import Barrier
from webcrawl.crawl.driver import LARGEST_BATCH, LARGEST_BATCH_BYTES, READING_TIME, Driver
from webcrawl.crawl.trip import Trip, page_under_way


class Steps:
    """Gives what is due, and notes what happens; a test replaces the steps that it is about."""

    def __init__(self, *due):
        self.due, self.done, self.visits, self.rested, self.given_up = [*due], [], [], 0, 0

    def may_fetch(self):
        return True

    def next_trip(self):
        return self.due.pop(0) if self.due else None

    async def fetch(self, trip):
        trip.outcome = Outcome(200)
        return True

    def visit_own(self, trip):
        self.done.append(("visit_own", trip))
        return []

    def visit(self, trips):
        self.visits.append(len(trips))
        return [[trip] for trip in trips]

    async def process(self, _trip, output):
        if isinstance(output, Exception):
            self.done.append(output)

    def finish(self, trip):
        trip.booked = True
        self.done.append(trip)

    def fail(self, error):
        self.done.append(error)

    def be_idle(self):
        self.rested += 1

    def give_up(self):
        self.given_up += 1


def run(steps, script, **options):
    """Runs a script of the test beside the loop."""

    async def running():
        driver = Driver(steps, Barrier(), **{"max_bytes_waiting": 1 << 20, **options})
        driver.wake()
        return await asyncio.wait_for(script(driver), 120)

    return asyncio.run(running())


async def until_rest(driver):
    """Everything that was due is done."""
    await asyncio.sleep(0)
    await eventually(lambda: not driver.busy)
    await asyncio.sleep(0)


def page(url="http://a.test/", **facts):
    return Trip(Link(url), **facts)


class TestLife:
    def test_a_page_passes_all_steps(self):
        """It is taken, fetched, visited, processed and finished, and once nothing is left the host
        hears so.
        """
        steps, happened = Steps(page()), []
        for name in ("fetch", "process"):
            step = getattr(steps, name)

            async def noted(*arguments, name=name, step=step):
                happened.append((name, page_under_way() is arguments[0]))
                return await step(*arguments)

            setattr(steps, name, noted)
        run(steps, until_rest)

        assert happened == [("fetch", True), ("process", True)]
        assert steps.visits == [1]
        assert len(steps.done) == 1
        assert steps.rested

    @pytest.mark.parametrize("facts", [{"has_answer": False}, {"comes_again": True}], ids=str)
    def test_without_an_answer_to_go_on_with_it_is_finished_at_once(self, facts):
        """A failure, and what is requested again, are nobody's page."""
        trip, steps = page(), Steps()

        async def fetch(trip):
            trip.comes_again = facts.get("comes_again", False)
            return facts.get("has_answer", True)

        steps.due, steps.fetch = [trip], fetch
        run(steps, until_rest)

        assert steps.done == [trip]
        assert steps.visits == []

    def test_a_robots_txt_is_heard_and_not_visited(self):
        """Links may wait for it."""
        trip = Trip(Link("http://a.test/robots.txt", "P", history="http://a.test"))
        assert trip.link.is_own
        steps = Steps(trip)
        run(steps, until_rest)

        assert steps.done == [("visit_own", trip), trip]
        assert steps.visits == []

    @pytest.mark.parametrize("step", ["fetch", "process"])
    def test_a_mistake_in_code_ends_one_page(self, step, caplog):
        """Nothing waits for it, and the others go on."""
        bad, good = page("http://a.test/bad"), page("http://a.test/good")
        steps = Steps(bad, good)
        right = getattr(steps, step)

        async def wrong(trip, *more):
            if trip is bad:
                raise ValueError("a mistake")
            return await right(trip, *more)

        setattr(steps, step, wrong)
        run(steps, until_rest)

        assert set(steps.done) == {bad, good}
        assert "Error while handling http://a.test/bad" in caplog.text

    @pytest.mark.parametrize(
        "visit", [lambda _: 1 / 0, lambda trips: [[]] * (len(trips) + 1)], ids=["raises", "more"]
    )
    def test_a_visit_that_fails_is_told_for_each_of_its_pages(self, visit):
        """So no page is without an end. An entry too many is such a failure, too."""
        trips = [page(), page()]
        steps = Steps(*trips)
        steps.visit = visit
        run(steps, until_rest)

        errors = [one for one in steps.done if isinstance(one, Exception)]
        assert len(errors) == 2
        assert [one for one in steps.done if one not in errors] == trips

    def test_what_fails_while_a_trip_is_taken_ends_the_crawl(self):
        """The frontier was in the middle of something, which is half done now."""
        steps, error = Steps(page()), ValueError()

        def take():
            raise error

        async def once(_driver):
            await asyncio.sleep(0.01)

        steps.next_trip = take
        run(steps, once)

        assert steps.done == [error]

    def test_nothing_is_begun_without_room(self):
        """Answers that wait or are in work count by their bytes."""
        steps = Steps(page(), page())
        run(steps, until_rest, max_bytes_waiting=0)

        assert len(steps.due) == 2


class TestProcessors:
    """A page that waits in a processor goes on as a task, and holds up nobody."""

    def run(self, script):
        waiting, other = page("http://a.test/waits"), page("http://a.test/other")
        steps = Steps(waiting, other)

        async def process(trip, _output):
            if trip is waiting:
                await steps.event.wait()

        async def begun(driver):
            steps.event = asyncio.Event()
            await eventually(lambda: other in steps.done)
            return await script(driver, steps)

        steps.process = process
        run(steps, begun)
        return steps, waiting

    def test_it_is_finished_when_it_comes_back(self):
        """Until then it is among those that the end of the crawl waits for."""

        async def script(driver, steps):
            assert [trip.url for trip in driver.waiting_pages()] == ["http://a.test/waits"]
            steps.event.set()
            await until_rest(driver)

        steps, waiting = self.run(script)
        assert steps.done[-1] is waiting

    def test_the_end_waits_for_it(self):
        """`close` begins nothing more, and is done when all that is under way is finished."""

        async def script(driver, steps):
            drained = driver.close()
            steps.due.append(page())
            driver.wake()
            await asyncio.sleep(0.01)
            assert not drained.done()
            steps.event.set()
            await drained

        steps, _ = self.run(script)
        assert len(steps.due) == 1

    def test_the_end_waits_for_all_that_were_read_together(self):
        """The first of them is finished before the last has begun to wait in the processors."""
        first, last = page("http://a.test/first"), page("http://a.test/last")
        steps = Steps(first, last)

        async def fetch(_trip):
            await steps.event.wait()
            return True

        async def process(trip, _output):
            if trip is last:
                await asyncio.sleep(0.05)

        async def script(driver):
            steps.event = asyncio.Event()
            await eventually(lambda: len(driver.fetching) == 2)
            drained = driver.close()
            steps.event.set()
            await drained
            assert steps.visits == [2]
            assert steps.done == [first, last]

        steps.fetch, steps.process = fetch, process
        run(steps, script)

    def test_one_that_is_cancelled_is_left_to_the_next_run(self):
        """It is finished as cancelled."""

        async def script(driver, _steps):
            driver.cancel()
            await driver.close()

        _, waiting = self.run(script)
        assert waiting.abandoned

    def test_one_that_is_cancelled_at_once_hears_of_it(self):
        """A page that began to wait in the same turn of the event loop is finished by its own end;
        nobody has to forsake it.
        """
        waiting = page("http://a.test/waits")
        steps, driver_of = Steps(waiting), []

        async def process(_trip, _output):
            asyncio.get_running_loop().call_soon(driver_of[0].cancel)
            await asyncio.sleep(60)

        async def script(driver):
            driver_of.append(driver)
            await eventually(lambda: waiting.booked)
            await driver.close()

        steps.process = process
        run(steps, script)
        assert waiting.abandoned
        assert (steps.done, steps.given_up) == ([waiting], 0)

    def test_one_that_begins_to_wait_later_is_cancelled_too(self):
        """An answer that was ready when the pages were cancelled is left to the next run. It was
        forsaken, and booked although its code never came to its end.
        """
        late = page("http://a.test/late")
        steps = Steps(late)

        async def fetch(_trip):
            await steps.event.wait()
            return True

        async def process(_trip, _output):
            await asyncio.sleep(5)

        async def script(driver):
            steps.event = asyncio.Event()
            await eventually(lambda: late in driver.fetching)
            drained = driver.close()
            driver.cancel()
            steps.event.set()
            await drained

        steps.fetch, steps.process = fetch, process
        run(steps, script)
        assert late.abandoned
        assert (steps.done, steps.given_up) == ([late], 0)

    def test_one_that_never_returns_is_forsaken(self):
        """The end does not wait for it, and what it still does counts for nothing."""

        async def script(driver, steps):
            drained = driver.close()
            driver.forsake()
            await drained
            steps.event.set()
            await asyncio.sleep(0.01)

        steps, waiting = self.run(script)
        assert steps.done.count(waiting) == 1
        assert steps.given_up == 1


def test_an_error_at_the_end_of_a_page():
    """It ends the crawl, because it leaves unknown what was booked; other pages read in the same
    turn are finished as ever.
    """
    first, second = page("http://a.test/1"), page("http://a.test/2")
    steps, error = Steps(first, second), ValueError("not booked")
    finish = steps.finish

    def finish_but_first(trip):
        if trip is first:
            raise error
        finish(trip)

    steps.finish = finish_but_first
    run(steps, until_rest)
    assert steps.done == [error, second]


def sizes(pages, seconds, size=0):
    """How many pages of this size are read together, turn by turn, if each takes so long."""
    answer = exchange(body=bytes(size))
    steps, now = Steps(*(page(exchange=answer) for _ in range(pages))), 0.0
    found = []

    def visit(trips):
        nonlocal now
        found.append(len(trips))
        now += seconds * len(trips)
        return [[] for _ in trips]

    async def fetch(_trip):
        await gate.wait()
        return True

    async def script(driver):
        nonlocal gate
        await eventually(lambda: len(driver.fetching) == pages)
        gate.set()
        await until_rest(driver)

    gate = asyncio.Event()
    steps.visit, steps.fetch = visit, fetch
    run(steps, script, clock=lambda: now, max_bytes_waiting=1 << 30)
    return found


class TestSizes:
    def test_ordinary_pages_go_together(self):
        """Pages that take 0.4 ms each are processed LARGEST_BATCH at a time."""
        assert sizes(3 * LARGEST_BATCH, 0.0004) == [LARGEST_BATCH] * 3

    def test_heavy_pages_go_in_small_batches(self):
        """After a turn that took too long, fewer pages are processed in one."""
        found = sizes(LARGEST_BATCH + 30, READING_TIME / 3.5)

        assert found == [LARGEST_BATCH] + [3] * 10

    def test_very_heavy_pages_go_one_by_one(self):
        """A page that takes longer than a turn may is processed alone."""
        assert sizes(LARGEST_BATCH + 3, 2 * READING_TIME) == [LARGEST_BATCH, 1, 1, 1]

    @pytest.mark.parametrize(
        ("size", "found"),
        [
            (LARGEST_BATCH_BYTES // LARGEST_BATCH, [LARGEST_BATCH, 6]),
            (LARGEST_BATCH_BYTES // 10, [10, 10, 10]),
            (LARGEST_BATCH_BYTES + 1, [1] * (LARGEST_BATCH + 6)),
        ],
    )
    def test_large_pages_go_in_small_batches(self, size, found):
        """How long pages take is known only afterwards: so even the first batch has few large ones."""
        assert sizes(LARGEST_BATCH + 6, 0.0001, size) == found


class TestBarrier:
    """A checkpoint waits for the pages that were begun with, not for those that only wait for their
    turn.
    """

    @pytest.fixture(autouse=True)
    def _patient(self, monkeypatch):
        monkeypatch.setattr(module, "PATIENCE", 60)

    def run(self, script):
        """Runs a script with pages that are inside already, which become ready when the test says
        so.
        """

        async def running():
            steps, barrier = Steps(), Barrier()
            driver = Driver(steps, barrier, max_bytes_waiting=1 << 20)
            steps.finish = lambda trip: (steps.done.append(trip), barrier.leave(trip))

            def inside(number):
                pages = [page() for _ in range(number)]
                for one in pages:
                    barrier.enter_open(one)
                return pages

            def ready(pages):
                steps.due.extend(pages)
                driver.wake()

            await asyncio.wait_for(script(barrier, inside, ready, steps), 120)

        asyncio.run(running())

    def test_pages_wait_while_it_is_shut(self):
        """They are held back until it opens, and then read in their order, LARGEST_BATCH in a turn as
        ever.
        """

        async def script(barrier, inside, ready, steps):
            pages = inside(3 * LARGEST_BATCH)
            shutting = asyncio.create_task(barrier.shut())
            await asyncio.sleep(0)
            ready(pages)
            await shutting
            await asyncio.sleep(0.01)
            assert steps.done == []
            barrier.open()
            await eventually(lambda: len(steps.done) == len(pages))
            assert steps.done == pages
            assert steps.visits == [LARGEST_BATCH] * 3

        self.run(script)

    def test_a_page_that_others_wait_for_is_read(self, monkeypatch):
        """Whoever is in a processor may wait for one that is only ready: then these are read after
        all.
        """
        monkeypatch.setattr(module, "PATIENCE", 0.01)

        async def script(barrier, inside, ready, steps):
            waiting, needed = inside(2)
            shutting = asyncio.create_task(barrier.shut())
            await asyncio.sleep(0)
            ready([needed])
            await eventually(lambda: steps.done == [needed])
            assert not shutting.done()
            barrier.leave(waiting)
            await shutting

        self.run(script)


def test_bodies_that_a_step_empties():
    """An answer whose body a step lets go of takes as much room as it had, and gives it all back."""
    urls = [f"http://a.test/{n}" for n in range(9)]
    steps = Steps(*(page(url, exchange=exchange(body=bytes(100))) for url in urls))
    # one at a time: what is taken at once is not held up by what it has not fetched yet
    steps.may_fetch = lambda: len(steps.due) + len(steps.done) == len(urls)

    def visit(trips):
        for trip in trips:
            trip.exchange.body = b""
        return [[trip] for trip in trips]

    steps.visit = visit
    run(steps, until_rest, max_bytes_waiting=250)
    assert [trip.url for trip in steps.done] == urls


def test_the_page_under_way_while_pages_are_visited():
    """No single page is under way while several are visited, whoever asked for it."""
    under_way = []
    steps = Steps(*(page(f"http://a.test/{n}") for n in range(3)))

    def visit(trips):
        under_way.append(page_under_way())
        return [[trip] for trip in trips]

    steps.visit = visit
    run(steps, until_rest)
    assert {*under_way} == {None}
