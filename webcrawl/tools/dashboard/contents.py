"""Fills the pages of a crawl, with what it answers or has left, and carries out what their forms say."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

from webcrawl.base.markup import Html, join, tag
from webcrawl.crawl.control.command import CommandError, NoAnswer, NotRunning
from webcrawl.crawl.control.seed_sources import forget, spooled
from webcrawl.store.disk import regular
from webcrawl.store.errors import StoreError
from webcrawl.tools.dashboard.crawl_states import Ask
from webcrawl.tools.dashboard.crawl_watch import Watch
from webcrawl.tools.dashboard.pages import command_pages as orders
from webcrawl.tools.dashboard.pages import tabs
from webcrawl.tools.dashboard.pages.command_pages import Order, answer_content, check, read
from webcrawl.tools.dashboard.pages.crawl_page import Shown, figures_part
from webcrawl.tools.dashboard.pages.frame import Parts, part
from webcrawl.tools.dashboard.pages.tabs import LOGS

LIVE = ("", "hosts", "errors", "seeds", "log")  # pages that change while they are open
REPORTED = {  # sections of the report on these
    "": ("time", "bound", "revisits", "outcomes", "types", "sizes", "depth", "disk", "settings"),
    "hosts": ("hosts", "domains", "waiting"),
    "errors": ("wrong", "skipped"),
    "seeds": ("seeds", "extremes"),
}
TAIL = 1 << 18  # bytes of a log's end
LONGEST_LINE = 4000  # characters
TRACEBACKS = "errors.log"
LONGEST = 4096  # characters of a URL that is asked about
SERVER_AWAY = "The hive's server does not answer, or the drones have just ended."
Why = Callable[[Path, str], Any]  # of a JOBDIR and a URL: what is known of it


class Contents:
    """`ask` and `why` may block; they run in threads."""

    def __init__(self, ask: Ask, why: Why) -> None:
        self._ask, self._why = ask, why

    async def page(self, watch: Watch, shown: Shown, tab: str, query: Mapping[str, str]) -> Html:
        """All that is on a page below its header."""
        if tab == "why":
            return await self._why_page(watch, shown, query.get("url", "").strip())
        if tab == "commands":
            return orders.commands_content(shown, query.get("host", ""))
        host = query.get("host", "").strip()[:LONGEST]
        if host and tab == "hosts":
            return await self._host_page(watch, shown, host)
        parts = await self.parts(watch, shown, tab, query)
        made = [part(name, parts[name]) for name in parts]
        if tab == "hosts":
            return tabs.hosts_content(shown, _of(query.get("by"), tabs.HOSTS_BY), *made)
        if tab == "log":
            return tabs.log_content(shown, _of(query.get("name"), LOGS), query.get("find", ""), *made)
        return tabs.seeds_content(shown, *made) if tab == "seeds" else join(*made)

    async def parts(self, watch: Watch, shown: Shown, tab: str, query: Mapping[str, str]) -> Parts:
        """The parts that change of a page that stays open: what is so now, and what the report says."""
        now = await self._now(watch, shown, tab, query)
        if tab not in REPORTED:
            return {"now": now}
        made = await watch.report()
        return {"now": now, "report": join(*(made.get(name) for name in ("note", *REPORTED[tab])))}

    async def _now(self, watch: Watch, shown: Shown, tab: str, query: Mapping[str, str]) -> Html:
        if tab == "hosts":
            by = _of(query.get("by"), tabs.HOSTS_BY)
            return tabs.hosts_part(shown, *await self._asked(watch, shown, "hosts", "--by", by))
        if tab == "errors":
            found, _ = await self._asked(watch, shown, "errors")
            return tabs.errors_part(shown, found, await _lines(watch, TRACEBACKS, ""))
        if tab == "seeds":
            return tabs.seeds_part(shown)
        if tab == "log":
            name = _of(query.get("name"), LOGS)
            return tabs.lines_part(shown, name, await _lines(watch, name, query.get("find", "")))
        return figures_part(shown)

    async def _asked(self, watch: Watch, shown: Shown, name: str, *words: str) -> tuple[Any, str]:
        """The answer of a crawl to a command that only asks, or why there is none."""
        if not shown.sample.answers:
            return None, "The crawl does not run, or does not answer."
        try:
            found = await watch.answer((name, *words), lambda: self._ask(watch.known.jobdir, name, *words))
            return _by_drone(found) if watch.known.drones else found, ""
        except CommandError as error:
            if "is no command" in str(error):  # of an earlier version
                return None, f"This crawl does not know the command {name}."
            return None, f"{error}."
        except NotRunning:
            return None, SERVER_AWAY if watch.known.drones else "The crawl has just ended."

    async def _host_page(self, watch: Watch, shown: Shown, host: str) -> Html:
        found, why_not = await self._asked(watch, shown, "host", host)
        queue, _ = await self._asked(watch, shown, "queue", host) if found is not None else (None, "")
        return tabs.host_content(shown, host, found, why_not, queue)

    async def _why_page(self, watch: Watch, shown: Shown, url: str) -> Html:
        found, failed = None, ""
        if len(url) > LONGEST:
            url, failed = "", f"A URL of more than {LONGEST} characters."
        elif url:
            try:
                found = await watch.answer(("why", url), lambda: self._why(watch.known.jobdir, url))
            except (ValueError, OSError, StoreError, NotRunning) as error:
                failed = f"No answer: {error}"
        return orders.why_content(shown, url, found, failed)


def _by_drone(found: Any) -> Any:
    """The answer of a hive, if each drone has said something: by its name."""
    rows = found.get("drones") if isinstance(found, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) and "answer" in row for row in rows):
        return found
    return {f"drone {row.get('drone')}": row["answer"] for row in rows}


async def _lines(watch: Watch, name: str, find: str) -> list[str]:
    """The latest first, but tracebacks as they are; of a hive, those of all drones."""

    def read() -> list[str]:
        each = [tail(one.jobdir, name, find, tabs.MOST_LINES) for one in watch.known.crawls]
        if name == TRACEBACKS:
            return [line for lines in each for line in reversed(lines[: tabs.MOST_LINES // len(each)])]
        return sorted((line for lines in each for line in lines), reverse=True) if len(each) > 1 else each[0]

    lines: list[str] = await watch.answer(("log", name, find), read)
    return lines[: tabs.MOST_LINES]


def tail(jobdir: Path, name: str, wanted: str, most: int) -> list[str]:
    """The last lines of a log that have this text in them, the latest first."""
    if name not in LOGS:
        return []
    try:
        with regular(jobdir / "logs" / name) as file:
            size = file.seek(0, 2)
            file.seek(max(size - TAIL, 0))
            lines = file.read(TAIL).decode("utf-8", "replace").split("\n")
    except OSError:
        return []
    if size > TAIL:
        del lines[0]  # a part of one
    return [line[:LONGEST_LINE] for line in reversed(lines) if line and wanted in line][:most]


def _of(given: str | None, allowed: Iterable[str]) -> str:
    """The word that was asked for, if it is one of these; else the first."""
    first, *others = allowed
    return given if given is not None and given in others else first


MOST = 100  # answers kept
WRITTEN = Order("seeds", ("add", "what was written"))


class Ordering:
    """Loading the page of an answer again commands nothing anew."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[Order, Any, str]] = {}

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
            return self._keep(order, str(error), _heading(error))

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
            return self._keep(WRITTEN, str(error), _heading(error))

    def _keep(self, order: Order, answer: Any, failed: str = "") -> str:
        while len(self._kept) >= MOST:
            del self._kept[next(iter(self._kept))]
        name = secrets.token_urlsafe(6)
        self._kept[name] = order, answer, failed
        return name

    def said(self, shown: Shown, name: str) -> Html | None:
        """The answer of this name."""
        kept = self._kept.get(name)
        if kept is None:
            return None
        return tag("div", answer_content(shown, *kept), class_="answered")


def _heading(error: Exception) -> str:
    """Of an order without an answer."""
    return "Perhaps done" if isinstance(error, NoAnswer) else "Refused"
