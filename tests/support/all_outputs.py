"""A small site with something for every output, and how to read what its crawl leaves."""

from collections import Counter
from importlib.util import find_spec
from typing import ClassVar

from tests.support.plain_site import Site
from tests.support.warc_reader import read

OUTPUTS = "warc cdxj links tables text index images tags pagefiles neardup skipped requests"
HAS_DOCUMENTS = all(map(find_spec, ("trafilatura", "resiliparse")))
if HAS_DOCUMENTS:
    OUTPUTS += " documents"
PAGES = 12
GIF = b"GIF89a\x07\x00\x05\x00\x00\x00\x00,\x00\x00\x00\x00\x07\x00\x05\x00\x00\x02\x00;"
KINDS = ("page", "twin", "moved", "image", "forbidden", "missing")


class Everything(Site):
    """Numbered pages, each linked by the one before.

    There are twins, redirects, images, and what is not crawled.
    """

    requested: ClassVar = Counter()

    def answer(self):
        """Answer by the first folder of the path."""
        self.requested[self.path] += 1
        kind, _, number = self.path[1:].partition("/")
        if kind == "robots.txt":
            return self.say(200, b"User-agent: *\nDisallow: /forbidden/\n")
        if kind == "image":
            return self.say(200, GIF + number.encode(), content_type="image/gif")
        if kind == "moved":
            return self.say(302, b"", location=f"/page/{number}")
        if kind == "missing":
            return self.say(404, b"nothing here", content_type="text/html")
        return self.say(
            200, page(0 if kind == "twin" else int(number)), content_type="text/html; charset=utf-8"
        )


def page(number):
    """Return the body of /page/NUMBER; twins have that of page 0."""
    links = "".join(
        f'<a href="/{kind}/{number + 1}">{kind}</a>' for kind in KINDS if number < PAGES
    )
    words = " ".join(f"word{(number + 1) * word % 1009}" for word in range(100))
    own = f"<x-{number % 3}></x-{number % 3}>"
    return (
        f"<title>Page {number}</title><p>{words}</p>{links}{own}"
        f'<a href="/deep/{number}.zip">excluded</a><a href="mailto:a@b.test">mail</a>'
    ).encode()


def rows(jobdir, name):
    """Return the fields of each line of a log."""
    return [line.split("\t") for line in (jobdir / name).read_text().splitlines()]


def archived(jobdir):
    """Return the bodies of all responses in the archive by URL; None for those of revisit
    records.
    """
    found = {}
    for path in sorted((jobdir / "warc").glob("*.warc.gz")):
        for record in read(path):
            if record.kind in ("response", "revisit"):
                url = record.fields["WARC-Target-URI"]
                assert url not in found, f"{url} is archived twice"
                whole = record.kind == "response"
                found[url] = record.block.partition(b"\r\n\r\n")[2] if whole else None
    return found
