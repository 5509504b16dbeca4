"""The web that the crawl in version-5.tar.xz was of: three addresses of loopback, always at the
same place.

That crawl had a checkpoint each 0.2 s, and was killed in the middle:
    python -m tests.earlier_state.site & scrapy crawl web -a seeds=seeds.txt -s CHECKPOINT_INTERVAL=0.2 …

hive-of-1024-slots.tar.xz is of such a web on HIVE_HOSTS: two drones, which had such checkpoints
and HIVE_DRONES=2, and were killed together.
"""

import http.server
import threading
from contextlib import contextmanager

HOSTS, PORT, PAGES = ("127.83.4.1", "127.83.4.2", "127.83.4.3"), 8591, 120
HIVE_HOSTS = ("127.83.4.1", "127.83.4.2", "127.83.4.5")  # the last one is the second drone's
WORDS = ("a-rather-long-address", "so-that-queues-have-blocks", "on-disk-and-not-only-in-memory")


def url(host, page):
    return f"http://{host}:{PORT}/{'/'.join(WORDS)}/{page}.html"


def seeds(hosts=HOSTS):
    return [url(host, 0) for host in hosts]


def urls(hosts=HOSTS):
    """All that a crawl finds."""
    return {url(host, page) for host in hosts for page in range(PAGES)} | {
        f"http://{host}:{PORT}/robots.txt" for host in hosts
    }


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.requested.append(f"http://{self.headers['Host']}{self.path}")
        if self.path == "/robots.txt":
            self._answer(b"User-agent: *\nDisallow: /private\n", "text/plain")
            return
        page = int(self.path.rpartition("/")[2].partition(".")[0])
        here = self.headers["Host"].partition(":")[0]
        hosts = self.server.hosts
        there = hosts[(hosts.index(here) + 1) % len(hosts)]
        targets = range(1, PAGES) if page == 0 else [(7 * page + 1) % PAGES]
        links = [*(url(here, target) for target in targets), url(there, page)]
        body = "".join(f'<a href="{link}">x</a>' for link in links)
        self._answer(f"<title>{here} {page}</title>{body}".encode(), "text/html")

    def _answer(self, body, kind):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Says nothing."""


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True


@contextmanager
def serving(hosts=HOSTS):
    """Yields the list of all URLs that are requested."""
    requested, servers = [], []
    try:
        for host in hosts:
            server = Server((host, PORT), Handler)
            server.requested, server.hosts = requested, hosts
            servers.append(server)
            threading.Thread(target=server.serve_forever, daemon=True).start()
        yield requested
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()


if __name__ == "__main__":
    with serving():
        threading.Event().wait()
