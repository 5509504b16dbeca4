"""Pages at hand are processed together, but not so many that a turn of the event loop takes long."""

import asyncio

from webcrawl.fastpath.batch import MOST, TURN, Batch


def sizes(pages, seconds):
    """The sizes of the batches in which so many pages are processed, if each page takes so long."""
    found, now = [], 0.0

    def parse_all(responses):
        nonlocal now
        found.append(len(responses))
        now += seconds * len(responses)
        return [[] for _ in responses]

    async def leave(_output, _response, _request):
        pass

    async def run():
        batch = Batch(parse_all, leave, clock=lambda: now)
        for number in range(pages):
            batch.add(number, number)
        for _ in range(pages):  # turns of the event loop
            await asyncio.sleep(0)

    asyncio.run(run())
    return found


class TestSizes:
    def test_ordinary_pages_go_together(self):
        """Pages that take 0.4 ms each are processed MOST at a time."""
        assert sizes(3 * MOST, 0.0004) == [MOST] * 3

    def test_heavy_pages_go_in_small_batches(self):
        """After a turn that took too long, fewer pages are processed in one."""
        found = sizes(MOST + 30, TURN / 3.5)

        assert found == [MOST] + [3] * 10

    def test_very_heavy_pages_go_one_by_one(self):
        """A page that takes longer than a turn may is processed alone."""
        assert sizes(MOST + 3, 2 * TURN) == [MOST, 1, 1, 1]
