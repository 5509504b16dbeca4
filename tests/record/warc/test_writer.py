"""What the archive says about an exchange, record by record, and the sequence of its files."""

import gzip
import hashlib
from base64 import b32encode
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis.strategies import binary

from tests.support.cdxj import entries
from tests.support.faults import BreakingDisk
from tests.support.warc_crawl import NOW, Archive, chunked, exchange, files
from tests.support.warc_reader import digest, members, read
from webcrawl.base.dates import iso
from webcrawl.base.digest import label, labels, sha1
from webcrawl.base.model import EarlierCapture, Link, PageView
from webcrawl.store.errors import StoreError

PAGE = b"<p>hello world, " * 20


@pytest.fixture(name="archive")
def _archive(tmp_path):
    archive = Archive(tmp_path)
    yield archive
    archive.close()


def records(archive):
    """The records of all files, in order. Closes the archive."""
    archive.stop()
    return [record for path in files(archive.root) for record in read(path)]


def of_kind(found, kind):
    return [record for record in found if record.kind == kind]


class TestRecords:
    def test_an_exchange_is_three_records(self, archive):
        """Response, request and metadata follow the warcinfo; the last two name the first; all have
        URL and date.
        """
        archive.write(exchange("http://a.test/x", PAGE))
        warcinfo, response, request, metadata = records(archive)

        assert [response.kind, request.kind, metadata.kind] == ["response", "request", "metadata"]
        for record in (response, request, metadata):
            assert record.fields["WARC-Target-URI"] == "http://a.test/x"
            assert record.fields["WARC-Date"] == "2023-11-14T22:13:20.250Z"
            assert record.fields["WARC-IP-Address"] == "127.0.0.1"
            assert record.fields["WARC-Warcinfo-ID"] == warcinfo.id
            assert record.fields.get("WARC-Concurrent-To") == (
                None if record is response else response.id
            )
        assert len({record.id for record in (warcinfo, response, request, metadata)}) == 4

    @pytest.mark.parametrize("is_copy", [False, True], ids=["original", "revisit"])
    def test_the_views_of_a_page_follow_it(self, archive, is_copy):
        """Each is a resource under a URN of its own with the page's date, and names the answer."""
        views = (
            PageView("urn:view:", "image/png", b"\x89PNG of the page"),
            PageView("urn:pdf:", "application/pdf", b"%PDF of the page"),
        )
        page = exchange("http://a.test/x", PAGE)
        page.body, page.rendered = b"<p>made", True
        page.state.views = views
        if is_copy:
            archive.write(exchange("http://a.test/first", PAGE))
        archive.write(page, duplicate=is_copy)
        found = records(archive)

        answers = of_kind(found, "revisit" if is_copy else "response")
        (answer,) = (one for one in answers if one.fields["WARC-Target-URI"] == page.url)
        pictures = of_kind(found, "resource")
        assert found[-2:] == pictures
        assert [
            (one.fields["WARC-Target-URI"], one.fields["Content-Type"], one.block)
            for one in pictures
        ] == [(f"{view.prefix}{page.url}", view.content_type, view.data) for view in views]
        for one in pictures:
            assert one.fields["WARC-Date"] == answer.fields["WARC-Date"]
            assert one.fields["WARC-Concurrent-To"] == answer.id
            assert one.fields["WARC-Payload-Digest"] == digest(one.block)
        assert len(of_kind(found, "conversion")) == (0 if is_copy else 1)

    def test_what_may_not_be_kept_has_no_view(self, archive):
        """A screenshot shows the page as well as its bytes do."""
        page = exchange("http://a.test/x", PAGE)
        page.state.views = (PageView("urn:view:", "image/png", b"PNG"),)
        archive.writer.write(Link(page.url), page, duplicate=False, metadata={}, without_body=True)

        assert of_kind(records(archive), "resource") == []

    def test_its_place_is_told(self, archive):
        """Writing returns the file, offset and length of the first record, whatever else is in the
        file.
        """
        archive.write(exchange("http://a.test/x", PAGE))
        name, offset, length = archive.write(exchange("http://a.test/y", PAGE))
        archive.stop()
        (path,) = files(archive.root)
        (record,) = members(path.read_bytes()[offset : offset + length])

        assert b"WARC-Type: response" in record
        assert b"WARC-Target-URI: http://a.test/y\r\n" in record
        assert name == path.name

    def test_the_bytes_are_those_of_the_wire(self, archive):
        """The blocks are the heads exactly as sent and received, and the body with its transfer
        coding.
        """
        odd = exchange(body=PAGE, head=b"HTTP/1.1  200 ok\nX:\xff y\n\n")
        coded = chunked("http://a.test/2", PAGE)
        archive.write(odd)
        archive.write(coded)
        found = records(archive)

        assert [record.block for record in of_kind(found, "response")] == [
            odd.head + PAGE,
            coded.head + coded.wire,
        ]
        assert [record.block for record in of_kind(found, "request")] == [
            odd.request,
            coded.request,
        ]

    def test_a_payload_has_its_digest(self, archive):
        """The payload digest is the SHA-1, in base 32, of the body as received, with its content
        coding.
        """
        archive.write(exchange(body=PAGE))
        response = of_kind(records(archive), "response")[0]

        assert response.fields["WARC-Payload-Digest"] == digest(PAGE)

    def test_a_transfer_coded_answer_has_its_digest_in_the_metadata(self, archive):
        """The tools and the standard disagree on the field's meaning there, so it is left out."""
        archive.write(chunked("http://a.test/", PAGE))
        _, response, _, metadata = records(archive)

        assert "WARC-Payload-Digest" not in response.fields
        assert metadata.about["payloadDigest"] == digest(PAGE)

    @pytest.mark.parametrize("reason", ["length", "time", "disconnect", "unspecified"])
    def test_a_truncated_answer_says_why(self, archive, reason):
        """WARC-Truncated gives the reason; without one there is no such field."""
        archive.write(exchange(truncated=reason))
        archive.write(exchange("http://a.test/2"))
        first, second = of_kind(records(archive), "response")

        assert first.fields["WARC-Truncated"] == reason
        assert "WARC-Truncated" not in second.fields

    def test_metadata_tells_the_way_to_the_page(self, archive):
        """It has the standard's fields, the source tag, the flaws, and what the caller adds or
        overrides.
        """
        link = Link("http://a.test/", path="LlR", via="http://b.test/", seed="http://seed.test/")
        tls = "TLSv1.3 TLS_AES_128_GCM_SHA256"
        odd = exchange(flaws=("coding", "certificate_date"), tls=tls, certificate="sha256:00")
        archive.write(odd, link, title="Hello", via="overruled")
        metadata = of_kind(records(archive), "metadata")[0]

        assert metadata.about == {
            "via": "overruled",
            "hopsFromSeed": "LLR",
            "fetchTimeMs": "123",
            "sourceTag": "http://seed.test/",
            "flaws": "coding,certificate_date",
            "tls": "TLSv1.3 TLS_AES_128_GCM_SHA256",
            "certificate": "sha256:00",
            "title": "Hello",
        }
        assert metadata.fields["Content-Type"] == "application/warc-fields"

    def test_an_exchange_without_heads_is_a_resource(self, archive):
        """FTP and Gopher have no request to keep, and their payload is the block."""
        archive.write(exchange("ftp://a.test/x", b"file", head=b"", request=b"", headers=[]))
        _, resource, metadata = records(archive)

        assert (resource.kind, resource.block) == ("resource", b"file")
        assert resource.fields["Content-Type"] == "application/octet-stream"
        assert resource.fields["WARC-Payload-Digest"] == digest(b"file")
        assert metadata.fields["WARC-Concurrent-To"] == resource.id

    def test_a_file_begins_with_what_the_crawl_is(self, archive):
        """The warcinfo record has the caller's information, the file's final name and the
        standard's version.
        """
        archive.write(exchange())
        warcinfo = records(archive)[0]

        assert warcinfo.kind == "warcinfo"
        assert (
            warcinfo.fields["WARC-Filename"]
            == files(archive.root)[0].name
            == "test-20231114221320-00000.warc.gz"
        )
        assert warcinfo.about == {
            "software": "webcrawl/0",
            "robots": "obey",
            "format": "WARC File Format 1.1",
            "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        }


class TestDocuments:
    """What a browser made of a payload."""

    def test_a_document_is_a_conversion_of_the_response(self, archive):
        """The response has the exact payload; the document refers to it, and has no address and no
        contemporaries.
        """
        archive.write(exchange("http://a.test/x", PAGE, rendered=True))
        warcinfo, response, request, metadata, document = records(archive)

        assert [document.kind, document.block] == ["conversion", PAGE]
        assert document.fields["WARC-Refers-To"] == response.id
        assert document.fields["WARC-Target-URI"] == "http://a.test/x"
        assert document.fields["WARC-Warcinfo-ID"] == warcinfo.id
        assert document.fields["Content-Type"] == "text/html; charset=utf-8"
        assert not {"WARC-IP-Address", "WARC-Concurrent-To"} & set(document.fields)
        assert (request.kind, metadata.kind) == ("request", "metadata")

    def test_a_document_seen_before_is_not_repeated(self, archive):
        """A revisit has no document: the archive holds the same one."""
        for duplicate in (False, True):
            archive.write(exchange("http://a.test/x", PAGE, rendered=True), duplicate=duplicate)

        assert [record.kind for record in records(archive)].count("conversion") == 1

    def test_a_document_may_stand_alone(self, archive):
        """Where the payload is not known, the document is all there is: no response, no request."""
        archive.write(
            exchange(
                "http://a.test/x",
                PAGE,
                head=b"",
                request=b"",
                rendered=True,
                made_by="some.Handler",
            )
        )
        _, document, metadata = records(archive)

        assert (document.kind, metadata.kind, document.block) == ("conversion", "metadata", PAGE)
        assert "WARC-IP-Address" not in document.fields
        assert metadata.about["madeBy"] == "some.Handler"
        assert "reconstructed" not in metadata.about

    def test_a_head_that_was_put_together_is_marked(self, archive):
        """The metadata of another handler's answer says who made it, and that its head is
        reconstructed.
        """
        archive.write(exchange(request=b"", made_by="some.Handler", protocol="h2"))
        _, response, metadata = records(archive)

        about = {name: metadata.about[name] for name in ("madeBy", "protocol", "reconstructed")}
        assert response.kind == "response"
        assert about == {"madeBy": "some.Handler", "protocol": "h2", "reconstructed": "head"}


class TestRevisits:
    def test_a_duplicate_names_its_original(self, archive):
        """A revisit keeps the head, drops the body and names the response with this payload, its
        URL and date.
        """
        archive.write(exchange("http://a.test/1", PAGE))
        again = exchange("http://a.test/2", PAGE, started=NOW + 9)
        archive.write(again, duplicate=True)
        found = records(archive)
        original, revisit = of_kind(found, "response")[0], of_kind(found, "revisit")[0]

        assert revisit.block == again.head
        assert (
            revisit.fields["WARC-Profile"]
            == "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
        )
        assert revisit.fields["WARC-Refers-To"] == original.id
        assert revisit.fields["WARC-Refers-To-Target-URI"] == "http://a.test/1"
        assert revisit.fields["WARC-Refers-To-Date"] == original.fields["WARC-Date"]
        assert revisit.fields["WARC-Payload-Digest"] == digest(PAGE)
        assert revisit.fields["WARC-Truncated"] == "length"
        assert [record.fields["WARC-Concurrent-To"] for record in found[-2:]] == [revisit.id] * 2

    def test_a_revisit_is_no_original(self, archive):
        """A third copy names the first, not the second."""
        for number in (1, 2, 3):
            archive.write(exchange(f"http://a.test/{number}", PAGE), duplicate=number > 1)
        revisits = of_kind(records(archive), "revisit")

        assert [record.fields["WARC-Refers-To-Target-URI"] for record in revisits] == [
            "http://a.test/1"
        ] * 2

    def test_chunks_do_not_matter(self, archive):
        """Payloads are compared without transfer coding."""
        archive.write(chunked("http://a.test/1", PAGE))
        archive.write(chunked("http://a.test/2", PAGE, size=99), duplicate=True)

        assert len(of_kind(records(archive), "revisit")) == 1

    @pytest.mark.parametrize(
        "second",
        [
            exchange("http://a.test/2", b"zipped", wire=b"zipped"),
            exchange("http://a.test/2", PAGE, truncated="time"),
        ],
        ids=["another payload", "truncated"],
    )
    def test_what_cannot_be_found_again_is_written_whole(self, archive, second):
        """A duplicate whose payload is not in the archive (differently coded, forgotten, truncated)
        is no revisit.
        """
        archive.write(exchange("http://a.test/1", PAGE))
        archive.write(second, duplicate=True)

        assert len(of_kind(records(archive), "response")) == 2

    def test_a_truncated_or_empty_payload_is_nobodys_original(self, archive):
        """Truncated and empty payloads are never referred to."""
        archive.write(exchange("http://a.test/1", PAGE, truncated="length"))
        archive.write(exchange("http://a.test/2", PAGE), duplicate=True)
        archive.write(exchange("http://a.test/3", b""))
        archive.write(exchange("http://a.test/4", b""), duplicate=True)

        assert of_kind(records(archive), "revisit") == []

    def test_only_what_is_called_a_duplicate_is_one(self, archive):
        """The caller decides: the same robots.txt on two hosts is two responses."""
        archive.write(exchange("http://a.test/1", PAGE))
        archive.write(exchange("http://a.test/2", PAGE))

        assert of_kind(records(archive), "revisit") == []

    def test_what_was_not_written_is_no_original(self, tmp_path):
        """After a full disk no later record refers to the one that was not written."""
        disk = BreakingDisk()
        archive = Archive(tmp_path, disk)
        archive.write(exchange("http://a.test/0"))
        disk.fail_at = disk.operations + 1
        with pytest.raises(StoreError, match="No space"):
            archive.write(exchange("http://a.test/1", PAGE))
        archive.write(exchange("http://a.test/2", PAGE), duplicate=True)

        kinds = [(record.kind, record.fields["WARC-Target-URI"]) for record in records(archive)[1:]]
        assert kinds[3][0] == "response"
        assert {address for _, address in kinds} == {"http://a.test/0", "http://a.test/2"}


class TestOtherCodings:
    """The decoded body is known to be the same, and the payload is another."""

    PACKED = gzip.compress(PAGE, mtime=2)

    def coded(self, **changes):
        return replace(exchange("http://a.test/x", self.PACKED, **changes), body=PAGE)

    def revisit(self, archive, **changes):
        archive.write(self.coded(**changes))
        (revisit,) = of_kind(records(archive), "revisit")
        return revisit.fields

    def test_no_revisit_says_that_payloads_are_identical(self, archive):
        """It has the profile that says nothing of them, and the digest of the payload that it
        refers to.
        """
        fields = self.revisit(archive, refers=TestEarlierCrawls.REFERRED._replace(identical=False))

        assert fields["WARC-Profile"].endswith("/1.1/revisit/server-not-modified")
        assert fields["WARC-Payload-Digest"] == TestEarlierCrawls.REFERRED.digest
        assert fields["WARC-Refers-To"] == "<urn:uuid:1>"

    def test_a_page_fetched_again_has_no_digest_that_is_not_known(self, archive):
        """The crawl keeps no digest of the earlier payload."""
        fields = self.revisit(archive, same_since=NOW - 9)

        assert fields["WARC-Profile"].endswith("/1.1/revisit/server-not-modified")
        assert "WARC-Payload-Digest" not in fields
        assert fields["WARC-Refers-To-Target-URI"] == "http://a.test/x"

    def test_a_copy_that_is_fetched_again_refers_to_the_original(self, archive):
        """What is archived as another URL's copy knows whose it is; after a 304 the record refers
        there, too.
        """
        copy = exchange("http://a.test/copy", PAGE, started=NOW + 5)
        archive.write(exchange("http://a.test/x", PAGE, started=NOW))
        archive.write(copy, duplicate=True)
        assert (copy.state.is_original, copy.state.copy_of, copy.state.same_since) == (
            False,
            "http://a.test/x",
            NOW,
        )

        archive.write(
            exchange(
                "http://a.test/copy", b"", status=304, same_since=NOW, copy_of=copy.state.copy_of
            )
        )
        *_, revisit = of_kind(records(archive), "revisit")
        assert revisit.fields["WARC-Profile"].endswith("/1.1/revisit/server-not-modified")
        assert revisit.fields["WARC-Refers-To-Target-URI"] == "http://a.test/x"
        assert revisit.fields["WARC-Refers-To-Date"] == iso(NOW)

    def test_the_same_coded_payload_is_identical(self, archive):
        """It is in the archive, under its own digest."""
        archive.write(self.coded())
        archive.write(self.coded(same_since=NOW, started=NOW + 9))
        (revisit,) = of_kind(records(archive), "revisit")

        assert revisit.fields["WARC-Profile"].endswith("/1.1/revisit/identical-payload-digest")
        assert revisit.fields["WARC-Payload-Digest"] == digest(self.PACKED)


class TestEarlierCrawls:
    REFERRED = EarlierCapture(
        "<urn:uuid:1>", "http://a.test/first", "2023-10-14T22:13:20Z", label(sha1(PAGE))
    )

    @pytest.mark.parametrize("date", ["2023-13-14T22:13:20Z", "2016-12-31T23:59:60Z", "2023"])
    def test_a_date_that_is_none(self, archive, date):
        """Whatever an archive of somebody else's calls a date, the record refers to it, and the
        crawl goes on.
        """
        answer = exchange("http://a.test/x", PAGE, refers=self.REFERRED._replace(date=date))
        archive.write(answer)
        (revisit,) = of_kind(records(archive), "revisit")

        assert revisit.fields["WARC-Refers-To-Date"] == date
        assert answer.state.same_since == 0.0

    def test_what_an_earlier_crawl_has_is_a_revisit_of_it(self, archive):
        """Whether or not this crawl has seen the body; it becomes nobody's original here."""
        archive.write(exchange("http://a.test/x", PAGE, refers=self.REFERRED))
        archive.write(exchange("http://a.test/y", PAGE), duplicate=True)
        found = records(archive)
        (revisit,) = of_kind(found, "revisit")

        assert revisit.fields["WARC-Profile"].endswith("/1.1/revisit/identical-payload-digest")
        assert revisit.fields["WARC-Refers-To"] == "<urn:uuid:1>"
        assert revisit.fields["WARC-Refers-To-Target-URI"] == "http://a.test/first"
        assert revisit.fields["WARC-Refers-To-Date"] == "2023-10-14T22:13:20Z"
        assert len(of_kind(found, "response")) == 1

    def test_its_digest_may_be_of_another_kind(self, archive):
        """As the earlier record has it: programs that replay compare the two."""
        digest = f"sha256:{hashlib.sha256(PAGE).hexdigest()}"
        archive.write(
            exchange("http://a.test/x", PAGE, refers=self.REFERRED._replace(digest=digest))
        )
        (revisit,) = of_kind(records(archive), "revisit")

        assert revisit.fields["WARC-Profile"].endswith("/1.1/revisit/identical-payload-digest")
        assert revisit.fields["WARC-Payload-Digest"] == digest

    def test_a_304_is_a_revisit_with_the_head_that_came(self, archive):
        """With the profile for it, the digest of the payload that it stands for, and its status in
        the index.
        """
        head = b"HTTP/1.1 304 Not Modified\r\n\r\n"
        archive.write(
            exchange(
                "http://a.test/x", PAGE, head=head, wire=b"", refers=self.REFERRED, unmodified=True
            )
        )
        (revisit,) = of_kind(records(archive), "revisit")
        ((_, _, entry),) = entries(next((archive.root / "warc").glob("*.cdxj")))

        assert revisit.block == head
        assert revisit.fields["WARC-Profile"].endswith("/1.1/revisit/server-not-modified")
        assert revisit.fields["WARC-Payload-Digest"] == self.REFERRED.digest
        assert "WARC-Truncated" not in revisit.fields
        assert (entry["mime"], entry["status"]) == ("warc/revisit", "304")

    def test_a_document_is_kept_all_the_same(self, archive):
        """What a browser makes of the same payload may be another document a month later."""
        made = exchange("http://a.test/x", PAGE, refers=self.REFERRED, rendered=True)
        made.body = b"<p>today"
        archive.write(made)
        found = records(archive)
        (revisit,), (document,) = of_kind(found, "revisit"), of_kind(found, "conversion")

        assert (document.block, document.fields["WARC-Refers-To"]) == (b"<p>today", revisit.id)

    def test_a_record_that_could_not_be_read_has_no_identifier(self, archive):
        """URL and date are enough to find it."""
        archive.write(
            exchange("http://a.test/x", PAGE, refers=self.REFERRED._replace(identifier=""))
        )
        (revisit,) = of_kind(records(archive), "revisit")

        assert "WARC-Refers-To" not in revisit.fields
        assert revisit.fields["WARC-Refers-To-Target-URI"] == "http://a.test/first"


class TestFiles:
    def test_a_file_being_written_ends_in_open(self, archive):
        """The ending is removed when the file is finished and a checkpoint has noted it."""
        assert files(archive.root) == []
        archive.write(exchange())
        assert [path.name for path in files(archive.root)] == [
            "test-20231114221320-00000.warc.gz.open"
        ]
        archive.stop()

        assert [path.name for path in files(archive.root)] == ["test-20231114221320-00000.warc.gz"]

    def test_a_full_file_is_followed_by_the_next(self, tmp_path):
        """The capture that reaches `max_size` is the last in its file; each file has its own
        warcinfo.
        """
        archive = Archive(tmp_path, max_size=2500)
        for number in range(6):
            archive.write(exchange(f"http://a.test/{number}", bytes([number]) * 2000))
            archive.checkpoint()
        archive.stop()
        found = {path.name: read(path) for path in files(tmp_path)}

        assert list(found) == [
            f"test-20231114221320-{serial:05d}.warc.gz" for serial in range(len(found))
        ]
        assert len(found) >= 2
        assert all(2500 <= path.stat().st_size < 2500 + 1500 for path in files(tmp_path)[:-1])
        for name, inside in found.items():
            assert inside[0].fields["WARC-Filename"] == name
            assert {record.fields["WARC-Warcinfo-ID"] for record in inside[1:]} == {inside[0].id}
        addresses = [
            record.fields["WARC-Target-URI"]
            for inside in found.values()
            for record in of_kind(inside, "response")
        ]
        assert addresses == [f"http://a.test/{number}" for number in range(6)]

    def test_serial_numbers_go_on_after_a_stop(self, tmp_path):
        """A resumed crawl begins another file, with the next number."""
        for seed in (1, 2):
            archive = Archive(tmp_path, seed=seed)
            archive.write(exchange())
            archive.stop()

        assert [path.name[-13:] for path in files(tmp_path)] == ["00000.warc.gz", "00001.warc.gz"]

    def test_a_crawl_without_pages_leaves_no_file(self, archive):
        """A file is begun by the first capture."""
        archive.stop()
        assert files(archive.root) == []

    def test_a_full_disk_at_the_first_record(self, tmp_path):
        """A file that could not be begun is begun by the next capture, or by the first one after a
        restart.
        """
        disk = BreakingDisk()
        archive = Archive(tmp_path, disk)
        archive.db.set("x", b"")  # the transaction is open: the next write is the file's
        disk.fail_at = disk.operations + 2
        with pytest.raises(StoreError, match="No space"):
            archive.write(exchange())
        archive.stop()
        assert [path.stat().st_size for path in files(tmp_path)] == [0]

        archive = Archive(tmp_path)
        archive.write(exchange())
        assert [record.kind for record in records(archive)] == [
            "warcinfo",
            "response",
            "request",
            "metadata",
        ]

    @pytest.mark.parametrize("prefix", ["", "a/b", "a b", "a\n", "ü"])
    def test_a_prefix_is_part_of_a_name(self, tmp_path, prefix):
        """A prefix that contains a path or is not a plain name is refused."""
        with pytest.raises(ValueError, match="cannot begin with"):
            Archive(tmp_path, prefix=prefix)

    def test_a_repr_says_where_it_is(self, archive):
        """The repr has the next serial number and the open file."""
        assert repr(archive.writer) == "<WarcWriter serial=0 None>"
        archive.write(exchange())
        assert "serial=1 <Output" in repr(archive.writer)


class TestLabel:
    @given(binary(min_size=20, max_size=20))
    def test_it_is_base32(self, sha1):
        """The letters are those of base64.b32encode."""
        assert label(sha1) == f"sha1:{b32encode(sha1).decode()}"

    @given(*[binary(min_size=20, max_size=20)] * 3)
    def test_three_labels_are_those_of_each(self, one, two, three):
        """Three labels made together are the labels of each."""
        assert labels(one, two, three) == (label(one), label(two), label(three))

    @given(binary(), binary())
    def test_a_digest_is_of_both_parts(self, block, rest):
        """The digest of two parts is the digest of the whole."""
        assert sha1(block, rest) == hashlib.sha1(block + rest).digest()  # noqa: S324 - as archives have it
