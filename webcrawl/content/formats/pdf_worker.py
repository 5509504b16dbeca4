"""The process that reads PDFs: `python -m webcrawl.content.formats.pdf_worker` (reader_worker.py)."""

from __future__ import annotations

from webcrawl.content.formats import pdf
from webcrawl.content.formats.reader_worker import serve

MEMORY = 512 << 20  # bytes of address space
SOFT, HARD = 3.0, 6.0  # seconds of CPU time for a PDF: after the first no page is begun, at the second it is killed


def main() -> None:
    """Reads one PDF after the other."""
    _check()
    serve(_read, memory=MEMORY, seconds=HARD)


def _read(body: bytes) -> tuple[list[str], str]:
    try:
        found, whole = pdf.links(body, seconds=SOFT)
    except ValueError:
        return [], "pdf:unreadable"
    return found, "" if whole else "pdf:cut"


def _check() -> None:
    """Loads the library, while there is room for it."""
    try:
        pdf.links(b"")
    except ValueError:
        return


if __name__ == "__main__":
    main()
