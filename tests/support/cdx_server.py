"""A stand-in for OutbackCDX: its paths, its questions and its answers, in 11 columns; or pywb's, in
CDXJ.
"""

import json
import threading
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit

from tests.support.plain_site import Site, serving
from webcrawl.base.surt import surt


class CdxIndex:
    """Lines of CDXJ, asked for at `address`; `requested` has the questions so far, and `fail` answers
    in its stead.
    """

    def __init__(self, lines=()):
        self.lines, self.requested, self.pywb, self.fail = list(lines), [], False, None
        self.address, self.lock = "", threading.Lock()

    def add_crawl(self, jobdir):
        """What an indexer finds in the archive of a crawl at this moment."""
        found = (path.read_bytes() for path in sorted((jobdir / "warc").glob("*.cdxj*")))
        self.lines = sorted(
            {*self.lines, *(line + b"\n" for data in found for line in data.splitlines())}
        )

    def answer(self, query):
        """Those lines that OutbackCDX and pywb would give, in their order."""
        key, how = surt(query["url"]), query.get("matchType", "exact")
        start = {"host": key.partition(")")[0] + ")/", "prefix": key, "exact": f"{key} "}[
            how
        ].encode()
        found = [line for line in self.lines if line.startswith(start)]
        if query.get("filter") == "!mimetype:warc/revisit":
            found = [line for line in found if b'"warc/revisit"' not in line]
        if query.get("sort") == "reverse":
            found.reverse()
        found = found[: int(query.get("limit", len(found)))]
        return b"".join(found if self.pywb else map(columns, found))


def columns(line):
    """A line of CDXJ as CDX has it."""
    key, stamp, values = line.split(b" ", 2)
    values = json.loads(values)
    names = ("url", "mime", "status", "digest", "", "", "length", "offset", "filename")
    words = [str(values.get(name, "-")).removeprefix("sha1:") for name in names]
    return b" ".join((key, stamp, *(word.encode() for word in words))) + b"\n"


@contextmanager
def cdx_server(lines=()):
    """Serves an index, as a collection by the name `months`."""
    index = CdxIndex(lines)

    class Collection(Site):
        def answer(self):
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            with index.lock:
                index.requested.append(query)
            if index.fail is not None:
                index.fail(self)
            elif parts.path != "/months":
                self.say(404, b"Collection does not exist\n")
            else:
                self.say(200, index.answer(query))

    with serving(Collection) as site:
        index.address = f"cdx+{site}/months"
        yield index
