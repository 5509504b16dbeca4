"""A plain HTTP server in a thread, for tests that do not care much about its answers."""

import socket
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


class Site(BaseHTTPRequestHandler):
    """Answers with the path's name; paths with "missing" in them are missing."""

    protocol_version = "HTTP/1.1"

    def handle(self):
        with suppress(ConnectionError):  # a client that is killed
            super().handle()

    def do_GET(self):
        self.answer()

    def answer(self):
        self.say(404 if "missing" in self.path else 200, self.path.encode())

    def say(self, status, body, *, length=None, **headers):
        self.send_response(status)
        for name, value in {"content_type": "text/plain", **headers}.items():
            self.send_header(name.replace("_", "-").title(), value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class SixServer(ThreadingHTTPServer):
    """The same over IPv6."""

    address_family = socket.AF_INET6


@contextmanager
def serving(handler=Site, address="127.0.0.1", port=0):
    """The server's address, during the block."""
    with (SixServer if ":" in address else ThreadingHTTPServer)((address, port), handler) as server:
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://{address}:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
