"""Pipelines that take long, for tests/end_to_end/test_bound.py."""

import asyncio
import time


class Blocking:
    """Holds up the event loop, as a query of a database would."""

    def process_item(self, page):
        time.sleep(0.3)
        return page


class Awaiting:
    """Holds up its own page."""

    async def process_item(self, page):
        await asyncio.sleep(1.5)
        return page
