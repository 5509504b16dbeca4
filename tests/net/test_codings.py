"""Content codings: the same output for any pieces, and never more than allowed."""

import gzip
import resource
import struct
import tracemalloc
import zlib
from itertools import pairwise
from random import Random

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.archive_files import member
from tests.support.cases import cases
from webcrawl.adapter.foreign_handlers import ParsedAnswer
from webcrawl.net.codings import (
    ACCEPTED,
    CODINGS,
    Decoder,
    UnknownCoding,
    decoder,
    most_coded,
    zstd,
)

LIMIT = 100_000


def _raw_deflate(data):
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


ENCODERS = {
    "gzip": (b"gzip", gzip.compress),
    "x-gzip": (b"x-gzip", gzip.compress),
    "zlib": (b"deflate", zlib.compress),
    "raw": (b"deflate", _raw_deflate),
    "br": (b"br", lambda data: brotli.compress(data, quality=4)),
    "zstd": (b"zstd", zstd.compress),
}
PAGES = st.one_of(
    st.binary(max_size=3000),
    st.builds(
        lambda piece, times: piece * times, st.binary(min_size=1, max_size=40), st.integers(1, 4000)
    ),
)


class Counted:
    """A coding that notes how many bytes each step has given."""

    def __init__(self, coding, sizes):
        self.coding, self.sizes = coding, sizes

    def __getattr__(self, name):
        return getattr(self.coding, name)

    def decompress(self, data, most):
        made = self.coding.decompress(data, most)
        self.sizes.append(len(made))
        return made


@pytest.fixture(name="decoded")
def _decoded(monkeypatch):
    """The sizes of all that is decoded, by whatever stage."""
    sizes = []
    for name, make in CODINGS.items():
        monkeypatch.setitem(CODINGS, name, lambda make=make: Counted(make(), sizes))
    return sizes


def decode(codings, data, limit=LIMIT, piece=None):
    made = Decoder(codings, limit)
    for start in range(0, len(data), piece or len(data) or 1):
        made.feed(data[start : start + (piece or len(data))])
    made.finish()
    return made


def text(size):
    return b"".join(
        b"<a href=/page/%d>%d</a>\n" % (number * 7919, number) for number in range(size // 20)
    )[:size]


@pytest.mark.parametrize("kind", ["gzip", "x-gzip", "zlib"])
def test_a_stream_without_its_checksum_is_not_truncated(kind):
    """A stream whose checksum has not all come is broken, but nothing of its content is missing."""
    name, encode = ENCODERS[kind]
    made = decode([name], encode(text(5000))[:-1])

    assert (made.body, made.broken, made.truncated) == (text(5000), True, False)


@pytest.mark.parametrize("kind", ENCODERS)
class TestEveryCoding:
    @given(page=PAGES, splits=st.lists(st.integers(0, 4000), max_size=8))
    def test_any_split_of_the_stream_gives_the_page(self, kind, page, splits):
        """However the stream is split into pieces, the whole page comes out and the stream is
        complete.
        """
        name, encode = ENCODERS[kind]
        coded = encode(page)
        made = Decoder([name], 200_000)
        edges = [0, *sorted(min(split, len(coded)) for split in splits), len(coded)]
        for start, end in pairwise(edges):
            made.feed(coded[start:end])
        made.finish()

        assert (made.body, made.broken, made.full) == (page, False, False)

    def test_a_stream_that_ends_early_gives_what_was_there(self, kind):
        """What can be decoded of a stream without its end is kept, and the stream is broken."""
        name, encode = ENCODERS[kind]
        page = text(300_000)
        coded = encode(page)
        made = decode([name], coded[: len(coded) // 2], limit=400_000, piece=4096)

        assert made.broken
        assert made.truncated
        assert page.startswith(made.body)
        assert name == b"br" or len(made.body) > 50_000  # brotli may hold a megabyte back

    def test_the_limit_is_exact(self, kind):
        """No byte beyond the limit is returned, and a page of exactly that size is not truncated."""
        name, encode = ENCODERS[kind]
        page = text(LIMIT)
        whole, full = decode([name], encode(page)), decode([name], encode(page + b"!"))

        assert (whole.body, whole.full) == (page, False)
        assert (full.body, full.full) == (page, True)

    @pytest.mark.parametrize(
        "page", [b"", b"x" * 65536, b"x" * 300_000, text(5000), text(400_000)], ids=len
    )
    @pytest.mark.parametrize("held", [0, 1, 1000, 10**6])
    def test_what_follows_the_stream_is_ignored(self, kind, page, held):
        """Garbage after the end does no harm, in the piece in which the stream ends or in the next
        one.
        """
        name, encode = ENCODERS[kind]
        coded = encode(page)
        at = max(len(coded) - held, 0)
        made = Decoder([name], 500_000)
        for piece in (coded[:at], coded[at:] + b"\0 rubbish", b" and more"):
            made.feed(piece)
        made.finish()

        assert (made.body, made.broken, made.full) == (page, False, False)

    @given(
        page=PAGES,
        junk=st.binary(min_size=1, max_size=30),
        splits=st.lists(st.integers(0, 4000), max_size=4),
    )
    def test_the_page_is_whole_whatever_follows(self, kind, page, junk, splits):
        """Whatever follows the end, and however it is split, the page before it is kept."""
        name, encode = ENCODERS[kind]
        coded = encode(page) + junk
        made = Decoder([name], 200_000)
        for start, end in pairwise(
            [0, *sorted(min(split, len(coded)) for split in splits), len(coded)]
        ):
            made.feed(coded[start:end])

        assert made.body[: len(page)] == page

    def test_a_wrong_label_is_noticed(self, kind):
        """Plain text labelled as a coding is broken before there is any output."""
        made = decode([ENCODERS[kind][0]], b"<html>this is no coded stream at all</html>")

        assert made.broken
        assert not made.truncated
        assert not made.started

    @given(page=PAGES, junk=st.binary(min_size=1, max_size=30), at=st.integers(0, 3000))
    def test_damage_never_raises(self, kind, page, junk, at):
        """A stream damaged anywhere ends in bytes or in `broken`, never in an exception."""
        name, encode = ENCODERS[kind]
        coded = encode(page)
        made = decode([name], coded[:at] + junk + coded[at + len(junk) :])

        assert len(made.body) <= LIMIT

    def test_a_bomb_costs_little(self, kind, decoded):
        """Decoding many megabytes from a small stream stops as soon as the limit is reached."""
        name, encode = ENCODERS[kind]
        bomb = encode(bytes(64 * 2**20))
        tracemalloc.start()
        made = decode([name], bomb)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()

        assert made.full
        assert peak < 12 * 2**20
        assert sum(decoded) < LIMIT + 3 * 65536


class TestBrotli:
    @pytest.mark.parametrize("junk", [b"", b"\xff" * 40])
    def test_a_large_stream_loses_its_last_piece_at_the_most(self, junk):
        """The end is searched in the first 256 KiB of a stream; of a larger one all but the last
        piece is kept.
        """
        page = Random(1).randbytes(400_000)
        coded = brotli.compress(page, quality=1) + junk
        made = decode([b"br"], coded, limit=500_000, piece=50_000)

        assert page.startswith(made.body)
        assert len(made.body) > 300_000
        assert made.broken == bool(junk)

    def test_a_bounded_part_of_a_stream_is_kept_beside_what_it_makes(self):
        """At most 256 KiB are kept to be decoded again."""
        coding = CODINGS[b"br"]()
        packed = brotli.compress(Random(1).randbytes(400_000), quality=1)
        tracemalloc.start()
        kept = []
        for start in range(0, len(packed), 50_000):
            coding.decompress(packed[start : start + 50_000], 1 << 20)
            kept.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()

        assert max(kept) <= (256 << 10) + 10_000
        assert coding.eof


class TestMembers:
    @pytest.mark.parametrize(
        "header",
        [
            {"time": 1, "system": 3},
            {"extra": b"sl\4\0\1\2\3\4"},
            {"name": b"a.html"},
            {"comment": b"packed"},
            {"checked": True},
            {"name": b"a.html", "checked": True},
            {"extra": b"xy", "name": b"a.html", "comment": b"packed", "checked": True},
        ],
        ids=" ".join,
    )
    def test_a_gzip_header_with_fields(self, header):
        """Whatever RFC 1952 allows in a header is read, wherever the stream is split."""
        coded = member(text(300), **header)
        for split in range(len(coded)):
            made = Decoder([b"gzip"], LIMIT)
            made.feed(coded[:split])
            made.feed(coded[split:])
            made.finish()

            assert (made.body, made.broken) == (text(300), False), split
        assert decode([b"gzip"], coded, piece=1).body == text(300)

    @pytest.mark.parametrize("kind", ["gzip", "zstd"])
    @pytest.mark.parametrize("piece", [1, 3, 1000])
    def test_streams_one_after_the_other(self, kind, piece):
        """Several gzip members or zstd frames in a row are one page."""
        name, encode = ENCODERS[kind]
        made = decode([name], encode(b"one ") + encode(b"") + encode(b"two"), piece=piece)

        assert (made.body, made.broken) == (b"one two", False)

    def test_endless_empty_members_end(self):
        """A million empty gzip members are not read to the end."""
        made = Decoder([b"gzip"], LIMIT)
        piece = gzip.compress(b"") * 3000
        made.feed(gzip.compress(b"page"))
        for _ in range(300):
            made.feed(piece)
        made.feed(gzip.compress(b"more"))

        assert made.body == b"page"

    def test_a_wrong_checksum_costs_nothing_of_the_page(self):
        """A gzip member with a wrong checksum gives its content, and is broken."""
        coded = gzip.compress(text(40_000))
        made = decode([b"gzip"], coded[:-8] + b"\0" * 8)

        assert made.body == text(40_000)
        assert made.broken

    @pytest.mark.parametrize("piece", [None, 1])
    def test_a_wrong_size_costs_nothing_of_the_page(self, piece):
        """A zstd frame whose header has another size gives its content, whether it comes whole or
        in pieces.
        """
        # 9 bytes, it says
        frame = b"\x28\xb5\x2f\xfd\x20\x09" + b"\x20\x00\x00page" + b"\x01\x00\x00"

        assert decode([b"zstd"], frame, piece=piece).body == b"page"

    def test_a_skippable_frame_is_skipped(self):
        """A zstd frame without content is skipped."""
        frame = struct.pack("<II", 0x184D2A53, 5) + b"12345"

        assert (
            decode([b"zstd"], zstd.compress(b"one ") + frame + zstd.compress(b"two"), piece=2).body
            == b"one two"
        )

    def test_a_window_larger_than_allowed_is_refused(self):
        """A zstd stream that needs more memory than RFC 9659 allows is broken."""
        options = {
            zstd.CompressionParameter.window_log: 27,
            zstd.CompressionParameter.enable_long_distance_matching: 1,
        }
        packer = zstd.ZstdCompressor(options=options)
        coded = packer.compress(text(1000)) + packer.flush()

        assert decode([b"zstd"], coded).broken


class TestNesting:
    def test_codings_are_undone_from_the_last_to_the_first(self):
        """Content-Encoding lists codings in the order in which they were applied."""
        page = text(30_000)
        coded = brotli.compress(gzip.compress(zlib.compress(page)))

        assert decode([b"deflate", b"gzip", b"br"], coded, piece=100).body == page

    def test_a_bomb_in_a_bomb_is_bounded_in_the_middle(self, decoded):
        """The output of an intermediate stage is bounded too, even if nothing comes out at the end."""
        hollow = zstd.compress(b"") + (struct.pack("<II", 0x184D2A50, 2**30) + bytes(2**26))
        made = Decoder([b"zstd", b"gzip"], LIMIT)
        made.feed(gzip.compress(hollow, 1))

        assert made.full
        assert made.body == b""
        assert sum(decoded) < 2 * LIMIT + 3 * 65536

    def test_labels_that_say_nothing(self):
        """Identity and none are no coding."""
        assert decoder([b"identity", b"none"], LIMIT) is None
        assert decoder([b"gzip", b"identity"], LIMIT) is not None

    @pytest.mark.parametrize("codings", [[b"compress"], [b"gzip", b"utf-8"], [b"gzip"] * 5])
    def test_what_we_do_not_undo(self, codings):
        """An unknown coding, or too many codings, raise UnknownCoding."""
        with pytest.raises(UnknownCoding):
            decoder(codings, LIMIT)

    def test_only_what_can_be_undone_is_asked_for(self):
        """Every coding in Accept-Encoding has a decoder."""
        assert {name.strip() for name in ACCEPTED.split(b",")} <= CODINGS.keys()


@pytest.mark.parametrize("kind", ["gzip", "deflate", "br", "zstd"])
def test_the_bombs_of_the_collection(kind):
    """The collected bombs stop at the limit, or end before it, with bounded memory."""
    bomb = (cases("malicious") / "compressed" / f"bomb-{kind}.bin").read_bytes()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    made = decode([kind.encode()], bomb)

    assert made.full
    assert len(made.body) == LIMIT
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 40 * 1024


def made(payload=b"<p>hello", headers=(), status=200, truncate=1000, **more):
    answer = ParsedAnswer("http://a.test/", status, list(headers), payload, **more)
    return answer.exchange(made_by="some.Handler", started=1.5, seconds=0.25, truncate=truncate)


def test_the_head_is_put_together():
    """The head has HTTP/1.1's form, whatever was spoken, and the headers as they were given."""
    found = made(
        headers=[(b"Server", b"x"), (b"Set-Cookie", b"a=1"), (b"Set-Cookie", b"b=2")], protocol="h2"
    )

    assert found.head == (
        b"HTTP/1.1 200 OK\r\nServer: x\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: 8\r\n\r\n"
    )
    assert (found.made_by, found.protocol, found.request) == ("some.Handler", "h2", b"")


def test_the_framing_of_the_wire_is_left_out():
    """The payload has neither the chunks nor the length of the wire, so the head names its own
    length only.
    """
    found = made(headers=[(b"Transfer-Encoding", b"chunked"), (b"Content-Length", b"77")])

    assert found.head == b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n"
    assert found.wire == found.payload == found.body == b"<p>hello"


@pytest.mark.parametrize("value", [b"a\r\nX: b", b"a\nX: b", b"a\rX: b", b"a\0X: b"])
def test_no_header_breaks_the_head(value):
    """A header's value cannot end its line, and a name that is none is left out."""
    assert made(headers=[(b"A", value), (b"B C", b"d"), (b"", b"e")]).head.count(b"\r\n") == 4


def test_an_unknown_status_has_no_phrase():
    """A status that is not registered has an empty reason phrase."""
    assert made(status=799).head.startswith(b"HTTP/1.1 799 \r\n")


def test_a_content_coding_is_decoded():
    """The payload keeps its content coding, the body loses it."""
    coded = gzip.compress(b"<p>hello")
    found = made(coded, [(b"Content-Encoding", b"GZIP")])

    assert (found.payload, found.body, found.truncated, found.flaws) == (coded, b"<p>hello", "", ())


@pytest.mark.parametrize(
    ("coding", "payload", "flaws"),
    [(b"gzip", b"<p>text", ("coding",)), (b"rot13", b"<p>text", ("unknown_coding",))],
)
def test_a_wrong_label_leaves_the_payload(coding, payload, flaws):
    """A body that is not in the coding named is kept as it is, with a flaw."""
    found = made(payload, [(b"Content-Encoding", coding)])

    assert (found.payload, found.body, found.truncated, found.flaws) == (
        payload,
        payload,
        "",
        flaws,
    )


def test_bodies_are_bounded():
    """Body and payload are truncated at their bounds, which is noted."""
    plain = made(b"x" * 1001)
    bomb = made(gzip.compress(b"x" * 10**6), [(b"Content-Encoding", b"gzip")])
    noise = made(bytes(range(256)) * 300, [(b"Content-Encoding", b"gzip")])

    assert (len(plain.payload), len(plain.body), plain.truncated) == (1000, 1000, "length")
    assert (len(bomb.body), bomb.truncated) == (1000, "length")
    assert (len(noise.payload), len(noise.body), noise.truncated) == (
        most_coded(1000),
        1000,
        "length",
    )


def test_the_client_s_own_reason_counts_first():
    """Why the client ended the body early is kept."""
    assert made(b"x" * 1001, truncated="disconnect").truncated == "disconnect"
