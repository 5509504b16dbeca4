"""`scrapy leaving` in a process of its own, whoever asks it, and the zone in which owners publish."""

import asyncio
import re
from contextlib import contextmanager
from threading import Thread
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import ProxyHandler, build_opener

from tests.support.crawling import PATIENCE, SETTINGS, _crawl, _forked, wait_until
from tests.support.nameserver import TXT, NameServer
from tests.support.places import ROOT
from webcrawl.tools.optout.token import LABEL

ADDRESS = re.compile(r"the form for owners: (http://\S+)\n")


class Zone:
    """A name server whose TXT records a test publishes."""

    def __init__(self):
        self.server = NameServer()

    def publish(self, host, *tokens):
        """These and no others."""
        self.server.zone[f"{LABEL}.{host}"] = [(f"{LABEL}.{host}", TXT, 60, token) for token in tokens]


@contextmanager
def zone():
    """Answers during the block."""
    found, loop = Zone(), asyncio.new_event_loop()
    began, end = asyncio.Event(), asyncio.Event()

    async def serve():
        async with found.server.running():
            began.set()
            await end.wait()

    thread = Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    wait_until(began.is_set)
    try:
        yield found
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join()
        loop.close()


class Form:
    """Asks as a browser does."""

    def __init__(self, address, output):
        self.address, self._output = address, output
        self._open = build_opener(ProxyHandler({})).open

    def token(self, rule, wish="leave"):
        _, page = self._answer(f"{self.address}?{urlencode({'rule': rule, 'wish': wish})}")
        return re.search(r"<pre>(webcrawl-[^<]*)</pre>", page)[1]

    def check(self, rule):
        """The status, and what is said."""
        status, page = self._answer(self.address, urlencode({"rule": rule}).encode())
        return status, re.search(r'role="status">(.*?)</p>', page)[1]

    def said(self):
        """What the operator was told."""
        return self._output.read_text()

    def _answer(self, url, data=None):
        try:
            with self._open(url, data, PATIENCE) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as error:
            with error:
                return error.code, error.read().decode()


@contextmanager
def form(jobdir, published, **settings):
    """The form for a JOBDIR; it ends with status 0."""
    output = jobdir.with_suffix(".form")
    output.unlink(missing_ok=True)  # of the one before
    values = {**SETTINGS, "DNS_NAMESERVERS": published.server.address, "HTTPPROXY_ENABLED": 0, **settings}
    options = [word for name, value in values.items() for word in ("-s", f"{name}={value}")]
    words = ["scrapy", "leaving", str(jobdir), "--port", "0", *options]
    process = _forked.Process(target=_crawl, args=(words, str(ROOT), str(output)), daemon=True)
    process.start()
    try:
        wait_until(lambda: not process.is_alive() or (output.exists() and ADDRESS.search(output.read_text())))
        yield Form(ADDRESS.search(output.read_text())[1], output)
        process.terminate()
        process.join(PATIENCE)
        assert process.exitcode == 0, output.read_text()
    finally:
        process.kill()
        process.join()
