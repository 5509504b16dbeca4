"""Makes documents in a process of its own. Blocks: call it from a thread."""

from __future__ import annotations

import json
from typing import Any

from webcrawl.base.own_process import PYTHON
from webcrawl.content.documents.document_worker import HARD
from webcrawl.content.formats.reader_process import Died, ReaderProcess

COMMAND = (*PYTHON, "-m", "webcrawl.content.documents.document_worker")
BROKEN = {"flaw": "died"}  # of a page that takes too long, or brings the process down


class DocumentProcess(ReaderProcess):
    """One page after the other."""

    def __init__(self, command: tuple[str, ...] = COMMAND) -> None:
        super().__init__("documents", command, HARD)

    def document(self, head: dict[str, Any], body: bytes) -> dict[str, Any]:
        """What `extraction.extracted` says of a body, or its `flaw`. OSError if no process can be started.

        `head` has the other fields of `extraction.Body`.
        """
        try:
            return self.ask(json.dumps(head).encode() + b"\n" + body, dict)
        except Died:
            return BROKEN
