"""The log of links left unfollowed: a packed link per line, for `webcrawl segments`.

It is an output like all others, so that each checkpoint has a page together with its links. The
links passed all filters, and bring what travels with a link (model.Link): nothing that a crawl
knows of them is lost on the way. Beside it the names under which a builder of segments keeps its
files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from webcrawl.base.model import Packed
from webcrawl.store.output import Output

FOUND = "logs/found.log"

SPIDER = "segments"  # whose state it is: no crawl may go on with it
FOLDER = "segments"  # below the JOBDIR of the first crawl
NAME = re.compile(r"segment-(\d{6,})\.csv(\.new)?")
POOL = "segments.pool"  # the files of the pool, in the state


class FoundLog:
    """The links of one page after the other. No packed link contains the end of a line."""

    def __init__(self, output: Output) -> None:
        self._output = output

    def add(self, records: Sequence[Packed]) -> None:
        self._output.write(b"\n".join(records) + b"\n")
