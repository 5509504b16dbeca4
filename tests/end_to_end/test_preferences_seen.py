"""What is withheld beside everything else: bodies seen before, pages fetched again, spiders of a
user's own.
"""

import gzip
import json
from collections import Counter

import pytest

from tests.support.changing_site import Document, changing_site, log_of
from tests.support.crawling import scrapy, wait_until
from tests.support.named_sites import sites
from tests.support.places import ROOT
from tests.support.projects import OURS, Project
from tests.support.warc_crawl import files
from tests.support.warc_reader import read
from webcrawl.tools.verify_crawl import verify

NOINDEX = [("X-Robots-Tag", "noindex")]
QUICK = {"OUTPUTS": "warc text", "PURPOSE": "search"}


def texts(jobdir):
    """URL and text of each line of the output."""
    found = []
    for path in sorted(jobdir.glob("text/*.gz")):
        lines = map(json.loads, gzip.decompress(path.read_bytes()).decode().splitlines())
        found += [(line["url"], line["text"]) for line in lines]
    return found


def bodies(jobdir):
    """The blocks of all answers in the archive, but robots.txt's."""
    records = [record for path in files(jobdir) for record in read(path)]
    answers = [one for one in records if one.kind in ("response", "revisit")]
    return [
        one.block for one in answers if not one.fields["WARC-Target-URI"].endswith("/robots.txt")
    ]


class TestBodiesSeenBefore:
    @pytest.mark.parametrize("purpose", ["search", "search archive"])
    def test_a_body_that_is_forbidden_in_one_place(self, tmp_path, purpose):
        """It does not count as seen: where it is allowed it is kept.

        The other way round, a copy is withheld.
        """
        body = b"<title>T</title><p>the same everywhere"

        def answer(host, path, _):
            if path == "/robots.txt":
                return None
            return (
                200,
                [("X-Robots-Tag", "noindex, noarchive")] if path in ("/1", "/4") else [],
                body,
            )

        with sites(answer) as site:
            urls = [site.url("a.test", path) for path in ("/1", "/2", "/4")]
            crawl = site.crawl(tmp_path, urls, **QUICK | {"PURPOSE": purpose})
            assert crawl.run() == 0

        assert [url.rpartition("/")[2] for url, _ in texts(crawl.jobdir)] == ["2"]
        assert sum(body in block for block in bodies(crawl.jobdir)) == 1

    def test_its_document_has_its_say(self, tmp_path):
        """A body that was seen, and was allowed there, is judged by its words and by its own
        headers together.
        """
        body = b'<title>T</title><meta name="robots" content="noai"><p>the same'

        def answer(host, path, _):
            if path == "/robots.txt":
                return b"User-agent: *\nContent-Signal: search=yes\n"
            return 200, NOINDEX if path == "/2" else [], body

        with sites(answer) as site:
            urls = [site.url("a.test", path) for path in ("/1", "/2")]
            crawl = site.crawl(tmp_path, urls, **QUICK | {"PURPOSE": "search train-ai ai-input"})
            assert crawl.run() == 0

        lines = (crawl.jobdir / "logs/crawl.log").read_text().splitlines()
        assert [line.split()[-1] for line in lines if "/2 " in line] == ["withheld:header+document"]
        assert scrapy(["why", str(crawl.jobdir), urls[1]], ROOT, tmp_path / "why") == 0
        why = (tmp_path / "why").read_text()
        assert (
            "but it was withheld, because its owner forbids it for every purpose in PURPOSE, by header and document"
            in why
        )
        assert "robots.txt content-signal search=y" in why


class TestRedirects:
    @pytest.mark.parametrize(("purpose", "kept"), [("search", True), ("search archive", False)])
    def test_the_head_is_a_response(self, tmp_path, purpose, kept):
        """A redirect can be replayed although its body is withheld, unless its owner forbids
        archiving.
        """
        words = [("X-Robots-Tag", "noindex, noarchive"), ("Location", "/b")]

        def answer(host, path, _):
            return (
                None
                if path == "/robots.txt"
                else (302, words, b"<p>secret")
                if path == "/a"
                else b"<p>open"
            )

        with sites(answer) as site:
            crawl = site.crawl(
                tmp_path, [site.url("a.test", "/a")], OUTPUTS="warc cdxj tables", PURPOSE=purpose
            )
            assert crawl.run() == 0

        records = [one for path in files(crawl.jobdir) for one in read(path)]
        answers = [
            one
            for one in records
            if one.kind == "response" and one.fields["WARC-Target-URI"].endswith("/a")
        ]
        assert [one.fields["WARC-Truncated"] for one in answers] == ["unspecified"] * kept
        assert not any("WARC-Payload-Digest" in one.fields for one in answers)
        assert not any(b"secret" in one.block for one in records)
        index = "".join(path.read_text() for path in (crawl.jobdir / "warc").glob("*.cdxj"))
        redirects = [line for line in index.splitlines() if '"status": "302"' in line]
        assert ['"digest": "-"' in line for line in redirects] == [True] * kept
        assert list(verify(crawl.jobdir, Counter())) == []


class TestSpiders:
    SPIDERS = """
from scrapy import Request, Spider
from webcrawl.adapter.spiders.web import WebSpider


class Plain(Spider):
    name = "plain"

    async def start(self):
        for path in ("/open", "/closed"):
            yield Request(HERE + path, self.parse, errback=self.failed)

    async def parse(self, response):
        yield {"got": response.url, "text": response.text}
        try:
            await self.crawler.engine.download_async(Request(HERE + "/closed?inline"))
        except Exception as error:
            yield {"inline": type(error).__name__}

    def failed(self, failure):
        yield {"failed": failure.request.url, "why": failure.value.args[0]}


class Mine(WebSpider):
    name = "mine"

    def parse(self, response):
        yield {"got": response.url, "body": response.body.decode(), "flags": response.flags}
"""

    @pytest.fixture(name="site")
    def _site(self):
        def answer(host, path, _):
            if path == "/robots.txt":
                return None
            closed = path.startswith("/closed")
            links = (
                b'<a href="/closed">c</a>'
                if path == "/open"
                else b'<a href="/behind">b</a>'
                if closed
                else b""
            )
            return (
                200,
                NOINDEX if closed else [],
                b"<p>" + (b"secret" if closed else b"open") + links,
            )

        with sites(answer) as found:
            yield found

    def project(self, folder, site, *words):
        (folder / "hosts").write_text("127.0.0.1 a.test\n")
        (folder / "seeds.txt").write_text(site.url("a.test", "/open"))
        more = {
            "FEEDS": {"items.jsonl": {"format": "jsonlines", "item_classes": ["builtins.dict"]}}
        }
        here = f"HERE = {site.url('a.test', '')!r}\n"
        project = Project(
            folder,
            OURS,
            here + self.SPIDERS,
            HOSTS_FILE=str(folder / "hosts"),
            PURPOSE="search",
            **more,
        )
        status, said = project.run("crawl", *words)
        assert status == 0, said
        items = [json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines()]
        return items, bodies(folder / "crawls" / words[0])

    def test_an_ordinary_one(self, tmp_path, site):
        """Its errback is told, and whoever awaits such a page; nothing of it is in the archive."""
        items, archived = self.project(tmp_path, site, "plain")

        assert sorted(one["got"].rpartition("/")[2] for one in items if "got" in one) == ["open"]
        assert [one["why"][:8] for one in items if "failed" in one] == ["withheld"]
        assert [one["inline"] for one in items if "inline" in one] == ["IgnoreRequest"]
        assert len(archived) == 1
        assert b"secret" not in b"".join(archived)

    def test_callbacks_of_a_web_spider(self, tmp_path, site):
        """They get a response without a body, and a flag; the links are followed all the same."""
        items, archived = self.project(tmp_path, site, "mine", "-a", "seeds=seeds.txt")

        got = {one["got"].rpartition("/")[2]: (one["body"][:7], one["flags"]) for one in items}
        assert got == {
            "open": ("<p>open", []),
            "closed": ("", ["withheld"]),
            "behind": ("<p>open", []),
        }
        assert len(archived) == 2
        assert b"secret" not in b"".join(archived)


class TestPagesThatAreFetchedAgain:
    def test_forbidden_and_allowed_and_forbidden(self, tmp_path):
        """A page that may be kept at last is new; one that may no longer leaves the text, also by
        the head of a 304.
        """
        allowed = Document(b"<p>words of a", etag='"1"')
        forbidden = Document(b"<p>words of a", etag='"1"', headers=dict(NOINDEX))
        documents = {"/": Document(b"<a href=/a>a</a>"), "/a": forbidden}
        with changing_site(documents) as site:
            crawl = site.crawl(tmp_path, **QUICK)
            running = crawl.start()
            wait_until(lambda: len(site.of("/a")) >= 2)
            requested = list(site.of("/a"))
            documents["/a"] = allowed
            wait_until(lambda: site.of("/a")[-1].status == 304)
            documents["/a"] = forbidden
            more = len(site.of("/a")) + 5
            assert site.until("/a", more, running) == 0

        assert not any(one.conditional for one in requested)
        log = [
            (status, "withheld:header" in notes)
            for status, path, notes in log_of(crawl)
            if path == "/a"
        ]
        assert log[0] == (200, True)
        assert {(200, False), (304, False), (304, True)} <= set(log)
        assert log[-1] == (200, True)
        assert [text for url, text in texts(crawl.jobdir) if url.endswith("/a")] == [
            "words of a",
            "",
        ]
        assert sum(b"words of a" in block for block in bodies(crawl.jobdir)) == 1
        assert list(verify(crawl.jobdir, Counter())) == []

    def test_words_hold_for_a_304(self, tmp_path):
        """What headers and document said holds for an answer without either, and is on its record."""
        html = b'<meta name="robots" content="noai"><p>words'
        documents = {"/": Document(html, etag='"1"', headers={"Content-Usage": "search=n"})}
        with changing_site(documents) as site:
            crawl = site.crawl(tmp_path, OUTPUTS="warc", PURPOSE="archive")
            running = crawl.start()
            wait_until(lambda: len(site.of("/")) >= 1)
            documents["/"] = Document(html, etag='"1"')
            wait_until(lambda: site.of("/")[-1].status == 304)
            assert site.until("/", len(site.of("/")) + 3, running) == 0

        records = [record for path in files(crawl.jobdir) for record in read(path)]
        said = [
            one.about["preferences"]
            for one in records
            if one.kind == "metadata" and "preferences" in one.about
        ]
        assert said[0] == "header content-usage search=n; document robots train-ai=n ai-input=n"
        assert set(said[1:]) == {"earlier header search=n; earlier document train-ai=n ai-input=n"}
        assert len(said) >= 3


class TestResuming:
    def test_another_purpose(self, tmp_path):
        """PURPOSE may change between two runs: the log says so, and what is fetched from then on is
        judged by it.
        """

        def answer(host, path, _):
            links = (
                "".join(f'<a href="/{at}">x</a>' for at in range(1, 9)).encode()
                if path == "/"
                else b""
            )
            return (
                None if path == "/robots.txt" else (200, NOINDEX, b"<p>%s" % path.encode() + links)
            )

        with sites(answer) as site:
            crawl = site.crawl(tmp_path, ["a.test"], **QUICK | {"PURPOSE": ""})
            assert crawl.run(CLOSESPIDER_PAGECOUNT=3, CONCURRENT_REQUESTS=1) == 0
            kept = len(texts(crawl.jobdir))
            assert crawl.run(PURPOSE="search") == 0

        assert "PURPOSE was none, now search" in crawl.output.read_text()
        assert 0 < kept == len(texts(crawl.jobdir)) < 9
        assert crawl.stats["withheld"] == 9 - kept


class TestArchives:
    def test_pages_of_an_archive(self, tmp_path):
        """`scrapy process` withholds what headers, documents, and robots.txt files of the archive
        forbid.
        """

        def answer(host, path, _):
            if path == "/robots.txt":
                return b"User-agent: *\nContent-Usage: /robots search=n\n"
            if path == "/":
                return b"<p>root<a href=/robots>r</a><a href=/header>h</a><a href=/document>d</a><a href=/open>o</a>"
            meta = b"<meta name=robots content=noindex>" if path == "/document" else b""
            return 200, NOINDEX if path == "/header" else [], meta + b"<p>words of " + path.encode()

        with sites(answer) as site:
            crawl = site.crawl(tmp_path, ["a.test"])
            assert crawl.run() == 0
        job, said = tmp_path / "again", tmp_path / "said"
        words = [
            "process",
            *map(str, files(crawl.jobdir)),
            "-s",
            f"JOBDIR={job}",
            "-s",
            "OUTPUTS=text",
        ]
        assert scrapy([*words, "-s", "PURPOSE=search"], ROOT, said) == 0, said.read_text()

        assert {url.rpartition("/")[2] for url, _ in texts(job)} == {"", "open"}
        notes = {line.split()[-1] for line in (job / "logs/crawl.log").read_text().splitlines()}
        assert notes == {"-", "withheld:robots.txt", "withheld:header", "withheld:document"}
