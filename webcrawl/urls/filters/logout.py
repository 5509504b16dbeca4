"""Links that log out, on hosts for which the operator has a login (AUTH_FILE).

One request to such a link ends the session, and every page after it is a login form.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from webcrawl.urls.filters.filter_protocol import Lines, Origin, leave_out

# Words for it in paths and queries, by themselves or within a name such as `doLogout`.
# Rather a page too few: an article on how to sign out is lost, where a session would be.
_OUT = r"(?:log|sign)[-_.+ ]?(?:out|off)"
_OTHER_WORDS = (
    r"end[-_]?session|(?:destroy|delete)[-_]?session|sessions?/(?:destroy|delete|end)"
    r"|abmelden|ausloggen|d(?:e|%c3%a9)connexion|cerrar[-_]?sesi(?:o|%c3%b3)n"
    r"|uitloggen|afmelden|wyloguj|logga[-_]?ut"
)
_LOGOUT = (
    rf"^[a-z]+://[^/]+/(?:(?:.*[^a-z])?(?:(?:do|user)?{_OUT}|{_OTHER_WORDS})"
    r"|.*(?-i:[a-z](?:Log|Sign)[Oo](?:ut|ff)))(?:action|page|servlet|user)?(?:[^a-z]|$)"
)
# Servers decode a path, so `/lo%67out` logs out, and so does Yii's `?r=site%2Flogout`.
_ENCODED = r"%[2-7][0-9a-f]"  # a character of ASCII
_encoded = re.compile(_ENCODED, re.IGNORECASE)


def _decoded(url: str) -> str:
    return _encoded.sub(lambda code: chr(int(code[0][1:], 16)), url)


class LogoutFilter:
    """Drops links that log out of these hosts. Queued URLs are checked again: a login may be new."""

    name = "logout"
    suspects = f"{_LOGOUT}|{_ENCODED}"

    def __init__(self, urls: Iterable[str]) -> None:
        """`urls`: of the hosts, as their canonical URLs begin."""
        self._starts = tuple(urls)
        self._lines = Lines(_LOGOUT)

    def keep(self, urls: list[str], _origin: Origin, /) -> list[str]:
        return leave_out(urls, {url for url in urls if self.reject(url)})

    def reject(self, url: str) -> bool:
        return url.startswith(self._starts) and bool(self._lines.among([_decoded(url)]))
