"""Who may talk to the dashboard: other users of the machine, and pages of other sites, are enemies."""

import pytest

from tests.support.dashboards import FIGURES, Crawls, dashboard, made
from webcrawl.tools.dashboard.access_guard import COOKIE, HEADERS, AccessGuard


@pytest.fixture(name="visitor", scope="module")
def _visitor(tmp_path_factory):
    root = tmp_path_factory.mktemp("guard")
    made(root / "web")
    with dashboard(
        root, Crawls({"status": FIGURES, "pause": "paused", "exclude": "excluded"})
    ) as visitor:
        visitor.page()
        visitor.id = next(iter(visitor.finder.find())).id
        yield visitor


def everything(visitor):
    """A path of each kind."""
    one = f"{visitor.base}/c/{visitor.id}"
    paths = ["", "hosts", "errors", "seeds", "fetchers", "log", "why", "commands", "log/events"]
    own = [f"{visitor.base}/{name}" for name in ("", "events", "style.css", "script.js")]
    return ["/", visitor.base, *own, one, *(f"{one}/{name}" for name in paths)]


class TestToken:
    def test_nothing_without_it(self, visitor):
        """Without the cookie, or with another, every path is refused, and none says anything of a
        crawl.
        """
        for path in everything(visitor):
            for cookies in (
                {},
                {COOKIE: "x"},
                {COOKIE: ""},
                {COOKIE: visitor.guard.token[:-1]},
                {COOKIE: "é\u202e"},
            ):
                answer = visitor.ask(path, cookies=cookies)
                assert answer.status == 403, path
                assert "web</a>" not in answer.text

    def test_the_address_becomes_a_cookie(self, visitor):
        """The printed address sets a cookie that scripts, other sites and other paths do not get,
        and is left.
        """
        path = visitor.guard.address().partition(f":{visitor.port}")[2]
        answer = visitor.ask(path, cookies={})

        assert (answer.status, answer.headers["Location"]) == (303, f"{visitor.base}/")
        cookie = answer.headers["Set-Cookie"]
        assert cookie.startswith(f"{COOKIE}={visitor.guard.token};")
        assert {"HttpOnly", "SameSite=Strict", f"Path={visitor.base}/"} <= {
            one.strip() for one in cookie.split(";")
        }
        assert "token" not in answer.headers["Location"]

    @pytest.mark.parametrize("token", ["", "x", "%00", "%ff%fe", "%ED%A0%80"])
    def test_a_wrong_one(self, visitor, token):
        """A wrong token is refused, whatever cookie comes with it."""
        answer = visitor.ask(f"{visitor.base}/?token={token}")

        assert answer.status == 403
        assert "Set-Cookie" not in answer.headers

    def test_each_start_has_its_own(self):
        """Neither the token nor the path can be guessed from another start."""
        one, other = AccessGuard("127.0.0.1", 1), AccessGuard("127.0.0.1", 1)
        assert one.token != other.token
        assert one.base != other.base
        assert len(one.token) >= 32
        assert one.token not in one.form_token


class TestHost:
    @pytest.mark.parametrize(
        "host", ["evil.example", "127.0.0.1.evil.example", "evil.example:{port}", "127.0.0.1:1", ""]
    )
    def test_another_name_is_refused(self, visitor, host):
        """A name that an attacker's name server leads here, or another port, is not this server,
        token or not.
        """
        answer = visitor.ask(f"{visitor.base}/", headers={"Host": host.format(port=visitor.port)})

        assert answer.status in (400, 421)

    @pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]", "127.9.9.9"])
    def test_loopback_by_all_its_names(self, visitor, name):
        """Every name of loopback will do."""
        assert (
            visitor.ask(f"{visitor.base}/", headers={"Host": f"{name}:{visitor.port}"}).status
            == 200
        )

    @pytest.mark.parametrize(
        ("listening", "header", "known"),
        [
            ("192.0.2.1", "192.0.2.1:80", True),
            ("192.0.2.1", "192.0.2.1", True),
            ("0.0.0.0", "198.51.100.7:80", True),  # noqa: S104 - nobody listens
            ("0.0.0.0", "evil.example:80", False),  # noqa: S104
            ("crawler.example", "crawler.example:80", True),
            ("crawler.example", "evil.example:80", False),
            ("::1", "[::1]", True),
            ("127.0.0.1", "198.51.100.7:80", False),
            ("127.0.0.1", "2130706433:80", False),
            ("127.0.0.1", "127.0.0.1:٨٠", False),
        ],
    )
    def test_other_addresses(self, listening, header, known):
        """An address that is listened on, or any where all are, is ours; a name only if it was
        given.
        """
        assert AccessGuard(listening, 80).is_own_host(header) is known


class TestForms:
    def test_one_of_ours(self, visitor):
        """A form with its token does what it says."""
        answer = visitor.send(f"c/{visitor.id}/commands", {"command": "pause"})

        assert answer.status == 303
        assert ("web", "pause") in visitor.crawls.told

    @pytest.mark.parametrize("token", [None, "", "x", "the cookie's"])
    def test_without_its_token(self, visitor, token):
        """A form without the token of forms does nothing; the cookie's own is not it."""
        visitor.crawls.told.clear()
        data = {"command": "pause"}
        if token is not None:
            data["form"] = visitor.guard.token if token == "the cookie's" else token  # noqa: S105 - a test of it

        assert visitor.send(f"c/{visitor.id}/commands", data, form=False).status == 403
        assert visitor.crawls.told == []

    @pytest.mark.parametrize(
        "headers",
        [
            {"Origin": "http://evil.example"},
            {"Origin": "null"},
            {"Origin": "http://127.0.0.1:1"},
            {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site"},
        ],
    )
    def test_from_elsewhere(self, visitor, headers):
        """A form of another origin does nothing, even with both tokens; another port of this
        machine is another.
        """
        visitor.crawls.told.clear()

        assert (
            visitor.send(f"c/{visitor.id}/commands", {"command": "pause"}, headers=headers).status
            == 403
        )
        assert visitor.crawls.told == []

    def test_an_address_does_nothing(self, visitor):
        """What a form does, no address does, with any method but POST."""
        visitor.crawls.told.clear()
        path = (
            f"{visitor.base}/c/{visitor.id}/commands?command=pause&form={visitor.guard.form_token}"
        )
        for method in ("GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS"):
            visitor.ask(path, method=method)
        assert visitor.crawls.told == []

    def test_no_files(self, visitor):
        """A form may not bring files: they would be written to disk."""
        headers = {"Content-Type": "multipart/form-data; boundary=x"}
        answer = visitor.ask(
            f"{visitor.base}/c/{visitor.id}/commands", method="POST", data=b"--x--", headers=headers
        )

        assert answer.status == 415

    @pytest.mark.parametrize("coding", ["gzip", "deflate"])
    def test_in_no_coding(self, visitor, coding):
        """A form whose body is not coded as it says cannot be read."""
        path, headers = f"c/{visitor.id}/commands", {"Content-Encoding": coding}

        assert visitor.send(path, {"command": "pause"}, headers=headers).status == 400

    def test_not_too_large(self, visitor):
        """A form of more than 64 KiB is not read."""
        answer = visitor.send(
            f"c/{visitor.id}/commands", {"command": "pause", "words": "x" * 100_000}
        )

        assert answer.status == 413

    def test_what_destroys_is_asked_twice(self, visitor):
        """Stop, exclude and drop are done only by a second form that says so; a wrong word is said
        before that.
        """
        visitor.crawls.told.clear()
        where = f"c/{visitor.id}/commands"
        first = visitor.send(where, {"command": "exclude", "words": "example.com"})
        wrong = visitor.send(where, {"command": "exclude", "words": "http://["})

        assert (first.status, visitor.crawls.told, wrong.status) == (200, [], 303)
        assert "Are you sure?" in first.text
        assert (
            visitor.send(
                where, {"command": "exclude", "words": "example.com", "sure": "yes"}
            ).status
            == 303
        )
        assert visitor.crawls.told == [("web", "exclude", "example.com")]


class TestAnswers:
    def test_every_answer_has_the_headers(self, visitor):
        """Pages, files, redirects and refusals all say how they may be used."""
        for path in (
            "/",
            f"{visitor.base}/",
            f"{visitor.base}/script.js",
            f"{visitor.base}/c/x",
            f"{visitor.base}/c/x/y",
        ):
            answer = visitor.ask(path)
            assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS, path

    def test_the_policy_allows_nothing_inline(self, visitor):
        """Scripts and styles are the dashboard's own files, and no page has a style or handler of
        its own.
        """
        assert "unsafe" not in HEADERS["Content-Security-Policy"]
        for path in everything(visitor)[6:-1]:
            text = visitor.ask(path).text
            assert " style=" not in text
            assert "<style" not in text
            assert " onclick" not in text

    @pytest.mark.parametrize(
        "trick", ["..", "%2e%2e", "..%2f..%2fetc%2fpasswd", "%2fetc%2fpasswd", "crawl.db", "%00"]
    )
    def test_no_path_is_opened(self, visitor, trick):
        """Crawls, tabs and logs are names that the server gave: anything else is not there."""
        assert visitor.ask(f"{visitor.base}/c/{trick}").status in (403, 404)
        assert visitor.ask(f"{visitor.base}/c/{visitor.id}/{trick}").status in (400, 403, 404)
        assert "root:" not in visitor.page(f"c/{visitor.id}/log?name={trick}")

    def test_few_pages_stay_open(self, visitor, monkeypatch):
        """Beyond so many open pages, another is told to come later."""
        monkeypatch.setattr("webcrawl.tools.dashboard.dashboard_server.MAX_OPEN_PAGES", 0)

        assert visitor.ask(f"{visitor.base}/events").status == 503

    def test_an_error_of_ours(self, tmp_path, caplog):
        """What goes wrong inside says nothing of the inside, and is logged where the dashboard was
        started.
        """
        made(tmp_path / "web")
        with dashboard(tmp_path, Crawls({"status": RuntimeError("secret")})) as visitor:
            answer = visitor.ask(f"{visitor.base}/")

        assert answer.status == 500
        assert "secret" not in answer.text
        assert answer.headers["Content-Security-Policy"] == HEADERS["Content-Security-Policy"]
        assert "secret" in caplog.text
