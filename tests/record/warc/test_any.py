"""Records stay valid whatever a server sends or a page says; the memory of payloads is bounded and
correct.
"""

import gzip
import shutil
import subprocess
from pathlib import Path
from urllib.parse import unquote_to_bytes

import pytest
from fastwarc.warc import ArchiveIterator as FastIterator
from hypothesis import example, given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from tests.support.warc_crawl import Archive, exchange, files
from tests.support.warc_reader import UUID, members, one_record, read_fields
from webcrawl.base.dates import iso
from webcrawl.base.model import Link
from webcrawl.base.url_text import visible
from webcrawl.record.warc.capture import CaptureMaker, RecentPayloads
from webcrawl.record.warc.warc_record import fields, iana_suite, protocol_fields, token_names

NASTY = "a b\tc\nd\r\nWARC-Type: e\x0bf\x0cg\x1ch\x85i\u2028j\u2029k\u00a0l\u3000m\ud800n\x00\x7f"
TEXT = st.text(max_size=20)
BYTES = st.binary(max_size=60)


def taken(made, link=None, *, metadata=None):
    numbers = iter(range(100))
    captures = CaptureMaker(
        RecentPayloads(), lambda: f"<urn:uuid:00000000-0000-4000-8000-{next(numbers):012}>"
    )
    capture = captures.make(
        link or Link(made.url),
        made,
        warcinfo="<urn:uuid:0>",
        duplicate=False,
        metadata=metadata or {},
    )
    return [one_record(data) for data in members(capture.pack().data)]


class TestAnything:
    @given(url=TEXT, text=TEXT, other=TEXT, metadata=st.dictionaries(TEXT, TEXT, max_size=3))
    @example(NASTY, NASTY, NASTY, {NASTY: NASTY, "": "x", "a": ""})
    def test_any_texts_are_three_records(self, url, text, other, metadata):
        """No text of a page, a link or a caller ends its line, its header or its record."""
        text, other = text.strip(), other.strip()
        made = exchange(url, b"body", ip=text, truncated=other, tls=text)
        metadata = {
            f"x{number}{name}": value.strip()
            for number, (name, value) in enumerate(metadata.items())
        }
        link = Link(url, path=text, via=other, seed=text)
        response, request, about = taken(made, link, metadata=metadata)

        assert (response.kind, request.kind, about.kind) == ("response", "request", "metadata")
        assert response.block == made.head + made.wire
        assert request.block == made.request
        assert set(about.about) <= {"via", "hopsFromSeed", "fetchTimeMs", "sourceTag", "tls"} | {
            name for name in about.about if name.startswith("x")
        }

    @given(head=BYTES.filter(bool), wire=BYTES, payload=BYTES, request=BYTES)
    @example(b"\r\n\r\n", b"\r\n\r\nWARC/1.1\r\n", b"", b"\r\n")
    def test_any_bytes_come_back(self, head, wire, payload, request):
        """Heads and bodies are not interpreted: each block is its bytes."""
        made = exchange(head=head, wire=wire, body=payload, request=request)
        kinds = {record.kind: record.block for record in taken(made)}

        assert kinds["response"] == head + wire
        assert kinds.get("request", b"") == request
        assert len(kinds) == (3 if request else 2)

    @given(st.text())
    @example(NASTY)
    def test_an_address_is_ascii_without_blanks(self, text):
        """What RFC 3986 does not allow is percent-encoded, so that nothing is lost."""
        address = visible(text)

        assert address.isascii()
        assert all("!" <= char <= "~" for char in address)
        assert unquote_to_bytes(address) == unquote_to_bytes(text.encode("utf-8", "surrogatepass"))

    def test_readable_text_stays_readable(self):
        """Values are UTF-8; only line-breaking characters are encoded."""
        assert (
            fields({"title": "Über uns: 100 % fünf\u00a0€\n"})
            == "title: Über uns: 100 % fünf\u00a0€%0A\r\n".encode()
        )

    def test_a_field_without_value_is_left_out(self):
        """A field with an empty value is left out."""
        assert fields({"via": "", "a": "b"}) == b"a: b\r\n"

    @given(st.text(min_size=1))
    def test_a_name_is_a_token(self, name):
        """A name given by a caller cannot end its field."""
        assert len(read_fields(fields(token_names({name: "x"})))) == 1

    @pytest.mark.parametrize(
        ("seconds", "fraction", "text"),
        [
            (0.0, True, "1970-01-01T00:00:00.000Z"),
            (1308849128.8024, True, "2011-06-23T17:12:08.802Z"),
            (1308849128.9996, True, "2011-06-23T17:12:09.000Z"),
            (1308849128.25, False, "2011-06-23T17:12:08Z"),
        ],
    )
    def test_a_date_is_utc(self, seconds, fraction, text):
        """A date is UTC, to the millisecond or to the second."""
        assert iso(seconds, fraction=fraction) == text


class TestOriginals:
    @given(st.lists(st.tuples(st.booleans(), st.integers(0, 30)), max_size=200), st.integers(1, 12))
    def test_what_is_remembered_is_true_and_bounded(self, steps, limit):
        """It never exceeds the limit, finds what was added last, and keeps the half used most
        recently.
        """
        originals, twin, met = RecentPayloads(limit), {}, []
        for is_new, number in steps:
            if is_new:
                twin[number] = (f"id{len(met)}", f"http://{number}", "date")
                originals.add(str(number), *twin[number])
            found = originals.find(str(number))
            assert found in (None, twin.get(number))
            recent = list(dict.fromkeys(reversed(met)))[: limit // 2]
            assert found is not None or (not is_new and number not in recent)
            if found:
                met.append(number)
            assert len(originals) <= max(2, limit)

        assert repr(originals).startswith(f"<RecentPayloads {len(originals)} ")

    def test_popular_payloads_stay(self):
        """A payload found in every generation is never dropped, however many others come."""
        originals = RecentPayloads(100)
        originals.add("popular", "id", "http://a.test/", "date")
        for number in range(10_000):
            originals.add(f"other{number}", "x", "x", "x")
            if number % 49 == 0:
                assert originals.find("popular") == ("id", "http://a.test/", "date")


def test_identifiers_are_uuids_of_version_4(tmp_path):
    """Version and variant are where RFC 9562 puts them; two random generators give two series."""
    ids = []
    for seed in (1, 2):
        archive = Archive(tmp_path / str(seed), seed=seed)
        for number in range(70):
            archive.write(exchange(f"http://a.test/{number}"))
        archive.stop()
        (path,) = files(tmp_path / str(seed))
        ids += [one_record(data).fields["WARC-Record-ID"] for data in members(path.read_bytes())]

    assert len(ids) > 400
    assert all(UUID.fullmatch(text) for text in ids)
    assert len(set(ids)) == len(ids)
    assert {text[29] for text in ids} == set("89ab")


# -- What was spoken: fields that other readers of archives know.

JWARC = sorted(Path("~/.m2/repository/org/netpreserve/jwarc").expanduser().glob("*/jwarc-*.jar"))
HTTP_10 = b"HTTP/1.0 200 OK\r\n\r\n"
TLS = "TLSv1.2 ECDHE-RSA-AES128-GCM-SHA256"
FIELDS = ["WARC-Protocol: http/1.1", "WARC-Protocol: tls/1.2"]
SUITE = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"


@pytest.mark.parametrize(
    ("made", "found"),
    [
        (exchange(), FIELDS[:1]),
        (exchange(head=HTTP_10), ["WARC-Protocol: http/1.0"]),
        (exchange(tls=TLS), [*FIELDS, f"WARC-Cipher-Suite: {SUITE}"]),
        (exchange(tls="TLSv1 UNHEARD-OF"), ["WARC-Protocol: http/1.1", "WARC-Protocol: tls/1.0"]),
        (exchange("ftp://a.test/x", head=b""), ["WARC-Protocol: ftp"]),
        (exchange(head=b"ICY 200 OK\r\n\r\n"), []),
        (exchange(made_by="handler"), []),
        (exchange(made_by="handler", protocol="h2"), ["WARC-Protocol: h2"]),
        (exchange(made_by="handler", protocol="HTTP/1.1"), ["WARC-Protocol: http/1.1"]),
    ],
)
def test_protocols_from_the_top_down(made, found):
    """One field per protocol that is known to have been spoken, then IANA's name of the cipher
    suite.
    """
    assert protocol_fields(made).splitlines() == found


@pytest.mark.skipif(
    shutil.which("openssl") is None, reason="the command openssl knows both names, and is not here"
)
def test_suites_have_their_registered_names():
    """Every suite with certificates that OpenSSL offers gets the name that OpenSSL says the
    standard has for it.
    """
    command = ["openssl", "ciphers", "-stdname", "ALL:COMPLEMENTOFALL:@SECLEVEL=0"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    names = {line.split()[2]: line.split()[0] for line in listed}
    others = ("anon", "PSK", "SRP", "NULL")

    assert len(names) > 50
    assert {name: iana_suite(name) for name in names} == {
        name: "" if any(word in known for word in others) else known
        for name, known in names.items()
    }


@pytest.fixture(name="path", scope="module")
def _path(tmp_path_factory):
    archive = Archive(tmp_path_factory.mktemp("archive"))
    archive.write(exchange("https://a.test/", b"<p>hello", tls=TLS, certificate="sha256:00"))
    archive.stop()
    (path,) = files(archive.root)
    return path


class TestReaders:
    def test_warcio(self, path):
        """It gives both fields of request, response and metadata, and none of the warcinfo record."""
        with path.open("rb") as file:
            found = {
                record.rec_type: [
                    value for name, value in record.rec_headers.headers if name == "WARC-Protocol"
                ]
                for record in ArchiveIterator(file)
            }

        said = ["http/1.1", "tls/1.2"]
        assert found == {"warcinfo": [], "response": said, "request": said, "metadata": said}

    def test_fastwarc(self, path):
        """It gives all of them in their order."""
        with path.open("rb") as file:
            found = [list(record.headers) for record in FastIterator(file, parse_http=False)]

        assert [("WARC-Cipher-Suite", SUITE) in pairs for pairs in found] == [
            False,
            True,
            True,
            True,
        ]
        for pairs in found[1:]:
            assert [
                f"{name}: {value}" for name, value in pairs if name == "WARC-Protocol"
            ] == FIELDS

    @pytest.mark.skipif(
        not JWARC or shutil.which("java") is None,
        reason="needs Java, and jwarc: mvn dependency:get -Dartifact=org.netpreserve:jwarc:0.31.1",
    )
    def test_jwarc(self, path):
        """It finds the records by the suite, and reads each of them."""
        rule = f'warc-cipher-suite == "{SUITE}"'
        command = [
            "java",
            "-Xshare:auto",
            "-cp",
            JWARC[-1],
            "org.netpreserve.jwarc.tools.WarcTool",
            "filter",
            rule,
        ]
        done = subprocess.run([*command, path], capture_output=True, check=True)
        data = gzip.decompress(done.stdout) if done.stdout[:2] == b"\x1f\x8b" else done.stdout

        assert data.count(b"WARC/1.1\r\n") == 3
        assert data.count(b"\r\nWARC-Protocol: http/1.1\r\nWARC-Protocol: tls/1.2\r\n") == 3
