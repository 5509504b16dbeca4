"""What a session id in a URL looks like: for the folding that leaves it out and the filter that counts it."""

from __future__ import annotations

import re

# Names that mean nothing else, whatever the value; and common words, when the value is long enough for an id
# (`sid=12` is a story, `s=word` a search). Without look-around, so that RE2 takes it too.
PARAMETER = (
    r"(?:phpsessid|jsessionid|aspsessionid[a-z]{8}|cfid|cftoken|oscsid|xtcsid|zenid)=[^&]*"
    r"|(?:sid|sess|sessid|session_?id|session)=[a-z0-9_-]{16,}"
    r"|s=[0-9a-f]{32}"
)
SEGMENT = r";jsessionid=[^/?;]*|(?:/\((?:[a-z]\([^()/?]*\))+\))+/"
"""A path parameter of Java servlets, or ASP.NET's `/(S(…))/`."""

_PARAMETER = re.compile(rf"(?<=[?&])(?:{PARAMETER})(?:&|$)", re.IGNORECASE)
_SEGMENT = re.compile(SEGMENT, re.IGNORECASE)


def without_session(url: str) -> str:
    """The URL without the session ids in its path and query."""
    path, mark, query = url.partition("?")
    start = path.index("/", path.index("//") + 2)
    path = path[:start] + _SEGMENT.sub(lambda found: "/" if found[0][0] == "/" else "", path[start:])
    if not mark:
        return path
    kept = _PARAMETER.sub("", mark + query)
    if len(kept) <= len(query):
        kept = kept.rstrip("?&")
    return path + kept
