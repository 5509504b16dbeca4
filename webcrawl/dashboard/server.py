"""The dashboard's pages over HTTP (aiohttp); docs/dashboard.md."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path
from typing import Any

from aiohttp import web

from webcrawl.control.errors import CommandError, NotRunning
from webcrawl.dashboard import orders
from webcrawl.dashboard.finding import Finder, Known
from webcrawl.dashboard.guard import HEADERS, Guard
from webcrawl.dashboard.logs import LOGS, SeedProgress, tail
from webcrawl.dashboard.looking import Ask
from webcrawl.dashboard.pages import crawl as overview
from webcrawl.dashboard.pages import crawls, tabs
from webcrawl.dashboard.pages import orders as order_pages
from webcrawl.dashboard.pages.crawl import TABS, Shown, common, crawl_page
from webcrawl.dashboard.pages.frame import Parts, Site
from webcrawl.dashboard.said import Said
from webcrawl.dashboard.watching import Watch
from webcrawl.report.markup import Html, tag

LARGEST = 64 << 10  # bytes of a form
LONGEST = 4096  # characters of a URL that is asked about
MOST_STREAMS = 32  # pages that stay open
THREADS = 16
STYLES = (("webcrawl.report", "assets/style.css"), ("webcrawl.dashboard", "assets/dashboard.css"))
Why = Callable[[Path, str], Any]  # of a JOBDIR and a URL: what is known of it; CommandError, StoreError, OSError


class Server:
    """`ask` and `why` may block; they run in threads. Nothing of a request is ever a path."""

    def __init__(self, guard: Guard, finder: Finder, where: str, ask: Ask, why: Why | None) -> None:
        self._guard, self._finder, self._where, self._ask, self._why = guard, finder, where, ask, why
        self._site = Site(guard.base, guard.form_token)
        self._watches: dict[str, Watch] = {}
        self._seeds: dict[str, SeedProgress] = {}
        self._executor = ThreadPoolExecutor(THREADS, thread_name_prefix="look")
        self._streams: set[asyncio.Task[Any]] = set()
        self._said = Said()

    def app(self) -> web.Application:
        app = web.Application(middlewares=[self._guard.watch], client_max_size=LARGEST)
        base = self._guard.base
        app.add_routes(
            [
                web.get(f"{base}/", self._crawls),
                web.get(f"{base}/events", self._crawls_events),
                web.get(f"{base}/style.css", self._style),
                web.get(f"{base}/script.js", self._script),
                web.get(f"{base}/c/{{id}}", self._crawl),
                web.get(f"{base}/c/{{id}}/{{tab}}", self._crawl),
                web.get(f"{base}/c/{{id}}/{{tab}}/events", self._crawl_events),
                web.post(f"{base}/c/{{id}}/commands", self._order),
            ]
        )
        app.on_shutdown.append(self._close)
        return app

    async def _close(self, _: web.Application) -> None:
        for stream in self._streams:
            stream.cancel()
        for watch in self._watches.values():
            await watch.close()
        self._executor.shutdown(wait=False, cancel_futures=True)

    # -- all crawls

    async def _found(self) -> list[Known]:
        return await asyncio.get_running_loop().run_in_executor(self._executor, self._finder.look)

    def _watch(self, known: Known) -> Watch:
        watch = self._watches.get(known.id)
        if watch is None or watch.known != known:  # a hive may have got another drone
            watch = self._watches[known.id] = Watch(known, self._ask, self._executor)
        return watch

    async def _crawls(self, request: web.Request) -> web.StreamResponse:
        del request
        return _html(crawls.crawls_page(self._site, await self._rows(), self._where))

    async def _rows(self) -> list[crawls.Row]:
        watches = [self._watch(known) for known in await self._found()]
        samples = await asyncio.gather(*(watch.sample() for watch in watches))
        return [(watch.known, sample, watch.moments()) for watch, sample in zip(watches, samples, strict=True)]

    async def _crawls_events(self, request: web.Request) -> web.StreamResponse:
        async def parts(turn: int) -> Parts:
            if turn:
                await asyncio.sleep(PAUSE)
            return crawls.crawls_parts(self._site, await self._rows(), self._where)

        return await self._stream(request, parts)

    # -- one crawl

    async def _one(self, request: web.Request) -> Watch:
        known = self._finder.get(request.match_info["id"])
        if known is None:
            await self._found()
            known = self._finder.get(request.match_info["id"])
        if known is None:
            raise web.HTTPNotFound(text="there is no such crawl\n")
        return self._watch(known)

    async def _shown(self, watch: Watch) -> Shown:
        return Shown(self._site, watch.known, await watch.sample(), watch.moments())

    async def _crawl(self, request: web.Request) -> web.StreamResponse:
        watch, tab = await self._one(request), request.match_info.get("tab", "")
        if tab not in TABS or (not tab and "tab" in request.match_info):
            raise web.HTTPNotFound(text="there is no such page\n")
        shown = await self._shown(watch)
        content = await self._content(watch, shown, tab, request.query)
        query = {name: value for name in ("span", "by", "name", "find") if (value := request.query.get(name))}
        events = shown.at(tab or "overview", "events", **query) if tab not in ("why", "commands") else None
        return _html(crawl_page(shown, tab, content, events, self._answer_of(shown, request.query.get("said", ""))))

    def _answer_of(self, shown: Shown, number: str) -> Html | None:
        """What was answered to the form from which the browser was sent here."""
        kept = self._said.get(number)
        if kept is None:
            return None
        order, answer, refused = kept
        return tag("div", order_pages.answer_content(shown, order, answer, refused=refused), class_="answered")

    async def _content(self, watch: Watch, shown: Shown, tab: str, query: Mapping[str, str]) -> Html:
        if tab == "why":
            return await self._why_content(watch, shown, query.get("url", "").strip())
        if tab == "commands":
            return order_pages.commands_content(shown, query.get("host", ""))
        parts = await self._parts(watch, shown, tab, query)
        if tab == "":
            return overview.figures_content(shown, overview.span_of(query.get("span", ""), shown), parts)
        if tab == "hosts":
            return tabs.hosts_content(shown, _of(query.get("by"), tabs.HOSTS_BY), parts)
        if tab == "log":
            return tabs.log_content(shown, _of(query.get("name"), LOGS), query.get("find", ""), parts)
        return tabs.content(tab, parts)

    async def _parts(self, watch: Watch, shown: Shown, tab: str, query: Mapping[str, str]) -> Parts:
        """What changes of a page that stays open."""
        if tab == "hosts":
            by = _of(query.get("by"), tabs.HOSTS_BY)
            found = tabs.hosts_part(shown, by, *await self._asked(watch, shown, "hosts", "--by", by))
            return {"hosts": found, "levels": tabs.levels_part(shown)}
        if tab == "errors":
            return {"errors": tabs.errors_part(shown, *await self._errors(watch, shown))}
        if tab == "seeds":
            return {"seeds": tabs.seeds_part(shown, await self._progress(watch))}
        if tab == "fetchers":
            return {"fetchers": tabs.fetchers_part(shown, *await self._asked(watch, shown, "threads"))}
        if tab == "log":
            name, find = _of(query.get("name"), LOGS), query.get("find", "")
            return {"log": tabs.lines_part(shown, name, await self._lines(watch, name, find))}
        return overview.figures(shown, overview.span_of(query.get("span", ""), shown))

    async def _crawl_events(self, request: web.Request) -> web.StreamResponse:
        watch, tab = await self._one(request), request.match_info["tab"]
        if tab not in ("overview", "hosts", "errors", "seeds", "fetchers", "log"):
            raise web.HTTPNotFound(text="there is no such page\n")
        number = 0

        async def parts(turn: int) -> Parts:
            nonlocal number
            number, sample = await watch.next(number if turn else 0)
            shown = Shown(self._site, watch.known, sample, watch.moments())
            return {**common(shown), **await self._parts(watch, shown, tab, request.query)}

        return await self._stream(request, parts)

    async def _asked(self, watch: Watch, shown: Shown, name: str, *words: str) -> tuple[Any, str]:
        """What a crawl answers to a command that only asks, or why there is no answer."""
        if not shown.sample.answers:
            return None, "The crawl does not run, or does not answer."
        if watch.known.drones:
            return None, "A hive is asked drone by drone: choose one on its first page."
        try:
            return await watch.answer((name, *words), lambda: self._ask(watch.known.jobdir, name, *words)), ""
        except CommandError as error:
            known = f"This crawl does not know the command {name}." if "is no command" in str(error) else f"{error}."
            return None, known
        except NotRunning:
            return None, "The crawl has just ended."

    async def _errors(self, watch: Watch, shown: Shown) -> tuple[Any, list[str]]:
        found, _ = await self._asked(watch, shown, "errors")
        return found, await self._lines(watch, "errors.log", "")

    async def _lines(self, watch: Watch, name: str, find: str) -> list[str]:
        def read() -> list[str]:
            return [line for one in watch.known.crawls for line in tail(one.jobdir, name, find, tabs.MOST_LINES)]

        lines: list[str] = await watch.answer(("log", name, find[:200]), read)
        return lines[: tabs.MOST_LINES]

    async def _progress(self, watch: Watch) -> SeedProgress:
        known = watch.known
        progress = self._seeds.setdefault(known.id, SeedProgress([one.jobdir for one in known.crawls]))
        await watch.answer("seeds", progress.read)
        return progress

    async def _why_content(self, watch: Watch, shown: Shown, url: str) -> Html:
        if not url:
            return order_pages.why_content(shown, "", None, "")
        if self._why is None:
            return order_pages.why_content(shown, url, None, "This version has no answer to that yet.")
        if len(url) > LONGEST:
            return order_pages.why_content(shown, "", None, f"A URL of more than {LONGEST} characters.")
        why = self._why
        try:
            found = await watch.answer(("why", url), lambda: why(watch.known.jobdir, url))
        except (ValueError, OSError, NotRunning, RuntimeError) as error:
            return order_pages.why_content(shown, url, None, f"No answer: {error}")
        return order_pages.why_content(shown, url, found, "")

    # -- commands

    async def _order(self, request: web.Request) -> web.StreamResponse:
        watch = await self._one(request)
        form = {name: value for name, value in (await request.post()).items() if isinstance(value, str)}
        order = orders.Order(form.get("command", ""), ())
        try:
            order = orders.read(form)
            if order.destroys and form.get("sure") != "yes":
                orders.check(order)
                shown = await self._shown(watch)
                return _html(crawl_page(shown, "commands", order_pages.sure_content(shown, order), None))
            number = self._said.keep(order, await watch.order(order.name, *order.words), refused=False)
        except (CommandError, NotRunning) as error:
            number = self._said.keep(order, str(error), refused=True)
        where = self._site.at("c", watch.known.id, "commands", said=number)
        raise web.HTTPSeeOther(where)

    # -- what all pages need

    async def _stream(self, request: web.Request, parts: Callable[[int], Any]) -> web.StreamResponse:
        """Server-sent events: the parts of a page that have changed, until the browser goes away."""
        if len(self._streams) >= MOST_STREAMS:
            raise web.HTTPServiceUnavailable(text="too many pages are open\n", headers={"Retry-After": "30"})
        answer = web.StreamResponse(headers={**HEADERS, "Content-Type": "text/event-stream"})
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a handler runs in one
        self._streams.add(task)
        try:
            await answer.prepare(request)
            sent: dict[str, Html] = {}
            turn = 0
            while True:
                made = await parts(turn)
                news = {name: html for name, html in made.items() if sent.get(name) != html}
                sent.update(news)
                await answer.write(b"data: %s\n\n" % json.dumps(news).encode())
                turn += 1
        except ConnectionResetError:
            return answer
        finally:
            self._streams.discard(task)

    async def _style(self, request: web.Request) -> web.StreamResponse:
        del request
        return web.Response(text="".join(_asset(*where) for where in STYLES), content_type="text/css")

    async def _script(self, request: web.Request) -> web.StreamResponse:
        del request
        return web.Response(text=_asset("webcrawl.dashboard", "assets/dashboard.js"), content_type="text/javascript")


PAUSE = 2.0  # seconds between two looks at all crawls


def _html(text: str) -> web.Response:
    return web.Response(text=text, content_type="text/html")


def _of(given: str | None, allowed: Any) -> str:
    """What was asked for, if it is one of these; else the first."""
    return given if given is not None and given in allowed else str(next(iter(allowed)))


def _asset(package: str, name: str) -> str:
    return (files(package) / name).read_text(encoding="utf-8")
