"""Drops files without text and links: archives, disk images, programs, audio, video, fonts.

The default is conservative: images, documents (pdf, doc, ps), feeds, `gz` (sitemaps) and everything else that may be
useful are left to the operator and to DOWNLOAD_TRUNCATE.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Self

from webcrawl.urls.filters.lines import Lines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from webcrawl.urls.filters.protocol import Origin, Setup


class ExtensionFilter:
    """Checks the end of the path only: a file name in the query may belong to a page about the file."""

    name = "extension"
    for_requisites = None  # without fonts and films an archive shows other pages than the web did

    def __init__(self, extensions: Iterable[str]) -> None:
        endings = "|".join(re.escape(extension) for extension in extensions)
        self.suspects = rf"^[^?]*\.(?:{endings})(?:\?|$)"
        self._lines = Lines(self.suspects)

    @classmethod
    def from_setup(cls, setup: Setup, /) -> Self | None:
        extensions = setup.settings["URL_EXCLUDE_EXTENSIONS"]
        return cls(extensions) if extensions else None

    def within(self, _url: str, /) -> bool:
        return True

    def keep(self, urls: list[str], _origin: Origin, /) -> list[str]:
        return self._lines.without(urls)
