"""Reads PDFs in a process of its own. Blocks: call it from a thread."""

from __future__ import annotations

import sys
from typing import Any

from webcrawl.content.formats.pdf_worker import HARD
from webcrawl.content.formats.reader_process import Died, ReaderProcess
from webcrawl.content.html.found_links import Found

COMMAND = (sys.executable, "-P", "-m", "webcrawl.content.formats.pdf_worker")


class PdfProcess(ReaderProcess):
    """One PDF after the other."""

    def __init__(self, command: tuple[str, ...] = COMMAND) -> None:
        super().__init__("PDFs", command, HARD)

    def links(self, body: bytes, url: str) -> Found:
        """The links of a PDF, with a note if there may be more. OSError if no process can be started."""
        try:
            links, note = self.ask(body, _links)
        except Died:
            return Found(url, "", note="pdf:died")
        return Found(url, "", [("pdf", link, "", "") for link in links], note=note)


def _links(answer: Any) -> tuple[list[str], str]:
    links, note = answer
    return [str(link) for link in links], str(note)
