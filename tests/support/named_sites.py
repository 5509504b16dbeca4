"""Many sites on one port of loopback, told apart by their names; they log what they are asked."""

from contextlib import contextmanager, nullcontext
from typing import NamedTuple

from tests.support.crawling import QUICK, Crawl
from tests.support.plain_site import Site, serving


class Requested(NamedTuple):
    """One request."""

    host: str
    path: str
    cookie: str  # the header; empty if there was none


class Typed(NamedTuple):
    """A body that is not HTML."""

    body: bytes
    media: str


class Sites:
    """Sites on one port. `requested` lists the requests so far.

    A site for which `answer` returns None has no pages.
    """

    def __init__(self, answer):
        self.answer, self.requested, self.port = answer, [], 0

    def url(self, host, path="/"):
        return f"http://{host}:{self.port}{path}"

    def pages(self):
        """Return host and path of each request, in order, without those for robots.txt."""
        return [(host, path) for host, path, _ in self.requested if path != "/robots.txt"]

    def crawl(self, folder, seeds, **settings):
        """Return a crawl that starts at these hosts or URLs."""
        urls = [seed if "://" in seed else self.url(seed) for seed in seeds]
        (folder / "seeds.txt").write_text("\n".join(urls))
        names = sorted(
            {url.split("/")[2].partition(":")[0] for url in urls} | set(settings.pop("names", ()))
        )
        (folder / "hosts").write_text("".join(f"127.0.0.1 {name}\n" for name in names))
        settings = {"HOSTS_FILE": folder / "hosts", **QUICK, **settings}
        return Crawl(folder / "job", {"seeds": folder / "seeds.txt"}, settings)


@contextmanager
def sites(answer, *, all_headers=False, six=False):
    """Serve what `answer(host, path, cookie)` returns.

    It may be a body, None for a 404, a Typed, or status, headers and body. With `all_headers` it
    gets the headers of the request in place of the cookie. With `six` [::1] serves the same, too.
    """
    found = Sites(answer)

    class Named(Site):
        def answer(self):
            requested = Requested(
                self.headers["Host"].partition(":")[0], self.path, self.headers.get("Cookie", "")
            )
            found.requested.append(requested)
            answered = found.answer(
                *requested[:2], self.headers if all_headers else requested.cookie
            )
            status, headers, body = (404, [], b"") if answered is None else (200, [], answered)
            media = "text/html"
            if isinstance(answered, Typed):
                body, media = answered
            elif isinstance(answered, tuple):
                status, headers, body = answered
            self.send_response(status)
            for name, value in [
                ("Content-Type", media),
                ("Content-Length", str(len(body))),
                *headers,
            ]:
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    with serving(Named) as address:
        found.port = int(address.rpartition(":")[2])
        with serving(Named, "::1", found.port) if six else nullcontext():
            yield found
