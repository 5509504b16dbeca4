"""The JSON interface beside the dashboard: what programs may ask, with which token."""

import json

import pytest

from tests.support.crawling import QUICK, Crawl, copy_of
from tests.support.dashboards import FIGURES, Crawls, dashboard, made
from tests.support.plain_site import Site, serving
from webcrawl.crawl.control.command import CommandError
from webcrawl.urls.exclusion_rules import OptOut

PAGES = {
    "/": "<title>Lamps</title><p>We sell lamps.</p><a href=/desk>desk</a><a href=/no>no</a>",
    "/desk": "<title>Desk</title><p>A desk lamp.</p>",
}


class Lamps(Site):
    def answer(self):
        text = PAGES.get(self.path)
        self.say(200 if text else 404, (text or "").encode(), content_type="text/html")


@pytest.fixture(name="crawled", scope="module")
def _crawled(tmp_path_factory):
    """The folder of a finished crawl, and the address of its site."""
    folder = tmp_path_factory.mktemp("crawled")
    with serving(Lamps) as site:
        (folder / "seeds.txt").write_text(f"{site}/\n")
        # Longer than a second: of a crawl within one the dashboard shows the figures of its start
        settings = {"OUTPUTS": "warc cdxj index", **QUICK, "POLITENESS_MIN_DELAY": 0.5}
        crawl = Crawl(folder / "job", {"seeds": folder / "seeds.txt"}, settings)
        assert crawl.run() == 0, crawl.output.read_text()
    return folder, site


@pytest.fixture(name="visitor")
def _visitor(crawled):
    with dashboard(crawled[0]) as visitor:
        yield visitor


def asked(visitor, path, sent=None, **more):
    """The status and the answer of the interface."""
    headers = {"Authorization": f"Bearer {visitor.guard.token if sent is None else sent}"}
    answer = visitor.ask(f"{visitor.base}/api{path}", cookies={}, headers=headers, **more)
    return answer.status, json.loads(answer.text)


class TestToken:
    def test_without_a_token(self, visitor):
        """Nothing is told, and the description neither."""
        assert visitor.ask(f"{visitor.base}/api/openapi.json", cookies={}).status == 403
        assert asked(visitor, "/crawls", sent="wrong") == (401, {"error": "wrong token"})

    def test_the_cookie_reads(self, visitor):
        """A browser that has entered the dashboard may read."""
        assert visitor.ask(f"{visitor.base}/api/crawls").status == 200

    def test_the_cookie_does_not_command(self, visitor):
        """What a browser sends by itself gives no command."""
        path = f"{visitor.base}/api/crawls/{visitor.id}/commands"
        answer = visitor.ask(path, method="POST", json={"words": ["stop"]})

        assert answer.status == 415
        assert visitor.crawls.told == []

    def test_the_token_opens_no_page(self, visitor):
        """Pages are for browsers: there the header counts for nothing."""
        headers = {"Authorization": f"Bearer {visitor.guard.token}"}
        assert visitor.ask(f"{visitor.base}/", cookies={}, headers=headers).status == 403


class TestReading:
    def test_crawls(self, visitor):
        """All crawls with state and figures, by ids that stay."""
        status, (crawl,) = asked(visitor, "/crawls")

        assert status == 200
        assert crawl == {
            "id": visitor.id,
            "name": "job",
            "state": "stopped",
            "note": "finished",
            "pages": 2,
            "queued": 0,
        }

    def test_status(self, visitor):
        """The figures of a crawl, by its id or its name."""
        status, found = asked(visitor, f"/crawls/{visitor.id}/status")
        assert (status, found["state"], found["pages"]) == (200, "stopped", 2)
        assert asked(visitor, "/crawls/job/status") == (200, found)

    def test_why(self, visitor, crawled):
        """As `webcrawl why --json`."""
        _, site = crawled
        status, found = asked(visitor, "/crawls/job/why", params={"url": f"{site}/desk"})

        assert (status, found["state"]) == (200, "fetched")

    def test_search(self, visitor, crawled):
        """As `webcrawl search --json`, with the number of all pages that were found."""
        status, found = asked(visitor, "/crawls/job/search", params={"words": "desk lamp"})

        assert (status, found["total"], found["unread"]) == (200, 1, [])
        assert found["pages"][0]["title"] == "Desk"
        assert asked(visitor, "/crawls/job/search", params={"words": "desk:"})[1]["remark"] == (
            "desk:: searched as plain words"
        )

    def test_page(self, visitor, crawled):
        """The visible text of a page, from the archive, in parts."""
        _, site = crawled
        path, url = "/crawls/job/page", f"{site}/desk"
        status, found = asked(visitor, path, params={"url": url})

        assert (status, found["title"], found["text"]) == (200, "Desk", "A desk lamp.")
        _, part = asked(visitor, path, params={"url": url, "begin": 2, "most": 4})
        assert (part["text"], part["characters"]) == ("desk", 12)

    def test_a_page_that_cannot_be_read(self, crawled, tmp_path):
        """The answer names the command that finds the damage."""
        folder, site = crawled
        job = copy_of(folder / "job", tmp_path / "job")
        for path in (job / "warc").glob("*.warc.gz"):
            path.write_bytes(b"")
        with dashboard(tmp_path) as visitor:
            found = asked(visitor, "/crawls/job/page", params={"url": f"{site}/desk"})

        why = f"{site}/desk: its records cannot be read; `webcrawl verify {job}` says why"
        assert found == (404, {"error": why})

    @pytest.mark.parametrize(("rule", "status"), [("127.0.0.1", 404), ("other.test", 200)])
    def test_what_an_owner_wants_deleted(self, visitor, crawled, monkeypatch, rule, status):
        """No program reads a page whose owner has asked for that."""
        wishes = [OptOut(rule, forget=True)]
        monkeypatch.setattr("webcrawl.tools.dashboard.operations.records_of", lambda _: wishes)
        params = {"url": f"{crawled[1]}/desk"}

        assert asked(visitor, "/crawls/job/page", params=params)[0] == status


class TestCommands:
    def test_a_command(self, tmp_path):
        """It is given to the crawl as `ctl` gives it, and its answer comes back."""
        made(tmp_path / "job")
        crawls = Crawls({"status": FIGURES, "pause": "paused until you resume it"})
        with dashboard(tmp_path, crawls) as visitor:
            found = asked(visitor, "/crawls/job/commands", method="POST", json={"words": ["pause"]})

        assert found == (200, {"answer": "paused until you resume it"})
        assert crawls.told == [("job", "pause")]

    def test_hosts_of_a_running_crawl(self, tmp_path):
        """`hosts` asks the crawl with the words of `ctl`."""
        made(tmp_path / "job")
        crawls = Crawls({"status": FIGURES, "hosts": {"hosts": []}})
        with dashboard(tmp_path, crawls) as visitor:
            found = asked(visitor, "/crawls/job/hosts", params={"by": "errors", "most": "5"})

        assert found == (200, {"hosts": []})
        assert crawls.told == [("job", "hosts", "--by", "errors", "-n", "5")]

    def test_a_refusal(self, tmp_path):
        """The reason is the crawl's own."""
        made(tmp_path / "job")
        crawls = Crawls({"status": FIGURES, "set": CommandError("X: no such setting")})
        with dashboard(tmp_path, crawls) as visitor:
            words = {"words": ["set", "X", "1"]}
            found = asked(visitor, "/crawls/job/commands", method="POST", json=words)

        assert found == (400, {"error": "X: no such setting"})


class TestWrongUses:
    @pytest.mark.parametrize(
        ("path", "params", "status", "why"),
        [
            ("/crawls/none/status", {}, 404, "'none' is not a crawl here; there are: job"),
            ("/crawls/job/why", {}, 400, "url: is needed for why"),
            ("/crawls/job/why", {"url": " "}, 400, "url: must be a text"),
            ("/crawls/job/why", {"url": "x", "a": "1"}, 400, "a: unknown; why has url"),
            ("/crawls/job/search", {"words": "a", "most": "0"}, 400, "most: must be a whole"),
            ("/crawls/job/search", {"words": "a", "most": "1e3"}, 400, "most: must be a whole"),
            ("/crawls/job/hosts", {"by": "name"}, 400, "by: must be one of queue, errors"),
            ("/crawls/job/hosts", {}, 400, "'hosts' is not a command"),
            ("/crawls/job/page", {"url": "http://other.test/"}, 404, "the archive has no answer"),
            ("/crawls", {"x": "1"}, 400, "x: unknown; crawls has none"),
        ],
    )
    def test_a_question(self, visitor, path, params, status, why):
        """It is answered with the reason in a line."""
        found, answer = asked(visitor, path, params=params)

        assert found == status
        assert why in answer["error"]

    @pytest.mark.parametrize(
        ("body", "why"),
        [
            (b"words", "the body is not JSON"),
            (b"[]", "the body must be a JSON object"),
            (b'{"words": "stop"}', "words: must be a list of texts"),
            (b'{"words": []}', "words: must be a list of texts"),
            (b'{"word": ["stop"]}', "word: unknown; commands has words"),
        ],
    )
    def test_a_command(self, visitor, body, why):
        """No crawl hears of it."""
        path = "/crawls/job/commands"
        assert asked(visitor, path, method="POST", data=body) == (400, {"error": why})
        assert visitor.crawls.told == []


def test_the_description(visitor):
    """It has each operation once, with its parameters, as OpenAPI wants them."""
    status, found = asked(visitor, "/openapi.json")
    operations = {
        way["operationId"]: (method, way)
        for path in found["paths"].values()
        for method, way in path.items()
    }

    assert (status, found["openapi"]) == (200, "3.1.0")
    assert {name: method for name, (method, _) in operations.items()} == {
        "crawls": "get",
        "status": "get",
        "hosts": "get",
        "why": "get",
        "search": "get",
        "page": "get",
        "commands": "post",
    }
    parameters = {one["name"]: one for one in operations["page"][1]["parameters"]}
    assert {name: one["required"] for name, one in parameters.items()} == {
        "crawl": True,
        "url": True,
        "begin": False,
        "most": False,
    }
