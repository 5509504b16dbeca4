"""A graph as a site: each page links to its own, and its text says whether it is a good one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from webcrawl.content.scoring import Document

GOOD, OTHER = "Chlorophyll is what this page is about.", "This page is about something else."


def score(documents: Sequence[Document]) -> list[float | None]:
    """Return the scores of documents; the words of links have none."""
    return [None if one.is_anchor else float(GOOD in one.text) for one in documents]


@contextmanager
def serving(pages: Mapping[int, Sequence[int]], good: Collection[int]) -> Iterator[str]:
    """Serve the site whose page N is at /N, and yield its address."""

    class Pages(BaseHTTPRequestHandler):
        """Answers with the pages of the graph."""

        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body are one packet: else each answer takes 40 ms

        def do_GET(self) -> None:
            """Answer with a page, whose text says whether it is good."""
            page = int(self.path[1:]) if self.path[1:].isdigit() else -1
            anchors = "".join(
                f'<p><a href="/{link}">{link}</a></p>' for link in pages.get(page, ())
            )
            body = (
                f"<title>{page}</title><p>{GOOD if page in good else OTHER}</p>{anchors}".encode()
            )
            self.send_response(200 if page >= 0 else 404)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """It says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
