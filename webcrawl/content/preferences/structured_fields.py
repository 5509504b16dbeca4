"""Dictionaries of RFC 9651, of which only tokens are wanted; what breaks a rule of the syntax breaks the whole."""

from __future__ import annotations

import re
from functools import cache

_KEY = rb"[a-z*][a-z0-9_\-.*]*+"
_TOKEN = rb"[A-Za-z*][!#$%&'*+\-.^_`|~0-9A-Za-z:/]*+"
_BARE = b"|".join(
    (
        rb"-?(?:[0-9]{1,12}\.[0-9]{1,3}|[0-9]{1,15})(?![0-9.])",
        rb'"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*+"',
        _TOKEN,
        rb":[A-Za-z0-9+/=]*+:",
        rb"\?[01]",
        rb"@-?[0-9]{1,15}(?![0-9.])",
        rb'%"(?:[\x20\x21\x23\x24\x26-\x7e]|%[0-9a-f]{2})*+"',
    )
)
_PARAMETERS = rb"(?:; *+" + _KEY + rb"(?:=(?:" + _BARE + rb"))?)*+"
_ITEM = rb"(?:" + _BARE + rb")" + _PARAMETERS
_LIST = rb"\( *+(?:" + _ITEM + rb"(?: ++|(?=\))))*+\)" + _PARAMETERS
_comma = re.compile(rb"[ \t]*+,[ \t]*+").match


@cache
def _member() -> re.Pattern[bytes]:
    """One key and its value; on first use, for few sites send dictionaries, and compiling this takes milliseconds."""
    return re.compile(
        rb"("
        + _KEY
        + rb")(?:=(?:("
        + _TOKEN
        + rb")"
        + _PARAMETERS
        + rb"|"
        + _ITEM
        + rb"|"
        + _LIST
        + rb")|"
        + _PARAMETERS
        + rb")"
    )


def tokens(value: bytes) -> dict[bytes, bytes] | None:
    """The value of each key that is a token, empty for any other value; None if this is no dictionary.

    Of two equal keys the last counts (4.2.2).
    """
    value = value.strip(b" ")
    found: dict[bytes, bytes] = {}
    match, at = _member().match, 0
    while at < len(value):
        member = match(value, at)
        if member is None:
            return None
        found[member[1]] = member[2] or b""
        at = member.end()
        if at == len(value):
            return found
        comma = _comma(value, at)
        if comma is None or comma.end() == len(value):
            return None
        at = comma.end()
    return found
