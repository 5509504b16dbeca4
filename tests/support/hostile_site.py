"""A server in a thread that sends exactly a test's bytes and records connections and requests."""

import socketserver
from contextlib import contextmanager
from threading import Thread

NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class Site(socketserver.ThreadingTCPServer):
    """`answers`: the bytes for a path, or for (host, path); anything else is a 404."""

    allow_reuse_address = daemon_threads = True

    def __init__(self, address, answers):
        super().__init__(address, _Handler)
        self.answers, self.requested, self.visits = answers, [], 0

    @property
    def port(self):
        return self.server_address[1]


class _Handler(socketserver.StreamRequestHandler):
    def handle(self):
        self.server.visits += 1
        first = self.rfile.readline(10_000).decode("latin-1").split(" ")
        path = first[1] if len(first) > 1 else ""
        host = ""
        while (line := self.rfile.readline(10_000)).strip():
            if line.lower().startswith(b"host:"):
                host = line[5:].decode("latin-1").strip().partition(":")[0]
        self.server.requested.append((host, path))
        answers = self.server.answers
        self.wfile.write(answers.get((host, path)) or answers.get(path, NOT_FOUND))


@contextmanager
def site(answers, host="127.0.0.1", port=0):
    """The server, for the duration of the block."""
    with Site((host, port), answers) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def page(body, *fields, status=b"200 OK"):
    """A response that ends its connection."""
    lines = [
        b"HTTP/1.1 " + status,
        b"Content-Length: %d" % len(body),
        b"Connection: close",
        *fields,
    ]
    if not any(field.lower().startswith(b"content-type:") for field in fields):
        lines.append(b"Content-Type: text/html; charset=utf-8")
    return b"\r\n".join(lines) + b"\r\n\r\n" + body
