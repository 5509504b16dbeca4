"""The process that reads documents: `python -m webcrawl.content.documents.document_worker` (reader_worker.py)."""

from __future__ import annotations

import json
import os
import signal
from typing import Any

from webcrawl.content.formats.reader_worker import serve

MEMORY = 1 << 30  # bytes of address space
HARD = 6.0  # seconds of CPU time for a page, after which it is killed


def main() -> None:
    """Makes one document after the other; of a page that the libraries cannot bear, it says what they said."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy is loaded: each of its threads takes address space
    from webcrawl.content.documents.extraction import Body, extracted  # noqa: PLC0415

    extracted(Body("", b"<p>loads the libraries, while there is room for them", "UTF-8", True, "2000-01-01"))

    def read(data: bytes) -> dict[str, Any]:
        head, _, body = data.partition(b"\n")
        try:
            return extracted(Body(**json.loads(head), data=body))
        except MemoryError:  # what libraries keep may be to blame: whoever asked tries once more, with a new process
            os.kill(os.getpid(), signal.SIGKILL)
            raise
        except Exception as error:  # noqa: BLE001 - of three libraries, for bytes of any kind
            return {"flaw": type(error).__name__}

    serve(read, memory=MEMORY, seconds=HARD)


if __name__ == "__main__":
    main()
