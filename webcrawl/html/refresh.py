"""Meta refresh, by the HTML Standard's "shared declarative refresh steps" (4.2.5.3)."""

from __future__ import annotations

import re

from webcrawl.html.encodings import SPACE

_TIME = re.compile(r"[\t\n\f\r ]*+(?:([0-9]++)|(?=\.))[0-9.]*+")
_BEFORE_URL = re.compile(r"(?:[\t\n\f\r ]*+[;,]|[\t\n\f\r ])[\t\n\f\r ]*+")
_URL = re.compile(r"""(?:[uU][rR][lL][\t\n\f\r ]*+=[\t\n\f\r ]*+)?+(?:"([^"]*+)|'([^']*+)|(.*+))""", re.DOTALL)


def refresh(content: str) -> tuple[int, str] | None:
    """Seconds to wait and the target URL, "" for the page itself; None if it is no valid refresh."""
    time = _TIME.match(content)
    if time is None:
        return None
    seconds = min(int((time[1] or "0")[:9]), 10**9)
    rest = content[time.end() :]
    if not rest:
        return seconds, ""
    before = _BEFORE_URL.match(rest)
    if before is None:  # no separator or space after the time
        return None
    url = _URL.match(rest, before.end())
    return seconds, (url[1] or url[2] or url[3] or "").strip(SPACE) if url else ""
