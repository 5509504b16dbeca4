"""The form in which the crawl knows a URL, and what changed on the way there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, urlsplit

from webcrawl.base.readable import url_without_credentials
from webcrawl.urls.canonical import InvalidUrl, canonical
from webcrawl.urls.foldings import Folding

PORTS = {"http": "80", "https": "443", "ftp": "21", "gopher": "70"}
WHY = {
    "scheme": "its scheme is not one that this crawler speaks (http, https, ftp, gopher)",
    "syntax": "it is not a URL: an absolute one is needed, such as http://example.com/page",
    "host": "it has no host, or one that is not possible in DNS",
    "encoding": "it has characters that no encoding knows",
    "length": "it is longer than URL_MAX_LENGTH",
}
SHOWN = 2000  # characters of what was asked for; a URL may be of any length
BREAKS = str.maketrans("", "", "\t\n\r")  # which the URL standard leaves out wherever they are
BLANKS = "".join(map(chr, range(33)))
DOTS = re.compile(r"/\.{1,2}(?=[/?#]|$)|/%2e", re.IGNORECASE)


@dataclass(slots=True)
class Form:
    """`url` is "" if there is none, and `invalid` says why, in the filters' words."""

    url: str
    invalid: str = ""
    changes: list[str] = field(default_factory=list)
    compared: str = ""  # by which the seen store knows it

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"url": self.url or None, "changes": self.changes}
        if self.invalid:
            found |= {"invalid": self.invalid, "why": WHY.get(self.invalid, self.invalid)}
        if self.compared not in ("", self.url):
            found["compared"] = self.compared
        return found


def form_of(asked: str, longest: int, foldings: Sequence[Folding]) -> Form:
    """The canonical form of what somebody asked for."""
    try:
        url = canonical(asked, max_length=longest)
    except InvalidUrl as error:
        return Form("", error.reason)
    form = Form(url, changes=list(_changes(asked, url)))
    form.compared = url
    for folding in foldings:
        folded = folding(form.compared)
        if folded != form.compared:
            form.changes.append(f"{getattr(folding, '__name__', 'URL_HOST_RULES')}: {form.compared} counts as {folded}")
            form.compared = folded
    return form


def _changes(asked: str, url: str) -> list[str]:
    """The differences, part by part; a few words each."""
    if asked == url:
        return []
    stripped = asked.translate(BREAKS).strip(BLANKS)
    said = ["blanks and control characters around or in it are left out"] if stripped != asked else []
    try:
        before, after = urlsplit(stripped), urlsplit(url)
        said += [*_of_authority(stripped, before, after), *_of_path(stripped, before)]
    except ValueError:  # Python reads fewer URLs than the standard does
        pass
    return said or ["it is written as the URL standard says"]


def _of_authority(asked: str, before: SplitResult, after: SplitResult) -> Iterator[str]:
    host, port = before.hostname or "", before.port
    if before.fragment or asked.endswith("#"):
        yield "the fragment is left out: it is never sent to a server"
    if url_without_credentials(asked) != asked:
        yield "user name and password are left out"
    if before.scheme != asked[: len(before.scheme)] or before.netloc.rpartition("@")[2] != host + _port(port):
        yield "scheme and host are in small letters"
    if port is not None and str(port) == PORTS.get(before.scheme):
        yield f"the port {port} is that of {before.scheme} anyway"
    if host != (after.hostname or "") and not host.isascii():
        yield f"the host is {after.hostname} in DNS"


def _of_path(asked: str, before: SplitResult) -> Iterator[str]:
    if not before.path:
        yield "an empty path is /"
    if DOTS.search(before.path):
        yield "the steps . and .. of the path are taken"
    if "\\" in before.path:
        yield "a backslash is a slash"
    if not asked.isascii() or any(mark in before.path + before.query for mark in ' "<>`{}^|'):
        yield "what a URL must not have is percent-encoded"


def _port(port: int | None) -> str:
    return "" if port is None else f":{port}"


def shown(asked: str) -> str:
    """The text that was asked for, without credentials, and not for ever."""
    text = url_without_credentials(asked[: SHOWN + 1])
    return text if len(asked) <= SHOWN else f"{text[:SHOWN]}... ({len(asked)} characters)"
