"""A dashboard in this process, and somebody who asks it over HTTP, for tests without a browser."""

import asyncio
import json
from contextlib import contextmanager
from types import SimpleNamespace

from aiohttp import ClientSession, CookieJar
from aiohttp.test_utils import TestServer
from yarl import URL

from webcrawl.crawl.control.command import CommandError, NotRunning
from webcrawl.store.jobdir.history_line import PATH, line, mix, moment
from webcrawl.tools.dashboard.access_guard import COOKIE, AccessGuard
from webcrawl.tools.dashboard.crawls import CrawlFinder
from webcrawl.tools.dashboard.dashboard_server import DashboardServer

FIGURES = {
    "pages": 120,
    "bytes": 5_000_000,
    "failures": 3,
    "queued": 4000,
    "hosts": 30,
    "in_flight": 4,
    "ready": 2,
    "deferred": 7,
    "hosts_deferred": 1,
    "seen/keys": 9000,
    "seeds": 5,
    "outcome/dns": 3,
    "errors": 0,
    "trouble": "",
    "levels": [3000, 1000, 0],
    "mix": mix({200: 100, 301: 5, 404: 10, -1: 5}),
    "milliseconds": [0, 10, 40, 50, 20],
    "state": "running",
    "in_force": [],
}


class Crawls:
    """Answers for crawls that need not exist, and notes the commands that they get."""

    def __init__(self, answers=()):
        self.answers, self.told = dict(answers), []

    def ask(self, jobdir, command, *words, written=b""):
        """Return the answer to a command, or raise it if it is an error."""
        if command != "status":
            self.told.append((jobdir.name, command, *words, *([written] if written else [])))
        answer = self.answers.get((jobdir.name, command), self.answers.get(command))
        if answer is None:
            raise (
                NotRunning(f"{jobdir}: no running crawl accepts commands there")
                if command == "status"
                else CommandError(f"{command!r} is not a command; the commands are status")
            )
        if isinstance(answer, Exception):
            raise answer
        return answer


def made(folder, *, stats=None, history=()):
    """Return a JOBDIR in which a crawl seems to have begun."""
    (folder / "state").mkdir(parents=True)
    (folder / "logs").mkdir()
    (folder / "state/crawl.db").touch()
    if stats is not None:
        (folder / "stats.json").write_text(json.dumps(stats))
    if history:
        (folder / PATH).write_bytes(b"".join(line(moment(figures, at)) for at, figures in history))
    return folder


class Visitor:
    """A visitor of the dashboard; answers have status, headers and text."""

    def __init__(self, loop, session, guard):
        self.loop, self.session, self.guard = loop, session, guard
        self.port, self.base = guard.port, guard.base
        self.cookie = {COOKIE: guard.token}

    def at(self, path):
        """Return the URL of a path exactly as it is written: a client would resolve `..`."""
        return URL(f"http://127.0.0.1:{self.port}{path}", encoded=True)

    def ask(self, path, *, method="GET", cookies=None, **more):
        """Request a path, and return the answer; redirects are not followed."""

        async def asking():
            given = self.cookie if cookies is None else cookies
            asked = self.session.request(
                method, self.at(path), allow_redirects=False, cookies=given, **more
            )
            async with asked as answer:
                text = await answer.text(errors="replace")
                return SimpleNamespace(status=answer.status, headers=answer.headers, text=text)

        return self.loop.run_until_complete(asking())

    def page(self, path="", **more):
        """Return the text of a page below the base, which must be there."""
        answer = self.ask(f"{self.base}/{path}", **more)
        assert answer.status == 200, answer.text
        return answer.text

    def send(self, path, data, *, form=True, **more):
        """Send a form; with its token, unless told otherwise."""
        token = {"form": self.guard.form_token} if form else {}
        return self.ask(f"{self.base}/{path}", method="POST", data={**token, **data}, **more)


def nothing_known(jobdir, url):
    return {"url": url, "state": "unknown", "reason": "nobody knows it", "kind": "unknown"}


@contextmanager
def dashboard(root, crawls=None, *, given=(), why=nothing_known, host="127.0.0.1"):
    """Serve the crawls below a folder; yield a visitor, whose `id` is that of the first crawl."""
    crawls = crawls or Crawls()
    guard = AccessGuard(host, 0)
    finder = CrawlFinder(given, root)
    server = DashboardServer(guard, finder, str(root), crawls.ask, why, {})
    loop = asyncio.new_event_loop()
    listening = TestServer(server.app(), host="127.0.0.1")
    session = None

    async def start():
        await listening.start_server()
        return ClientSession(cookie_jar=CookieJar(unsafe=True))

    try:
        session = loop.run_until_complete(start())
        guard.port = listening.port
        visitor = Visitor(loop, session, guard)
        visitor.finder, visitor.crawls = finder, crawls
        visitor.id = next((known.id for known in finder.find()), "")
        yield visitor
    finally:
        if session is not None:
            loop.run_until_complete(session.close())
        loop.run_until_complete(listening.close())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
