"""A crawl that fetches pages again, in simulated time: all that `assemble` connects, with a small
web of documents.
"""

from collections import Counter
from itertools import count

from tests.support.saving import prepared
from tests.support.timed_crawl import assembled
from webcrawl.base.model import Exchange, Link, Outcome, Status, Timings
from webcrawl.crawl.redirect_chain import cookie_header
from webcrawl.tools.verify_crawl import verify

START = 1.8e9
HOST = "http://a.test"
SETTINGS = {
    "REVISIT_POLICY": "fixed",
    "REVISIT_AGE": 3600,
    "ROBOTSTXT_OBEY": False,
    "POLITENESS_MIN_DELAY": 1,
    "POLITENESS_MAX_DELAY": 1,
    "HOST_RETRY_WAIT": 1,
    "SITEMAPS": False,
    "SOFT404_PROBE": 0,  # the server answers whatever is requested with one page
    "FEED_LINKS": False,
}


class Web:
    """A crawl that revisits a host under a simulated clock.

    `documents` by URL (changing_site.Document) may be changed at any time; for None the host does
    not answer.
    """

    def __init__(self, folder, documents, **settings):
        self.folder, self.documents = folder, documents
        self.settings = {**SETTINGS, **settings, "JOBDIR": str(folder)}
        self.now, self.serial, self.requested = START, count(), []
        # seconds of the machine, which its clock has counted and the crawl has not
        self.slept = 0.0
        self.pages = []  # what pipelines would get
        self.open()

    def open(self, **settings):
        """Begin a run; these settings hold for it and all later ones."""
        self.settings |= settings
        self.crawl, self.visitor = assembled(
            self.settings, lambda: self.now + self.slept, lambda: self.now
        )
        self.crawl.begin()
        return self

    def seed(self, *paths):
        for path in paths:
            self.crawl.parts.discovery.submit(Link(self.url(path)))

    @staticmethod
    def url(path):
        return path if "://" in path else HOST + path

    def checkpoint(self):
        prepared(self.crawl.parts.db)
        self.crawl.checkpoint()

    def kill(self, **settings):
        """Begin the next run as of the last checkpoint, as after kill -9."""
        self.crawl.close()
        return self.open(**settings)

    def stop(self):
        prepared(self.crawl.parts.db)
        self.crawl.checkpoint(last=True)
        self.crawl.close()

    def damage(self):
        """Close the crawl after a checkpoint, and return what does not agree in its state."""
        self.checkpoint()
        self.crawl.close()
        return list(verify(self.folder, Counter()))

    def is_sound(self):
        """Return whether the state agrees with itself; the crawl goes on afterwards."""
        found = self.damage()
        self.open()
        return found == []

    def run(self, seconds, most=10_000):
        """Fetch what is due within so many seconds."""
        end = self.now + seconds
        for _ in range(most):
            link = self.crawl.next_link(self.now)
            if link is not None:
                self.fetch(link)
                continue
            ready = self.crawl.next_ready()
            if ready is None or ready > end:
                break
            self.now = max(self.now + 0.01, ready)
            if self.now >= end:
                break
        self.now = end

    def fetch(self, link):
        """Request a link that was taken."""
        exchange, outcome = self.answered(link)
        self.finish(link, exchange, outcome)

    def answered(self, link):
        """Return the exchange and the outcome of a request, with the conditions that the crawl
        sends.
        """
        revisiting = self.crawl.parts.revisiting
        given = revisiting.next_headers(link) if revisiting is not None and link.history else []
        conditions = {name.decode(): value for name, value in given}
        document = self.documents.get(link.url.removeprefix(HOST), self.documents.get("*"))
        self.requested.append((self.now, link.url.removeprefix(HOST), conditions))
        self.now += 0.05
        if document is None:
            return None, Outcome(Status.CONNECT_FAILED, 0.05, at=self.now, ended=self.now)
        told = {name: value.decode() for name, value in conditions.items()}
        if cookies := cookie_header(link.chain, link.url):
            told["Cookie"] = cookies.decode()
        status, headers, body = document.answer(told, next(self.serial))
        return self.exchange(link, told, status, headers, body, document.media), Outcome(
            status, 0.05, at=self.now, ended=self.now
        )

    def exchange(self, link, told, status, headers, body, media):
        """Return the exchange of a request and this answer."""
        lines = ["GET / HTTP/1.1", *(f"{name}: {value}" for name, value in told.items()), "", ""]
        fields = [(b"Content-Type", media.encode())] if status != 304 else []
        fields += [(name.encode(), value.encode()) for name, value in headers.items()]
        top = (
            b"HTTP/1.1 %d X\r\n" % status
            + b"".join(b"%b: %b\r\n" % field for field in fields)
            + b"\r\n"
        )
        return Exchange(
            link.url,
            "\r\n".join(lines).encode(),
            status,
            top,
            fields,
            body,
            body,
            body,
            "127.0.0.1",
            self.now,
            Timings(),
        )

    def finish(self, link, exchange, outcome):
        if exchange is not None:
            page = self.visitor.visit(link, exchange)
            self.visitor.follow(page)
            self.pages.append(page)
        self.crawl.finish(link, outcome, exchange)

    def times(self, path):
        """Return when this path was requested, in seconds since the start."""
        return [round(at - START) for at, requested, _ in self.requested if requested == path]

    def conditions(self, path):
        return [conditions for _, requested, conditions in self.requested if requested == path]

    def changes(self, path):
        return [str(page.change) for page in self.pages if page.url.removeprefix(HOST) == path]

    @property
    def known(self):
        """Return the number of pages that are fetched again, those on their way included."""
        return len(self.crawl.parts.revisiting)

    def counted(self):
        return Counter(requested for _, requested, _ in self.requested)
