"""A crawl with logins keeps them to itself and to their hosts."""

import gzip
import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from tests.support.crawling import QUICK, Crawl, scrapy

AUTH = "Basic dXNlcjpzZWNyZXQ="  # user:secret


class Handler(BaseHTTPRequestHandler):
    """Pages for those who have the login; the server keeps path and login of each request."""

    protocol_version = "HTTP/1.0"

    def do_GET(self):
        self.server.requested.append(
            (self.path, self.headers["Authorization"], self.headers["Cookie"])
        )
        location, body = self.server.pages.get(self.path, ("", ""))
        is_known = not self.server.closed or self.headers["Authorization"] == AUTH
        status = (302 if location else 200) if is_known else 401
        self.send_response(status if self.path in self.server.pages or not is_known else 404)
        self.send_header("Content-Type", "text/plain" if "robots" in self.path else "text/html")
        if location:
            self.send_header("Location", location)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


@contextmanager
def serving(pages, *, closed):
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.pages, server.requested, server.closed = pages, [], closed
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(name="crawled")
def _crawled(tmp_path):
    """The closed site, another one to which it leads, and the crawl of both."""
    with serving({"/": ("", "open"), "/to": ("", "open")}, closed=False) as other:
        away = f"http://127.0.0.1:{other.server_port}"
        links = ["/a", "/private", "/users/sign_out", f"{away}/", "/away"]
        pages = {
            "/robots.txt": ("", "User-agent: *\nDisallow: /private\n"),
            "/": ("", "".join(f"<a href={to}>x</a>" for to in links)),
            "/a": ("", "inside"),
            "/away": (f"{away}/to", ""),
        }
        with serving(pages, closed=True) as site:
            place = f"http://127.0.0.1:{site.server_port}"
            cookie = "127.0.0.1\tFALSE\t/\tFALSE\t0\tsid\tc00kie\n"
            (tmp_path / "cookies.txt").write_text(f"# Netscape HTTP Cookie File\n{cookie}")
            (tmp_path / "logins.toml").write_text(
                f'["{place}"]\nbasic = "user:secret"\ncookies = "cookies.txt"\n'
            )
            for name in ("cookies.txt", "logins.toml"):
                (tmp_path / name).chmod(0o600)
            settings = {
                **QUICK,
                "AUTH_FILE": tmp_path / "logins.toml",
                "OUTPUTS": "warc cdxj links requests skipped",
            }
            crawl = Crawl(tmp_path / "job", {"seeds": f"{place}/"}, settings)
            assert crawl.run() == 0
            yield crawl, place, site, other


def test_every_request_to_the_host_has_the_login(crawled):
    """Also the one for robots.txt, whose rules are those for whoever has the login."""
    _, _, site, _ = crawled

    assert {path for path, _, _ in site.requested} == {"/robots.txt", "/", "/a", "/away"}
    assert {rest for _, *rest in map(tuple, site.requested) for rest in [tuple(rest)]} == {
        (AUTH, "sid=c00kie")
    }


def test_no_other_server_gets_it(crawled):
    """Neither by a link nor by a redirect, also on another port of the same address."""
    _, _, _, other = crawled

    assert {path for path, _, _ in other.requested} == {"/robots.txt", "/", "/to"}
    assert {(login, cookie) for _, login, cookie in other.requested} == {(None, None)}


def test_nothing_that_the_crawl_leaves_has_it(crawled):
    """Archive, logs, statistics and state have neither the login nor its encoded form."""
    crawl, *_ = crawled
    secrets = (b"secret", b"c00kie", AUTH.removeprefix("Basic ").encode())
    left = {path: path.read_bytes() for path in crawl.jobdir.rglob("*") if path.is_file()}
    unpacked = {path: gzip.decompress(data) for path, data in left.items() if path.suffix == ".gz"}
    left[crawl.output] = crawl.output.read_bytes()
    found = [
        path.name
        for path, data in [*left.items(), *unpacked.items()]
        if any(secret in data for secret in secrets)
    ]

    assert found == []
    assert any(b"inside" in data for data in unpacked.values())


def test_a_link_that_logs_out_is_counted_and_explained(crawled, tmp_path):
    """It is not requested; stats, skipped.log and `why` name the reason."""
    crawl, place, *_ = crawled
    url = f"{place}/users/sign_out"
    said = tmp_path / "why.out"
    status = scrapy(["why", str(crawl.jobdir), url, "--json"], crawl.project, said)

    assert crawl.stats["refused/logout"] == 1
    assert url in (crawl.jobdir / "logs/skipped.log").read_text()
    assert status == 0
    answer = json.loads(said.read_text())
    assert answer["state"] == "refused"
    assert "AUTH_FILE has a login for 127.0.0.1" in said.read_text()


def test_a_crawl_does_not_start_with_a_file_that_others_can_read(tmp_path):
    """One line, status 1, and no JOBDIR."""
    path = tmp_path / "logins.toml"
    path.write_text('["http://127.0.0.1:1"]\nbasic = "user:secret"\n')
    path.chmod(0o644)
    crawl = Crawl(tmp_path / "job", {"seeds": "http://127.0.0.1:1/"}, {"AUTH_FILE": path})

    assert crawl.run() == 1
    said = crawl.output.read_text()
    assert said.count("\n") == 1
    assert "its mode is 0644, so others may read or change it: chmod 600" in said
