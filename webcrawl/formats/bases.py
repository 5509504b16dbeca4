"""xml:base: what addresses are relative to, element by element."""

from __future__ import annotations

import ada_url

XML_BASE = "{http://www.w3.org/XML/1998/namespace}base"
LONGEST = 4096  # characters: bases nested in bases would grow without an end


class Bases:
    """Call it for each start and end of an element; without an xml:base it costs two list operations."""

    def __init__(self, url: str) -> None:
        self._stack = [url]

    @property
    def current(self) -> str:
        return self._stack[-1]

    def start(self, attributes: dict[str, str]) -> None:
        base = self._stack[-1]
        if XML_BASE in attributes:
            base = _joined(base, attributes[XML_BASE]) or base
        self._stack.append(base)

    def end(self) -> None:
        if len(self._stack) > 1:
            self._stack.pop()

    def absolute(self, address: str) -> str:
        """The address, for whoever knows only the document's base."""
        if self._stack[-1] is self._stack[0] or not self._stack[-1]:
            return address
        return _joined(self._stack[-1], address) or address


def _joined(base: str, address: str) -> str:
    try:
        found = str(ada_url.join_url(base, address)) if len(address) <= LONGEST else ""
    except ValueError:
        return ""
    return found if len(found) <= LONGEST else ""
