"""Reads structured fields (RFC 9651) as far as signatures use them: dictionaries of items and inner lists.

A verifier builds what was signed from the members as they were sent, so each keeps its text.
"""

from __future__ import annotations

import re
from base64 import b64decode
from dataclasses import dataclass, field
from typing import Final

LONGEST: Final = 65_536  # characters of a field

Bare = str | bytes | int | bool

_KEY = re.compile(r"[a-z*][a-z0-9_\-.*]*")
_INTEGER = re.compile(r"-?[0-9]{1,15}(?![0-9.])")
_STRING = re.compile(r'"((?:[ !#-\[\]-~]|\\["\\])*)"')
_TOKEN = re.compile(r"[A-Za-z*][!#$%&'*+\-.^_`|~0-9A-Za-z:/]*")
_BYTES = re.compile(r":([A-Za-z0-9+/]*={0,2}):")
_BOOLEAN = re.compile(r"\?([01])")
_SPACE, _OPTIONAL = re.compile(r" *"), re.compile(r"[ \t]*")


@dataclass(slots=True)
class Item:
    """A value with its parameters, and both as they were written."""

    value: Bare
    parameters: dict[str, Bare] = field(default_factory=dict)
    text: str = ""


@dataclass(slots=True)
class InnerList:
    """Items in parentheses, with parameters of the list."""

    items: list[Item]
    parameters: dict[str, Bare] = field(default_factory=dict)
    text: str = ""


def dictionary(text: str) -> dict[str, Item | InnerList]:
    """The members of a dictionary; ValueError if the field is none, or uses what signatures never do."""
    if len(text) > LONGEST:
        raise ValueError("longer than a field may be")
    return _Reader(text.strip(" ")).dictionary()


class _Reader:
    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    def dictionary(self) -> dict[str, Item | InnerList]:
        found: dict[str, Item | InnerList] = {}
        while self._at < len(self._text):
            key = self._match(_KEY, "a key")[0]
            if self._eat("="):
                start = self._at
                member: Item | InnerList = self._list() if self._here("(") else self._item()
            else:
                start = self._at
                member = Item(value=True, parameters=self._parameters())
            member.text = self._text[start : self._at]
            found[key] = member
            self._match(_OPTIONAL, "")
            if self._at < len(self._text):
                self._need(",")
                self._match(_OPTIONAL, "")
                if self._at == len(self._text):
                    raise ValueError("a comma at the end")
        return found

    def _list(self) -> InnerList:
        self._need("(")
        items: list[Item] = []
        while True:
            self._match(_SPACE, "")
            if self._eat(")"):
                return InnerList(items, self._parameters())
            start = self._at
            item = self._item()
            item.text = self._text[start : self._at]
            items.append(item)
            if not self._here(" ") and not self._here(")"):
                raise ValueError(f"no space after an item at {self._at}")

    def _item(self) -> Item:
        return Item(self._bare(), self._parameters())

    def _parameters(self) -> dict[str, Bare]:
        found: dict[str, Bare] = {}
        while self._eat(";"):
            self._match(_SPACE, "")
            key = self._match(_KEY, "a parameter")[0]
            found[key] = self._bare() if self._eat("=") else True
        return found

    def _bare(self) -> Bare:
        if self._here('"'):
            return re.sub(r"\\(.)", r"\1", self._match(_STRING, "a string")[1])
        if self._here(":"):
            return b64decode(self._match(_BYTES, "bytes")[1], validate=True)  # binascii.Error is a ValueError
        if self._here("?"):
            return self._match(_BOOLEAN, "a boolean")[1] == "1"
        if self._text[self._at : self._at + 1] in "-0123456789":
            return int(self._match(_INTEGER, "an integer")[0])
        return self._match(_TOKEN, "a value")[0]

    def _match(self, pattern: re.Pattern[str], what: str) -> re.Match[str]:
        found = pattern.match(self._text, self._at)
        if found is None:
            raise ValueError(f"no {what.removeprefix('a ').removeprefix('an ')} at {self._at}")
        self._at = found.end()
        return found

    def _here(self, sign: str) -> bool:
        return self._text.startswith(sign, self._at)

    def _eat(self, sign: str) -> bool:
        if self._here(sign):
            self._at += len(sign)
            return True
        return False

    def _need(self, sign: str) -> None:
        if not self._eat(sign):
            raise ValueError(f"no {sign!r} at {self._at}")
