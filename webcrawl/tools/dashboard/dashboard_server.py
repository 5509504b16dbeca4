"""Serves the dashboard's pages over HTTP (aiohttp), and updates of pages that stay open.

The server is a process of its own, and asks crawls for their status only while a page is open. In
the crawl's process, it would compete for the event loop and end with the crawl.
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
from webcrawl.tools.dashboard.commands import CommandOrder, CommandSender, confirmation_content
from webcrawl.tools.dashboard.crawl_page import (
    FIRST_TAB,
    TABS,
    ShownCrawl,
    common_parts,
    crawl_page,
    crawls_page,
    crawls_parts,
)
from webcrawl.tools.dashboard.crawls import (
    MAX_SAMPLE_AGE,
    UPDATE_SECONDS,
    Ask,
    CrawlFinder,
    CrawlWatch,
    WatchedCrawl,
)
from webcrawl.tools.dashboard.frame import DashboardAddress, Parts
from webcrawl.tools.dashboard.json_interface import JsonInterface
from webcrawl.tools.dashboard.operations import Operations
from webcrawl.tools.dashboard.tabs import LIVE_TABS, TabContents, Why
from webcrawl.tools.why.answer import why

MAX_FORM_BYTES = 64 << 10
THREADS = 16
STYLES = (
    ("webcrawl.tools.report", "assets/style.css"),
    ("webcrawl.tools.dashboard", "assets/dashboard.css"),
)
SCRIPTS = (
    ("webcrawl.tools.report", "assets/script.js"),
    ("webcrawl.tools.dashboard", "assets/dashboard.js"),
)
# what a page was asked for, which its events must be as well
QUERY_OF_EVENTS = ("by", "name", "find")


class DashboardServer:
    """Serves the pages. Requests have ids of crawls and names of logs, but never a path."""

    def __init__(
        self,
        guard: AccessGuard,
        finder: CrawlFinder,
        folder: str,
        ask: Ask,
        why: Why,
        defaults: Mapping[str, str],
    ) -> None:
        """`folder` is where crawls are searched, as a page names it.

        `ask` gives a crawl a command, `why` explains a URL, and `defaults` are those of settings,
        as texts.
        """
        self._guard = guard
        self._finder = finder
        self._folder = folder
        self._ask = ask
        self._defaults = defaults
        self._site = DashboardAddress(guard.base, guard.form_token)
        self._contents = TabContents(ask, why)
        self._sender = CommandSender()
        self._streams = EventStreams()
        self._search: asyncio.Future[list[WatchedCrawl]] | None = None
        self._searched_at = 0.0
        self._watches: dict[str, CrawlWatch] = {}
        self._executor = ThreadPoolExecutor(THREADS, thread_name_prefix="look")
        self._json = JsonInterface(Operations(finder, ask), self._executor, guard.api)

    def app(self) -> web.Application:
        """Return the application with all routes, behind the guard."""
        app = web.Application(middlewares=[self._guard.watch], client_max_size=MAX_FORM_BYTES)
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

    async def _current_crawls(self) -> list[WatchedCrawl]:
        """Return the crawls that there are, by a search that all pages of this moment share."""
        if self._search is None or (
            self._search.done() and time.monotonic() - self._searched_at > MAX_SAMPLE_AGE
        ):
            self._searched_at = time.monotonic()
            self._search = asyncio.get_running_loop().run_in_executor(
                self._executor, self._finder.find
            )
        return await asyncio.shield(self._search)

    def _watch(self, crawl: WatchedCrawl) -> CrawlWatch:
        """Return the watch of a crawl, which all its pages share."""
        watch = self._watches.get(crawl.id)
        if watch is None or watch.crawl != crawl:  # a hive may have got another drone
            watch = CrawlWatch(crawl, self._ask, self._executor, self._defaults)
            self._watches[crawl.id] = watch
        return watch

    async def _shown_crawls(self) -> list[ShownCrawl]:
        return await asyncio.gather(
            *(self._shown(self._watch(known)) for known in await self._current_crawls())
        )

    async def _crawls(self, request: web.Request) -> web.StreamResponse:
        del request
        return _html(crawls_page(self._site, await self._shown_crawls(), self._folder))

    async def _crawls_events(self, request: web.Request) -> web.StreamResponse:
        async def parts() -> Parts:
            return crawls_parts(await self._shown_crawls(), self._folder)

        return await self._streams.serve(request, parts)

    # -- one crawl

    async def _requested_watch(self, request: web.Request) -> CrawlWatch:
        """Return the watch of the crawl that a request names. Raise HTTPNotFound if there is none."""
        crawl_id = request.match_info["id"]
        crawl = self._finder.get(crawl_id)
        if crawl is None or crawl.drones:  # it may have begun since, or have got another drone
            await self._current_crawls()
            crawl = self._finder.get(crawl_id)
        if crawl is None:
            raise web.HTTPNotFound(text="no such crawl\n")
        return self._watch(crawl)

    async def _shown(self, watch: CrawlWatch) -> ShownCrawl:
        return ShownCrawl(self._site, watch.crawl, await watch.sample(), watch.moments())

    async def _crawl(self, request: web.Request) -> web.StreamResponse:
        """Answer with a tab of a crawl's page."""
        watch = await self._requested_watch(request)
        tab = request.match_info.get("tab", "")
        has_empty_tab = not tab and "tab" in request.match_info
        if tab not in TABS or has_empty_tab:
            raise web.HTTPNotFound(text="there is no such page\n")
        shown = await self._shown(watch)
        content = await self._contents.page(watch, shown, tab, request.query)
        events = None
        is_live = tab in LIVE_TABS and "host" not in request.query
        if is_live:
            query = {name: request.query.get(name) for name in QUERY_OF_EVENTS}
            events = shown.at(tab or "overview", "events", **query)
        answer = self._sender.answer_content(shown, request.query.get("said", ""))
        return _html(crawl_page(shown, tab, content, events, answer))

    async def _crawl_events(self, request: web.Request) -> web.StreamResponse:
        """Send updates of a tab of a crawl's page."""
        watch = await self._requested_watch(request)
        tab = request.match_info["tab"]
        if tab == "overview":
            tab = ""
        if tab not in LIVE_TABS:
            raise web.HTTPNotFound(text="there is no such page\n")

        async def parts() -> Parts:
            shown = await self._shown(watch)
            return {
                **common_parts(shown),
                **await self._contents.parts(watch, shown, tab, request.query),
            }

        return await self._streams.serve(request, parts)

    # -- commands

    async def _order(self, request: web.Request) -> web.StreamResponse:
        """Give a command, and redirect to its answer; or ask whether the command is meant."""
        watch = await self._requested_watch(request)
        form = {
            name: value for name, value in (await request.post()).items() if isinstance(value, str)
        }
        back = form.get("back", "")
        outcome = await self._sender.send(watch, form)
        if isinstance(outcome, CommandOrder):  # it needs a confirmation
            shown = await self._shown(watch)
            content = confirmation_content(shown, outcome, back)
            return _html(crawl_page(shown, "commands", content, None))
        tab = () if back == FIRST_TAB else ("commands",)
        raise web.HTTPSeeOther(self._site.at("c", watch.crawl.id, *tab, said=outcome))

    async def _paste(self, request: web.Request) -> web.StreamResponse:
        watch = await self._requested_watch(request)
        text = (await request.post()).get("seeds", "")
        answer = await self._sender.add_seeds(watch, text if isinstance(text, str) else "")
        raise web.HTTPSeeOther(self._site.at("c", watch.crawl.id, "seeds", said=answer))

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

MAX_OPEN_PAGES = 32  # each has a stream of events


# Server-sent events are enough, because pages only listen. A WebSocket would be a second protocol
# to guard.
class EventStreams:
    """The streams of events to pages that are open."""

    def __init__(self) -> None:
        self._open: set[asyncio.Task[Any]] = set()

    async def serve(
        self, request: web.Request, parts: Callable[[], Awaitable[Parts]]
    ) -> web.StreamResponse:
        """Send the parts that have changed every UPDATE_SECONDS, until the browser closes the page.

        Raise HTTPServiceUnavailable if too many pages are open.
        """
        task = asyncio.current_task()
        if len(self._open) >= MAX_OPEN_PAGES or task is None:
            raise web.HTTPServiceUnavailable(
                text="too many pages are open\n", headers={"Retry-After": "30"}
            )
        answer = web.StreamResponse(headers={**HEADERS, "Content-Type": "text/event-stream"})
        self._open.add(task)
        try:
            await answer.prepare(request)
            sent: dict[str, Html] = {}
            while True:
                current = await parts()
                changed = {name: html for name, html in current.items() if sent.get(name) != html}
                sent.update(changed)
                await answer.write(b"data: %s\n\n" % json.dumps(changed).encode())
                await asyncio.sleep(UPDATE_SECONDS)
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


SHUTDOWN_SECONDS = 1.0  # for open pages to be closed
KEEPALIVE_SECONDS = 30.0  # for which an idle connection is kept
# Connections that are accepted in one turn of the event loop, and that the kernel keeps waiting.
MAX_PENDING_CONNECTIONS = 16
# Errors of accept() when the process or the system has too many files open, or no memory.
RESOURCE_ERRORS = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))
MIN_REPORT_SECONDS = 60.0  # between two lines on these errors


class NotListening(Exception):  # noqa: N818 - reads as what it is
    """Raised when the server cannot listen on its address. The message is one line."""


def run(
    finder: CrawlFinder,
    folder: str,
    address: tuple[str, int],
    ask: Ask,
    say: Callable[[str], None],
    defaults: Mapping[str, str],
) -> None:
    """Print the address of the dashboard, and serve it until SIGINT or SIGTERM.

    `folder` is where crawls are searched, as a page names it. `say` prints a line. `defaults` are
    those of settings, as texts. Raise NotListening if the address cannot be used.
    """
    host, port = address
    listener = _listen(host, port)
    with listener, contextlib.suppress(KeyboardInterrupt):
        guard = AccessGuard(host, listener.getsockname()[1])
        server = DashboardServer(guard, finder, folder, ask, _why, defaults)
        asyncio.run(
            _serve(
                server,
                listener,
                lambda: _print_address(guard, host, say),
                ConnectionLackReport(say),
            )
        )


def _print_address(guard: AccessGuard, host: str, say: Callable[[str], None]) -> None:
    say(f"dashboard: {guard.address()}")
    if not is_loopback(host):
        say(
            "anyone who can read the network traffic can read this address: better listen on "
            "loopback, and connect through ssh -L"
        )


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on the first address of a host. Raise NotListening."""
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = addresses[0]
        return socket.create_server(address[:2], family=family, backlog=MAX_PENDING_CONNECTIONS)
    except OSError as error:
        # Errors of name resolution are negative: they have no text in strerror().
        number = error.errno or 0
        why = os.strerror(number) if number > 0 else error.strerror
        raise NotListening(f"{host}:{port}: {why}") from error


class ConnectionLackReport:
    """An exception handler that prints one line when no connection can be accepted.

    asyncio would log a traceback for each attempt.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._next_at = 0.0  # by the clock of the event loop

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in RESOURCE_ERRORS:
            loop.default_exception_handler(context)
        elif loop.time() >= self._next_at:
            self._next_at = loop.time() + MIN_REPORT_SECONDS
            self._say(f"no connection can be accepted until others are closed: {error.strerror}")


async def _serve(
    server: DashboardServer,
    listener: socket.socket,
    print_address: Callable[[], None],
    lack: ConnectionLackReport,
) -> None:
    """Serve until SIGINT or SIGTERM. Print the address once the server accepts connections."""
    asyncio.get_running_loop().set_exception_handler(lack)
    runner = web.AppRunner(
        server.app(),
        access_log=None,
        shutdown_timeout=SHUTDOWN_SECONDS,
        keepalive_timeout=KEEPALIVE_SECONDS,
        max_line_size=MAX_FORM_BYTES,  # a search for a pasted text is in the address
    )
    await runner.setup()
    end = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end.set)
    try:
        await web.SockSite(runner, listener, backlog=MAX_PENDING_CONNECTIONS).start()
        print_address()
        await end.wait()
    finally:
        await runner.cleanup()


def _why(jobdir: Path, url: str) -> Any:
    return why(jobdir, url).to_json()
