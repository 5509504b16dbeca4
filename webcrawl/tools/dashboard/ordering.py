"""Carries out what forms say, and keeps the answers for the page that the browser is sent to next."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from io import BytesIO
from typing import Any

from webcrawl.crawl.control.command import CommandError, NoAnswer, NotRunning
from webcrawl.crawl.control.seed_sources import forget, spooled
from webcrawl.tools.dashboard.orders import Order, check, read
from webcrawl.tools.dashboard.pages.crawl import Shown
from webcrawl.tools.dashboard.pages.orders import answer_content
from webcrawl.tools.dashboard.watching import Watch
from webcrawl.tools.report.markup import Html, tag

MOST = 100  # answers kept
WRITTEN = Order("seeds", ("add", "what was written"))


class Ordering:
    """Loading the page of an answer again commands nothing anew."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[Order, Any, bool]] = {}

    async def give(self, watch: Watch, form: Mapping[str, str]) -> str | Order:
        """Gives a command; returns the name of its answer, or the order if somebody must say first that it is meant."""
        order = Order(form.get("command", ""), ())
        try:
            order = read(form)
            if order.destroys and form.get("sure") != "yes":
                check(order)
                return order
            return self._keep(order, await watch.order(order.name, *order.words))
        except (CommandError, NotRunning) as error:
            return self._keep(order, str(error), refused=True)

    async def paste(self, watch: Watch, text: str) -> str:
        """Gives a crawl seeds, in a file of its own; returns the name of its answer."""
        jobdir, data = watch.known.jobdir, text.strip().encode("utf-8", "replace")
        try:
            if watch.known.drones:
                return self._keep(WRITTEN, await watch.order("seeds", "add", "-", written=data))
            await watch.order("status")  # nothing is written for a crawl that does not listen
            name = await watch.run(lambda: spooled(jobdir, BytesIO(data)))
            try:
                return self._keep(WRITTEN, await watch.order("seeds", "add", name))
            except NoAnswer:  # it may have them all the same
                raise
            except (CommandError, NotRunning):
                await watch.run(lambda: forget(jobdir, name))
                raise
        except (CommandError, NotRunning) as error:
            return self._keep(WRITTEN, str(error), refused=True)

    def _keep(self, order: Order, answer: Any, *, refused: bool = False) -> str:
        while len(self._kept) >= MOST:
            del self._kept[next(iter(self._kept))]
        name = secrets.token_urlsafe(6)
        self._kept[name] = order, answer, refused
        return name

    def said(self, shown: Shown, name: str) -> Html | None:
        """The answer of this name."""
        kept = self._kept.get(name)
        if kept is None:
            return None
        order, answer, refused = kept
        return tag("div", answer_content(shown, order, answer, refused=refused), class_="answered")
