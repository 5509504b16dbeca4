"""What archives say of downloads, as the crawl that made them had it."""

import gzip
import logging
import zipfile
from copy import copy

import brotli
import pytest

from tests.support.archive_files import gzipped, one_gzip, plain, record, response
from tests.support.warc_crawl import Archive, chunked, exchange, files
from webcrawl.base.model import Link, PageView
from webcrawl.record.archives import Archives, PayloadPlaces
from webcrawl.record.warc import archive_files as module
from webcrawl.record.warc.archive_files import NoArchive, archive_files
from webcrawl.store.errors import StoreError

URL = "http://a.test/"
ID = f"<urn:test:{URL}>"
IDENTICAL = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
UNMODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
CODED = "Content-Type: text/html\r\nContent-Encoding: "


class Reading:
    """Reads archives, as a run does, and remembers the places as a checkpoint does."""

    def __init__(self, folder):
        self.folder = folder
        self.originals = PayloadPlaces(folder / "originals.db")
        self.places = {}
        self.lost = []

    def write(self, name, records, form=gzipped):
        path = self.folder / name
        path.write_bytes(form(records))
        return path

    def answers(self, *paths, truncate=1 << 20):
        """All (link, exchange) of these files, from where the last run ended."""
        found = []
        for answer in Archives(list(paths), self.places.get, self.originals, truncate):
            self.places[answer.name] = answer.resume_at
            self.lost += [name.removeprefix("archive/") for name in answer.counters]
            if answer.download is not None:
                found.append(answer.download)
        return found

    def one(self, *records, **options):
        """The only exchange of these records."""
        ((_, exchange),) = self.answers(self.write("x.warc.gz", records), **options)
        return exchange


def test_a_strange_name(tmp_path):
    """A file whose name is no text is refused: no table could note how far it was read."""
    (tmp_path / "a\udcff.warc.gz").touch()

    with pytest.raises(
        NoArchive, match=r"a\\udcff[.]warc[.]gz: the path has control or invalid characters"
    ):
        archive_files([str(tmp_path)])


@pytest.fixture(name="reading")
def _reading(tmp_path):
    made = Reading(tmp_path)
    yield made
    made.originals.close()


class TestOwn:
    """Archives of the crawl."""

    def test_an_exchange_comes_back_as_it_was(self, reading):
        """Link, head, body in all its forms, times, address, and what was wrong: all that pages are
        made of.
        """
        archive = Archive(reading.folder / "job")
        link = Link("http://a.test/2", "LR", "http://a.test/1", "http://a.test/")
        sent = chunked(link.url, b"<title>x</title>" * 99)
        sent.flaws, sent.tls = ("coding",), "TLSv1.3 X"
        sent.headers = [(b"Content-Type", b"text/html"), (b"Transfer-Encoding", b"chunked")]
        archive.write(sent, link)
        archive.stop()
        (path,) = files(reading.folder / "job")
        ((again, came),) = reading.answers(path)

        assert again == link
        sent.timings.total = 0.123  # the archive has milliseconds
        sent.state.archived = came.state.archived
        assert came == sent
        assert came.state.archived.file == path.name

    def test_a_revisit_gets_its_original(self, reading):
        """A body seen before is that of the record to which the revisit refers, in whichever file
        that is.
        """
        archive = Archive(reading.folder / "job", max_size=100)
        for path in ("1", "2", "3"):
            archive.write(exchange(f"{URL}{path}", b"<p>same"), duplicate=True)
        archive.stop()
        answers = reading.answers(*files(reading.folder / "job"))

        assert [came.body for _, came in answers] == [b"<p>same"] * 3
        assert reading.lost == []

    def test_a_document_of_a_browser(self, reading):
        """The body is the document, for a revisit too; the payload is what was sent."""
        archive = Archive(reading.folder / "job")
        for path in ("1", "2"):
            made = exchange(f"{URL}{path}", b"<script>", rendered=True)
            made.body = b"<p>rendered"
            archive.write(made, duplicate=True)
        archive.stop()

        for _, came in reading.answers(*files(reading.folder / "job")):
            assert (came.body, came.payload, came.rendered) == (b"<p>rendered", b"<script>", True)

    def test_views_are_no_answers(self, reading):
        """A screenshot of a page belongs to the page, and is not counted as something left out."""
        archive = Archive(reading.folder / "job")
        for path in ("1", "2"):
            page = exchange(f"{URL}{path}", path.encode())
            page.state.views = (PageView("urn:view:", "image/png", b"PNG"),)
            archive.write(page)
        archive.stop()

        answers = reading.answers(*files(reading.folder / "job"))
        assert [came.url for _, came in answers] == [f"{URL}1", f"{URL}2"]
        assert reading.lost == []

    def test_a_resource(self, reading):
        """What came by FTP or Gopher has no head, and its type is the record's."""
        archive = Archive(reading.folder / "job")
        sent = exchange(
            "ftp://a.test/x",
            b"text",
            head=b"",
            request=b"",
            headers=[(b"content-type", b"text/plain")],
        )
        archive.write(sent)
        archive.stop()
        ((_, came),) = reading.answers(*files(reading.folder / "job"))

        assert (came.body, came.head, came.status, came.content_type) == (
            b"text",
            b"",
            200,
            "text/plain",
        )


class TestOthers:
    """What other programs write."""

    @pytest.mark.parametrize(
        ("head", "body"),
        [
            (CODED + "gzip", gzip.compress(b"<p>hello", mtime=0)),
            (CODED + "br", brotli.compress(b"<p>hello")),
            ("Transfer-Encoding: chunked", b"8\r\n<p>hello\r\n0\r\n\r\n"),
            (CODED + "gzip", b"<p>hello"),  # decoded, under the head that came
            ("Transfer-Encoding: chunked", b"<p>hello"),  # unchunked, as above
            ("Transfer-Encoding: gzip", gzip.compress(b"<p>hello", mtime=0)),
            ("Transfer-Encoding: gzip, chunked", gzip.compress(b"<p>hello", mtime=0)),
            ("Transfer-Encoding: gzip, chunked", b"<p>hello"),
            ("Content-Length: 3", b"<p>hello"),  # the length of what was decoded
            ("Content-Length: 99", b"<p>hello"),
            ("Broken\r\nContent-Type: text/html", b"<p>hello"),
        ],
    )
    def test_bodies_are_decoded_as_far_as_they_are_coded(self, reading, head, body):
        """Some archive what came, others what they made of it; the body is the same, and it is not
        truncated.
        """
        came = reading.one(response(URL, body, head))

        assert (came.body, came.truncated, reading.lost) == (b"<p>hello", "", [])

    def test_newer_protocols(self, reading):
        """A status line of HTTP/2 is read as one of HTTP/1.1."""
        came = reading.one(response(URL).replace(b"HTTP/1.1", b"HTTP/2  "))

        assert (came.status, came.body) == (200, b"<p>hello")

    def test_bodies_are_bounded(self, reading):
        """At most DOWNLOAD_TRUNCATE bytes of a decoded body are kept, and the page says that it is
        truncated.
        """
        bomb = gzip.compress(bytes(10_000_000))
        came = reading.one(response(URL, bomb, CODED + "gzip"), truncate=1000)

        assert (len(came.body), came.truncated) == (1000, "length")

    def test_a_request_may_come_first(self, reading):
        """Wget and Heritrix write it before the answer, or behind it; either way the exchange has
        it.
        """
        sent = b"GET / HTTP/1.1\r\n\r\n"
        request = record("request", URL, sent, WARC_Record_ID="<urn:r>", WARC_Concurrent_To=ID)
        before = response(URL, WARC_Concurrent_To="<urn:r>")

        assert reading.one(request, before).request == sent
        reading.places.clear()
        assert reading.one(before, request).request == sent

    def test_metadata_of_heritrix(self, reading):
        """The way to the page is in the fields that the standard and Heritrix have for it."""
        notes = b"via: http://v.test/\r\nhopsFromSeed: LLP\r\nsourceTag: http://s.test/\r\nfetchTimeMs: 1500\r\n"
        path = reading.write(
            "x.warc.gz", [response(URL), record("metadata", URL, notes, WARC_Concurrent_To=ID)]
        )
        ((link, came),) = reading.answers(path)

        assert link == Link(URL, "LLP", "http://v.test/", "http://s.test/")
        assert came.timings.total == 1.5

    @pytest.mark.parametrize("took", ["9" * 12, "9" * 5000, "-1", "²", "1e9"])
    def test_a_duration_that_is_none(self, reading, took):
        """It counts as unknown: a number of any length would be no time of any clock, and end the
        run.
        """
        notes = f"fetchTimeMs: {took}\r\n".encode()
        path = reading.write(
            "x.warc.gz", [response(URL), record("metadata", URL, notes, WARC_Concurrent_To=ID)]
        )
        ((_, came),) = reading.answers(path)

        assert came.timings.total == 0.0

    def test_dates(self, reading):
        """Of any precision; the time of a record without a date is 0."""
        whole = reading.one(response(URL)).started
        reading.places.clear()
        fine = reading.one(response(URL, WARC_Date="2026-01-02T03:04:05.123456789Z")).started
        reading.places.clear()

        assert fine - whole == pytest.approx(0.123456)
        assert reading.one(response(URL, WARC_Date="then")).started == 0.0

    @pytest.mark.parametrize(
        "date", ["0001-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "9999-12-31T23:59:59.9999Z"]
    )
    def test_dates_that_nothing_else_can_write(self, reading, date):
        """They count as none: no log has four digits for such a year, and the full-text index ends
        with 2262.
        """
        assert reading.one(response(URL, WARC_Date=date)).started == 0.0

    def test_a_revisit_by_url_and_date_or_by_digest(self, reading):
        """Without an identifier the original is found by its URL and date, or by the digest of its
        payload.
        """
        first = response(URL, WARC_Payload_Digest="sha1:AAA", WARC_Record_ID=None)
        named = {"WARC_Refers_To_Target_URI": URL, "WARC_Refers_To_Date": "2026-01-02T03:04:05Z"}
        by_url = response(URL + "2", b"", **named).replace(b"response", b"revisit", 1)
        by_digest = response(URL + "3", b"", WARC_Payload_Digest="sha1:AAA").replace(
            b"response", b"revisit", 1
        )
        answers = reading.answers(reading.write("x.warc.gz", [first, by_url, by_digest]))

        assert [came.body for _, came in answers] == [b"<p>hello"] * 3

    @pytest.mark.parametrize("kind", [None, "application/http; msgtype=response"])
    @pytest.mark.parametrize("profile", [IDENTICAL, UNMODIFIED])
    def test_a_revisit_without_a_block(self, reading, kind, profile):
        """The standard lets a revisit record leave out the head: the answer is then the original's."""
        fields = {"WARC_Profile": profile, "WARC_Refers_To": ID, "Content_Type": kind}
        again = record("revisit", URL + "2", WARC_Record_ID="<urn:r>", **fields)
        _, (link, came) = reading.answers(reading.write("x.warc.gz", [response(URL), again]))

        assert (link.url, came.status, came.body, came.content_type) == (
            URL + "2",
            200,
            b"<p>hello",
            "text/html",
        )
        assert came.state.archived.offset > 0

    def test_a_revisit_with_neither_a_block_nor_an_original(self, reading):
        """It is a loss, and no page without a word."""
        assert (
            reading.answers(
                reading.write("x.warc.gz", [record("revisit", URL, WARC_Profile=UNMODIFIED)])
            )
            == []
        )
        assert reading.lost == ["lost/unusable"]

    @pytest.mark.parametrize("profile", [IDENTICAL, UNMODIFIED])
    def test_a_revisit_of_what_is_truncated(self, reading, profile):
        """Its page is as incomplete as the original's, and says so for the same reason."""
        long = response(URL, b"<p>" + bytes(5000))
        broken = response(URL + "b", WARC_Truncated="time")
        again = [
            response(f"{url}2", b"", WARC_Profile=profile, WARC_Refers_To=f"<urn:test:{url}>")
            for url in (URL, URL + "b")
        ]
        revisits = [one.replace(b"response", b"revisit", 1) for one in again]
        answers = reading.answers(
            reading.write("x.warc.gz", [long, broken, *revisits]), truncate=1000
        )

        assert [came.truncated for _, came in answers] == ["length", "time"] * 2

    @pytest.mark.parametrize("kind", ["text/plain", "image/png"])
    def test_a_conversion_that_is_no_document(self, reading, kind):
        """The text or the picture of a page, behind its record, does not take the place of its
        body.
        """
        made = record("conversion", URL, b"hello", WARC_Refers_To=ID, Content_Type=kind)
        came = reading.one(response(URL, b"<a href=x>hello</a>"), made)

        assert (came.body, came.rendered, reading.lost) == (b"<a href=x>hello</a>", False, [])

    def test_an_original_that_is_gone(self, reading, caplog):
        """Of a payload that was read and is no longer there, nobody says that it was in none of the
        files.
        """
        first = reading.write("x.warc.gz", [response(URL, WARC_Payload_Digest="sha1:AAA")])
        again = response(URL + "2", b"", WARC_Payload_Digest="sha1:AAA").replace(
            b"response", b"revisit", 1
        )
        reading.answers(first)
        first.unlink()

        assert reading.answers(reading.write("y.warc.gz", [again])) == []
        assert "its payload is in none of the files read so far" in caplog.text

    @pytest.mark.parametrize("state", [0, 1])
    @pytest.mark.parametrize("profile", [IDENTICAL, UNMODIFIED])
    @pytest.mark.parametrize("digest", [True, False])
    def test_two_states_of_a_page_within_one_second(self, reading, state, profile, digest):
        """A revisit that names URL and date has the payload of that very moment."""
        moments, bodies = (
            ("2026-01-02T03:04:05.200Z", "2026-01-02T03:04:05.700Z"),
            (b"first", b"second"),
        )
        digests = [{"WARC_Payload_Digest": f"sha1:{body}"} if digest else {} for body in bodies]
        states = [
            response(URL, body, WARC_Date=moment, WARC_Record_ID=f"<{moment}>", **own)
            for moment, body, own in zip(moments, bodies, digests, strict=True)
        ]
        named = {
            "WARC_Refers_To_Target_URI": URL,
            "WARC_Refers_To_Date": moments[state],
            **digests[state],
        }
        again = response(URL, b"", WARC_Profile=profile, **named).replace(
            b"response", b"revisit", 1
        )
        answers = reading.answers(reading.write("x.warc.gz", [*states, again]))

        assert [came.body for _, came in answers] == [*bodies, bodies[state]]

    def test_a_digest_is_surer_than_a_second(self, reading):
        """Of two states within a second that no fraction tells apart, a revisit has the one with
        its digest.
        """
        states = [
            response(URL, body, WARC_Record_ID=f"<{body}>", WARC_Payload_Digest=f"sha1:{body}")
            for body in (b"first", b"second")
        ]
        named = {"WARC_Refers_To_Target_URI": URL, "WARC_Refers_To_Date": "2026-01-02T03:04:05Z"}
        again = response(
            URL, b"", WARC_Profile=IDENTICAL, WARC_Payload_Digest="sha1:b'second'", **named
        )
        answers = reading.answers(
            reading.write("x.warc.gz", [*states, again.replace(b"response", b"revisit", 1)])
        )

        assert answers[-1][1].body == b"second"

    def test_the_page_of_a_304_is_its_own_urls(self, reading):
        """Another URL may have the same payload under another head, and be archived before."""
        elsewhere = response(
            URL + "2", head="Content-Type: text/plain", WARC_Payload_Digest="sha1:AAA"
        )
        own = response(URL, WARC_Payload_Digest="sha1:AAA")
        named = {
            "WARC_Refers_To_Target_URI": URL,
            "WARC_Refers_To_Date": "2026-01-02T03:04:05.123Z",
        }
        made = response(
            URL,
            b"",
            head="",
            status=304,
            WARC_Profile=UNMODIFIED,
            WARC_Payload_Digest="sha1:AAA",
            **named,
        )
        records = [elsewhere, own, made.replace(b"response", b"revisit", 1)]

        assert (
            reading.answers(reading.write("x.warc.gz", records))[-1][1].content_type == "text/html"
        )

    def test_originals_of_one_gzip(self, reading):
        """Originals are found in files whose records cannot be reached one by one, too."""
        again = response(URL + "2", b"", WARC_Refers_To=ID).replace(b"response", b"revisit", 1)
        path = reading.write("x.warc.gz", [response(URL + "0"), response(URL), again], one_gzip)

        assert [came.body for _, came in reading.answers(path)] == [b"<p>hello"] * 3

    def test_not_modified(self, reading):
        """A revisit of the profile server-not-modified is the answer 304 that it was."""
        made = response(URL, b"", status=304, WARC_Profile=UNMODIFIED).replace(
            b"response", b"revisit", 1
        )
        came = reading.one(made)

        assert (came.status, came.body, reading.lost) == (304, b"", [])

    def test_not_modified_since_another_record(self, reading):
        """One that refers to a record is made the page that was there; without that record it is a
        loss.
        """
        named = {
            "WARC_Profile": UNMODIFIED,
            "WARC_Refers_To_Target_URI": URL,
            "WARC_Refers_To_Date": "2026-01-02T03:04:05Z",
        }
        made = response(URL, b"", status=304, WARC_Record_ID="<urn:s>", **named).replace(
            b"response", b"revisit", 1
        )
        _, (_, came) = reading.answers(reading.write("x.warc.gz", [response(URL), made]))

        assert (came.status, came.body, came.wire, reading.lost) == (200, b"<p>hello", b"", [])

    def test_not_modified_since_a_record_that_is_not_here(self, reading):
        """It is counted with other revisits whose payload is nowhere."""
        made = response(
            URL, b"", status=304, WARC_Profile="server-not-modified", WARC_Refers_To="<urn:gone>"
        )

        assert (
            reading.answers(reading.write("x.warc.gz", [made.replace(b"response", b"revisit", 1)]))
            == []
        )
        assert reading.lost

    def test_a_url_of_any_length(self, reading):
        """URL_MAX_LENGTH is for what a crawl finds: the archive has what one has fetched."""
        url = URL + "x" * 8000

        assert reading.one(response(url)).url == url

    def test_what_no_crawl_fetches_is_left_out(self, reading):
        """Answers of name servers and the like are counted, and are no loss."""
        dns = record("response", "dns:a.test", b"a.test. A 127.0.0.1", Content_Type="text/dns")
        info = record(
            "resource", "urn:pageinfo:http://a.test/", b"{}", Content_Type="application/json"
        )

        assert reading.answers(reading.write("x.warc.gz", [dns, info])) == []
        assert reading.lost == ["others", "others"]


class TestOddHeads:
    """The record's own length is what counts: a head that a browser would bear is borne, with a
    flaw.
    """

    @pytest.mark.parametrize(
        "head",
        [
            b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\nContent-Type: text/html",
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\nContent-Type: text/html",
            b"HTTP/1.1 200 OK\r\nContent-Length: some\r\nContent-Type: text/html",
            b"HTTP 200 OK\r\nContent-Type: text/html",
            b"http/1.1 200 OK\r\nContent-Type: text/html",
            b"HTTP/1.1 200OK\r\nContent-Type: text/html",
            b"HTTP/1.1 200 OK\r\nno field\r\nContent-Type: text/html",
            b"ICY 200 OK\r\nContent-Type: text/html",
            b"junkHTTP/1.1 200 OK\r\nContent-Type: text/html",
            b"\xef\xbb\xbfHTTP/1.1 200 OK\r\nContent-Type: text/html",
            b"HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Type: text/html",
            b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 300 + b"Content-Type: text/html",
            b"HTTP/1.1 200 OK\r\nSet-Cookie: " + b"y" * 250_000 + b"\r\nContent-Type: text/html",
        ],
    )
    def test_it_is_borne(self, reading, head):
        """Its page has status, type and body, and the flaw `head`."""
        block = head + b"\r\n\r\n<p>body"
        exchange = reading.one(
            record("response", URL, block, Content_Type="application/http; msgtype=response")
        )

        assert (exchange.status, exchange.content_type, exchange.body) == (
            200,
            "text/html",
            b"<p>body",
        )
        assert exchange.head == head + b"\r\n\r\n"
        assert exchange.flaws == ("head",)
        assert reading.lost == []

    def test_a_head_without_an_end(self, reading):
        """All of the record is its head, as for browsers; that the page is empty has a reason that
        is told.
        """
        block = b"HTTP/1.1 200 OK\r\r\nContent-Type: text/html\r\r\n\r\r\n<p>body"
        exchange = reading.one(
            record("response", URL, block, Content_Type="application/http; msgtype=response")
        )

        assert (exchange.status, exchange.body, exchange.flaws) == (200, b"", ("head",))

    @pytest.mark.parametrize("status", [204, 304])
    def test_an_answer_that_has_no_body_is_whole(self, reading, status):
        """Nothing is missing from an answer whose status says that it has no body."""
        exchange = reading.one(response(URL, b"", status=status))

        assert (exchange.status, exchange.body, exchange.truncated) == (status, b"", "")

    def test_no_status_is_no_head(self, reading):
        """Without a status there is no answer."""
        block = b"HTTP/1.1 OK\r\n\r\n<p>"
        path = reading.write(
            "x.warc.gz", [record("response", URL, block, Content_Type="application/http")]
        )

        assert reading.answers(path) == []
        assert reading.lost == ["lost/unusable"]


class TestPackages:
    """WACZ packages: archives in a ZIP file."""

    def package(self, reading, **how):
        records = [
            response(URL, b"one", WARC_Record_ID="<urn:x>", WARC_Date="2024-01-01T00:00:00Z")
        ]
        again = record("revisit", URL + "2", b"HTTP/1.1 200 OK\r\n\r\n", WARC_Refers_To="<urn:x>")
        path = reading.folder / "crawl.wacz"
        with zipfile.ZipFile(path, "w", **how) as file:
            file.writestr("pages/pages.jsonl", "{}")
            file.writestr("archive/b.warc.gz", gzipped([again, response(URL + "3")]))
            file.writestr("archive/a.warc.gz", gzipped(records))
        return path

    def test_the_archives_inside_are_read(self, reading):
        """In the order of their names, revisits with their originals, and from any answer on."""
        files, _ = archive_files([str(self.package(reading))])
        found = reading.answers(*files)

        assert [(link.url, exchange.body) for link, exchange in found] == [
            (URL, b"one"),
            (URL + "2", b"one"),
            (URL + "3", b"<p>hello"),
        ]
        assert [exchange.state.archived.file for _, exchange in found] == [
            "a.warc.gz",
            "b.warc.gz",
            "b.warc.gz",
        ]
        assert reading.answers(*files) == []
        assert reading.lost == []

    def test_a_folder_of_packages(self, reading):
        """All of them are read."""
        package = self.package(reading)
        folder = reading.folder / "packages"
        folder.mkdir()
        package.rename(folder / "a.wacz")

        assert [path.parent.parent.name for path in archive_files([str(folder)])[0]] == [
            "a.wacz"
        ] * 2

    def test_packages_beside_archives(self, reading, caplog):
        """They are left out, for they may be copies; a line says so."""
        package = self.package(reading)
        (reading.folder / "a.warc").write_bytes(b"")

        files, _ = archive_files([str(reading.folder)])

        assert package not in {path.parent.parent for path in files}
        assert "WACZ packages are left out, because they may have the same archives" in caplog.text

    def test_what_cannot_be_read_in_place_is_refused(self, reading):
        """A package whose archives are compressed, one without any, and a file that is none: one
        clear line.
        """
        package = self.package(reading, compression=zipfile.ZIP_DEFLATED)
        with pytest.raises(NoArchive, match="compressed"):
            archive_files([str(package)])
        package.write_bytes(b"text")
        with pytest.raises(NoArchive, match="not a WACZ package"):
            archive_files([str(package)])
        with zipfile.ZipFile(package, "w") as file:
            file.writestr("datapackage.json", "{}")
        with pytest.raises(NoArchive, match="no WARC files"):
            archive_files([str(package)])

    def test_compressed_archives_are_called_so(self, reading):
        """What a ZIP program made much smaller is called compressed, not a directory that promises
        too much.
        """
        package = reading.folder / "crawl.wacz"
        with zipfile.ZipFile(package, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("archive/x.warc", plain([response(URL, b"x" * 10_000)]))

        with pytest.raises(
            NoArchive, match=r"x[.]warc is compressed inside the package: unpack it first"
        ):
            archive_files([str(package)])

    def test_a_package_within_a_package(self, reading):
        """It is named, even beside archives that could be read: its pages would be missing without
        a word.
        """
        inner, package = self.package(reading), reading.folder / "outer.wacz"
        with zipfile.ZipFile(package, "w") as file:
            file.write(inner, "archive/crawl.wacz")
            file.writestr("archive/x.warc.gz", gzipped([response(URL)]))

        with pytest.raises(
            NoArchive,
            match=r"archive/crawl[.]wacz is a package inside the package: unpack it first",
        ):
            archive_files([str(package)])

    @pytest.mark.parametrize(
        "place", ["{}/secret.warc.gz", "../secret.warc.gz", "archive/../../secret.warc.gz"]
    )
    def test_a_name_that_leads_out_of_the_package(self, reading, place):
        """An entry whose path is that of another file is refused: nothing but the package is read."""
        reading.write("secret.warc.gz", [response(URL)])
        package = reading.folder / "crawl.wacz"
        with zipfile.ZipFile(package, "w") as file:
            file.writestr(place.format(reading.folder), gzipped([response(URL)]))

        with pytest.raises(NoArchive, match="leads out of the package"):
            archive_files([str(package)])

    def test_files_that_are_the_same_bytes(self, reading):
        """A directory may name the same bytes a thousand times: more than the package has are not
        read.
        """
        package = reading.folder / "crawl.wacz"
        with zipfile.ZipFile(package, "w") as file:
            file.writestr("0.warc.gz", gzipped([response(URL, b"x" * 100)]))
            for number in range(1, 100):
                entry = copy(file.filelist[0])
                entry.filename = f"{number}.warc.gz"
                file.filelist.append(entry)
            # so that the directory itself is no room for them
            file.filelist[0].extra = b"\0\0\0\0" * 10

        with pytest.raises(NoArchive, match="lists more bytes than the package has"):
            archive_files([str(package)])

    def test_many_files_cost_one_look_at_the_directory(self, reading, monkeypatch):
        """A package of many files is not searched for each of them from its beginning."""
        package, looks = reading.folder / "crawl.wacz", []
        with zipfile.ZipFile(package, "w") as file:
            for number in range(20):
                file.writestr(f"{number}.warc.gz", gzipped([response(f"{URL}{number}")]))
        monkeypatch.setattr(
            module, "ZipFile", lambda path: looks.append(path) or zipfile.ZipFile(path)
        )

        assert len(reading.answers(*archive_files([str(package)])[0])) == 20
        assert looks == [package]

    @pytest.mark.parametrize("place", ["./x.warc.gz", "archive//x.warc.gz"])
    def test_other_ways_to_write_a_place(self, reading, place):
        """An entry is found by the path that its name means."""
        package = reading.folder / "crawl.wacz"
        with zipfile.ZipFile(package, "w") as file:
            file.writestr(place, gzipped([response(URL)]))

        assert len(reading.answers(*archive_files([str(package)])[0])) == 1

    @pytest.mark.parametrize(
        ("before", "after"), [(b"\x14\x03\x14", b"\x14\x03\xff"), (b"\xc3\xa9", b"\xc3\x28")]
    )
    def test_a_directory_that_is_none(self, reading, before, after):
        """A version that nobody has written yet, and a name that is no text, are one line."""
        package = reading.folder / "crawl.wacz"
        with zipfile.ZipFile(package, "w") as file:
            file.writestr("é.warc.gz", gzipped([response(URL)]))
        package.write_bytes(package.read_bytes().replace(before, after))

        with pytest.raises(NoArchive, match="not a WACZ package"):
            archive_files([str(package)])


class TestLosses:
    """What cannot be read is counted and said, and the rest is read."""

    @pytest.mark.parametrize(
        ("bad", "kind", "words"),
        [
            (
                response(URL, b"", WARC_Refers_To="<urn:x>").replace(b"response", b"revisit", 1),
                "revisits",
                "none of",
            ),
            (response(URL, WARC_Segment_Number="1"), "unusable", "segments"),
            (record("continuation", URL, b"more", WARC_Segment_Number="2"), "unusable", "segments"),
            (
                record("response", URL, b"\x00\x01", Content_Type="application/http"),
                "unusable",
                "HTTP head",
            ),
            (response(URL, Content_Length="1"), "damaged", "longer"),
        ],
    )
    def test_each_is_a_line_and_a_counter(self, reading, caplog, bad, kind, words):
        """The line has file, place and reason; the pages before and behind it are read."""
        caplog.set_level(logging.WARNING)
        path = reading.write("x.warc.gz", [response(URL + "1"), bad, response(URL + "2")])

        assert [link.url for link, _ in reading.answers(path)] == [URL + "1", URL + "2"]
        assert reading.lost == [f"lost/{kind}"]
        assert words in caplog.text
        assert str(path) in caplog.text

    @pytest.mark.parametrize(
        ("form", "place"), [(gzipped, "{}"), (plain, "0 + {}"), (one_gzip, "0 + {}")]
    )
    def test_a_line_has_the_place(self, reading, caplog, form, place):
        """The byte of its member, and what stands before it there, if that has several records."""
        good = [response(URL)]
        bad = record("response", URL + "x", b"no head", Content_Type="application/http")
        reading.answers(reading.write("x.warc.gz", [*good, bad], form))

        begins = len((gzipped if form is gzipped else plain)(good))
        assert f": byte {place.format(begins)}: response {URL}x: " in caplog.text

    def test_lines_are_few(self, reading, caplog):
        """Of a thousand damaged records a few have a line; all are counted."""
        bad = [response(f"{URL}{number}", Content_Length="1") for number in range(1000)]
        reading.answers(reading.write("x.warc.gz", [*bad, response(URL)]))

        assert len(reading.lost) == 1000
        assert len(caplog.messages) == 11

    def test_each_archive_says_how_much_is_lost(self, reading, caplog):
        """A line per file that has something unreadable, with the numbers; none for one that has
        not.
        """
        bad = [
            response(URL, Content_Length="1"),
            record("response", URL, b"\x00", Content_Type="application/http"),
        ]
        torn = reading.write("x.warc.gz", [*bad, bad[0], response(URL)])
        reading.answers(torn, reading.write("y.warc.gz", [response(URL)]))

        assert caplog.messages[-1] == f"{torn}: 3 places could not be read: damaged 2, unusable 1"

    @pytest.mark.parametrize(
        "garbage", [b"\0" * 3000, b"\xff\r\n\r\n" * 300, b"WARC/1.0 and so on\n"]
    )
    def test_garbage_between_records_costs_itself(self, reading, garbage):
        """In an archive that is not packed the records before and behind a run of garbage are
        whole, and are read.

        The record before it counted as longer than it says, and the one behind it was not found,
        for want of a line end: of a small archive nothing was left.
        """
        pages = [response(f"{URL}{number}") for number in range(2)]
        path = reading.write("x.warc", [pages[0], garbage, pages[1]], plain)

        assert [link.url for link, _ in reading.answers(path)] == [f"{URL}0", f"{URL}1"]
        assert reading.lost == ["lost/damaged"]

    def test_a_head_that_runs_into_the_next_record(self, reading):
        """A record whose head has lost its end is damaged; the one behind it is read as itself."""
        torn = response(URL + "x").partition(b"\r\nContent-Length")[0]
        path = reading.write("x.warc", [response(URL + "0"), torn, response(URL + "1")], plain)

        assert [link.url for link, _ in reading.answers(path)] == [f"{URL}0", f"{URL}1"]
        assert reading.lost == ["lost/damaged"]

    def test_a_file_that_is_none(self, reading, caplog):
        """A file without a record is lost as a whole, once and in one line, and the others are
        read.
        """
        bad, good = reading.folder / "bad.warc", reading.write("x.warc.gz", [response(URL)])
        bad.write_bytes(b"text")

        assert len(reading.answers(bad, good)) == 1
        assert reading.answers(bad, good) == []
        assert reading.lost == ["lost/files"]
        assert caplog.messages[-1] == f"{bad}: not a WARC file: it contains no record"

    def test_a_file_that_has_shrunk(self, reading):
        """A place behind the end of a file means that the file is another one."""
        path = reading.write("x.warc.gz", [response(URL)])
        reading.answers(path)
        path.write_bytes(path.read_bytes()[:-10])

        with pytest.raises(StoreError, match="shorter"):
            reading.answers(path)

    @pytest.mark.parametrize("form", [plain, one_gzip])
    def test_a_file_of_one_piece_that_has_shrunk(self, reading, caplog, form):
        """If a run had come halfway, the file is lost: no record lies where the next one has to
        begin.
        """
        path = reading.write("x.warc", [response(f"{URL}{number}") for number in range(3)], form)
        first, second, *_ = Archives([path], reading.places.get, reading.originals, 1 << 20)
        reading.places[first.name] = second.resume_at
        reading.write("x.warc", [response(URL)], form)

        assert reading.answers(path) == []
        assert reading.lost == ["lost/files"]
        assert (
            caplog.messages[-1]
            == f"{path}: not a WARC file: the file ends before the place at which reading should resume"
        )


class TestResuming:
    """A run goes on where the last one ended."""

    def test_from_any_answer(self, reading):
        """After each answer, the rest comes, each once, with the losses behind it."""
        bad = response(URL, Content_Length="1")
        request = record("request", URL + "1", b"GET", WARC_Record_ID="<urn:r>")
        records = [
            response(URL + "0"),
            bad,
            request,
            response(URL + "1", WARC_Concurrent_To="<urn:r>"),
            bad,
        ]
        path = reading.write("x.warc.gz", [*records, response(URL + "2"), bad])
        steps = list(Archives([path], lambda _: None, reading.originals, 1 << 20))
        whole = [(one.download, one.counters) for one in steps if one.download or one.counters]
        for at, step in enumerate(steps):
            rest = Archives([path], lambda _, step=step: step.resume_at, reading.originals, 1 << 20)
            assert [
                (one.download, one.counters) for one in rest if one.download or one.counters
            ] == whole[at + 1 :]

    def test_a_file_grows_and_gets_its_name(self, reading):
        """What was left at the end of a file being written is read once it is complete, under its
        final name.
        """
        records = [response(f"{URL}{number}") for number in range(4)]
        again = response(f"{URL}3", b"", WARC_Refers_To=f"<urn:test:{URL}0>")
        records[3] = again.replace(b"response", b"revisit", 1)
        noted = [one for pair in zip(records, map(_note, range(4)), strict=True) for one in pair]
        data = gzipped(noted)
        path = reading.folder / "x.warc.gz.open"
        path.write_bytes(data[: len(gzipped(noted[:5])) + 20])
        before = [link.url for link, _ in reading.answers(path)]
        path.write_bytes(data)
        behind = [
            link.url for link, _ in reading.answers(path.rename(reading.folder / "x.warc.gz"))
        ]

        assert (before, behind) == ([URL + "0", URL + "1"], [URL + "2", URL + "3"])
        assert reading.lost == []

    def test_originals_are_remembered(self, reading):
        """A revisit in a file of the next run finds its original in one of the last run."""
        again = response(URL + "2", b"", WARC_Refers_To=ID).replace(b"response", b"revisit", 1)
        reading.answers(reading.write("1.warc.gz", [response(URL)]))
        reading.originals.save()
        reading.originals.close()
        reading.originals = PayloadPlaces(reading.folder / "originals.db")
        ((_, came),) = reading.answers(reading.write("2.warc.gz", [again]))

        assert came.body == b"<p>hello"


def _note(number):
    return record(
        "metadata", f"{URL}{number}", b"via: x\r\n", WARC_Concurrent_To=f"<urn:test:{URL}{number}>"
    )
