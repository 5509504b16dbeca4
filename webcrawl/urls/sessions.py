"""Recognises session ids in URLs, for the folding that removes them and the filter that counts their pages."""

from __future__ import annotations

import re

# Names that mean nothing else, whatever the value; and common words if the value is long enough for an id (`sid=12` is
# a story, `s=word` a search). Without look-around, which RE2 does not support.
PARAMETER = (
    r"(?:phpsessid|jsessionid|aspsessionid[a-z]{8}|cfid|cftoken|oscsid|xtcsid|zenid)=[^&]*"
    r"|(?:sid|sess|sessid|session_?id|session)=[a-z0-9_-]{16,}"
    r"|s=[0-9a-f]{32}"
)
_SERVLETS = r";jsessionid=[^/?;]*"
_ASP_NET = r"(?:/\((?:[a-z]\([^()/?]*\))+\))+/"
SEGMENT = f"{_SERVLETS}|{_ASP_NET}"
"""The path parameter of Java servlets, or ASP.NET's `/(S(…))/`."""

_PARAMETER = re.compile(rf"(?<=[?&])(?:{PARAMETER})(?:&|$)", re.IGNORECASE)
_servlets = re.compile(_SERVLETS, re.IGNORECASE).sub
_asp_net = re.compile(_ASP_NET, re.IGNORECASE).sub


def without_session(url: str) -> str:
    """The URL without the session ids in its path and query."""
    path, mark, query = url.partition("?")
    start = path.index("/", path.index("//") + 2)
    path = path[:start] + _asp_net("/", _servlets("", path[start:]))  # the first may be inside the second's segment
    if not mark:
        return path
    kept = _PARAMETER.sub("", mark + query)
    if len(kept) <= len(query):
        kept = kept.rstrip("?&")
    return path + kept
