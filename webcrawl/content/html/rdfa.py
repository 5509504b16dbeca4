"""RDFa Lite 1.1 as items, in the form of microdata's.

RDFa Lite is RDFa Core 1.1 with five attributes: vocab, typeof, property, resource, prefix. HTML+RDFa
1.1 adds href, src, content and datetime.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from webcrawl.content.html.encodings import SPACE
from webcrawl.content.html.marked_elements import ITEM, SUBJECTS, Item, MarkedElements
from webcrawl.content.html.shown_text import resolved
from webcrawl.content.html.trees import value_of

NESTED = 64  # items within items
PREFIXES = 100  # that may be declared around an element: each declaration copies those before it
# Those of the initial context that pages use
INITIAL = {
    "schema": "http://schema.org/",
    "dc": "http://purl.org/dc/terms/",
    "dcterms": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "gr": "http://purl.org/goodrelations/v1#",
    "v": "http://rdf.data-vocabulary.org/#",
}
_PREFIX = re.compile(r"(?<!\S)([^\s:]++):\s++(\S++)")
# The prefixes of Open Graph's properties, which are read by themselves
OPEN_GRAPH = frozenset(
    ("og", "article", "book", "fb", "music", "place", "product", "profile", "video")
)


def is_open_graph(name: str) -> bool:
    """Return whether a property, in lower case, is one of Open Graph's."""
    prefix, colon, _ = name.partition(":")
    return bool(colon) and prefix in OPEN_GRAPH


@dataclass(slots=True)
class _Scope:
    """The meaning that the attributes of an element give to the elements within it."""

    item: Item  # whose properties are declared
    nested: int = 0
    vocabulary: str = ""
    prefixes: Mapping[str, str] = field(default_factory=lambda: INITIAL)

    def full(self, name: str) -> str:
        """Return the IRI of a term, a CURIE or an IRI; empty for what has no meaning."""
        prefix, colon, rest = name.partition(":")
        if not colon:
            return self.vocabulary and self.vocabulary + name
        if rest.startswith("//"):
            return name
        start = self.prefixes.get(prefix.lower())
        return start + rest if start else ""

    def property_names(self, attributes: Mapping[str, str | None]) -> list[str]:
        """Return the names of an element's properties: a term of the vocabulary stays as it is."""
        found: list[str] = []
        for name in dict.fromkeys(value_of(attributes, "property").split()):
            if ":" not in name:
                # Without a vocabulary a term means nothing
                if self.vocabulary:
                    found.append(name)
                continue
            # Open Graph's properties are read by `structured_data.open_graph`
            full = "" if is_open_graph(name.lower()) else self.full(name)
            if full:
                found.append(full)
        return found


class Rdfa:
    """Reads the items of one document."""

    def __init__(self, marked: MarkedElements, url: str, base: str) -> None:
        """`base`: of its addresses."""
        self._marked = marked
        self._base = base
        self._of_page = _Scope({"id": url, "properties": {}})
        self._items = [self._of_page.item]

    def items(self) -> list[Item]:
        """Return the items of the page that are no property's value, and have a type or properties."""
        has_rdfa = self._marked.has("property") or self._marked.has("typeof")
        if not has_rdfa:
            return []
        # In document order, so that the scope around an element is known before its own
        scopes: list[_Scope] = []
        for number, parent in enumerate(self._marked.nearest):
            scope_around = scopes[parent] if parent >= 0 else self._of_page
            scopes.append(self._read_element(number, scope_around))
        # An element with an address alone begins an item that says nothing
        return [item for item in self._items if "type" in item or item["properties"]]

    def _read_element(self, number: int, scope_around: _Scope) -> _Scope:
        """Read the element with this number, and return what holds for those within it.

        As RDFa Core 1.1, 7.5: a property's value goes to the item around it, and an element with a
        type or an address begins an item of its own.
        """
        marked = self._marked
        attributes = marked.attributes[number]
        scope = _declared(attributes, scope_around)
        names = scope.property_names(attributes)
        is_property = "property" in attributes and "content" not in attributes
        if is_property and "typeof" not in attributes:
            # Its value is a text or an address, and it begins no item
            if names:
                marked.add(scope.item, names, self._value(number, scope))
            return scope
        scope_within = scope
        item = self._item_begun_by(attributes, scope)
        if item is not None:
            if scope.nested >= NESTED:
                marked.dropped["deep"] += 1
                return scope
            if is_property and names:
                marked.add(scope.item, names, item)
            else:
                self._items.append(item)
            scope_within = _Scope(item, scope.nested + 1, scope.vocabulary, scope.prefixes)
        if not is_property:
            marked.add(scope_within.item, names, value_of(attributes, "content"))
        return scope_within

    def _item_begun_by(self, attributes: Mapping[str, str | None], scope: _Scope) -> Item | None:
        """Return the item that an element begins, or None if it begins none."""
        address = self._address_of_subject(attributes, scope)
        begins_item = "typeof" in attributes or address
        if not begins_item:
            return None
        names = value_of(attributes, "typeof").split()
        types = [full for name in names if (full := scope.full(name))]
        if not self._marked.takes(ITEM + len(address) + sum(map(len, types))):
            return None
        item: Item = {}
        if types:
            item["type"] = types
        if address:
            item["id"] = address
        item["properties"] = {}
        return item

    def _address_of_subject(self, attributes: Mapping[str, str | None], scope: _Scope) -> str:
        """Return the address of what an element is about; empty if it names nothing."""
        resource = value_of(attributes, "resource").strip(SPACE)
        if resource:
            # `[dbp:Berlin]` is a CURIE, too, which RDFa Core 1.1 calls safe
            short = resource.removeprefix("[").removesuffix("]")
            full = scope.full(short) if ":" in short else ""
            return full or resolved(resource, self._base)
        for name in SUBJECTS:
            if name in attributes:
                return resolved(value_of(attributes, name).strip(SPACE), self._base)
        return ""

    def _value(self, at: int, scope: _Scope) -> str:
        """Return the value of a property that is no item."""
        attributes = self._marked.attributes[at]
        if "datetime" in attributes:
            return value_of(attributes, "datetime")
        return self._address_of_subject(attributes, scope) or self._marked.text(at)


def _declared(attributes: Mapping[str, str | None], scope_around: _Scope) -> _Scope:
    """Return the scope of an element: what it declares, and what is declared around it."""
    if "vocab" not in attributes and "prefix" not in attributes:
        return scope_around
    vocabulary = scope_around.vocabulary
    if "vocab" in attributes:
        vocabulary = value_of(attributes, "vocab").strip(SPACE)
    prefixes = scope_around.prefixes
    # An element's own prefixes hold beside those around it, and before them
    declared = _PREFIX.findall(value_of(attributes, "prefix"))
    if declared and len(prefixes) < PREFIXES:
        prefixes = {**prefixes, **{prefix.lower(): start for prefix, start in declared}}
    return _Scope(scope_around.item, scope_around.nested, vocabulary, prefixes)
