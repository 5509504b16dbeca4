"""What the processing modules read of a page: images, start tags, fingerprints."""

from collections.abc import Iterator
from pathlib import Path

from tests.fuzzing.target import Target, folder
from webcrawl.content.image_headers import image_of
from webcrawl.content.near_duplicates import fingerprint
from webcrawl.crawl.outputs.tags import OTHER, TagCounts, start_tags

SAMPLES = Path(__file__).parent.parent / "content" / "images" / "samples"


def images(data: bytes) -> None:
    """Numbers are not negative, and hostile headers end."""
    found = image_of(data)
    assert found is None or min(found[1:]) >= 0


def texts(data: bytes) -> None:
    """Each start tag begins at a `<` of its own, counts are bounded, and a fingerprint has 64 bits."""
    names = start_tags(data)
    assert len(names) <= data.count(b"<")
    counts = TagCounts(others=3)
    counts.add(names)
    rows = counts.rows()
    assert sum(count for _, count, _ in rows) == len(names)
    assert all(on == 1 and (name == OTHER or name.isascii()) for name, _, on in rows)
    number = fingerprint(data.decode("utf-8", "replace"))
    assert number is None or 0 <= number < 1 << 64


def _pages() -> Iterator[bytes]:
    place = folder("malicious")
    if place is not None:
        yield from (path.read_bytes() for path in sorted((place / "xml").iterdir()))


TARGETS = [
    Target("images", images, [*map(Path.read_bytes, sorted(SAMPLES.iterdir())), b"<svg width='1' viewBox='0 0 2 3'/>"],
           [b"\xff\xd8\xff", b"\xff\xc0\x00\x08", b"ispe", b"meta", b"acTL", b"ANMF", b"\x2c", b"\x00\x00\x00\x01",
            b"<!--", b"svg"]),
    Target("texts", texts, [b"<p>a<script><b></script><!-- <i> --><x-y>" + b" ".join(b"w%d" % n for n in range(30))],
           [b"<!--", b"-->", b"</script", b"<title", b">", b"<a", "字ไทย".encode(), b" "], _pages),
]  # fmt: skip
