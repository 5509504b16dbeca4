"""Some hosts on one port, and a note of every request: when it came, and when its answer was about
to be sent.
"""

import time
from collections import defaultdict
from contextlib import contextmanager
from itertools import pairwise
from threading import Lock

from tests.support.plain_site import Site, serving

HOSTS = ("a.test", "b.test", "c.test", "d.test")


class Noted(Site):
    """Pages with images; the beginning of a path says what else its answer does."""

    hits: list
    lock: Lock
    failing: set

    def answer(self):
        begun, host = time.monotonic(), self.headers["Host"].partition(":")[0]
        status, body = self.found(host)
        with self.lock:
            self.hits.append((host, self.path, begun, time.monotonic()))
        self.say(status, body, "text/html" if body.startswith(b"<") else "text/plain")

    def found(self, host):
        """Return status and body for the path."""
        if self.path == "/robots.txt":
            return 200, b"User-agent: *\nDisallow: /forbidden\n"
        if self.path.startswith("/slow"):
            time.sleep(0.3)
        if self.path.startswith("/moved"):
            return 302, f"/to{self.path}".encode()
        if self.path.startswith("/flaky"):
            with self.lock:
                first = self.path not in self.failing
                self.failing.add(self.path)
            return (500 if first else 200), self.path.encode()
        if self.path.startswith("/many"):
            return 200, "".join(f"<img src=/img/{number}>" for number in range(100)).encode()
        if self.path.startswith("/page"):
            links = "".join(
                f"<a href=/page{self.path[5:]}{number}>"
                for number in range(3)
                if len(self.path) < 6
            )
            images = "".join(f"<img src=/img{self.path}/{number}>" for number in range(4))
            return 200, f"<title>{host}{self.path}</title>{links}{images}".encode()
        return 200, f"{host}{self.path}".encode()

    def say(self, status, body, kind):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if status == 302:
            self.send_header("Location", body.decode())
        self.end_headers()
        self.wfile.write(body)


class Place:
    """The hosts' port, and the requests that they got."""

    def __init__(self, port, hits):
        self.port, self.hits = port, hits

    def url(self, host, path="/"):
        return f"http://{host}:{self.port}{path}"

    def paths(self, host=None, *, robots=False):
        """What was requested, in order."""
        return [
            path
            for name, path, *_ in self.hits
            if host in (None, name) and (robots or path != "/robots.txt")
        ]

    def check_polite(self, least, hosts=None):
        """Assert that no host got two requests at once.

        Each must come at least `least` seconds after the answer to the one before. `hosts` maps
        names to what shares a turn; by default every host is its own.
        """
        turns = defaultdict(list)
        for host, path, begun, answered in self.hits:
            turns[(hosts or {}).get(host, host)].append((begun, answered, path))
        for host, some in turns.items():
            some.sort()
            for (_, answered, before), (begun, _, path) in pairwise(some):
                assert begun - answered >= least, (
                    f"{host}: {path} {begun - answered:.4f} s after {before}"
                )


@contextmanager
def inline_site():
    hits = []
    handler = type("Handler", (Noted,), {"hits": hits, "lock": Lock(), "failing": set()})
    with serving(handler) as address:
        yield Place(int(address.rpartition(":")[2]), hits)
