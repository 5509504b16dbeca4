"""Lines of logs/store.log: one per stored page, LARM's ten fields, tab-separated UTF-8."""

from __future__ import annotations

import re
from typing import NamedTuple

from webcrawl.base.model import Link
from webcrawl.store.jobdir.link_line import field

LOG = "logs/store.log"
SHAPE = re.compile(rb"([^\t\n]*\t){4}-?\d+\t[^\t\n]*\t\d+\t[^\t\n]*\t\d+\t\d+\n")


class About(NamedTuple):
    """The fields of the log on a page, beside its link."""

    normalised: str  # the form in which URLs are compared
    status: int
    mime: str
    title: str


def line(link: Link, about: About, size: int, number: int, offset: int) -> bytes:
    """From page, URL, its comparison form, way to it, status, MIME type, size, title, page file, offset in that.

    The way is the last letter of the discovery path; LARM has the kind of the link there, which is not known any more.
    """
    texts = "\t".join(map(field, (link.via, link.url, about.normalised, link.hops[-1:])))
    page = f"{about.status}\t{field(about.mime)}\t{size}\t{field(about.title)}"
    return f"{texts}\t{page}\t{number}\t{offset}\n".encode()
