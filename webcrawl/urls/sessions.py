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
_SERVLETS = r";jsessionid=[^/?;]*"
_ASP_NET = r"(?:/\((?:[a-z]\([^()/?]*\))+\))+/"
SEGMENT = f"{_SERVLETS}|{_ASP_NET}"
"""A path parameter of Java servlets, or ASP.NET's `/(S(…))/`."""

_PARAMETER = re.compile(rf"(?<=[?&])(?:{PARAMETER})(?:&|$)", re.IGNORECASE)
_servlets = re.compile(_SERVLETS, re.IGNORECASE).sub
_asp_net = re.compile(_ASP_NET, re.IGNORECASE).sub


def without_session(url: str) -> str:
    """The URL without the session ids in its path and query."""
    path, mark, query = url.partition("?")
    start = path.index("/", path.index("//") + 2)
    path = path[:start] + _asp_net("/", _servlets("", path[start:]))  # the one may stand within the other's segment
    if not mark:
        return path
    kept = _PARAMETER.sub("", mark + query)
    if len(kept) <= len(query):
        kept = kept.rstrip("?&")
    return path + kept
