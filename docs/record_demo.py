"""Records `webcrawl demo` and a look at its results as docs/demo.svg: `python docs/record_demo.py`.

The commands run in a pseudo-terminal, and what they print is what is drawn. A browser replays the session once, in real
time; any other viewer shows its last screen.
"""  # noqa: INP001 - a script beside the pages that show its picture

from __future__ import annotations

import codecs
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from shutil import rmtree
from termios import tcsetwinsize
from typing import NamedTuple

PICTURE = Path(__file__).with_name("demo.svg")
ROWS, COLUMNS = 24, 110
CHARACTER, LINE = 8.4, 20  # pixels: the width of one, the height of the other
MARGIN, BAR = 18, 34  # pixels: around the text, above it
SHORTEST = 0.01  # seconds: an animation of none would have no end
WINDOW = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" role="img"
 xml:space="preserve">
<title>webcrawl demo, recorded</title>
<style>
text {{ font: 14px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #e6edf3; white-space: pre }}
.prompt {{ fill: #7ee787 }}
</style>
<rect width="{wide}" height="{high}" rx="8" fill="#0d1117"/>
<circle cx="20" cy="17" r="5.5" fill="#ff5f57"/>
<circle cx="38" cy="17" r="5.5" fill="#febc2e"/>
<circle cx="56" cy="17" r="5.5" fill="#28c840"/>
"""
TOKENS = re.compile(r"\x1b\[\??[0-9;]*[A-Za-z]|[\r\n]|[^\x1b\r\n]+")
UNFINISHED = re.compile(r"\x1b(\[\??[0-9;]*)?$")
WITHOUT_EFFECT = re.compile(r"\x1b\[(\?25[hl]|[0-9;]*m)")  # the cursor shown or hidden; colours
JOBDIR = re.compile(r"\S*webcrawl-demo-\w+")

Frame = tuple[float, tuple[str, ...]]  # seconds, lines


class Span(NamedTuple):
    """A line of the screen and when it is shown; `end` is None for a line of the last screen."""

    row: int
    text: str
    begin: float
    end: float | None


class Screen:
    """As much of a terminal as a line rewritten in place needs. Any other escape sequence is a ValueError."""

    def __init__(self) -> None:
        self._lines, self._row, self._column = [""], 0, 0
        self._decoder, self._rest = codecs.getincrementaldecoder("utf-8")(), ""

    def feed(self, data: bytes) -> None:
        """Data may end in the middle of a character or of an escape sequence."""
        text = self._rest + self._decoder.decode(data)
        unfinished = UNFINISHED.search(text)
        cut = unfinished.start() if unfinished else len(text)
        self._rest = text[cut:]
        for token in TOKENS.findall(text[:cut]):
            self._apply(token)

    def lines(self) -> tuple[str, ...]:
        """What is to be seen, long lines wrapped."""
        shown = [
            line[at : at + COLUMNS]
            for line in self._lines
            for at in range(0, len(line) or 1, COLUMNS)
        ]
        return tuple(shown if shown[-1] else shown[:-1])

    def _apply(self, control: str) -> None:
        if control == "\r":
            self._column = 0
        elif control == "\n":
            self._row += 1
            self._lines += [""] * (self._row + 1 - len(self._lines))
        elif control == "\x1b[2K":
            self._lines[self._row] = ""
        elif control.startswith("\x1b[") and control.endswith("A"):
            self._row -= int(control[2:-1] or 1)
        elif not control.startswith("\x1b"):
            self._write(control)
        elif not WITHOUT_EFFECT.fullmatch(control):
            raise ValueError(f"unknown escape sequence {control!r}")

    def _write(self, text: str) -> None:
        line = self._lines[self._row].ljust(self._column)
        self._lines[self._row] = line[: self._column] + text + line[self._column + len(text) :]
        self._column += len(text)


class Recording:
    """The screens of a session, each with the seconds since its beginning."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self._screen, self._begun = Screen(), time.monotonic()

    def run(self, command: str) -> str:
        """Runs a shell command that must succeed; returns the screen after it."""
        self._show(f"$ {command}\r\n".encode())
        for data in _output(command):
            self._show(data)
        return "\n".join(self._screen.lines())

    def _show(self, data: bytes) -> None:
        self._screen.feed(data)
        self.frames.append((time.monotonic() - self._begun, self._screen.lines()))


def spans(frames: Iterable[Frame]) -> list[Span]:
    """The lines of all screens; a line that stays the same is one span."""
    shown: dict[int, tuple[str, float]] = {}
    passed = []
    for now, lines in frames:
        for row in range(max(len(lines), len(shown))):
            text = lines[row] if row < len(lines) else ""
            before, since = shown.setdefault(row, (text, now))
            if text != before:
                passed += [Span(row, before, since, now)] * (now - since >= SHORTEST)
                shown[row] = text, now
    last = [Span(row, text, since, None) for row, (text, since) in shown.items()]
    return [span for span in passed + last if span.text]


def picture(lines: list[Span]) -> str:
    """The session as an SVG: a window, and each line with the time at which it is shown."""
    wide = round(COLUMNS * CHARACTER + 2 * MARGIN)
    high = BAR + (max(line.row for line in lines) + 1) * LINE + MARGIN
    return WINDOW.format(wide=wide, high=high) + "".join(map(_drawn, lines)) + "</svg>\n"


def _drawn(line: Span) -> str:
    """Lines of the last screen are hidden at first, all others shown for a while; a still viewer ignores both."""
    x, y = MARGIN, BAR + line.row * LINE + 14
    style = ' class="prompt"' if line.text.startswith("$ ") else ""
    if line.end is not None:
        style += ' visibility="hidden"'
        change = _set("visible", line.begin, line.end)
    else:
        change = _set("hidden", 0, line.begin) if line.begin >= SHORTEST else ""
    wide = len(line.text) * CHARACTER
    text = escape(line.text, quote=False)
    return f'<text x="{x}" y="{y}" textLength="{wide:.1f}"{style}>{text}{change}</text>\n'


def _set(to: str, begin: float, end: float) -> str:
    return (
        f'<set attributeName="visibility" to="{to}" begin="{begin:.2f}s" dur="{end - begin:.2f}s"/>'
    )


def _output(command: str) -> Iterator[bytes]:
    """What a command writes to its terminal, as it is written."""
    ours, its = os.openpty()
    tcsetwinsize(its, (ROWS, COLUMNS))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    with subprocess.Popen(  # noqa: S602 - the commands of this script
        command,
        shell=True,
        stdin=its,
        stdout=its,
        stderr=its,
        cwd=PICTURE.parents[1],
        env={**os.environ, "PATH": path},
    ) as process:
        os.close(its)
        while data := _read(ours):
            yield data
    os.close(ours)
    if process.returncode:
        raise SystemExit(f"{command}: exit status {process.returncode}")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # EIO: no process has the other end open
        return b""


def main() -> None:
    session = Recording()
    jobdir = JOBDIR.findall(session.run("webcrawl demo --seconds 15"))[0]
    session.run(f"webcrawl verify {jobdir}")
    session.run(f"tail -n 3 {jobdir}/logs/crawl.log | cut -c 1-{COLUMNS}")
    rmtree(jobdir)
    PICTURE.write_text(picture(spans(session.frames)), encoding="utf-8")


if __name__ == "__main__":
    main()
