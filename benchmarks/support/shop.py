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

PAGES, AWAY, BROKEN, SLOW = 200, frozenset({7, 57, 107, 157, 187}), 33, 66
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
    """Five pages always answer 503, one 500, and one takes three seconds."""

    protocol_version = "HTTP/1.1"

    def handle(self) -> None:
        with suppress(ConnectionError):  # a client that left
            super().handle()

    def do_GET(self) -> None:
        kind, _, rest = self.path.strip("/").partition("/")
        last = rest.rpartition("/")[2]
        number = int(last) if last.isdigit() else 0
        if kind in ("", "page"):
            self._page(number)
        elif kind == "image":
            self._say(200, PIXEL, "image/gif")
        elif kind == "moved":
            self._say(302, b"", location=f"/page/{number}")
        elif kind == "corner":
            self._say(200, SHELL)
        elif kind == "corner.js":
            self._say(200, SCRIPT, "text/javascript")
        elif kind == "data":
            links = [] if number else [f"/corner/{one}" for one in range(1, CORNER)]
            words = {
                "title": f"Corner {number}",
                "text": f"<p>Made by a script, {number}.",
                "links": links,
            }
            self._say(200, json.dumps(words).encode(), "application/json")
        else:
            self._say(404, b"")

    def _page(self, number: int) -> None:
        if number == SLOW:
            time.sleep(3)
        below = [one for one in (number * 2 + 1, number * 2 + 2) if one < PAGES]
        links = [f"<a href=/moved/{one}>to {one}</a>" for one in below]
        if not number:  # what is below a page that fails is linked from here
            links += [f"<a href=/page/{one}>{one}</a>" for one in range(1, PAGES)] + [
                "<a href=/corner/0>new</a>"
            ]
        text = f"<title>Ware {number}</title><p>Ware {number} is for sale.</p><img src=/image/{number}>"
        status = 503 if number in AWAY else 500 if number == BROKEN else 200
        self._say(status, (text + "".join(links)).encode())

    def _say(self, status: int, body: bytes, kind: str = "text/html", **headers: str) -> None:
        self.server.asked.append((self.path, status))  # type: ignore[attr-defined]
        self.send_response(status)
        for name, value in {
            "Content-Type": kind,
            "Content-Length": str(len(body)),
            **headers,
        }.items():
            self.send_header(name.title(), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


@contextmanager
def open_shop() -> Iterator[tuple[str, list[tuple[str, int]]]]:
    """The address of the site, and the growing list of what was asked and answered."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Shop) as server:
        server.daemon_threads, server.asked = True, []  # type: ignore[attr-defined]
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", server.asked  # type: ignore[attr-defined]
        finally:
            server.shutdown()
            thread.join()
