"""Server-sent events: a page that stays open gets those of its parts that have changed."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from webcrawl.dashboard.guard import HEADERS
from webcrawl.dashboard.pages.frame import Parts
from webcrawl.report.markup import Html

logger = logging.getLogger(__name__)

MOST = 32  # pages that stay open


class Streams:
    """All that are open."""

    def __init__(self) -> None:
        self._open: set[asyncio.Task[Any]] = set()

    def __repr__(self) -> str:
        return f"<Streams {len(self._open)} of {MOST}>"

    async def serve(self, request: web.Request, parts: Callable[[int], Awaitable[Parts]]) -> web.StreamResponse:
        """Until the browser goes away. `parts` waits for news; it is given the number of the event, 0 for the first."""
        task = asyncio.current_task()
        if len(self._open) >= MOST or task is None:
            raise web.HTTPServiceUnavailable(text="too many pages are open\n", headers={"Retry-After": "30"})
        answer = web.StreamResponse(headers={**HEADERS, "Content-Type": "text/event-stream"})
        self._open.add(task)
        try:
            await answer.prepare(request)
            sent: dict[str, Html] = {}
            number = 0
            while True:
                made = await parts(number)
                news = {name: html for name, html in made.items() if sent.get(name) != html}
                sent.update(news)
                await answer.write(b"data: %s\n\n" % json.dumps(news).encode())
                number += 1
        except ConnectionResetError:
            return answer
        except Exception:
            logger.exception("%s", request.path)
            return answer  # the browser tries again
        finally:
            self._open.discard(task)

    def close(self) -> None:
        for task in self._open:
            task.cancel()
