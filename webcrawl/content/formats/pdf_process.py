"""Reads PDFs in a process of its own. Blocks: call it from a thread."""

from __future__ import annotations

from typing import Any

from webcrawl.base.own_process import PYTHON
from webcrawl.content.formats.pdf_worker import HARD, LINKS, TEXT
from webcrawl.content.formats.reader_process import Died, ReaderProcess
from webcrawl.content.html.found_links import Found

COMMAND = (*PYTHON, "-m", "webcrawl.content.formats.pdf_worker")


class PdfProcess(ReaderProcess):
    """One PDF after the other."""

    def __init__(self, command: tuple[str, ...] = COMMAND, *, links: bool = True, text: bool = False) -> None:
        """Of each PDF it reads its `links`, its `text`, or both."""
        super().__init__("PDFs", (*command, *[LINKS] * links, *[TEXT] * text), HARD)

    def read(self, body: bytes, url: str) -> Found:
        """Links, title and text of a PDF, with a note if there may be more. OSError if no process can be started."""
        try:
            links, title, text, note = self.ask(body, _contents)
        except Died:
            return Found(url, "", note="pdf:died")
        return Found(url, "", [("pdf", link, "", "") for link in links], title=title, text=text, note=note)


def _contents(answer: Any) -> tuple[list[str], str, str, str]:
    links, title, text, note = answer
    return [str(link) for link in links], str(title), str(text), str(note)
