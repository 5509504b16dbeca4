"""The recorder of the README's picture: a terminal's output, to screens, to an SVG."""

from xml.etree import ElementTree as ET

import pytest

from docs.record_demo import COLUMNS, PICTURE, Screen, Span, picture, spans

SVG = "{http://www.w3.org/2000/svg}"


def screen(*chunks):
    terminal = Screen()
    for chunk in chunks:
        terminal.feed(chunk)
    return terminal.lines()


def still(svg):
    """What a viewer without animation shows."""
    return [text.text for text in ET.fromstring(svg).iter(f"{SVG}text") if text.get("visibility") != "hidden"]  # noqa: S314 - ours


class TestScreen:
    def test_a_line_rewritten_in_place(self):
        """A carriage return and an erased line leave only what was written last."""
        assert screen(b"one\r\n123 pages\r\x1b[2K45\r\n") == ("one", "45")

    def test_a_shorter_text_overwrites_its_own_length_only(self):
        """Without an erasure the rest of the line stays."""
        assert screen(b"abcdef\rxy") == ("xycdef",)

    def test_a_transient_line(self):
        """A line that is left, climbed back to and erased makes room for the next."""
        assert screen(b"\x1b[?25l12 pages\r\n\x1b[?25h\r\x1b[1A\x1b[2Kdone\r\n") == ("done",)

    def test_any_chunks(self):
        """Output that is cut anywhere, even in a character or an escape sequence, gives the same screen."""
        data = "naïve\r\x1b[2K\x1b[32mdone …\x1b[0m\r\n".encode()

        assert screen(*(bytes([byte]) for byte in data)) == screen(data) == ("done …",)

    def test_long_lines_wrap(self):
        """A line longer than the terminal is wide goes on in the next row."""
        assert screen(b"x" * (COLUMNS + 1)) == ("x" * COLUMNS, "x")

    def test_unknown_sequences(self):
        """An escape sequence that it does not know is an error, not a wrong picture."""
        with pytest.raises(ValueError, match=r"unknown escape sequence '\\x1b\[2J'"):
            screen(b"\x1b[2J")


class TestSpans:
    def test_a_line_that_stays_is_one_span(self):
        """Each line has the time at which it was written and the one at which it changed."""
        frames = [
            (0.0, ("$ demo",)),
            (1.0, ("$ demo", "1 page")),
            (2.0, ("$ demo", "2 pages")),
            (3.0, ("$ demo", "done")),
        ]

        assert spans(frames) == [
            Span(1, "1 page", 1.0, 2.0),
            Span(1, "2 pages", 2.0, 3.0),
            Span(0, "$ demo", 0.0, None),
            Span(1, "done", 3.0, None),
        ]

    def test_a_line_that_goes(self):
        """A row that the next screen does not have is empty there."""
        assert spans([(0.0, ("a", "b")), (1.0, ("a",))]) == [Span(1, "b", 0.0, 1.0), Span(0, "a", 0.0, None)]

    def test_too_short_to_be_seen(self):
        """A line that is rewritten at once is left out: SVG takes a duration of none for one without end."""
        assert spans([(0.0, ("a",)), (0.001, ("b",))]) == [Span(0, "b", 0.001, None)]


class TestPicture:
    def test_still(self):
        """Without animation the last screen is shown, with its own characters."""
        assert still(picture([Span(0, "1 <page>", 0.0, 1.0), Span(0, "a & b", 1.0, None)])) == ["a & b"]

    def test_animation(self):
        """A passing line is shown for its time; one of the last screen is hidden until it is written."""
        svg = ET.fromstring(picture([Span(0, "passing", 1.0, 2.5), Span(1, "last", 2.5, None)]))  # noqa: S314 - ours

        changes = [change.attrib for change in svg.iter(f"{SVG}set")]

        assert changes == [
            {"attributeName": "visibility", "to": "visible", "begin": "1.00s", "dur": "1.50s"},
            {"attributeName": "visibility", "to": "hidden", "begin": "0.00s", "dur": "2.50s"},
        ]

    def test_the_first_line(self):
        """A line that is there from the beginning is not animated."""
        assert "<set" not in picture([Span(0, "$ demo", 0.001, None)])

    def test_the_picture_of_the_readme(self):
        """docs/demo.svg shows a demo, what `scrapy verify` says of it, and its log."""
        lines = still(PICTURE.read_text(encoding="utf-8"))

        commands = [line for line in lines if line.startswith("$ ")]
        assert [command.split()[1:3] for command in commands] == [
            ["scrapy", "demo"],
            ["scrapy", "verify"],
            ["tail", "-n"],
        ]
        assert lines[-1].split()[1].isdigit()
