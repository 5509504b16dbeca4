"""A stranger's site: 200 pages with pictures and redirects, some that fail, one slow, and a corner
made by scripts.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

PAGES = 200
AWAY = frozenset({7, 57, 107, 157, 187})  # pages that answer 503
BROKEN = 33  # answers 500
SLOW = 66
WARES = frozenset(range(PAGES)) - AWAY - {BROKEN}  # those that have a page
CORNER = 5  # pages that a script makes, listed on a page that a script makes
PIXEL = (
    b"GIF"
    b"89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"
)
SHELL = b'<!doctype html><title>Corner</title><div id="root"></div><script type="module" src="/corner.js"></script>'
SCRIPT = b"""
const made = await (await fetch('/data' + location.pathname)).json(), root = document.getElementById('root')
document.title = made.title
root.innerHTML = made.text + made.links.map(link => `<a href="${link}">${link}</a>`).join(' ')
"""


class Shop(BaseHTTPRequestHandler):
    """The site's server. Five pages always answer 503, one 500, and one takes three seconds."""

    protocol_version = "HTTP/1.1"

    def handle(self) -> None:
        with suppress(ConnectionError):  # a client that left
            super().handle()

    def do_GET(self) -> None:
        """Answer by the first folder of the path."""
        kind, _, rest = self.path.strip("/").partition("/")
        last = rest.rpartition("/")[2]
        number = int(last) if last.isdigit() else 0
        if kind in ("", "page"):
            self._answer_with_page(number)
        elif kind == "image":
            self._answer(200, PIXEL, "image/gif")
        elif kind == "moved":
            self._answer(302, b"", location=f"/page/{number}")
        elif kind == "corner":
            self._answer(200, SHELL)
        elif kind == "corner.js":
            self._answer(200, SCRIPT, "text/javascript")
        elif kind == "data":
            links = [] if number else [f"/corner/{one}" for one in range(1, CORNER)]
            words = {
                "title": f"Corner {number}",
                "text": f"<p>Made by a script, {number}.",
                "links": links,
            }
            self._answer(200, json.dumps(words).encode(), "application/json")
        else:
            self._answer(404, b"")

    def _answer_with_page(self, number: int) -> None:
        """Answer with a page of goods, which links to two others."""
        if number == SLOW:
            time.sleep(3)
        below = [one for one in (number * 2 + 1, number * 2 + 2) if one < PAGES]
        links = [f"<a href=/moved/{one}>to {one}</a>" for one in below]
        if not number:  # what is below a page that fails is linked from here
            links += [f"<a href=/page/{one}>{one}</a>" for one in range(1, PAGES)] + [
                "<a href=/corner/0>new</a>"
            ]
        text = f"<title>Ware {number}</title><p>Ware {number} is for sale.</p><img src=/image/{number}>"
        status = 200
        if number in AWAY:
            status = 503
        elif number == BROKEN:
            status = 500
        self._answer(status, (text + "".join(links)).encode())

    def _answer(self, status: int, body: bytes, kind: str = "text/html", **headers: str) -> None:
        """Send an answer, and note it."""
        self.server.requested.append((self.path, status))  # type: ignore[attr-defined]
        self.send_response(status)
        fields = {"Content-Type": kind, "Content-Length": str(len(body)), **headers}
        for name, value in fields.items():
            self.send_header(name.title(), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


@contextmanager
def open_shop() -> Iterator[tuple[str, list[tuple[str, int]]]]:
    """Serve the site; yield its address, and the growing list of requested paths and statuses."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Shop) as server:
        server.daemon_threads, server.requested = True, []  # type: ignore[attr-defined]
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", server.requested  # type: ignore[attr-defined]
        finally:
            server.shutdown()
            thread.join()
