"""A site whose pages change when a test says so, with validators that are honoured, or not."""

from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

from tests.support.crawling import QUICK, Crawl, wait_until
from tests.support.plain_site import Site, serving

SECONDS = 20.0  # for which a test waits for a request


@dataclass
class Document:
    """What is at one path now."""

    body: bytes = b""
    status: int = 200
    etag: str = ""
    modified: str = ""
    media: str = "text/html"
    headers: dict[str, str] = field(default_factory=dict)
    honours: bool = True  # says 304 if the validators are still good
    liar: bool = False  # says 304 to whatever asks for it
    always: bool = False  # says 304 to whatever asks
    restless: bool = False  # has another ETag with each answer
    late_body: bytes = b""  # sent with a 304, where there must be none

    def answer(self, requested, serial):
        """Return status, headers and body for a request with the headers `requested`.

        `serial` differs in each answer of the site.
        """
        etag = f'"{serial}"' if self.restless else self.etag
        headers = dict(self.headers)
        if etag:
            headers["ETag"] = etag
        if self.modified:
            headers["Last-Modified"] = self.modified
        if self._is_not_modified(requested):
            return 304, headers, self.late_body
        return self.status, headers, self.body

    def _is_not_modified(self, requested):
        """Return whether the server says that the client has the document."""
        if self.always:
            return True
        if "If-None-Match" not in requested and "If-Modified-Since" not in requested:
            return False
        if self.liar:
            return True
        if self.etag:  # If-Modified-Since does not count beside it (RFC 9110, 13.1.3)
            is_same = requested.get("If-None-Match") == self.etag
        else:
            is_same = bool(self.modified) and requested.get("If-Modified-Since") == self.modified
        return is_same and self.honours


@dataclass
class Requested:
    """One request, and the status of its answer."""

    path: str
    headers: dict[str, str]
    status: int

    @property
    def conditional(self):
        return "If-None-Match" in self.headers or "If-Modified-Since" in self.headers


class ChangingSite:
    """`documents` by path may be changed at any time; `requested` lists the requests so far, robots.txt
    left out.
    """

    def __init__(self, documents):
        self.documents, self.requested, self.address, self._serial = documents, [], "", count()

    def url(self, path="/"):
        return f"{self.address}{path}"

    def answer(self, path, headers):
        document = self.documents.get(path)
        if document is None:
            return 404, {}, b"", "text/html"
        status, own, body = document.answer(headers, next(self._serial))
        return status, own, body, document.media

    def of(self, path):
        """The requests for this path."""
        return [one for one in self.requested if one.path == path]

    def crawl(self, folder, *seeds, **settings):
        """A crawl of this site in which every page is fetched again after a fifth of a second."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "seeds.txt").write_text("\n".join(self.url(seed) for seed in seeds or ("/",)))
        again = {
            "REVISIT_POLICY": "fixed",
            "REVISIT_AGE": 0.2,
            "SITEMAPS": False,
            "FEED_LINKS": False,
        }
        return Crawl(
            folder / "job", {"seeds": folder / "seeds.txt"}, {**QUICK, **again, **settings}
        )

    def until(self, path, times, running):
        """Waits until this path was requested so often, then stops the crawl; its exit status."""
        wait_until(lambda: len(self.of(path)) >= times, SECONDS)
        running.interrupt()
        return running.wait()


@contextmanager
def changing_site(documents):
    """Serves these documents by path, during the block."""
    found = ChangingSite(documents)

    class Changing(Site):
        def answer(self):
            requested = dict(self.headers.items())
            status, headers, body, media = found.answer(self.path, requested)
            if self.path != "/robots.txt":
                found.requested.append(Requested(self.path, requested, status))
            self.send_response(status)
            if status != 304:
                headers = {"Content-Type": media, "Content-Length": str(len(body)), **headers}
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    with serving(Changing) as address:
        found.address = address
        yield found


def log_of(crawl):
    """The lines of crawl.log, robots.txt left out: status, path of the URL, notes."""
    lines = [
        line.split() for line in (crawl.jobdir / "logs" / "crawl.log").read_text().splitlines()
    ]
    rows = [(int(line[1]), "/" + line[3].split("/", 3)[3], line[-1].split(",")) for line in lines]
    return [row for row in rows if row[1] != "/robots.txt"]
