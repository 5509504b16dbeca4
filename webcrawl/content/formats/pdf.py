"""The contents of a PDF, by pdfium: its links and its text. Run it in a process of its own (pdf_worker.py)."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from webcrawl.base.libraries import MissingLibraryError

MOST = 10_000  # addresses
LONGEST = 1 << 16  # characters of one address
CHARACTERS = 1 << 22  # of all of them, and of text


def links(body: bytes, *, seconds: float = float("inf")) -> tuple[list[str], bool]:
    """The addresses of link annotations and those that stand in the text, each once; and whether all pages were read.

    No page is begun after so many seconds of CPU time. ValueError if it is no PDF, or one that needs a password.
    """
    found: dict[str, None] = {}
    pdfium, whole, room = _pdfium(), True, CHARACTERS
    with _document(body) as document:
        for page in _pages(document, seconds):
            if page is None or len(found) >= MOST or room <= 0:
                whole = False
                break
            for url in (*_annotated(pdfium, document, page), *_written(pdfium, page)):
                if 0 < len(url) <= LONGEST and room > 0 and url not in found:
                    found[url] = None
                    room -= len(url)
    return list(found)[:MOST], whole


def text(body: bytes, *, seconds: float = float("inf")) -> str:
    """The text of the pages, as far as it is known in so many seconds of CPU time, each on lines of its own."""
    pieces: list[str] = []
    room = CHARACTERS
    with _document(body) as document:
        for page in _pages(document, seconds):
            if page is None or room <= 0:
                break
            pieces.append(page.get_textpage().get_text_bounded()[:room])
            room -= len(pieces[-1])
    return "\n".join(pieces)


def _pdfium() -> Any:
    try:
        from pypdfium2 import raw  # noqa: PLC0415 - optional
    except ImportError as error:
        raise MissingLibraryError("pypdfium2", error) from error
    return raw


def _document(body: bytes) -> Any:
    try:
        from pypdfium2 import PdfDocument, PdfiumError  # noqa: PLC0415 - optional
    except ImportError as error:
        raise MissingLibraryError("pypdfium2", error) from error
    try:
        return PdfDocument(body)
    except PdfiumError as error:
        raise ValueError(str(error)) from error


def _pages(document: Any, seconds: float) -> Iterator[Any]:
    """Each page that can be read, open until the next one is; None once the time is over."""
    from pypdfium2 import PdfiumError  # noqa: PLC0415 - optional

    end = time.process_time() + seconds
    for at in range(len(document)):
        if time.process_time() > end:
            yield None
            return
        try:
            page = document[at]
        except PdfiumError:
            continue
        try:
            yield page
        finally:
            page.close()


def _annotated(pdfium: Any, document: Any, page: Any) -> Iterator[str]:
    at, link = ctypes.c_int(0), pdfium.FPDF_LINK()
    while pdfium.FPDFLink_Enumerate(page.raw, ctypes.byref(at), ctypes.byref(link)):
        action = pdfium.FPDFLink_GetAction(link)
        if action and pdfium.FPDFAction_GetType(action) == pdfium.PDFACTION_URI:
            yield _filled(partial(pdfium.FPDFAction_GetURIPath, document.raw, action))


def _filled(fill: Callable[[Any, int], int]) -> str:
    size = fill(None, 0)
    if not 0 < size <= LONGEST:
        return ""
    buffer = ctypes.create_string_buffer(size)
    fill(buffer, size)
    return buffer.value.decode("utf-8", "replace").strip()


def _written(pdfium: Any, page: Any) -> Iterator[str]:
    """Return what pdfium takes for an address in the text, put together over the ends of lines."""
    textpage = page.get_textpage()
    found = pdfium.FPDFLink_LoadWebLinks(textpage.raw)
    try:
        for at in range(min(pdfium.FPDFLink_CountWebLinks(found), MOST)):
            size = pdfium.FPDFLink_GetURL(found, at, None, 0)  # of two bytes each
            if 0 < size <= LONGEST:
                buffer = (ctypes.c_ushort * size)()
                pdfium.FPDFLink_GetURL(found, at, buffer, size)
                yield bytes(buffer).decode("utf-16-le", "replace").rstrip("\0").strip()
    finally:
        pdfium.FPDFLink_CloseWebLinks(found)
        textpage.close()
