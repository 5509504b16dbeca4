"""A styled site on loopback, whose pages need files of three hosts, and the server for it.

No style is for `img` as such: wabac.js shows an <object> that is a picture as an <img>.
"""

from __future__ import annotations

import struct
import threading
import zlib
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HOST, CDN, FONTS = "www.site.test", "static.cdn.test", "fonts.far.test"
PAGES = ("/", "/about.html")
NAMES = (HOST, CDN, FONTS)
# Each letter is a wedge: made with fontTools, 268 bytes of WOFF2
FONT = (
    "d09GMgABAAAAAAEMAAoAAAAAArwAAADFAAEAAAAAAAAAAAAAAAAAAAAAAAAAAAAABmAAgSQKGDUBNgIkAwYLBgAEIAVIByAbIAIA"
    "Hoexe+QCUW9ttBM1QqXzPP+Xed//k1qOR6g1DpVSwBc0lVYz4FmBIUsN1TfA/0lFD7hWJf7FjygndkWG+GBjbIjgrkRVmx9DGjHA"
    "zn3Anp4OdFYBAEugoGJRFSxq/GBYI4pLvcKehwIxbBURrApoEFQMARpA6kROxgfvf0AQ9uf3bmbzaA34/8HE3jCOvgGqAoKuDq1x"
    "4/oCAIgW44KiCigAAGgsC4ghBBQxpEozJsYNfymK2TOZ+kNnXjx78+JQBQ=="
)
INDEX = """<!doctype html><html lang=en><meta charset=utf-8><title>A styled site</title>
<link rel=icon href=/favicon.png><link rel=stylesheet href="http://{cdn}/one.css">
<h1>Wedges all over</h1><p id=changed>as it was served</p>
<img class=edge src=/plain.png srcset="/twice.png 2x" width=80 height=60 alt="">
<img src="http://{cdn}/far.png" width=80 height=60>
<div class=back></div><div class=set></div><div style="background: url(/inline.png); width: 90px; height: 40px"></div>
<svg width=60 height=40><use href="/sprite.svg#disc"></use></svg><video poster=/poster.png width=80 height=60></video>
<iframe src=/inner.html width=200 height=90></iframe>
<iframe src="http://{cdn}/framed.html" width=200 height=90></iframe>
<object data="/drawing.svg" type="image/svg+xml" width=60 height=60></object><a href=/about.html>About</a>
<script src="http://{cdn}/change.js"></script>"""
ABOUT = """<!doctype html><html lang=en><meta charset=utf-8><title>About</title>
<style>@import "/about.css"; h1 {{ color: purple }}</style><h1>About wedges</h1><picture><source srcset="/wide.png"
media="(min-width: 1px)"><img src=/narrow.png width=120 height=50></picture><a href=/>Home</a>"""
INNER = (
    "<!doctype html><link rel=stylesheet href=/about.css><body class=back>inner <img "
    "src=/inner.png width=40 height=20>"
)
FRAMED = (
    "<!doctype html><link rel=stylesheet href=framed.css><body>from elsewhere <a "
    "href=/never.html>never asked for</a>"
)
CHANGE = "const p = document.getElementById('changed'); p.textContent = 'changed by a script'; p.className = 'changed';"
ONE = "/* url(never.png) */ @import 'two.css'; body { margin: 8px; background: #eef } .edge { border: 2px solid navy }"
TWO = """@import url(three.css); @font-face { font-family: Wedge; src: url(http://{fonts}/wedge.woff2) format("woff2") }
h1 { font: 40px Wedge } .back { background: url("pattern.png"); width: 120px; height: 40px }
.set { background-image: image-set('small.png' 1x, 'large.png' 2x); width: 90px; height: 30px }"""
THREE = ".changed { color: green }"
SPRITE = "<svg xmlns='http://www.w3.org/2000/svg'><circle id='disc' cx='20' cy='20' r='18' fill='teal'/></svg>"
DRAWING = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 9 9'><path d='M0 9L4 0L9 9' fill='brown'/></svg>"
IMAGES = {
    HOST: ["favicon", "plain", "twice", "inline", "poster", "inner", "wide", "narrow", "paper"],
    CDN: ["far", "pattern", "small", "large", "framed"],
}


def files(port: int) -> dict[str, tuple[str, bytes]]:
    """Return content type and body of each file by URL."""
    names = {"cdn": f"{CDN}:{port}", "fonts": f"{FONTS}:{port}"}
    texts = {
        f"{HOST}/": ("text/html; charset=utf-8", INDEX),
        f"{HOST}/about.html": ("text/html; charset=utf-8", ABOUT),
        f"{HOST}/inner.html": ("text/html", INNER),
        f"{HOST}/about.css": ("text/css", "body {{ background: url(paper.png) }}"),
        f"{HOST}/sprite.svg": ("image/svg+xml", SPRITE),
        f"{HOST}/drawing.svg": ("image/svg+xml", DRAWING),
        f"{CDN}/framed.html": ("text/html", FRAMED),
        f"{CDN}/framed.css": ("text/css", "body {{ background: url(framed.png) }}"),
        f"{CDN}/change.js": ("text/javascript", CHANGE),
        f"{CDN}/one.css": ("text/css", ONE.replace("{", "{{").replace("}", "}}")),
        f"{CDN}/two.css": ("text/css", _formatted(TWO)),
        f"{CDN}/three.css": ("text/css", THREE.replace("{", "{{").replace("}", "}}")),
    }
    found = {name: (kind, text.format(**names).encode()) for name, (kind, text) in texts.items()}
    found[f"{FONTS}/wedge.woff2"] = ("font/woff2", b64decode(FONT))
    for host, images in IMAGES.items():
        for name in images:
            found[f"{host}/{name}.png"] = ("image/png", png(zlib.crc32(name.encode())))
    return {f"http://{name.replace('/', f':{port}/', 1)}": answer for name, answer in found.items()}


def _formatted(style: str) -> str:
    """Return a style with its braces doubled, except around the name of the host with fonts."""
    return style.replace("{", "{{").replace("}", "}}").replace("{{fonts}}", "{fonts}")


def png(seed: int, side: int = 16) -> bytes:
    """Return a small picture that is like no other seed's."""
    rows = bytearray()
    for y in range(side):
        rows.append(0)
        for x in range(side):
            rows += bytes(
                ((seed >> shift) + step) & 0xFF
                for shift, step in ((0, 9 * x), (8, 9 * y), (16, 5 * (x ^ y)))
            )
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(bytes(rows))), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


@contextmanager
def serving() -> Iterator[tuple[int, dict[str, tuple[str, bytes]], list[str]]]:
    """Serve the site; yield its port, its files by URL, and the growing list of requested URLs."""
    known: dict[str, tuple[str, bytes]] = {}
    requested: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        """Answers with the files, and notes each URL."""

        def do_GET(self) -> None:
            url = f"http://{self.headers['Host']}{self.path}"
            requested.append(url)
            kind, body = known.get(url, ("text/plain", b""))
            self.send_response(200 if url in known else 404)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            # Without it browsers load no font from another host
            self.send_header("Access-Control-Allow-Origin", "*")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    port = server.server_address[1]
    known.update(files(port))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield port, known, requested
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
