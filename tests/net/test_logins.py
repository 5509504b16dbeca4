"""AUTH_FILE: what it may say, and which requests take a login along."""

import base64
import logging

import pytest

from tests.net.test_http_tls import page, server_context
from tests.support.net_http import Names, client, run, serving
from webcrawl.crawl.checks import SettingError, read
from webcrawl.net.errors import CertificateRefused
from webcrawl.net.logins import Logins

BASIC = b"Basic " + base64.b64encode("user:gehe\u00efm".encode())
HEAD = "# Netscape HTTP Cookie File\n"


def cookie(domain, name, path="/", *, subdomains="FALSE", secure="FALSE", expires=0):
    return "\t".join((domain, subdomains, path, secure, str(expires), name, f"of-{name}")) + "\n"


@pytest.fixture(name="logins")
def _logins(tmp_path):
    """Writes files of mode 0600, and returns the path of the logins."""

    def write(text, cookies=None, mode=0o600):
        for name, content in (("logins.toml", text), ("cookies.txt", cookies)):
            if content is not None:
                path = tmp_path / name
                path.write_text(content, encoding="utf-8")
                path.chmod(mode)
        return tmp_path / "logins.toml"

    return write


class Heads:
    """A server that keeps the heads of the requests that it gets."""

    def __init__(self, status=b"200 OK"):
        self.heads, self.status = [], status

    async def __call__(self, reader, writer):
        while True:
            self.heads.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(b"HTTP/1.1 %b\r\nContent-Length: 2\r\n\r\nok" % self.status)

    def field(self, name, number=-1):
        """The values of a header in one of the heads."""
        lines = [line.partition(b": ") for line in self.heads[number].split(b"\r\n")]
        return [value for key, _, value in lines if key.lower() == name.encode()]


def ask(path_of_logins, server, *requests, host="site.test", other=None):
    """The exchanges of requests, each a path and headers, to a server with a login.

    The text of the logins has PORT in it.
    """

    async def go():
        async with serving(server) as port:
            path_of_logins.write_text(path_of_logins.read_text().replace("PORT", str(port)))
            logins = Logins.read(path_of_logins)
            names = Names(site=["127.0.0.1"], other=["127.0.0.1"])
            async with client(names, logins=logins) as http:
                return [
                    await http.fetch(f"http://{host}:{port}{path}", headers)
                    for path, headers in requests
                ]

    return run(go())


class TestReading:
    @pytest.mark.parametrize("mode", [0o644, 0o640, 0o606, 0o660])
    def test_a_file_that_others_can_reach_is_refused(self, logins, mode):
        """The mode must be 0600; the line says what it is and how to change it."""
        path = logins('["http://a.test"]\nbasic = "u:secret"\n', mode=mode)

        with pytest.raises(SettingError) as refused:
            read("AUTH_FILE", path)

        assert f"its mode is {mode:04o}, so others may read or change it: chmod 600" in str(
            refused.value
        )
        assert "secret" not in str(refused.value)

    def test_a_cookie_file_that_others_can_reach_is_refused(self, logins, tmp_path):
        """The same holds for a cookies.txt that the file names."""
        path = logins(
            '["http://a.test"]\ncookies = "cookies.txt"\n', HEAD + cookie("a.test", "sid")
        )
        (tmp_path / "cookies.txt").chmod(0o644)

        with pytest.raises(SettingError, match=r"cookies\.txt: its mode is 0644"):
            read("AUTH_FILE", path)

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("", "it has no login"),
            ("basic = secret", "it is not TOML"),
            ('["a.test"]\nbasic = "u:secret"', "must be a scheme, host and port"),
            ('["ftp://a.test"]\nbasic = "u:secret"', "must be a scheme, host and port"),
            ('["http://a.test/wiki/"]\nbasic = "u:secret"', "must be a scheme, host and port"),
            ('["http://u:secret@a.test"]\nbasic = "u:secret"', "belongs in the table"),
            ('["http://a.test"]\n', "must be a table with one or more of basic, bearer"),
            ('["http://a.test"]\nsecret = "x"', "it has an unknown key; use basic, bearer"),
            ('["http://a.test"]\nbasic = "secret"', "must have the form user:password"),
            ('["http://a.test"]\nbasic = ["u", "secret"]', "must be a text"),
            ('["http://a.test"]\nbearer = "a secret"', "must be a token, without spaces"),
            ('["http://a.test"]\nheader = "secret"', "must have the form Name: value"),
            ('["http://a.test"]\nheader = "X: a\\r\\nsecret: b"', "must have the form Name: value"),
            ('["http://a.test"]\nheader = "Host: secret"', "the crawl itself sets Host"),
            ('["http://a.test"]\nheader = "Cookie: a=secret"', "cookies belong in a file"),
            ('["http://a.test"]\nbasic = "u:secret"\nbearer = "secret"', "use the same header"),
            ('["http://a.test"]\nbearer = "s"\n["HTTP://A.test:80/"]\nbearer = "s"', "earlier"),
            ('["http://a.test"]\ncookies = "missing.txt"', "No such file"),
        ],
    )
    def test_what_cannot_be_used_is_refused_in_a_line(self, logins, text, why):
        """The line names the setting, the table and the reason, and shows nothing of a login."""
        path = logins(text)

        with pytest.raises(SettingError) as refused:
            read("AUTH_FILE", path)

        said = str(refused.value)
        assert why in said
        assert said.startswith("AUTH_FILE = ")
        assert "\n" not in said
        assert "secret" not in said

    @pytest.mark.parametrize(
        ("cookies", "why"),
        [
            (HEAD + cookie("other.test", "sid"), "has no cookie for a.test"),
            ("a.test sid=secret\n", "line 1 is not a cookie in Netscape's form"),
            (
                HEAD + cookie("a.test", "sid", expires=1),
                "all cookies for http://a.test/ have expired",
            ),
        ],
    )
    def test_cookies_that_cannot_be_used(self, logins, cookies, why):
        """A cookies.txt without a valid cookie for its host is refused at the start."""
        path = logins('["http://a.test"]\ncookies = "cookies.txt"\n', cookies)

        with pytest.raises(SettingError) as refused:
            read("AUTH_FILE", path)

        assert why in str(refused.value)
        assert "secret" not in str(refused.value)

    def test_a_login_in_place_of_the_path_is_not_shown(self):
        """Whoever writes the login itself as the setting's value is told so, without it."""
        with pytest.raises(SettingError) as refused:
            read("AUTH_FILE", "user:secret")

        assert "give the path of its file" in str(refused.value)
        assert "secret" not in str(refused.value)

    def test_hosts_as_one_writes_them(self, logins):
        """Case, a default port, a slash at the end and letters of other alphabets do not matter."""
        text = (
            '["HTTPS://B\u00fccher.test:443/"]\nbearer = "x"\n["http://[::1]:8080"]\nbearer = "y"\n'
        )

        assert Logins.read(logins(text)).urls == (
            "https://xn--bcher-kva.test/",
            "http://[::1]:8080/",
        )


class TestSending:
    @pytest.mark.parametrize(
        ("login", "name", "value"),
        [
            ('basic = "user:gehe\u00efm"', "authorization", BASIC),
            ('bearer = "t0k/en="', "authorization", b"Bearer t0k/en="),
            ('header = "X-Api-Key: k e y"', "x-api-key", b"k e y"),
        ],
    )
    def test_a_login_is_sent_and_not_kept(self, logins, login, name, value):
        """The server gets the login; the exchange, which goes to the archive, has the rest."""
        server = Heads()
        (got,) = ask(logins(f'["http://site.test:PORT"]\n{login}\n'), server, ("/", ()))

        assert server.field(name) == [value]
        assert value not in got.request
        assert got.request == server.heads[0].replace(
            b"%b: %b\r\n" % (server.heads[0].split(value)[0].rsplit(b"\r\n", 1)[1][:-2], value), b""
        )

    @pytest.mark.parametrize(
        "key", ["http://other.test:PORT", "https://site.test:PORT", "http://site.test:1"]
    )
    def test_another_origin_gets_none(self, logins, key):
        """A login is for one scheme, host and port."""
        server = Heads()
        ask(logins(f'["{key}"]\nbasic = "user:secret"\n'), server, ("/", ()))

        assert server.field("authorization") == []

    def test_a_header_of_the_request_itself_stays(self, logins):
        """What a spider has set for one request goes before AUTH_FILE."""
        server = Heads()
        own = [(b"Authorization", b"Bearer own")]
        ask(logins('["http://site.test:PORT"]\nbasic = "user:secret"\n'), server, ("/", own))

        assert server.field("authorization") == [b"Bearer own"]

    def test_cookies_by_host_path_and_time(self, logins):
        """Of a cookies.txt those are sent that a browser would send (RFC 6265 5.4)."""
        cookies = HEAD + "".join(
            (
                cookie("site.test", "all"),
                cookie(".test", "domain", subdomains="TRUE"),
                cookie("#HttpOnly_site.test", "hidden"),
                cookie("site.test", "below", "/wiki"),
                cookie("site.test", "tls", secure="TRUE"),
                cookie("site.test", "old", expires=1),
                cookie("test", "exact"),
            )
        )
        server = Heads()
        path = logins('["http://site.test:PORT"]\ncookies = "cookies.txt"\n', cookies)
        ask(path, server, ("/", ()), ("/wiki/a?b", ()), ("/wikis", ()))

        everywhere = b"all=of-all; domain=of-domain; hidden=of-hidden"
        assert [server.field("cookie", at) for at in range(3)] == [
            [everywhere],
            [everywhere + b"; below=of-below"],
            [everywhere],
        ]

    def test_cookies_join_those_of_the_request(self, logins):
        """A request has one line of cookies; a cookie that it has itself is not sent twice."""
        server = Heads()
        cookies = HEAD + cookie("site.test", "sid") + cookie("site.test", "lang")
        path = logins('["http://site.test:PORT"]\ncookies = "cookies.txt"\n', cookies)
        (got,) = ask(path, server, ("/", [(b"Cookie", b"a=b; lang=de")]))

        assert server.field("cookie") == [b"a=b; lang=de; sid=of-sid"]
        assert b"Cookie: a=b; lang=de\r\n" in got.request

    def test_a_server_that_does_not_accept_it_is_named_once(self, logins, caplog):
        """A 401 to a request with a login is worth one warning per host."""
        server = Heads(status=b"401 Unauthorized")
        with caplog.at_level(logging.WARNING):
            path = logins('["http://site.test:PORT"]\nbasic = "user:secret"\n')
            ask(path, server, ("/", ()), ("/a", ()))

        (said,) = caplog.messages
        assert "answers 401 although AUTH_FILE has a login for it" in said
        assert "secret" not in caplog.text


class TestTls:
    def test_an_unchecked_server_gets_no_login(self, logins, tmp_path):
        """A server with a login must have a certificate that verifies; others may have any."""
        path = logins('["https://site.test:PORT"]\nbasic = "user:secret"\n')
        heads = []

        async def handler(reader, writer):
            heads.append(1)
            await page(reader, writer)

        async def go():
            context = server_context(tmp_path, "site.test")
            names = Names(site=["127.0.0.1"], other=["127.0.0.1"])
            async with serving(handler, tls=context) as port:
                path.write_text(path.read_text().replace("PORT", str(port)))
                async with client(names, logins=Logins.read(path)) as http:
                    other = await http.fetch(f"https://other.test:{port}/")
                    with pytest.raises(CertificateRefused):
                        await http.fetch(f"https://site.test:{port}/")
                    return other

        other = run(go())
        assert other.body == b"ok"
        assert "certificate_name" in other.flaws
        assert heads == [1]

    def test_a_checked_server_gets_it(self, logins, tmp_path):
        """With an authority that the system trusts, the login is sent."""
        server, path = Heads(), logins('["https://site.test:PORT"]\nbasic = "user:gehe\u00efm"\n')

        def verifying(protocols):
            from webcrawl.net.tls import tls_context

            context = tls_context(verify=True, protocols=protocols)
            context.load_verify_locations(tmp_path / "server.pem")
            return context

        async def go():
            context = server_context(tmp_path, "site.test", issuer="")
            async with serving(server, tls=context) as port:
                path.write_text(path.read_text().replace("PORT", str(port)))
                names = Names(site=["127.0.0.1"])
                async with client(names, logins=Logins.read(path), verifying=verifying) as http:
                    return await http.fetch(f"https://site.test:{port}/")

        assert run(go()).flaws == ()
        assert server.field("authorization") == [BASIC]


class TestBrowser:
    @pytest.mark.parametrize(
        ("page_url", "url", "is_kept"),
        [
            ("http://site.test/", "http://site.test/a", False),
            ("http://other.test/", "http://site.test/a", True),
            ("http://site.test:8080/", "http://site.test/a", True),
            ("http://site.test/", "http://other.test/a", False),
        ],
    )
    def test_pages_of_other_sites_use_no_login(self, logins, page_url, url, is_kept):
        """A page that a browser renders requests what has a login only from its own origin."""
        made = Logins.read(logins('["http://site.test"]\nbasic = "user:secret"\n'))

        assert made.keeps_from(page_url, url) is is_kept
