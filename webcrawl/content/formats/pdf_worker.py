"""The process that reads PDFs: `python -m webcrawl.content.formats.pdf_worker [links] [text]` (reader_worker.py)."""

from __future__ import annotations

import codecs
import sys

from webcrawl.content.formats import pdf
from webcrawl.content.formats.reader_worker import serve

MEMORY = 512 << 20  # bytes of address space
SOFT, HARD = 3.0, 6.0  # seconds of CPU time for a PDF: after the first no page is begun, at the second it is killed
LINKS, TEXT = "links", "text"
CUT = "pdf:cut"  # a note: there may be more


def main() -> None:
    """Reads one PDF after the other."""
    _check()
    serve(_read, memory=MEMORY, seconds=HARD, files=0)


def _read(body: bytes) -> tuple[list[str], str, str, str]:
    try:
        found = pdf.contents(body, links=LINKS in sys.argv, text=TEXT in sys.argv, seconds=SOFT)
    except ValueError:
        return [], "", "", "pdf:unreadable"
    links, title, text, whole = found
    return links, title, text, "" if whole else CUT


def _check() -> None:
    """Loads the library and the one codec that Python loads late, while there is room, and files can be opened."""
    codecs.lookup("utf-16-le")
    try:
        pdf.contents(b"")
    except ValueError:
        return


if __name__ == "__main__":
    main()
