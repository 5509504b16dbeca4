"""Elements that carry structured data, with the nearest one around each, and what may be kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from threading import get_ident
from typing import Any, Self

from lxml import etree  # type: ignore[import-untyped,unused-ignore]  # untyped
from selectolax.lexbor import LexborNode

from webcrawl.content.html import tree_guard
from webcrawl.content.html.trees import (
    Element,
    LexborTree,
    PlainElement,
    TextReader,
    defused,
    drop_templates,
    lexbor_tree,
    plain_root,
    xml_root,
)

# Attributes whose elements are looked at, beside `meta` and `script`
MARKS = ("itemscope", "itemprop", "typeof", "property", "resource", "vocab", "prefix")
REFERRED = ("id",)  # where an `itemref` is
SUBJECTS = ("href", "src")  # where RDFa is
MOST = 20_000  # elements of a page that are looked at
ROOM = 1 << 20  # characters that are kept of a page, JSON-LD as written
ITEM = 32  # characters that an item counts as, beside its values
# Properties within properties whose texts are read: each reads what is in it again
TEXTS = 4

Item = dict[str, Any]
# Elements in document order, and for each the place of the nearest one around it, or -1
Found = tuple[list[Any], list[int]]
Find = Callable[[Sequence[str]], Found]


class MarkedElements:
    """The elements of a document, and the room that all values of it share."""

    def __init__(self, found: Found) -> None:
        """Take the first MOST of the elements that a tree has, with the place of the nearest one
        around each.

        From these come the children of each, and the number of properties around it.
        """
        elements, nearest = found
        self.dropped = Counter[str]()  # values, by reason
        if len(elements) > MOST:
            self.dropped["many"] = len(elements) - MOST
        self.elements: list[Element] = elements[:MOST]
        self.attributes = [element.attributes for element in self.elements]
        self.nearest = nearest[:MOST]
        self.children: list[list[int]] = [[] for _ in self.elements]
        self._room = ROOM
        self._texts: dict[int, str] = {}
        self._properties_around: list[int] = []  # around each element, itself included
        for number, parent in enumerate(self.nearest):
            around = 0
            if parent >= 0:
                self.children[parent].append(number)
                around = self._properties_around[parent]
            attributes = self.attributes[number]
            is_property = "itemprop" in attributes or "property" in attributes
            self._properties_around.append(around + is_property)

    @classmethod
    def of(cls, text: bytes, kind: str, root: LexborNode | None) -> Self | None:
        """Return those of a document in UTF-8, or None if it has none.

        `kind`: what `trees.document` returned. `root`: of lexbor's tree if it is parsed already.
        """
        find = _finder(text, kind, root)
        if find is None:
            return None
        marked = cls(find(MARKS))
        # Only if the first search found a use for them: very many elements have an id or an address
        more: tuple[str, ...] = ()
        if marked.has("itemref"):
            more += REFERRED
        if marked.has("typeof") or marked.has("vocab"):
            more += SUBJECTS
        if more:
            marked = cls(find((*MARKS, *more)))
        return marked if marked.elements else None

    def has(self, name: str) -> bool:
        return any(name in attributes for attributes in self.attributes)

    def takes(self, size: int) -> bool:
        """Take room for so many characters. Return False and count the value if there is none."""
        if size > self._room:
            self.dropped["long"] += 1
            return False
        self._room -= size
        return True

    def text(self, at: int) -> str:
        """Return the text of an element, its white space collapsed."""
        if at not in self._texts:
            self._texts[at] = ""
            if self._properties_around[at] > TEXTS:
                self.dropped["deep"] += 1
            else:
                self._texts[at] = " ".join(self.elements[at].text().split())
        return self._texts[at]

    def add(self, item: Item, names: Iterable[str], value: Item | str) -> None:
        """Add the value of a property that may have several names."""
        size = len(value) if isinstance(value, str) else 0
        for name in names:
            if self.takes(size + len(name)):
                item["properties"].setdefault(name, []).append(value)


def _finder(text: bytes, kind: str, root: LexborNode | None) -> Find | None:
    """Return the search in a document's tree by lexbor, or by libxml2; None if there is no tree."""
    if root is not None:
        return partial(_of_lexbor, root)
    text = defused(text)
    is_heavy = kind != "xml" and tree_guard.heavy(text)
    if kind == "xml" or is_heavy:
        tree = plain_root(text) if is_heavy else xml_root(text)
        return partial(_of_plain, tree, TextReader(text)) if tree is not None else None
    root = lexbor_tree(text).root
    return partial(_of_lexbor, root) if root is not None else None


def _of_lexbor(root: LexborNode, names: Sequence[str]) -> Found:
    selector = f":is(meta,script,{','.join(f'[{name}]' for name in names)})"
    nodes: list[Any] = [*_lexbor(selector, get_ident()).within(root)]
    return nodes, _nearest(nodes, lambda node: node.mem_id, lambda node: node.parent)


@cache
def _lexbor(selector: str, _thread: int) -> LexborTree:
    """Return the finder of a thread: a large page is read beside others."""
    return LexborTree(selector)


def _of_plain(root: etree._Element, texts: TextReader, names: Sequence[str]) -> Found:
    """Return the elements with one of these attributes in libxml2's tree, and the nearest one
    around each.

    <meta> and <script> count too. Templates are taken out of the tree.
    """
    drop_templates(root)
    wanted = frozenset(names)
    nodes = []
    elements = []
    for node in root.iter(etree.Element):
        tag = node.tag.rpartition("}")[2]
        is_marked = tag in ("meta", "script") or not wanted.isdisjoint(node.keys())
        if is_marked and len(node.attrib) <= tree_guard.ATTRIBUTES:  # as in XmlTree
            nodes.append(node)
            elements.append(PlainElement(node, tag, dict(node.items()), texts))
    return elements, _nearest(nodes, lambda node: node, lambda node: node.getparent())


def _nearest(
    nodes: Sequence[Any], key: Callable[[Any], Any], parent: Callable[[Any], Any]
) -> list[int]:
    """Return for each node, in document order, the place of the nearest one around it, or -1.

    Each node of the tree is passed once, however deep the tree is.
    """
    # By node: the place of the nearest one around it, or its own if it is one of `nodes`
    places: dict[Any, int] = {}
    nearest = []
    for at, node in enumerate(nodes):
        passed = []
        above = parent(node)
        while above is not None and key(above) not in places:
            passed.append(key(above))
            above = parent(above)
        place = places[key(above)] if above is not None else -1
        # So that the way up from a later node ends here
        places.update(dict.fromkeys(passed, place))
        places[key(node)] = at
        nearest.append(place)
    return nearest
