"""Removes user names and passwords from URLs before they are written where others read them."""

from __future__ import annotations

import re

# In the URL standard's special schemes any number of slashes and backslashes begins the authority, and a backslash
# ends it; in others it is exactly `//`, and a slash.
_SPECIAL = r"(?:https?|ftp|wss?):"
_WITHIN_URL = re.compile(
    rf"([\x00-\x20]*(?:{_SPECIAL}[/\\]*|[/\\]{{2,}}))[^/\\?#]*@"
    rf"|([\x00-\x20]*(?!{_SPECIAL})[a-z][a-z0-9+.-]*://)[^/?#]*@",
    re.IGNORECASE,
)
_WITHIN_TEXT = re.compile(r"""://[^\s/?#"'<>]*@""")
_IGNORED = str.maketrans("", "", "\t\n\r")  # a URL's parser removes them first


def url_without_credentials(url: str) -> str:
    """A URL as somebody wrote it, absolute or not, without what stands before the `@` of its authority."""
    if "@" not in url:
        return url
    match = _WITHIN_URL.match(plain := url.translate(_IGNORED))
    return (match[1] or match[2]) + plain[match.end() :] if match else url


def text_without_credentials(text: str) -> str:
    """Any text, without the credentials of the URLs in it."""
    return _WITHIN_TEXT.sub("://", text) if "@" in text else text
