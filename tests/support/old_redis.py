"""A server that says it is an old Redis: it knows a few commands, and none that came later."""

import socketserver
from contextlib import contextmanager
from threading import Thread

INFO = "# Server\r\nredis_version:5.0.14\r\nrun_id:0123456789012345678901234567890123456789\r\nmaxmemory:0\r\n"
ANSWERS = {
    b"PING": b"+PONG\r\n",
    b"INFO": b"$%d\r\n%s\r\n" % (len(INFO), INFO.encode()),
    b"SELECT": b"+OK\r\n",
}


class _Talk(socketserver.StreamRequestHandler):
    def handle(self):
        while head := self.rfile.readline():
            words = [self._word() for _ in range(int(head[1:]))]
            unknown = b"-ERR unknown command `%s`, with args beginning with: \r\n" % words[0]
            self.wfile.write(ANSWERS.get(words[0].upper(), unknown))

    def _word(self):
        length = int(self.rfile.readline()[1:])
        return self.rfile.read(length + 2)[:-2]


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True

    def handle_error(self, *_):
        """A client that left is nothing to report."""


@contextmanager
def old_redis():
    """Gives its URL."""
    with _Server(("127.0.0.1", 0), _Talk) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"redis://127.0.0.1:{server.server_address[1]}/0"
        finally:
            server.shutdown()
            thread.join()
