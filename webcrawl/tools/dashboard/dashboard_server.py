"""The dashboard's pages over HTTP (aiohttp), and events for pages that stay open.

It is a process of its own, which asks crawls for their status only while a page is open: in the
crawl, it would compete for the event loop, and end with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import logging
import os
import signal
import socket
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path
from typing import Any

from aiohttp import web

from webcrawl.base.markup import Html
from webcrawl.net.http_answerer import is_loopback
from webcrawl.tools.dashboard.access_guard import HEADERS, AccessGuard
from webcrawl.tools.dashboard.commands import CommandSender, sure_content
from webcrawl.tools.dashboard.crawl_page import (
    FIRST,
    TABS,
    ShownCrawl,
    common,
    crawl_page,
    crawls_page,
    crawls_parts,
)
from webcrawl.tools.dashboard.crawls import (
    FRESH,
    INTERVAL,
    Ask,
    CrawlFinder,
    CrawlWatch,
    WatchedCrawl,
)
from webcrawl.tools.dashboard.frame import DashboardAddress, Parts
from webcrawl.tools.dashboard.json_interface import JsonInterface
from webcrawl.tools.dashboard.operations import Operations
from webcrawl.tools.dashboard.tabs import LIVE, TabContents, Why
from webcrawl.tools.why.answer import why

LARGEST = 64 << 10  # bytes of a form
THREADS = 16
STYLES = (
    ("webcrawl.tools.report", "assets/style.css"),
    ("webcrawl.tools.dashboard", "assets/dashboard.css"),
)
SCRIPTS = (
    ("webcrawl.tools.report", "assets/script.js"),
    ("webcrawl.tools.dashboard", "assets/dashboard.js"),
)
KEPT = ("by", "name", "find")  # what a page was asked for, which its events must be as well


class DashboardServer:
    """Serves the pages. Nothing of a request is a path: ids and names of ours stand for files."""

    def __init__(
        self,
        guard: AccessGuard,
        finder: CrawlFinder,
        where: str,
        ask: Ask,
        why: Why,
        defaults: Mapping[str, str],
    ) -> None:
        self._guard = guard
        self._finder = finder
        self._where = where
        self._ask = ask
        self._defaults = defaults
        self._site = DashboardAddress(guard.base, guard.form_token)
        self._contents = TabContents(ask, why)
        self._ordering = CommandSender()
        self._streams = EventStreams()
        self._finding: asyncio.Future[list[WatchedCrawl]] | None = None
        self._searched = 0.0
        self._watches: dict[str, CrawlWatch] = {}
        self._executor = ThreadPoolExecutor(THREADS, thread_name_prefix="look")
        self._json = JsonInterface(Operations(finder, ask), self._executor, guard.api)

    def app(self) -> web.Application:
        app = web.Application(middlewares=[self._guard.watch], client_max_size=LARGEST)
        base = self._guard.base
        app.add_routes(
            [
                web.get(f"{base}/", self._crawls),
                web.get(f"{base}/events", self._crawls_events, allow_head=False),
                web.get(f"{base}/style.css", self._style),
                web.get(f"{base}/script.js", self._script),
                web.get(f"{base}/c/{{id}}", self._crawl),
                web.get(f"{base}/c/{{id}}/{{tab}}", self._crawl),
                web.get(f"{base}/c/{{id}}/{{tab}}/events", self._crawl_events, allow_head=False),
                web.post(f"{base}/c/{{id}}/commands", self._order),
                web.post(f"{base}/c/{{id}}/seeds", self._paste),
            ]
        )
        app.add_routes(self._json.routes())
        app.on_shutdown.append(self._close)
        return app

    async def _close(self, _: web.Application) -> None:
        self._streams.close()
        self._executor.shutdown(wait=False, cancel_futures=True)

    # -- all crawls

    async def _found(self) -> list[WatchedCrawl]:
        """Return the crawls of a moment ago: folders are not searched for each page anew."""
        if self._finding is None or (
            self._finding.done() and time.monotonic() - self._searched > FRESH
        ):
            self._searched = time.monotonic()
            self._finding = asyncio.get_running_loop().run_in_executor(
                self._executor, self._finder.look
            )
        return await asyncio.shield(self._finding)

    def _watch(self, known: WatchedCrawl) -> CrawlWatch:
        watch = self._watches.get(known.id)
        if watch is None or watch.known != known:  # a hive may have got another drone
            watch = CrawlWatch(known, self._ask, self._executor, self._defaults)
            self._watches[known.id] = watch
        return watch

    async def _all(self) -> list[ShownCrawl]:
        return await asyncio.gather(
            *(self._shown(self._watch(known)) for known in await self._found())
        )

    async def _crawls(self, request: web.Request) -> web.StreamResponse:
        del request
        return _html(crawls_page(self._site, await self._all(), self._where))

    async def _crawls_events(self, request: web.Request) -> web.StreamResponse:
        async def parts() -> Parts:
            return crawls_parts(await self._all(), self._where)

        return await self._streams.serve(request, parts)

    # -- one crawl

    async def _one(self, request: web.Request) -> CrawlWatch:
        name = request.match_info["id"]
        known = self._finder.get(name)
        if known is None or known.drones:  # it may have begun since, or have got another drone
            await self._found()
            known = self._finder.get(name)
        if known is None:
            raise web.HTTPNotFound(text="no such crawl\n")
        return self._watch(known)

    async def _shown(self, watch: CrawlWatch) -> ShownCrawl:
        return ShownCrawl(self._site, watch.known, await watch.sample(), watch.moments())

    async def _crawl(self, request: web.Request) -> web.StreamResponse:
        watch = await self._one(request)
        tab = request.match_info.get("tab", "")
        has_empty_tab = not tab and "tab" in request.match_info
        if tab not in TABS or has_empty_tab:
            raise web.HTTPNotFound(text="there is no such page\n")
        shown = await self._shown(watch)
        content = await self._contents.page(watch, shown, tab, request.query)
        events = None
        is_live = tab in LIVE and "host" not in request.query
        if is_live:
            query = {name: request.query.get(name) for name in KEPT}
            events = shown.at(tab or "overview", "events", **query)
        said = self._ordering.said(shown, request.query.get("said", ""))
        return _html(crawl_page(shown, tab, content, events, said))

    async def _crawl_events(self, request: web.Request) -> web.StreamResponse:
        watch, tab = await self._one(request), request.match_info["tab"]
        tab = "" if tab == "overview" else tab
        if tab not in LIVE:
            raise web.HTTPNotFound(text="there is no such page\n")

        async def parts() -> Parts:
            shown = await self._shown(watch)
            return {**common(shown), **await self._contents.parts(watch, shown, tab, request.query)}

        return await self._streams.serve(request, parts)

    # -- commands

    async def _order(self, request: web.Request) -> web.StreamResponse:
        watch = await self._one(request)
        form = {
            name: value for name, value in (await request.post()).items() if isinstance(value, str)
        }
        given = await self._ordering.give(watch, form)
        if isinstance(given, str):
            tab = () if form.get("back") == FIRST else ("commands",)
            raise web.HTTPSeeOther(self._site.at("c", watch.known.id, *tab, said=given))
        shown = await self._shown(watch)
        content = sure_content(shown, given, form.get("back", ""))
        return _html(crawl_page(shown, "commands", content, None))

    async def _paste(self, request: web.Request) -> web.StreamResponse:
        watch, text = await self._one(request), (await request.post()).get("seeds", "")
        said = await self._ordering.paste(watch, text if isinstance(text, str) else "")
        raise web.HTTPSeeOther(self._site.at("c", watch.known.id, "seeds", said=said))

    # -- files

    async def _style(self, request: web.Request) -> web.StreamResponse:
        del request
        return web.Response(
            text="".join(_asset(*where) for where in STYLES), content_type="text/css"
        )

    async def _script(self, request: web.Request) -> web.StreamResponse:
        del request
        return web.Response(
            text="".join(_asset(*where) for where in SCRIPTS), content_type="text/javascript"
        )


def _html(text: str) -> web.Response:
    return web.Response(text=text, content_type="text/html")


def _asset(package: str, name: str) -> str:
    return (files(package) / name).read_text(encoding="utf-8")


logger = logging.getLogger(__name__)

MOST = 32  # pages that stay open


# Server-sent events, for pages only listen: a WebSocket would be a second protocol to guard.
class EventStreams:
    """The streams of events that are open."""

    def __init__(self) -> None:
        self._open: set[asyncio.Task[Any]] = set()

    async def serve(
        self, request: web.Request, parts: Callable[[], Awaitable[Parts]]
    ) -> web.StreamResponse:
        """Send the parts that have changed, every two seconds, until the browser goes away."""
        task = asyncio.current_task()
        if len(self._open) >= MOST or task is None:
            raise web.HTTPServiceUnavailable(
                text="too many pages are open\n", headers={"Retry-After": "30"}
            )
        # Pages only listen: a WebSocket would be a second protocol to guard.
        answer = web.StreamResponse(headers={**HEADERS, "Content-Type": "text/event-stream"})
        self._open.add(task)
        try:
            await answer.prepare(request)
            sent: dict[str, Html] = {}
            while True:
                made = await parts()
                # The parts of the page that have changed.
                news = {name: html for name, html in made.items() if sent.get(name) != html}
                sent.update(news)
                await answer.write(b"data: %s\n\n" % json.dumps(news).encode())
                await asyncio.sleep(INTERVAL)
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


GRACE = 1.0  # seconds for open pages to be closed
IDLE = 30.0  # seconds for which a connection is kept
AT_ONCE = 16  # connections accepted in one turn, and kept waiting by the kernel
LACKS = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))
SAID = 60.0  # seconds between two lines on that


class NotListening(Exception):  # noqa: N818 - reads as what it is
    """The address cannot be listened on; the message is one line."""


def run(
    finder: CrawlFinder,
    where: str,
    address: tuple[str, int],
    ask: Ask,
    say: Callable[[str], None],
    defaults: Mapping[str, str],
) -> None:
    """Say where the dashboard is, and serve it until SIGINT or SIGTERM.

    `where` it looks for crawls, for people; `defaults`: of the settings, as texts.
    """
    host, port = address
    listener = _listen(host, port)
    with listener, contextlib.suppress(KeyboardInterrupt):
        guard = AccessGuard(host, listener.getsockname()[1])
        server = DashboardServer(guard, finder, where, ask, _why, defaults)
        asyncio.run(
            _serve(server, listener, lambda: _tell(guard, host, say), ConnectionLackReport(say))
        )


def _tell(guard: AccessGuard, host: str, say: Callable[[str], None]) -> None:
    say(f"dashboard: {guard.address()}")
    if not is_loopback(host):
        say(
            "anyone who can read the network traffic can read this address: better listen on "
            "loopback, and connect through ssh -L"
        )


def _listen(host: str, port: int) -> socket.socket:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server(found[4][:2], family=found[0], backlog=AT_ONCE)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
        raise NotListening(f"{host}:{port}: {why}") from error


class ConnectionLackReport:
    """Says in one line that no more connections can be taken; asyncio would write tracebacks."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._next = 0.0

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in LACKS:
            loop.default_exception_handler(context)
        elif loop.time() >= self._next:
            self._next = loop.time() + SAID
            self._say(f"no connection can be accepted until others are closed: {error.strerror}")


async def _serve(
    server: DashboardServer,
    listener: socket.socket,
    tell: Callable[[], None],
    lack: ConnectionLackReport,
) -> None:
    asyncio.get_running_loop().set_exception_handler(lack)
    runner = web.AppRunner(
        server.app(),
        access_log=None,
        shutdown_timeout=GRACE,
        keepalive_timeout=IDLE,
        max_line_size=LARGEST,  # a search for a pasted text is in the address
    )
    await runner.setup()
    end = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end.set)
    try:
        await web.SockSite(runner, listener, backlog=AT_ONCE).start()
        tell()
        await end.wait()
    finally:
        await runner.cleanup()


def _why(jobdir: Path, url: str) -> Any:
    return why(jobdir, url).to_json()
