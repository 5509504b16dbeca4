"""URLs among the links of large pages that wait for their turn, which are stored as they were written."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import zstandard

from webcrawl.seen.portions import Portion
from webcrawl.urls.canonical import InvalidUrl, canonical
from webcrawl.verify.snapshot import Snapshot

MOST = 300  # portions looked at, of 1,000 links each: 0.3 s


class Awaited(NamedTuple):
    """A link that waits in a portion."""

    via: str
    turns: int  # portions before it


def among_portions(
    snapshot: Snapshot, urls: Iterable[str], longest: int, *, deep: bool = False
) -> tuple[dict[str, Awaited], tuple[int, int]]:
    """Those of these URLs that wait in portions; how many portions were looked at, and how many there are."""
    wanted, found, looked = set(urls), dict[str, Awaited](), 0
    ((count,),) = snapshot.rows("SELECT count(*) FROM portion")
    ends = {_end(url) for url in wanted}
    unpack = zstandard.ZstdDecompressor().decompress
    for number, data in snapshot.rows("SELECT id, data FROM portion ORDER BY turn, id"):
        if not deep and looked >= MOST:
            break
        try:
            portion = Portion.unpack(unpack(data))
        except (zstandard.ZstdError, ValueError, TypeError) as error:
            raise snapshot.damaged(f"table portion, {number}: {error}") from error
        base = portion.base or portion.page.url
        for link in portion.links:
            if any(end in link for end in ends):  # what a link is, is known when it is joined: 2 us
                url = _joined(link, base, longest)
                if url in wanted:
                    found.setdefault(url, Awaited(portion.page.url, looked))
        looked += 1
    return found, (looked, count)


def _end(url: str) -> str:
    """What a link to this URL has in it, however it is written, if no escape is left out; empty for a start page."""
    path = url.partition("?")[0].split("/", 3)[3]
    end = path.rpartition("/")[2]
    return end if end.isalnum() else ""


def _joined(link: str, base: str, longest: int) -> str:
    try:
        return canonical(link, base, longest)
    except InvalidUrl:
        return ""
