"""Sizes of images, from their headers alone."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.content.image_headers import HEAD, image_of

SAMPLES = Path(__file__).with_name("samples")  # made by Pillow, 7 pixels wide and 5 high
BODIES = {path.name: path.read_bytes() for path in sorted(SAMPLES.iterdir())}
FORMATS = {"jpg": "jpeg"}

PROLOG = "<?xml version='1.0'?>\n<!-- <svg width='1'> -->\n<!DOCTYPE svg [<!ENTITY a 'b>'>]>\n"


@pytest.mark.parametrize("name", sorted(BODIES.keys() - {"icon.ico"}))
def test_every_format(name):
    """Format, width and height of what another program wrote."""
    kind = name.partition(".")[2]

    assert image_of(BODIES[name]) == (FORMATS.get(kind, kind), 7, 5)


def test_an_icon_is_as_large_as_its_largest_image():
    """A file of several images has the size of the largest."""
    assert image_of(BODIES["icon.ico"]) == ("ico", 32, 32)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("<svg width='10' height=\"20.4px\"/>", (10, 20)),
        (f"{PROLOG}<svg width='1in' height='96pt'>", (96, 128)),
        ("<svg:svg xmlns:svg='x' width='100%' height='2' viewBox='0 0 30, 40'>", (30, 2)),
        ("<svg viewBox='0,0,5,6' stroke-width='9'>", (5, 6)),
        ("\ufeff <svg>", (0, 0)),
        ("<svg width='.' height='-3' viewBox='a b c d'>", (0, 0)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_svg_in_css_pixels(text, size, encoding):
    """Units become pixels; what is no fixed length gives way to viewBox."""
    assert image_of(text.encode(encoding)) == ("svg", *size)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<html><svg width='1' height='1'></html>",
        "<svgx width='1'>",
        "<svg width='1'",
        "svg",
        "<?xml?>",
    ],
)
def test_what_is_no_svg(text):
    """A document that merely contains one, or breaks off, is none."""
    assert image_of(text.encode()) is None


@pytest.mark.parametrize("name", sorted(BODIES))
def test_truncated_anywhere(name):
    """An image that is truncated has its size, or none."""
    whole = image_of(BODIES[name])
    for length in range(len(BODIES[name])):
        found = image_of(BODIES[name][:length])
        assert found is None or found == whole


@given(
    st.sampled_from(sorted(BODIES)), st.binary(max_size=40), st.integers(0, 400), st.integers(0, 40)
)
def test_any_damage(name, noise, at, gone):
    """Bytes that were replaced or removed never make it raise, and no number is negative."""
    body = BODIES[name]
    found = image_of(body[:at] + noise + body[at + gone :])

    assert found is None or min(found[1:]) >= 0


HOSTILE = {
    "gif": b"GIF89a" + bytes(7) + b"\x2c" * 11 + b"\x21\x00\x00" * 300_000,
    "png": BODIES["still.png"][:33] + b"\0\0\0\0tEXt\0\0\0\0" * 80_000,
    "jpeg": b"\xff\xd8" + b"\xff\xe0\0\2" * 250_000,
    "fill": b"\xff\xd8" + b"\xff" * 1_000_000,
    "stuck": b"\xff\xd8" + b"\xff\xe0\0\0" * 250_000,
    "webp": b"RIFF\0\0\0\0WEBPVP8X\n\0\0\0\2" + bytes(9) + b"ANMF\0\0\0\0" * 100_000,
    "boxes": b"\0\0\0\x14ftypavis\0\0\0\0avif" + b"\0\0\0\x08meta" * 100_000,
    "endless": b"\0\0\0\x14ftypavis\0\0\0\0avif" + b"\0\0\0\0meta\0\0\0\0" * 100_000,
    "svg": b"<!--" * 10_000 + b"<!DOCTYPE[" * 3000,
    "spaces": b"<svg width='" + b" " * 60_000 + b"x' height='" + b"1" * 3000 + b"'>",
    "attributes": b"<svg" + b" width='" * 8000 + b">",
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_hostile_headers_end(name):
    """A megabyte of headers is read once, or left: nothing is looked at again and again."""
    image_of(HOSTILE[name])


def test_svg_looks_at_the_head_alone():
    """An element that begins later is not found."""
    assert image_of(b" " * HEAD + b"<svg width='1' height='1'>") is None
