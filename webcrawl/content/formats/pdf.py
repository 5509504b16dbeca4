"""The contents of a PDF, by pdfium: its links, title and text, read in a process of its own."""

from __future__ import annotations

import codecs
import ctypes
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import partial
from typing import Any

from webcrawl.base.loading import MissingLibraryError
from webcrawl.base.url_text import address_text
from webcrawl.content.html.link_kinds import DocumentLinks
from webcrawl.content.worker import DocumentWorker, Job, WorkerDied, command_of

MOST = 10_000  # addresses
LONGEST, TITLE = 1 << 16, 1000  # characters of one address, and of the title
CHARACTERS = 1 << 22  # of all addresses
TEXT = (1 << 20) + 1  # characters: one more than outputs keep, so that they know of the rest
_HYPHEN = re.compile("[\x02\ufffe](?:\r?\n)?")  # pdfium's, of a word that goes on in the next line


def contents(
    body: bytes, *, links: bool = True, text: bool = True, seconds: float = float("inf")
) -> tuple[list[str], str, str, bool]:
    """Return addresses, title and text of a PDF, and whether all pages were read for them.

    Addresses are those of link annotations and in the text, each once. No page is begun after
    `seconds` of CPU time, and a page that cannot be read is left out. Raise ValueError if this is
    no PDF, or one that needs a password.
    """
    addresses: dict[str, None] = {}
    pieces: list[str] = []
    pdfium = _pdfium()
    is_whole = True
    address_chars_left = CHARACTERS  # that addresses may still have
    text_chars_left = TEXT  # characters that the text may still have
    with _document(body) as document:
        title = _title(pdfium, document)
        for opened in _pages(document, seconds):
            is_full = len(addresses) >= MOST or address_chars_left <= 0
            if opened is None:
                is_whole = False
                continue
            page, textpage = opened
            reads_links = links and not is_full
            reads_text = text and text_chars_left > 0
            if not reads_links and not reads_text:
                is_whole = False
                break
            if reads_links:
                for url in (*_annotated(pdfium, document, page), *_written(pdfium, textpage)):
                    is_new = 0 < len(url) <= LONGEST and url not in addresses
                    if is_new and address_chars_left > 0:
                        addresses[url] = None
                        address_chars_left -= len(url)
            if reads_text:
                pieces.append(_HYPHEN.sub("", textpage.get_text_bounded()[:text_chars_left]))
                text_chars_left -= len(pieces[-1]) + 1
    return list(addresses)[:MOST], title, "\n".join(pieces), is_whole


def text(body: bytes) -> str:
    """Return the text of the pages, each on lines of its own."""
    return contents(body, links=False)[2]


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


def _pages(document: Any, seconds: float) -> Iterator[tuple[Any, Any] | None]:
    """Yield each page and its text, which stay open until the next one is asked for.

    Yield None for a page that cannot be read, and once if the time is over.
    """
    from pypdfium2 import PdfiumError  # noqa: PLC0415 - optional

    deadline = time.process_time() + seconds
    for number in range(len(document)):
        if time.process_time() > deadline:
            yield None
            return
        with ExitStack() as opened:
            try:
                page = opened.enter_context(closing(document[number]))
                textpage = opened.enter_context(closing(page.get_textpage()))
            except PdfiumError:
                yield None
                continue
            yield page, textpage


def _title(pdfium: Any, document: Any) -> str:
    """Return the title, which may be truncated within a surrogate pair: pypdfium2 would raise."""
    size = pdfium.FPDF_GetMetaText(document.raw, b"Title", None, 0)
    buffer = ctypes.create_string_buffer(size)
    pdfium.FPDF_GetMetaText(document.raw, b"Title", buffer, size)
    return " ".join(buffer.raw.decode("utf-16-le", "replace").rstrip("\0")[:TITLE].split())


def _annotated(pdfium: Any, document: Any, page: Any) -> Iterator[str]:
    at, link = ctypes.c_int(0), pdfium.FPDF_LINK()
    while pdfium.FPDFLink_Enumerate(page.raw, ctypes.byref(at), ctypes.byref(link)):
        action = pdfium.FPDFLink_GetAction(link)
        if action and pdfium.FPDFAction_GetType(action) == pdfium.PDFACTION_URI:
            yield _text_from_buffer(partial(pdfium.FPDFAction_GetURIPath, document.raw, action))


def _text_from_buffer(fill: Callable[[Any, int], int]) -> str:
    size = fill(None, 0)
    if not 0 < size <= LONGEST:
        return ""
    buffer = ctypes.create_string_buffer(size)
    fill(buffer, size)
    return address_text(buffer.value).strip()


def _written(pdfium: Any, textpage: Any) -> Iterator[str]:
    """Yield what pdfium takes for an address in the text, put together over the ends of lines."""
    web_links = pdfium.FPDFLink_LoadWebLinks(textpage.raw)
    try:
        for number in range(min(pdfium.FPDFLink_CountWebLinks(web_links), MOST)):
            size = pdfium.FPDFLink_GetURL(web_links, number, None, 0)  # of two bytes each
            if 0 < size <= LONGEST:
                buffer = (ctypes.c_ushort * size)()
                pdfium.FPDFLink_GetURL(web_links, number, buffer, size)
                yield bytes(buffer).decode("utf-16-le", "replace").rstrip("\0").strip()
    finally:
        pdfium.FPDFLink_CloseWebLinks(web_links)


MEMORY = 512 << 20  # bytes of address space
# seconds of CPU time for a PDF: after the first no page is begun, at the second it is killed
LAST_PAGE_SECONDS, KILLED_SECONDS = 3.0, 6.0
TRUNCATED_PDF = "pdf:cut"  # a note, which crawl.log keeps: there may be more
JOB = "webcrawl.content.formats.pdf:pdf_job"
OF_LINKS, OF_TEXT = "links", "text"


def pdf_job(*wanted: str) -> Job:
    """Return the job that reads OF_LINKS, OF_TEXT, or both."""

    def read(body: bytes) -> tuple[list[str], str, str, str]:
        try:
            found = contents(
                body, links=OF_LINKS in wanted, text=OF_TEXT in wanted, seconds=LAST_PAGE_SECONDS
            )
        except ValueError:
            return [], "", "", "pdf:unreadable"
        links, title, text, whole = found
        return links, title, text, "" if whole else TRUNCATED_PDF

    codecs.lookup("utf-16-le")  # the one codec that Python loads late, while files can be opened
    read(b"")  # loads the library, while there is room
    # A PDF that takes over its reader can open no file and no socket
    return Job(read, MEMORY, KILLED_SECONDS, files=0)


# pdfium is C++, which may crash, and 200 KB of a PDF can unpack to gigabytes: hence a process with
# limits. All PDFs share it, because a start takes 0.1 s
class PdfProcess(DocumentWorker):
    """Reads PDFs, one at a time."""

    def __init__(
        self, command: tuple[str, ...] = (), *, links: bool = True, text: bool = False
    ) -> None:
        """Read the `links` of each PDF, its `text`, or both."""
        super().__init__(
            "PDFs",
            command or command_of(JOB, *[OF_LINKS] * links, *[OF_TEXT] * text),
            KILLED_SECONDS,
        )

    def read(self, body: bytes, url: str) -> DocumentLinks:
        """Return links, title and text of a PDF, with a note if there may be more.

        Raise OSError if no process can be started.
        """
        try:
            links, title, text, note = self.ask(body, _parsed_answer)
        except WorkerDied:
            return DocumentLinks(url, "", note="pdf:died")
        return DocumentLinks(
            url, "", [("pdf", link, "", "") for link in links], title=title, text=text, note=note
        )


def _parsed_answer(answer: Any) -> tuple[list[str], str, str, str]:
    links, title, text, note = answer
    return [str(link) for link in links], str(title), str(text), str(note)
