"""Microdata in the JSON form of the HTML Standard (5.5), texts with their white space collapsed."""

from __future__ import annotations

from collections.abc import Mapping

from webcrawl.content.html.encodings import SPACE
from webcrawl.content.html.marked_elements import ITEM, Item, MarkedElements
from webcrawl.content.html.shown_text import resolved
from webcrawl.content.html.trees import value_of

NESTED = 64  # items within items
REPEATED = "ERROR"  # HTML Standard, 5.5: in the place of an item that is around itself
ADDRESSES = {
    **dict.fromkeys(("a", "area", "link"), "href"),
    **dict.fromkeys(("audio", "embed", "iframe", "img", "source", "track", "video"), "src"),
    "object": "data",
}
VALUES = {"meta": "content", "data": "value", "meter": "value"}


class Microdata:
    """Reads the items of one document."""

    def __init__(self, marked: MarkedElements, base: str) -> None:
        """`base`: of its addresses."""
        self._marked = marked
        self._attributes = marked.attributes
        self._base = base
        self._named: dict[str, int] = {}  # the first element with each id
        if marked.has("itemref"):
            for at, attributes in enumerate(marked.attributes):
                self._named.setdefault(value_of(attributes, "id"), at)

    def items(self) -> list[Item]:
        """Return the items that are not a property's value."""
        found = []
        for at, attributes in enumerate(self._attributes):
            # An item with an itemprop is the value of a property of another item
            is_top = "itemscope" in attributes and "itemprop" not in attributes
            if is_top and self._marked.takes(ITEM):
                found.append(self._item(at, (at,)))
        return found

    def _item(self, at: int, around: tuple[int, ...]) -> Item:
        """Return an item. `around`: the items that it is in, and itself."""
        item = self._type_and_id(self._attributes[at])
        item["properties"] = {}
        for place in self._properties_of(at):
            self._add_property(item, place, around)
        return item

    def _type_and_id(self, attributes: Mapping[str, str | None]) -> Item:
        """Return an item without properties. Only an item with a type has an identifier: 5.2.2."""
        item: Item = {}
        item_type = value_of(attributes, "itemtype")
        if not item_type.split() or not self._marked.takes(len(item_type)):
            return item
        item["type"] = item_type.split()
        address = self._address(attributes.get("itemid"))
        if address and self._marked.takes(len(address)):
            item["id"] = address
        return item

    def _add_property(self, item: Item, at: int, around: tuple[int, ...]) -> None:
        """Add the value of an element, which is a text or another item, under all its names."""
        marked = self._marked
        attributes = self._attributes[at]
        names = dict.fromkeys(value_of(attributes, "itemprop").split())
        if "itemscope" not in attributes:
            marked.add(item, names, self._value(at))
            return
        if at in around:
            marked.add(item, names, REPEATED)
            return
        if len(around) >= NESTED:
            marked.dropped["deep"] += 1
            return
        if names and marked.takes(ITEM):
            marked.add(item, names, self._item(at, (*around, at)))

    def _properties_of(self, at: int) -> list[int]:
        """Return the elements that are properties of an item, in document order: 5.2.5."""
        waiting = [*self._marked.children[at], *self._referred(self._attributes[at])]
        # References may lead in a circle
        known = {at}
        found = []
        # Each step takes room, which bounds the work for items that refer to the same elements
        while waiting and self._marked.takes(1):
            place = waiting.pop()
            if place in known:
                continue
            known.add(place)
            attributes = self._attributes[place]
            if "itemprop" in attributes:
                found.append(place)
            # What is in another item is that item's
            if "itemscope" not in attributes:
                waiting.extend(self._marked.children[place])
        return sorted(found)

    def _referred(self, attributes: Mapping[str, str | None]) -> list[int]:
        """Return the elements that an item refers to as parts of it."""
        names = value_of(attributes, "itemref").split()
        return [self._named[name] for name in names if name in self._named]

    def _value(self, at: int) -> str:
        """Return the value of a property that is no item: 5.2.4."""
        tag = self._marked.elements[at].tag or ""
        attributes = self._attributes[at]
        if tag in ADDRESSES:
            return self._address(attributes.get(ADDRESSES[tag]))
        if tag in VALUES:
            return value_of(attributes, VALUES[tag])
        if tag == "time" and "datetime" in attributes:
            return value_of(attributes, "datetime")
        return self._marked.text(at)

    def _address(self, address: str | None) -> str:
        return "" if address is None else resolved(address.strip(SPACE), self._base)
