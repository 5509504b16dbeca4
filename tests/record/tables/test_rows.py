"""What is in a row of `pages` and in those of `links`."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.tables import Job, rows
from tests.support.warc_crawl import NOW, exchange
from webcrawl.base.model import Link, Outcome, RecordLocation, Status, Timings
from webcrawl.content.html.link_kinds import DocumentLinks
from webcrawl.content.page import Page
from webcrawl.record.tables.rows import EndedUrl, host_parts
from webcrawl.urls.host_names import RegisteredDomains


@pytest.fixture(name="job")
def _job(tmp_path):
    return Job(tmp_path / "job")


def stopped(job, table):
    job.stop()
    return rows(job.root, table)


def only(job, table):
    (row,) = stopped(job, table)
    return row


def answered(status, url="http://a.test/", **changes):
    return exchange(url, b"no", status=status, **changes), Outcome(status, 0.25, at=NOW, ended=1.0)


class TestPages:
    def test_the_fingerprint_is_there_if_somebody_asked_for_it(self):
        """Nobody's text is read for the table alone."""
        body = "<p>" + " ".join(f"word{number}" for number in range(100))
        link, answer = Link("http://a.test/"), exchange("http://a.test/", body.encode())
        page = Page.of(link, answer)
        end = EndedUrl(link, Outcome(200, 0.25, at=NOW, ended=1.0), answer, page, NOW)

        assert end.fingerprint is None
        assert page.fingerprint == end.fingerprint is not None

    def test_of_a_page(self, job):
        """A page's row says what came, when, from where, and where its record lies."""
        url = "https://www.example.co.uk:8443/a/B.html?q=1"
        job.page(
            url,
            path="LRL",
            body=b"<p>body",
            title="A title",
            language="de",
            canonical="/c",
            whole=True,
        )
        row = only(job, "pages")

        place = {name: row.pop(name) for name in list(row) if name.startswith("warc_")}
        assert place["warc_filename"].startswith("test-")
        assert place["warc_record_offset"] > 0
        assert place["warc_record_length"] > 0
        assert row.pop("content_digest") == exchange(url, b"<p>body").digest.removeprefix("sha1:")
        seconds = {name: row.pop(name) for name in list(row) if name.endswith("_seconds")}
        assert seconds == pytest.approx(
            {
                "dns_seconds": 0,
                "connect_seconds": 0,
                "tls_seconds": 0,
                "first_byte_seconds": 0,
                "total_seconds": 0.1,
            }
        )
        assert row == {
            "url_surtkey": "uk,co,example:8443)/a/b.html?q=1",
            "url": url,
            "url_host_name": "www.example.co.uk",
            "url_host_tld": "uk",
            "url_host_registry_suffix": "co.uk",
            "url_host_registered_domain": "example.co.uk",
            "url_host_private_suffix": "co.uk",
            "url_host_private_domain": "example.co.uk",
            "url_host_name_reversed": "uk.co.example.www",
            "url_protocol": "https",
            "url_port": 8443,
            "url_path": "/a/B.html",
            "url_query": "q=1",
            "fetch_time": datetime.fromtimestamp(NOW, UTC).replace(
                microsecond=round(NOW % 1 * 1000) * 1000
            ),
            "fetch_status": 200,
            "fetch_redirect": None,
            "content_mime_type": "text/html",
            "content_charset": "UTF-8",
            "content_truncated": None,
            "subset": "warc",
            "seed": "http://seed.test/",
            "via": "http://via.test/",
            "hops": "LRL",
            "depth": 2,
            "attempt": 0,
            "ip": "127.0.0.1",
            "payload_size": 7,
            "body_size": 7,
            "duplicate": False,
            "links": 0,
            "title": "A title",
            "language": "de",
            "canonical": "https://www.example.co.uk:8443/c",
            "robots": None,
            "neardup": None,
            **dict.fromkeys(("forbidden", "allowed", "preferences")),
            "withheld": False,
            "recognised": None,
            "score": None,
            "structured": None,
        }

    @pytest.mark.parametrize(
        ("path", "status", "ended", "subset"),
        [
            ("L", 200, 1.0, "warc"),
            ("L", 404, 1.0, "crawldiagnostics"),
            ("L", 301, 1.0, "crawldiagnostics"),
            ("LP", 200, 1.0, "robotstxt"),
            ("LS", 200, 1.0, "crawldiagnostics"),
            ("LP", Status.TIMEOUT, 1.0, "robotstxt"),
            ("L", Status.TIMEOUT, 1.0, "failed"),
            ("L", Status.ROBOTS_FORBIDDEN, 0.0, "unasked"),
            ("L", Status.DNS_FAILED, 0.0, "unasked"),
        ],
    )
    def test_each_kind_of_end_has_its_subset(self, job, path, status, ended, subset):
        """Common Crawl's three, and ours for what had no answer, or was not asked for."""
        answer = answered(status)[0] if status >= 0 else None
        job.end(Link("http://a.test/", path), Outcome(status, at=NOW, ended=ended), answer)
        row = only(job, "pages")

        assert (row["subset"], row["fetch_status"]) == (subset, status)

    def test_what_was_not_asked_for_has_no_answer(self, job):
        """All that an answer says is null."""
        job.end(Link("http://a.test/"), Outcome(Status.ROBOTS_FORBIDDEN))
        row = only(job, "pages")

        nothing = [name for name, value in row.items() if value is None]
        assert {
            "content_digest",
            "warc_filename",
            "ip",
            "total_seconds",
            "body_size",
            "duplicate",
        } <= set(nothing)
        assert row["fetch_time"] is not None

    def test_without_an_archive_there_is_no_place(self, tmp_path):
        """OUTPUTS=tables: the three columns are null."""
        job = Job(tmp_path / "job", archive=False)
        job.page("http://a.test/")
        row = only(job, "pages")

        assert {row[name] for name in row if name.startswith("warc_")} == {None}

    def test_a_record_that_is_written_after_the_log_line(self, job):
        """Its place is in the row all the same: downloads that somebody awaits are archived so."""
        answer, outcome = answered(200)
        archive, job.archive = job.archive, None
        job.end(Link("http://a.test/"), outcome, answer)
        answer.state.archived = archive.write(
            Link("http://a.test/"), answer, duplicate=False, metadata={}
        )
        job.archive = archive

        assert only(job, "pages")["warc_record_offset"] == answer.state.archived.offset

    def test_where_the_record_lies_is_asked_late(self, job):
        """A row does not wait for the archive; the batch of rows that it is in does."""
        answer, outcome = answered(200)
        asked = []
        answer.state.archived = place = RecordLocation(
            "w.warc.gz", written=lambda: asked.append(place.put(12, 34))
        )
        archive, job.archive = job.archive, None
        job.end(Link("http://a.test/"), outcome, answer)
        job.end(Link("http://b.test/"), Outcome(404, 0.1, at=NOW, ended=1.0))
        job.archive = archive
        before = list(asked)

        found = {row["url"]: row["warc_record_offset"] for row in stopped(job, "pages")}
        assert found == {"http://a.test/": 12, "http://b.test/": None}
        assert (before, len(asked)) == ([], 1)

    def test_another_page_than_the_one_that_ends(self, job):
        """A page whose URL is tried again says nothing of the next end."""
        answer, outcome = answered(200)
        page = Page.of(Link("http://b.test/"), exchange("http://b.test/"))
        page.title = "another"
        job.end(Link("http://a.test/"), outcome, answer, page)

        assert only(job, "pages")["title"] is None

    def test_timings(self, job):
        """Each step of the download."""
        answer, outcome = answered(404, timings=Timings(0.5, 0.25, 0.125, 2.0, 4.0))
        job.end(Link("http://a.test/"), outcome, answer)
        row = only(job, "pages")

        names = ("dns", "connect", "tls", "first_byte", "total")
        assert [row[f"{name}_seconds"] for name in names] == [0.5, 0.25, 0.125, 2.0, 0.25]


class TestHosts:
    @pytest.mark.parametrize(
        ("host", "parts"),
        [
            ("www.example.co.uk", ("uk", "example.co.uk", "example.co.uk")),
            ("a.github.io", ("io", "github.io", "a.github.io")),
            ("github.io", ("io", "github.io", None)),
            ("x.site1.test", ("test", "site1.test", "site1.test")),
            ("localhost", ("localhost", "localhost", "localhost")),
            ("1.2.3.4", (None, None, None)),
            ("[::1]", (None, None, None)),
        ],
    )
    def test_top_level_and_registered_domain(self, host, parts):
        """Registries alone count for one column, companies too for the other; an address has
        neither.
        """
        assert host_parts(host)[:3] == parts


class TestLinks:
    def test_of_a_page(self, job):
        """Each link has its canonical target, and what the page says of it."""
        job.page(
            "http://a.test/d/",
            [("a", "x#y", "text", "nofollow"), ("img", "//B.test/i.png", "alt", "")],
        )

        assert stopped(job, "links") == [
            {
                "from_url": "http://a.test/d/",
                "to_url": "http://a.test/d/x",
                "kind": "a",
                "text": "text",
                "rel": "nofollow",
                "followed": True,
            },
            {
                "from_url": "http://a.test/d/",
                "to_url": "http://b.test/i.png",
                "kind": "img",
                "text": "alt",
                "rel": "",
                "followed": True,
            },
        ]

    def test_what_was_followed(self, job):
        """Only links that were submitted are."""
        link, answer = Link("http://a.test/"), exchange("http://a.test/")
        job.page("http://first.test/")
        page = Page.of(link, answer)
        page.found = DocumentLinks(link.url, "UTF-8", [("a", "/x", "", ""), ("img", "/y", "", "")])
        page.followed = [("a", "/x", "", "")]
        job.end(link, Outcome(200, at=NOW, ended=1.0), answer, page)

        assert [(row["to_url"], row["followed"]) for row in stopped(job, "links")] == [
            ("http://a.test/x", True),
            ("http://a.test/y", False),
        ]

    def test_addresses_that_lead_nowhere(self, job):
        """What is not a URL that could be fetched has no row, and does not count."""
        odd = ["mailto:x@a.test", "javascript:void(0)", "http://[", "data:,x", "/" + "x" * 3000]
        job.page("http://a.test/", [("a", address, "", "") for address in ["/1", *odd, "/2"]])
        job.page("http://b.test/", [("a", "mailto:x", "", "")])
        job.stop()

        assert [row["to_url"] for row in rows(job.root, "links")] == [
            "http://a.test/1",
            "http://a.test/2",
        ]
        assert [row["links"] for row in rows(job.root, "pages")] == [2, 0]

    def test_of_a_body_seen_before(self, job):
        """They are read for the table, and were not followed again."""
        body = b"<base href=/d/><a href=x rel=r>one</a><a href=http://b.test/>two"
        job.page("http://a.test/", body=body, duplicate=True)
        job.stop()

        assert [
            (row["to_url"], row["text"], row["followed"]) for row in rows(job.root, "links")
        ] == [
            ("http://a.test/d/x", "one", False),
            ("http://b.test/", "two", False),
        ]
        assert rows(job.root, "pages")[0]["duplicate"]

    @pytest.mark.parametrize(("path", "followed"), [("L", True), ("RRRRR", False)])
    def test_a_redirect_is_a_link(self, job, path, followed):
        """Its kind is `redirect`; beyond REDIRECT_MAX_HOPS it is not followed."""
        answer, outcome = answered(302, headers=[(b"Location", b"/there")])
        job.end(Link("http://a.test/", path), outcome, answer)
        job.stop()

        (row,) = rows(job.root, "links")
        assert (row["to_url"], row["kind"], row["followed"]) == (
            "http://a.test/there",
            "redirect",
            followed,
        )
        assert rows(job.root, "pages")[0]["fetch_redirect"] == "http://a.test/there"
        assert rows(job.root, "pages")[0]["links"] == 1

    def test_a_redirect_to_a_url_that_is_too_long(self, job):
        """It is no link, and the page's row has the beginning."""
        answer, outcome = answered(302, headers=[(b"Location", b"/" + b"x" * 3000)])
        job.end(Link("http://a.test/"), outcome, answer)
        job.stop()

        assert rows(job.root, "links") == []
        assert len(rows(job.root, "pages")[0]["fetch_redirect"]) == 2000

    @pytest.mark.parametrize("location", [b"http://[", b"javascript:1"])
    def test_a_redirect_to_nowhere(self, job, location):
        """A Location that is not a URL is no link."""
        answer, outcome = answered(302, headers=[(b"Location", location)])
        job.end(Link("http://a.test/"), outcome, answer)

        assert stopped(job, "links") == []

    def test_a_redirect_of_robots_txt_is_none(self, job):
        """The link graph is one of pages; the row of robots.txt says where it led."""
        answer, outcome = answered(301, headers=[(b"Location", b"/there")])
        job.end(Link("http://a.test/robots.txt", "P"), outcome, answer)
        job.stop()

        assert rows(job.root, "links") == []
        assert rows(job.root, "pages")[0]["fetch_redirect"] == "http://a.test/there"

    def test_no_links_of_an_error_page(self, job):
        """As for every pipeline: what comes with a 404 is not the page."""
        answer, outcome = answered(404)
        page = Page.of(Link("http://a.test/"), answer)
        job.end(page.link, outcome, answer, page)

        assert stopped(job, "links") == []


class TestOddities:
    def test_lone_surrogates_and_nul(self, job):
        """What UTF-8 cannot say is written as an escape; a NUL is a character like others."""
        job.page("http://a.test/", [("a", "/x", "\ud800 and \0", "\udfff")], title="a\ud800b\0c")
        job.stop()

        assert rows(job.root, "pages")[0]["title"] == "a\\ud800b\0c"
        (row,) = rows(job.root, "links")
        assert (row["text"], row["rel"]) == ("\\ud800 and \0", "\\udfff")

    def test_long_texts_are_truncated(self, job):
        """A megabyte in an attribute or a header costs no megabyte in a table."""
        long = "x" * 1_000_000
        answer = exchange(
            "http://a.test/",
            headers=[(b"Content-Type", long.encode()), (b"X-Robots-Tag", long.encode())],
        )
        page = Page.of(Link("http://a.test/"), answer)
        page.found = DocumentLinks(
            "http://a.test/", "UTF-8", [("a", "/x", "", long)], language=long, canonical=long
        )
        job.end(page.link, Outcome(200, at=NOW, ended=1.0), answer, page)
        job.stop()

        row = rows(job.root, "pages")[0] | rows(job.root, "links")[0]
        assert max(len(value) for value in row.values() if isinstance(value, str)) <= 1000

    def test_a_page_of_very_many_links(self, job):
        """They are written in batches, and none is lost."""
        job.page("http://a.test/", [("a", f"/{number}", "", "") for number in range(30_000)])
        job.stop()

        assert [row["to_url"] for row in rows(job.root, "links")] == [
            f"http://a.test/{n}" for n in range(30_000)
        ]
        assert rows(job.root, "pages")[0]["links"] == 30_000


# -- What the public suffix list says of hosts, for the tables.


def test_is_asked_of_the_list_that_the_crawl_has(monkeypatch):
    """The list takes 10 ms to load, and some megabytes: once for a process."""
    RegisteredDomains()("a.example.co.uk")
    host_parts.cache_clear()
    monkeypatch.delattr(Path, "read_text")

    assert host_parts("a.example.co.uk")[:3] == ("uk", "example.co.uk", "example.co.uk")


@pytest.mark.parametrize(
    ("host", "suffixes"),
    [
        ("www.example.co.uk", ("co.uk", "co.uk", "uk.co.example.www")),
        ("a.github.io", ("io", "github.io", "io.github.a")),
        ("a.unknown-tld", ("unknown-tld", "unknown-tld", "unknown-tld.a")),
        ("127.0.0.1", (None, None, None)),
    ],
)
def test_suffixes_and_the_reversed_name(host, suffixes):
    """As in Common Crawl's index: the registry's suffix, any public one, and the name from its end."""
    parts = host_parts(host)

    assert (parts.registry_suffix, parts.private_suffix, parts.reversed) == suffixes
