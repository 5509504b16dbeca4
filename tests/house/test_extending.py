"""The examples of docs/pipelines.md, spiders.md and policies.md, run as they stand there."""

import json
import shutil
import socket
from dataclasses import replace
from threading import Thread
from types import SimpleNamespace

import pytest

from tests.support.changing_site import Document, changing_site
from tests.support.crawling import Crawl, wait_until
from tests.support.places import ROOT
from tests.support.plain_site import Site, serving
from tests.support.snippets import example, load
from webcrawl.frontier.politeness import Politeness
from webcrawl.lab.simweb import truth

PNG = b"\0\0\0\x0dIHDR\0\0\0\x20\0\0\0\x07"  # a header: 32 by 7 pixels


@pytest.fixture(name="project")
def _project(tmp_path):
    """A user's project: our settings, and a package of his own."""
    folder = tmp_path / "project"
    (folder / "myproject").mkdir(parents=True)
    (folder / "myproject/__init__.py").touch()
    (folder / "scrapy.cfg").write_text("[settings]\ndefault = webcrawl.settings\n")
    return folder


def crawl(tmp_path, project, server, pipelines):
    (tmp_path / "seeds.txt").write_text("\n".join(server.world.seeds()))
    settings = {"DNS_NAMESERVERS": server.nameserver, "ITEM_PIPELINES": json.dumps(pipelines)}
    run = Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, settings, project=project)
    assert run.run() == 0, run.output.read_text()
    return run


class TestPipelines:
    def test_a_pipeline_gets_every_page(self, simweb, tmp_path, project):
        """The pipeline of docs/pipelines.md sees each page of a crawl once, with its text."""
        server = simweb(4, 60, size=(2000, 3000))
        (project / "myproject/words.py").write_text(example("docs/pipelines.md", "WordsPipeline"))
        made = crawl(tmp_path, project, server, {"myproject.words.WordsPipeline": 300})

        rows = [json.loads(line) for line in (made.jobdir / "words.jsonl").read_text().splitlines()]

        assert sorted(url for url, _, _ in rows) == sorted(
            truth(server.world, [*server.world.seeds()]).must
        )
        assert all(title and words > 100 for _, title, words in rows)

    def test_a_module_gets_pages_of_its_types(self):
        """The module of docs/pipelines.md is for PNG images, and reads their size."""
        written = []
        sizes = load("docs/pipelines.md", "ImageSizes")(None)
        sizes.output = SimpleNamespace(write=written.append)
        sizes.process_item(
            SimpleNamespace(url="http://a.test/i.png", body=b"\x89PNG\r\n\x1a\n" + PNG)
        )

        assert sizes.content_types == ("image/png",)
        assert written == [b"32 x 7 http://a.test/i.png\n"]

    def test_a_feed_of_changed_pages(self, tmp_path, project):
        """The pipeline of docs/pipelines.md lets through what has changed or is gone, also what
        changed back.
        """
        (project / "myproject/changed.py").write_text(example("docs/pipelines.md", "ChangedPages"))
        pages = {"/": Document(b"<title>one</title>"), "/still": Document(b"<title>still</title>")}
        with changing_site(pages) as site:
            settings = {
                "CONTENT_SEEN": "process",
                "ITEM_PIPELINES": json.dumps({"myproject.changed.ChangedPages": 300}),
                "FEEDS": json.dumps({f"{tmp_path}/changes.jsonl": {"format": "jsonlines"}}),
            }
            run = replace(site.crawl(tmp_path, "/", "/still", **settings), project=project)
            running = run.start()
            for now in (b"<title>two</title>", b"<title>one</title>", None):
                requested = len(site.of("/"))
                wait_until(lambda requested=requested: len(site.of("/")) >= requested + 2)
                pages["/"] = Document(now) if now else Document(status=410)
            wait_until(lambda: site.of("/")[-1].status == 410)
            assert site.until("/still", len(site.of("/still")) + 2, running) == 0

        found = [json.loads(line) for line in (tmp_path / "changes.jsonl").read_text().splitlines()]
        assert [(row["change"], row["title"]) for row in found][:3] == [
            ("changed", "two"),
            ("changed", "one"),
            ("gone", ""),
        ]
        assert {row["url"] for row in found} == {site.url("/")}

    def test_the_link_log_has_a_line_a_link(self, simweb, tmp_path):
        """The optional link log has every link, those too that are not followed, with its anchor
        text.
        """
        server = simweb(2, 10, size=(2000, 3000))
        run = crawl(
            tmp_path, ROOT, server, {"webcrawl.adapter.pipelines.outputs.LinkLogPipeline": 300}
        )

        rows = [
            line.split("\t") for line in (run.jobdir / "logs/links.log").read_text().splitlines()
        ]

        assert {len(row) for row in rows} == {5}
        assert {"a", "img", "script"} <= {row[3] for row in rows}
        assert any(row[3] == "a" and row[4] for row in rows)

    def test_a_hook_hears_of_every_end(self, tmp_path, project):
        """`on_end` tells of URLs that make no page; what the hook writes is kept, what it raises
        costs nothing.
        """

        class Guarded(Site):
            def answer(self):
                self.say(
                    200,
                    b"User-agent: *\nDisallow: /private"
                    if self.path == "/robots.txt"
                    else b"hello",
                )

        slow = example("docs/pipelines.md", "SlowUrls")
        slow = slow.replace(
            "if outcome.seconds > 10 or", "if link.url[-1] == 'z': 1 / 0\n        if"
        )
        (project / "myproject/slow.py").write_text(slow)
        (project / "myproject/names.py").write_text(example("docs/policies.md", "Staging"))
        with serving(Guarded, "127.0.0.9") as here:
            port = here.rpartition(":")[2]
            (tmp_path / "seeds.txt").write_text(
                f"http://www.shop.test:{port}/z\nhttp://127.0.0.9:{port}/private/\n"
            )
            settings = {
                "ITEM_PIPELINES": json.dumps({"myproject.slow.SlowUrls": 300}),
                "DNS_LOOKUP": "myproject.names.Staging",
                "PORTS_ALLOWED": port,
            }
            run = Crawl(
                tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, settings, project=project
            )
            assert run.run() == 0, run.output.read_text()

        assert (
            run.jobdir / "slow.txt"
        ).read_text() == f"-9998 0.0 http://127.0.0.9:{port}/private/\n"
        assert "ZeroDivisionError" in (run.jobdir / "logs/errors.log").read_text()


class TestSpiders:
    def test_a_spider_chooses_its_links(self, tmp_path, project):
        """The spider of docs/spiders.md follows the links whose text has its word, from pages of
        its choice.
        """

        class News(Site):
            def answer(self):
                links = b'<a href="%s">All News</a> <a href="/sports">sports</a>' % (
                    self.path.encode() + b"/archive/x"
                )
                self.say(
                    404 if self.path == "/robots.txt" else 200, links, content_type="text/html"
                )

        (project / "myproject/news.py").write_text(example("docs/spiders.md", "NewsSpider"))
        with serving(News) as here:
            (tmp_path / "seeds.txt").write_text(f"{here}/a")
            settings = {
                "SPIDER_MODULES": "myproject.news",
                "POLITENESS_MIN_DELAY": 0,
                "POLITENESS_FACTOR": 0,
            }
            arguments = {"seeds": tmp_path / "seeds.txt", "word": "news"}
            run = Crawl(tmp_path / "job", arguments, settings, "news", project)
            assert run.run() == 0, run.output.read_text()

        lines = (run.jobdir / "logs/crawl.log").read_text().splitlines()
        assert sorted(line.split()[3].removeprefix(here) for line in lines) == [
            "/a",
            "/a/archive/x",
            "/robots.txt",
        ]


class TestKinds:
    def test_the_policy_is_one(self):
        """The politeness policy of docs/policies.md keeps the contract."""
        policy: Politeness = load("docs/policies.md", "Gentle")(10, 1, 300)
        assert policy.wait([0.1, 2.0, 0.5]) == 40
        assert policy.wait([]) == 1

    def test_the_prioritizer_is_one(self):
        """The prioritizer of docs/policies.md gives levels that exist."""
        from webcrawl.base.model import Link

        prioritizer = load("docs/policies.md", "ShortFirst")(8)
        assert prioritizer.level(Link("http://a/")) == 0
        assert prioritizer.level(Link("http://a/" + "x" * 1900)) == 7

    def test_the_revisit_policy_is_one(self):
        """The revisit policy of docs/policies.md fetches what it names ten times as often."""
        from webcrawl.crawl.revisit.policies import PolicyOptions
        from webcrawl.crawl.revisit.record import PageRecord

        policy = load("docs/policies.md", "NewsFirst")(
            PolicyOptions(60.0, lambda: 1.0, lambda: 1000)
        )
        due = [
            policy.due(PageRecord(f"http://a/{path}"), 1.8e9, 1.8e9) - 1.8e9
            for path in ("x", "news/x")
        ]
        assert due == [1000.0, 100.0]

    def test_the_filter_is_one(self):
        """The filter of docs/policies.md drops what it names."""
        from webcrawl.urls.filters.filter_protocol import Origin

        forums = load("docs/policies.md", "NoForums")()
        assert forums.keep(["http://a/forum/1", "http://a/2"], Origin()) == ["http://a/2"]


class TestCommands:
    def test_an_extension_commands_its_crawl(self, tmp_path, project):
        """The function of docs/features.md gives a command, which the crawl's own table obeys."""

        class Page(Site):
            def answer(self):
                self.say(200, b"hello")

        extension = """

class Excluding:
    @classmethod
    def from_crawler(cls, crawler):
        crawler.signals.connect(
            lambda: print(exclude(crawler, "other.example")), item_scraped, weak=False
        )
        return cls()
"""
        text = example("docs/features.md", "exclude") + extension
        (project / "myproject/excluding.py").write_text(
            f"from scrapy.signals import item_scraped\n{text}"
        )
        with serving(Page) as here:
            (tmp_path / "seeds.txt").write_text(f"{here}/")
            extensions = json.dumps({"myproject.excluding.Excluding": 500})
            settings = {"EXTENSIONS": extensions, "PORTS_ALLOWED": here.rpartition(":")[2]}
            run = Crawl(
                tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, settings, project=project
            )
            assert run.run() == 0, run.output.read_text()

        assert "other.example is excluded" in run.output.read_text()


class TestProtocols:
    def test_a_protocol_module_fetches(self, tmp_path, project):
        """The protocol module of docs/examples, named in DOWNLOAD_HANDLERS, is asked, and its answer
        is a page.
        """
        requested = []

        def answer():
            connection, _ = listener.accept()
            with connection:
                requested.append(connection.recv(100))
                connection.sendall(b"Login: joe\r\n")

        with socket.create_server(("127.0.0.1", 0)) as listener:
            thread = Thread(target=answer, daemon=True)
            thread.start()
            shutil.copy(ROOT / "docs/examples/protocol/finger.py", project / "myproject")
            port = listener.getsockname()[1]
            url = f"gopher://127.0.0.1:{port}/joe"
            (tmp_path / "seeds.txt").write_text(url)
            handlers = {"gopher": "myproject.finger.FingerHandler"}
            run = Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, project=project)
            assert run.run(DOWNLOAD_HANDLERS=json.dumps(handlers), PORTS_ALLOWED=port) == 0, (
                run.output.read_text()
            )
            thread.join(120)

        (row,) = [line.split() for line in (run.jobdir / "logs/crawl.log").read_text().splitlines()]
        assert requested == [b"joe\r\n"]
        assert [row[at] for at in (1, 2, 3, 6)] == ["200", "12", url, "text/plain"]
