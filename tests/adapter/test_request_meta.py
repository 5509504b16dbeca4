"""What a request's meta and Scrapy's settings ask of a download, in whole crawls of a user's own
spider.
"""

import gzip
import json
import time
from collections import Counter
from typing import ClassVar

import pytest
from scrapy import Request
from scrapy.utils.test import get_crawler

from tests.support.crawling import Crawl, wait_until
from tests.support.net_proxy import Proxy, proxying
from tests.support.net_socks import Socks, socks_proxy
from tests.support.plain_site import Site, serving
from tests.support.ports import free_port
from webcrawl.adapter.request_meta import RequestOptions
from webcrawl.adapter.request_trip import attach_trip
from webcrawl.base.model import Link
from webcrawl.crawl.trip import Trip
from webcrawl.net.errors import BadOption
from webcrawl.net.protocols import PLAIN
from webcrawl.tools.verify_crawl import verify

POLITE = {
    "POLITENESS_FACTOR": 0,
    "POLITENESS_MIN_DELAY": 0,
    "HOST_RETRY_WAIT": 0.1,
    "DOWNLOAD_TIMEOUT": 5,
}


class Odd(Site):
    """Answers that take long, are large, break off or fail; counts who asked for what."""

    requested: ClassVar = Counter()

    def answer(self):
        self.requested[self.path] += 1
        kind = self.path.split("/")[1].partition("?")[0]
        if kind == "slow":
            time.sleep(0.3)
        if kind == "truncated":
            self.close_connection = True
            self.say(200, b"x" * 10, length=20)
        else:
            status = int(kind) if kind.isdigit() else 200
            self.say(
                status, b"x" * (3000 if kind == "big" else 10) if kind != "robots.txt" else b""
            )


@pytest.fixture(name="here", scope="module")
def _here():
    with serving(Odd) as address:
        yield address


@pytest.fixture(name="crawl")
def _crawl(tmp_path):
    """Runs the spider; gives what it noted by URL path, and the crawl."""

    def run(then, *, after=lambda made: None, environment=(), **settings):
        notes = tmp_path / "notes"
        given = {"SPIDER_MODULES": "tests.support.option_spiders", **POLITE, **settings}
        arguments = {"then": json.dumps(then), "notes": notes}
        made = Crawl(tmp_path / "job", arguments, given, "choosing", environment=dict(environment))
        running = made.start()
        after(made)
        assert running.wait() == 0, made.output.read_text()
        heard = [json.loads(line) for line in notes.read_text().splitlines()]
        return {
            url.partition("/")[2].partition("/")[2].partition("/")[2]: rest for url, *rest in heard
        }, made

    return run


class TestMeta:
    def test_each_request_has_its_own(self, crawl, here):
        """Time, size, retries and completeness are as each request wants them, and the answer says
        how long it took.
        """
        Odd.requested.clear()
        then = [
            ("slow/in-time", {}),
            ("slow/late", {"download_timeout": 0.05, "dont_retry": True}),
            ("big/whole", {}),
            ("big/refused", {"download_maxsize": 2000}),
            ("truncated/refused", {"dont_retry": True}),
            ("truncated/taken", {"download_fail_on_dataloss": False}),
            ("500/thrice", {}),
            ("404/hidden", {}),
            ("500/twice", {"max_retry_times": 1}),
            ("404/shown", {"handle_httpstatus_list": [404]}),
            ("500/once", {"dont_retry": True}),
            ("500/shown", {"handle_httpstatus_all": True}),
            ("ok/from-elsewhere", {"bindaddress": "127.0.0.9"}),
            ("ok/from-nowhere", {"bindaddress": "192.0.2.1"}),
            ("ok/wrong", {"download_timeout": "soon"}),
        ]
        heard, made = crawl([(f"{here}/{path}", meta) for path, meta in then])

        assert {path: one[0] for path, one in heard.items()} == {
            "slow/in-time": 200,
            "slow/late": "DownloadTimeoutError",
            "big/whole": 200,
            "big/refused": "DownloadCancelledError",
            "truncated/refused": "ResponseDataLossError",
            "truncated/taken": 200,
            "500/thrice": "HttpError",
            "500/twice": "HttpError",
            "500/once": "HttpError",
            "404/hidden": "HttpError",
            "404/shown": 404,
            "500/shown": 500,
            "ok/from-elsewhere": 200,
            "ok/from-nowhere": "NotSupported",
            "ok/wrong": "NotSupported",
        }
        times = {path: Odd.requested[f"/{path}"] for path, _ in then}
        assert [times[f"500/{often}"] for often in ("thrice", "twice", "once")] == [3, 2, 1]
        assert (times["big/refused"], times["ok/from-nowhere"], times["ok/wrong"]) == (1, 0, 0)
        assert heard["slow/in-time"][3] >= 0.3 > heard["big/whole"][3] > 0
        assert heard["truncated/taken"][2] == ["truncated/disconnect", "dataloss"]
        said = made.output.read_text()
        assert "bindaddress = 192.0.2.1: 192.0.2.1 is not an address of this machine" in said
        assert "download_timeout = soon: must be a number" in said

    def test_settings_say_it_for_all(self, crawl, here):
        """Scrapy's settings of the same meaning hold for requests that say nothing."""
        Odd.requested.clear()
        then = ["big/refused", "truncated/taken", "418/twice", "500/once"]
        settings = {
            "DOWNLOAD_MAXSIZE": 2000,
            "DOWNLOAD_FAIL_ON_DATALOSS": False,
            "RETRY_TIMES": 1,
            "RETRY_HTTP_CODES": 418,
            "HTTPERROR_ALLOW_ALL": True,
        }
        heard, _ = crawl([(f"{here}/{path}", {}) for path in then], **settings)

        assert {path: one[0] for path, one in heard.items()} == {
            "big/refused": "DownloadCancelledError",
            "truncated/taken": 200,
            "418/twice": 418,
            "500/once": 500,
        }
        assert [Odd.requested[f"/{path}"] for path in then] == [1, 1, 2, 1]

    def test_a_large_body_is_told(self, crawl, here):
        """The log names a body that is larger than the request, or else DOWNLOAD_WARNSIZE, wants to
        be warned of.
        """
        then = [
            ("big/1", {}),
            ("big/2", {"download_warnsize": 2999}),
            ("big/3", {"download_warnsize": 3000}),
        ]
        _, made = crawl(
            [(f"{here}/{path}", meta) for path, meta in [*then, ("ok", {})]], DOWNLOAD_WARNSIZE=100
        )

        said = made.output.read_text()
        assert f"<GET {here}/big/1>: 3000 bytes, more than its warning size of 100" in said
        assert f"<GET {here}/big/2>: 3000 bytes, more than its warning size of 2999" in said
        assert said.count("warning size") == 2

    def test_a_cached_answer_is_an_answer(self, crawl, here, tmp_path):
        """An answer from Scrapy's HTTP cache costs no request, and is booked with its status."""
        Odd.requested.clear()
        cached = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": tmp_path / "cache"}
        crawl([(f"{here}/ok/same", {})], **cached)
        heard, _ = crawl([(f"{here}/ok/same", {})], JOBDIR=tmp_path / "another", **cached)

        stats = json.loads((tmp_path / "another/stats.json").read_text())
        assert heard["ok/same"][:3] == [200, 10, ["cached"]]
        # robots.txt is requested anew
        assert (Odd.requested["/ok/same"], stats["answers"], stats["failures"]) == (1, 2, 0)


class TestProxies:
    def test_the_whole_host_is_requested_through_it(self, crawl, here):
        """A request through a proxy takes its robots.txt that way too: nothing goes direct."""
        port, proxy = here.rpartition(":")[2], Proxy(auth=b"Basic dTpw")
        with proxying(proxy) as address:
            far = f"http://far.test:{port}"
            heard, _ = crawl([(f"{far}/ok", {"proxy": f"http://u:p@{address}"})])

        assert heard["ok"][:2] == [200, 10]
        assert proxy.lines == [
            f"GET {far}/{path} HTTP/1.1".encode() for path in ("robots.txt", "ok")
        ]

    def test_a_socks_proxy_of_a_request(self, crawl, here):
        """A request's SOCKS5 proxy carries it and its robots.txt."""
        port, proxy = int(here.rpartition(":")[2]), Socks(user=("u", "p"))
        with socks_proxy(proxy) as address:
            meta = {"proxy": f"socks5h://u:p@{address}"}
            heard, _ = crawl([(f"http://far.test:{port}/ok", meta)])

        assert heard["ok"][:2] == [200, 10]
        assert proxy.requested[0][1:] == ("far.test", port)

    def test_all_proxy_beside_scrapys_middleware(self, crawl, here):
        """Scrapy's HttpProxyMiddleware does not know ALL_PROXY: it is heard all the same."""
        port, proxy = int(here.rpartition(":")[2]), Socks()
        with socks_proxy(proxy) as address:
            environment = {"ALL_PROXY": f"socks5h://{address}"}
            heard, _ = crawl([(f"http://far.test:{port}/ok", {})], environment=environment)

        assert heard["ok"][:2] == [200, 10]
        assert {host for _, host, _ in proxy.requested} >= {"far.test"}

    def test_socks4_is_refused(self, crawl, here):
        """A SOCKS4 proxy fails the request, and the log says so once."""
        meta = {"proxy": "socks4://u:secret@127.0.0.1:1"}
        Odd.requested.clear()
        heard, made = crawl([(f"{here}/ok/{n}", meta) for n in range(3)], ROBOTSTXT_OBEY=False)

        assert {path: one[0] for path, one in heard.items()} == dict.fromkeys(
            ("ok/0", "ok/1", "ok/2"), "NotSupported"
        )
        said = made.output.read_text()
        assert (
            said.count(
                "proxy socks4://127.0.0.1:1: must be http://, socks5:// or socks5h://: requests with"
            )
            == 1
        )
        assert "secret" not in said
        assert not Odd.requested

    def test_the_crawl_waits_for_a_proxy(self, crawl, here):
        """A proxy that is away costs no URL: the crawl says so, waits, and goes on when it is back."""
        port, proxy = here.rpartition(":")[2], Proxy()
        proxys_port = free_port()
        address = f"127.0.0.1:{proxys_port}"
        shown = []

        def back(made):
            output = made.output
            wait_until(
                lambda: "it is not used for" in output.read_text() if output.exists() else False
            )
            shown.append(proxying(proxy, proxys_port))
            shown[0].__enter__()

        try:
            then = [
                (f"http://far{n}.test:{port}/ok", {"proxy": f"http://{address}"}) for n in range(3)
            ]
            heard, made = crawl(then, after=back, HOST_MAX_FAILURES=1, HOST_PATIENCE=0)
        finally:
            for one in shown:
                one.__exit__(None, None, None)

        assert heard["ok"][0] == 200
        assert (made.stats["answers"], made.stats["failures"]) == (6, 0)


class TestWeb:
    """The spider `web`, which has no middlewares."""

    def run(self, tmp_path, here, environment, **settings):
        port = here.rpartition(":")[2]
        (tmp_path / "seeds.txt").write_text(f"http://far.test:{port}/ok\n")
        seeds = {"seeds": tmp_path / "seeds.txt"}
        made = Crawl(tmp_path / "job", seeds, {**POLITE, **settings}, environment=environment)
        return made.run(), made

    def test_the_environments_proxy(self, tmp_path, here):
        """http_proxy holds for the whole crawl, credentials and all; its records have no address."""
        proxy = Proxy(auth=b"Basic dTpw")
        with proxying(proxy) as address:
            status, made = self.run(tmp_path, here, {"http_proxy": f"http://u:p@{address}"})

        archive = b"".join(
            gzip.decompress(path.read_bytes()) for path in made.jobdir.glob("warc/*.gz")
        )
        assert (status, made.stats["answers"], len(proxy.lines)) == (0, 2, 2)
        assert b"GET http://far.test:" in archive
        assert b"WARC-IP-Address" not in archive
        assert b"Proxy-Authorization" not in archive
        assert list(verify(made.jobdir, Counter())) == []

    @pytest.mark.parametrize(
        ("environment", "settings"),
        [({"no_proxy": "far.test"}, {}), ({}, {"HTTPPROXY_ENABLED": False})],
    )
    def test_exceptions_from_it(self, tmp_path, here, environment, settings):
        """no_proxy names hosts that are requested directly, and HTTPPROXY_ENABLED = False ignores
        the environment.
        """
        proxy = Proxy()
        (tmp_path / "hosts").write_text("127.0.0.1 far.test\n")
        with proxying(proxy) as address:
            given = {"http_proxy": f"http://{address}", **environment}
            status, made = self.run(
                tmp_path, here, given, HOSTS_FILE=tmp_path / "hosts", **settings
            )

        assert (status, made.stats["answers"], proxy.lines) == (0, 2, [])

    def test_an_unsupported_proxy_that_is_ignored(self, tmp_path, here):
        """With HTTPPROXY_ENABLED = False it does not matter what the environment names."""
        (tmp_path / "hosts").write_text("127.0.0.1 far.test\n")
        ignored = {"HTTPPROXY_ENABLED": False, "HOSTS_FILE": tmp_path / "hosts"}
        status, made = self.run(tmp_path, here, {"http_proxy": "socks5://127.0.0.1:1"}, **ignored)

        assert (status, made.stats["answers"]) == (0, 2)

    def test_a_proxy_that_is_not_supported(self, tmp_path, here):
        """A crawl whose environment names a SOCKS4 proxy does not start; the line does not show its
        password.
        """
        status, made = self.run(tmp_path, here, {"http_proxy": "socks4://u:secret@127.0.0.1:1"})

        said = made.output.read_text()
        assert status == 1
        assert said.count("\n") == 1
        assert (
            "http_proxy in the environment = 'socks4://127.0.0.1:1': must be an http://, socks5:// or "
            "socks5h:// proxy" in said
        )

    @pytest.mark.parametrize("name", ["http_proxy", "ALL_PROXY", "all_proxy"])
    def test_a_socks_proxy(self, tmp_path, here, name):
        """A crawl goes through the SOCKS5 proxy of the environment, robots.txt included."""
        proxy = Socks(user=("me", "secret"))
        with socks_proxy(proxy) as address:
            status, made = self.run(tmp_path, here, {name: f"socks5h://me:secret@{address}"})

        assert (status, made.stats["answers"]) == (0, 2)
        assert {host for _, host, _ in proxy.requested} == {"far.test"}
        assert "secret" not in made.output.read_text()

    @pytest.mark.parametrize(
        ("value", "shown"),
        [
            ("socks4a://u:secret@127.0.0.1:1", "socks4a://127.0.0.1:1"),
            ("u:secret@127.0.0.1:123456", "127.0.0.1:123456"),
        ],
    )
    def test_all_proxy_is_never_ignored(self, tmp_path, here, value, shown):
        """A crawl that would go past the proxy of ALL_PROXY does not start."""
        status, made = self.run(tmp_path, here, {"ALL_PROXY": value})

        assert status == 1
        assert made.output.read_text().count("\n") == 1
        assert (
            f"ALL_PROXY in the environment = '{shown}': must be an http" in made.output.read_text()
        )
        assert "secret" not in made.output.read_text()

    def test_all_proxy_is_for_what_no_other_carries(self, tmp_path, here):
        """An HTTP proxy of ALL_PROXY carries http where only https_proxy is named."""
        proxy = Proxy()
        with proxying(proxy) as address:
            names = {"https_proxy": "http://127.0.0.1:1", "ALL_PROXY": f"http://{address}"}
            status, made = self.run(tmp_path, here, names)

        assert (status, made.stats["answers"], len(proxy.lines)) == (0, 2, 2)

    def test_all_proxy_beside_the_others(self, tmp_path, here):
        """Where http_proxy and https_proxy are named, they are what is taken."""
        (tmp_path / "hosts").write_text("127.0.0.1 far.test\n")
        proxy = Proxy()
        with proxying(proxy) as address:
            names = {"http_proxy": f"http://{address}", "https_proxy": f"http://{address}"}
            status, made = self.run(tmp_path, here, {**names, "ALL_PROXY": "http://127.0.0.1:1"})

        assert (status, made.stats["answers"]) == (0, 2)
        assert len(proxy.lines) == 2


class TestReading:
    @pytest.fixture(name="options")
    def _options(self, monkeypatch):
        monkeypatch.setattr("webcrawl.adapter.request_meta._environment", lambda _: None)
        return RequestOptions(get_crawler())

    @pytest.mark.parametrize(
        "meta",
        [
            {},
            {"depth": 3},
            {"download_timeout": None, "proxy": "", "download_maxsize": 0},
            {"download_timeout": 180.0},
        ],
    )
    def test_nothing_asked(self, options, meta):
        """Without options, and with those that say what the settings say, a request is as all
        others.
        """
        assert options.of(Request("http://a.test/", meta=meta)) is PLAIN

    @pytest.mark.parametrize(
        "meta",
        [
            {"download_timeout": -1},
            {"download_timeout": float("nan")},
            {"download_timeout": 1e9},
            {"download_maxsize": "big"},
            {"bindaddress": "eth0"},
            {"bindaddress": ("127.0.0.1", 50000)},
            {"proxy": "socks4a://h:1"},
        ],
    )
    def test_what_there_is_not(self, options, meta):
        """An option with an impossible value is refused in one line."""
        with pytest.raises(BadOption, match=r"^[^\n]+$"):
            options.of(Request("http://a.test/", meta=meta))

    @pytest.mark.parametrize(
        "key", ["ftp_user", "ftp_password", "ftp_passive", "ftp_local_filename"]
    )
    def test_ftp_has_none_of_its_own(self, options, key):
        """Options of Scrapy's FTP client are refused for ftp, and mean nothing elsewhere."""
        with pytest.raises(BadOption, match=key):
            options.of(Request("ftp://a.test/", meta={key: "x"}))
        assert options.of(Request("http://a.test/", meta={key: "x"})) is PLAIN

    def test_robots_txt_is_never_too_large(self, options):
        """robots.txt is truncated where other bodies would be refused: its beginning counts."""
        meta = {"download_fail_on_dataloss": False}
        request = attach_trip(
            Request("http://a.test/robots.txt", meta=meta),
            Trip(Link("http://a.test/robots.txt", "P")),
        )

        assert options.of(request).truncates
