"""docs/examples/opensearch: what a server has is what the crawl has, whatever happens on the way.

The server is a small one that follows OpenSearch's rules of external versions; no real one is
tried.
"""

import json
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.support.fulltext import Texts, page
from tests.support.places import ROOT
from webcrawl.base.page_values import Change

SEND = ROOT / "docs/examples/opensearch/send.py"


class Server:
    """Documents by identifier, and the versions that they and deleted ones had; `fails` may name a
    status.
    """

    def __init__(self):
        self.documents, self.versions, self.bulks = {}, {}, 0
        self.fails = lambda number: None

    def create(self):
        known, self.versions[""] = "" in self.versions, 0
        return (400, {"error": "resource_already_exists_exception"}) if known else (200, {})

    def bulk(self, lines):
        self.bulks += 1
        status = self.fails(self.bulks)
        if status:
            return status, {}
        items, left = [], iter(lines)
        for line in left:
            ((kind, about),) = json.loads(line).items()
            body = json.loads(next(left)) if kind == "index" else None
            items.append({kind: {"status": self._one(kind, about, body)}})
        return 200, {"items": items}

    def _one(self, kind, about, body):
        name = about["_id"]
        if about["version_type"] != "external_gte" or about["version"] < self.versions.get(name, 0):
            return 409
        self.versions[name] = about["version"]
        if body is not None and "refuse me" in body["text"]:
            return 400
        if kind == "delete":
            return 200 if self.documents.pop(name, None) else 404
        self.documents[name] = body
        return 201

    def has(self):
        return {one["url"]: one["text"] for one in self.documents.values()}


@contextmanager
def serving(server):
    class Handler(BaseHTTPRequestHandler):
        def answer(self):
            data = self.rfile.read(int(self.headers["Content-Length"]))
            status, said = (
                server.create()
                if self.command == "PUT"
                else server.bulk(data.decode().splitlines())
            )
            body = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_PUT = do_POST = answer  # noqa: N815 - http.server's names

        def log_message(self, *_):
            pass

    web = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    web.daemon_threads = True
    thread = threading.Thread(target=web.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{web.server_port}/pages"
    web.shutdown()
    web.server_close()
    thread.join()


def sending(root, index):
    return subprocess.Popen(
        [sys.executable, SEND, root, index],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def sent(root, index):
    process = sending(root, index)
    said = process.communicate(timeout=60)
    return process.returncode, *said


def write(root, *pages):
    """One run of a crawl, which finishes its file."""
    texts = Texts(root, index=False)
    for one in pages:
        texts.add(one)
    texts.stop()


def state(url, body, at, change=Change.CHANGED):
    one = page(url, f"<p>{body}" if body else "", started=at)
    one.change = change
    return one


A, B, C = (f"http://{name}.test/" for name in "abc")
FIRST = (
    state(A, "one", 1e9, Change.NEW),
    state(B, "two", 1e9, Change.NEW),
    state(C, "three", 1e9, Change.NEW),
)
SECOND = (state(A, "one changed", 2e9), state(B, "", 2e9, Change.GONE))
NOW = {A: "one changed", C: "three"}


def test_pages_that_change_and_go(tmp_path):
    """A page is as it was found last, and one that is gone is not there; what is sent again changes
    nothing.
    """
    server = Server()
    write(tmp_path, *FIRST)
    with serving(server) as index:
        assert sent(tmp_path, index)[::2] == (0, "")
        assert server.has() == {A: "one", B: "two", C: "three"}
        write(tmp_path, *SECOND)
        assert sent(tmp_path, index)[0] == 0
        assert server.has() == NOW

        (tmp_path / "opensearch.json").unlink()
        assert sent(tmp_path, index)[::2] == (0, "")
    assert server.has() == NOW


def test_killed_on_the_way(tmp_path):
    """After kill -9 within a request, the next run sends what may not have arrived."""
    server, asked, goes_on = Server(), threading.Event(), threading.Event()

    def wait(number):
        if number == 1:
            asked.set()
            goes_on.wait(60)

    server.fails = wait
    write(tmp_path, *FIRST, *SECOND)
    with serving(server) as index:
        process = sending(tmp_path, index)
        assert asked.wait(60)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert not (tmp_path / "opensearch.json").exists()
        goes_on.set()
        assert sent(tmp_path, index)[0] == 0
    assert server.has() == NOW


def test_a_server_with_too_much_to_do(tmp_path):
    """It is asked again."""
    server = Server()
    server.fails = lambda number: 503 if number == 1 else None
    write(tmp_path, *FIRST)
    with serving(server) as index:
        assert sent(tmp_path, index)[0] == 0
    assert (len(server.has()), server.bulks) == (3, 2)


def test_a_page_that_is_refused(tmp_path):
    """It is named, the others arrive, and the exit status is 1."""
    server = Server()
    write(tmp_path, state(A, "refuse me", 1e9, Change.NEW), FIRST[1])
    with serving(server) as index:
        status, said, errors = sent(tmp_path, index)
    assert (status, server.has()) == (1, {B: "two"})
    assert "1 refused" in said
    assert A in errors
