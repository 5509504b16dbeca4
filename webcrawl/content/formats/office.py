"""Texts of DOCX, PPTX, ODT and EPUB files, as Markdown. It runs in the process of the documents.

All four are ZIP archives with XML in them, and may come from an enemy: a bomb of zeros, entities
that refer to entities, a member that is not what its name says. So what is unpacked is bounded,
entities are not replaced, and nothing outside of the file is read.
"""

from __future__ import annotations

import io
import posixpath
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple
from urllib.parse import unquote
from zipfile import BadZipFile, ZipFile

from lxml import etree  # type: ignore[import-untyped,unused-ignore]  # untyped

UNPACKED = 64 << 20  # bytes of all members that are read together
CHARACTERS = (1 << 20) + 1  # of text: one more than a document keeps, so that the rest is known of
WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
SLIDES = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
DUBLIN = "{http://purl.org/dc/elements/1.1/}"
TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
PARAGRAPHS = (f"{TEXT}h", f"{TEXT}p")
# Microsoft's formats exist in two forms, whose elements differ by these parts of their names only
STRICT = b"http://purl.oclc.org/ooxml/"
USUAL = b"http://schemas.openxmlformats.org/"
NAMES = {
    STRICT + b"wordprocessingml/main": USUAL + b"wordprocessingml/2006/main",
    STRICT + b"drawingml/main": USUAL + b"drawingml/2006/main",
    STRICT + b"presentationml/main": USUAL + b"presentationml/2006/main",
    STRICT + b"officeDocument/relationships": USUAL + b"officeDocument/2006/relationships",
}
LISTS = ("list bullet", "list number")  # how styles of items begin
TITLES = ("title", "ctrTitle")  # kinds of a slide's placeholders
HEADING = re.compile("h[1-6]")
_INLINE = """
    a abbr b bdi bdo big cite code data del dfn em font i img ins kbd mark q rp rt ruby s samp small
    span strike strong sub sup time tt u var wbr
"""
INLINE = frozenset(_INLINE.split())  # elements of HTML that do not begin a line
# Text that a reader of the document does not see where it stands: deleted or moved away in a tracked
# change, comments, numbers of notes, and the second form of a drawing, for old programs
UNSEEN = {
    f"{WORD}del",
    f"{WORD}moveFrom",
    f"{TEXT}tracked-changes",
    f"{TEXT}note-citation",
    "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}annotation",
    "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback",
}
# What a run has beside its letters
SIGNS = {"tab": " ", "ptab": " ", "br": " ", "cr": " ", "noBreakHyphen": "-"}
BLANKS = {f"{TEXT}s", f"{TEXT}tab", f"{TEXT}line-break"}


class NotReadable(ValueError):  # noqa: N818 - the name is the document's flaw
    """A file that is not what its type says, or one that needs a password."""


class Relation(NamedTuple):
    """A reference from one part of a Microsoft file to another."""

    name: str
    kind: str  # the end of its type
    place: str


class PackedFile:
    """The members of an office file. At most UNPACKED bytes of them are unpacked."""

    def __init__(self, data: bytes) -> None:
        """Raise NotReadable."""
        try:
            self._zip = ZipFile(io.BytesIO(data))
        except (BadZipFile, ValueError, OverflowError) as error:
            raise NotReadable(str(error)) from error
        self._room = UNPACKED
        self._unread: NotReadable | None = None

    def read(self, name: str) -> bytes:
        """Return a member. Raise NotReadable if it is missing, damaged, encrypted or too large."""
        try:
            # One byte more than there is room for: what the member claims as its size may be wrong
            with self._zip.open(name) as member:
                data = member.read(self._room + 1)
        # Each way of packing has errors of its own: zlib.error, LZMAError
        except Exception as error:
            raise NotReadable(f"{name}: {error}") from error
        self._room -= len(data)
        if self._room < 0:
            raise NotReadable(f"{name}: more than {UNPACKED} bytes")
        return data

    def tree(self, name: str) -> Any:
        """Return the root of a member in XML. Raise NotReadable."""
        parser = etree.XMLParser(
            resolve_entities=False,
            no_network=True,
            load_dtd=False,
            remove_comments=True,
            remove_pis=True,
        )
        try:
            return etree.fromstring(_in_usual_names(self.read(name)), parser)
        except etree.XMLSyntaxError as error:
            raise NotReadable(f"{name}: {error}") from error

    def has(self, name: str) -> bool:
        return name in self._zip.namelist()

    def relations(self, name: str) -> Iterator[Relation]:
        """Yield what a part of one of Microsoft's formats refers to; that of "" is the file's own."""
        folder, file = posixpath.split(name)
        listed = posixpath.join(folder, "_rels", f"{file}.rels")
        if not self.has(listed):
            return
        for one in self.tree(listed):
            if isinstance(one.tag, str):
                kind = one.get("Type", "").rpartition("/")[2]
                yield Relation(one.get("Id", ""), kind, _member(folder, one.get("Target", "")))

    def related(self, name: str, kind: str, usual: str) -> str:
        """Return the member that stands in a relation of this kind, or the one that usually does."""
        return next((one.place for one in self.relations(name) if one.kind == kind), usual)

    def all_of(
        self, places: Iterable[str], read: Callable[[PackedFile, str], Iterator[str]]
    ) -> Iterator[str]:
        """Yield the blocks of all readable places. Raise NotReadable if none of them is readable."""
        are_readable = False
        for place in places:
            try:
                yield from read(self, place)
                are_readable = True
            except NotReadable as error:
                self._unread = self._unread or error
        if self._unread is not None and not are_readable:
            raise self._unread

    @property
    def lacks_part(self) -> bool:
        """Return whether a part was left out because it is not readable."""
        return self._unread is not None


def _in_usual_names(data: bytes) -> bytes:
    if STRICT in data:
        for strict, usual in NAMES.items():
            data = data.replace(strict, usual)
    return data


def _member(folder: str, target: str) -> str:
    """Return the name of the member that a reference in a folder means."""
    return posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")


def office_text(data: bytes, kind: str) -> dict[str, Any]:
    """Return title, author and text of a file of one of KINDS. Raise NotReadable.

    A chapter or slide that is missing or damaged is left out, and `truncated` tells it.
    """
    packed = PackedFile(data)
    title, author, blocks = KINDS[kind](packed)
    kept: list[str] = []
    room = CHARACTERS
    for block in blocks:
        if room <= 0:
            break
        kept.append(block[:room])
        room -= len(block) + 2
    about = {"title": title or None, "author": author or None, "text": "\n\n".join(kept)}
    return {**about, "truncated": "unspecified"} if packed.lacks_part else about


Contents = tuple[str, str, Iterator[str]]  # title, author, and blocks of text


def _word(packed: PackedFile) -> Contents:
    main = packed.related("", "officeDocument", "word/document.xml")
    body = packed.tree(main)
    return *_core(packed), _word_blocks(body, _style_names(packed, main))


def _style_names(packed: PackedFile, main: str) -> dict[str, str]:
    """Return the names of a document's styles by their identifiers."""
    place = packed.related(main, "styles", "word/styles.xml")
    if not packed.has(place):
        return {}
    return {
        style.get(f"{WORD}styleId"): name.get(f"{WORD}val", "").lower()
        for style in packed.tree(place).iter(f"{WORD}style")
        for name in style.iter(f"{WORD}name")
    }


def _word_blocks(body: Any, names: dict[str, str]) -> Iterator[str]:
    """Yield each paragraph of a DOCX body as Markdown. `names`: the names of the styles by their
    ids.
    """
    for paragraph in body.iter(f"{WORD}p"):
        if _is_unseen(paragraph):
            continue
        text = _paragraph_text(paragraph, WORD)
        style = paragraph.find(f"{WORD}pPr/{WORD}pStyle")
        name = "" if style is None else names.get(style.get(f"{WORD}val"), "")
        is_item = paragraph.find(f"{WORD}pPr/{WORD}numPr") is not None
        if text:
            yield f"{_markdown_prefix(name, is_item=is_item)}{text}"


def _markdown_prefix(style: str, *, is_item: bool) -> str:
    """Return how Markdown begins a paragraph of this style."""
    kind, _, level = style.partition(" ")
    if kind == "title":
        return "# "
    if kind == "heading" and level.isdecimal():
        # Markdown has six levels, and Word nine
        return f"{'#' * min(int(level), 6)} "
    if is_item or style.startswith(LISTS):
        return "- "
    return ""


def _paragraph_text(paragraph: Any, space: str) -> str:
    """Return the text of a paragraph's own runs, with their tabs and line breaks."""
    parts = []
    names = [f"{space}{name}" for name in ("t", *SIGNS)]
    for one in paragraph.iter(*names):
        # A box within the paragraph has paragraphs of its own
        is_own = next(one.iterancestors(f"{space}p"), None) is paragraph
        if not is_own or _is_unseen(one):
            continue
        parts.append(SIGNS.get(one.tag.removeprefix(space)) or one.text or "")
    return " ".join("".join(parts).split())


def _is_unseen(element: Any) -> bool:
    return any(one.tag in UNSEEN for one in element.iterancestors())


def _presentation(packed: PackedFile) -> Contents:
    main = packed.related("", "officeDocument", "ppt/presentation.xml")
    related = {one.name: one.place for one in packed.relations(main)}
    places = [
        related.get(one.get(RELATION), "") for one in packed.tree(main).iter(f"{SLIDES}sldId")
    ]
    return *_core(packed), packed.all_of(places, _slide_blocks)


def _slide_blocks(packed: PackedFile, place: str) -> Iterator[str]:
    """Yield the texts of the shapes on a slide as Markdown, titles as headings. `place`: its
    member.
    """
    for shape in packed.tree(place).iter(f"{SLIDES}sp", f"{SLIDES}graphicFrame"):
        if _is_unseen(shape):
            continue
        lines = [_paragraph_text(paragraph, DRAWING) for paragraph in shape.iter(f"{DRAWING}p")]
        text = "\n".join(filter(None, lines))
        if not text:
            continue
        # A shape is a title by the placeholder of the layout that it fills
        holder = next(shape.iter(f"{SLIDES}ph"), None)
        is_title = holder is not None and holder.get("type") in TITLES
        yield f"# {' '.join(text.split())}" if is_title else text


def _core(packed: PackedFile) -> tuple[str, str]:
    """Return title and author, as Microsoft's formats have them."""
    place = packed.related("", "core-properties", "docProps/core.xml")
    return _dublin(packed.tree(place)) if packed.has(place) else ("", "")


def _dublin(root: Any) -> tuple[str, str]:
    """Return the first title and the first creator that Dublin Core names in a tree."""
    title = next(root.iter(f"{DUBLIN}title"), None)
    author = next(root.iter(f"{DUBLIN}creator"), None)
    return _text(title), _text(author)


def _text(element: Any) -> str:
    return "" if element is None else " ".join("".join(element.itertext()).split())


def _open_document(packed: PackedFile) -> Contents:
    title, author = _dublin(packed.tree("meta.xml")) if packed.has("meta.xml") else ("", "")
    return title, author, _odt_blocks(packed.tree("content.xml"))


def _odt_blocks(root: Any) -> Iterator[str]:
    """Yield each heading and paragraph of an ODT text as Markdown; items of lists have their mark."""
    for element in root.iter(*PARAGRAPHS):
        text = _text_of_element(element)
        if not text or _is_unseen(element):
            continue
        if element.tag == f"{TEXT}h":
            level = element.get(f"{TEXT}outline-level", "1")
            yield f"{_markdown_prefix(f'heading {level}', is_item=False)}{text}"
        else:
            is_item = next(element.iterancestors(f"{TEXT}list-item"), None) is not None
            yield f"{_markdown_prefix('', is_item=is_item)}{text}"


def _text_of_element(paragraph: Any) -> str:
    """Return the text of a paragraph without that of notes and boxes in it, which have their own."""
    parts = [paragraph.text or ""]
    walk = etree.iterwalk(paragraph, events=("start", "end"))
    for event, one in walk:
        # Its own text was taken, and its tail is not in it
        if one is paragraph:
            continue
        if event == "end":
            parts.append(one.tail or "")
        elif _has_own_text(one):
            walk.skip_subtree()
        elif one.tag in BLANKS:
            parts.append(" ")
        else:
            parts.append(one.text or "")
    return " ".join("".join(parts).split())


def _has_own_text(element: Any) -> bool:
    """Return whether the text of an element does not belong to the paragraph around it."""
    return element.tag in PARAGRAPHS or element.tag in UNSEEN


def _epub_contents(packed: PackedFile) -> Contents:
    """Return title, author and chapters of an EPUB, in the order in which it is read.

    Raise NotReadable if it names no book, or if a chapter is encrypted.
    """
    places = packed.tree("META-INF/container.xml").xpath("//*[local-name()='rootfile']/@full-path")
    if not places:
        raise NotReadable("META-INF/container.xml: names no book")
    book = packed.tree(places[0])
    folder = posixpath.dirname(places[0])
    files = {
        element.get("id"): _member(folder, unquote(element.get("href", "")))
        for element in book.iter("{*}item")
    }
    idrefs = [element.get("idref", "") for element in book.iter("{*}itemref")]
    chapters = [files.get(idref, idref) for idref in idrefs]
    if locked := _encrypted(packed).intersection(chapters):
        raise NotReadable(f"{min(locked)}: is encrypted")
    return *_dublin(book), packed.all_of(chapters, _chapter_blocks)


def _encrypted(packed: PackedFile) -> set[str]:
    """Return the members of a book that are encrypted: fonts often are, and all that is not free."""
    if not packed.has("META-INF/encryption.xml"):
        return set()
    references = packed.tree("META-INF/encryption.xml").iter("{*}CipherReference")
    return {posixpath.normpath(unquote(one.get("URI", ""))) for one in references}


def _chapter_blocks(packed: PackedFile, place: str) -> Iterator[str]:
    """Yield the headings, items and paragraphs of a chapter in XHTML; it may be as HTML often is."""
    data = packed.read(place)
    encoding = "utf-16" if data.startswith((BOM_UTF16_BE, BOM_UTF16_LE)) else "utf-8"
    parser = etree.HTMLParser(
        no_network=True, encoding=encoding, remove_comments=True, remove_pis=True
    )
    root = etree.fromstring(data, parser)
    body = None if root is None else root.find("body")
    if body is None:
        return
    etree.strip_elements(body, "script", "style", with_tail=False)
    style = ""
    pieces: list[str] = []
    for event, one in etree.iterwalk(body, events=("start", "end")):
        begins = event == "start"
        # A block ends where another one begins, and goes on behind it
        if one.tag not in INLINE:
            text = " ".join("".join(pieces).split())
            if text:
                yield f"{_markdown_prefix(style, is_item=style == 'li')}{text}"
            pieces.clear()
            style = _style(one if begins else one.getparent())
        piece = one.text if begins else one.tail
        pieces.append(piece or "")


def _style(block: Any) -> str:
    """Return the style of an HTML block, or of the nearest heading or item around it."""
    while block is not None and block.tag != "body":
        if block.tag == "li":
            return "li"
        if HEADING.fullmatch(block.tag):
            return f"heading {block.tag[1:]}"
        block = block.getparent()
    return ""


_MICROSOFT = "application/vnd.openxmlformats-officedocument."
KINDS: dict[str, Callable[[PackedFile], Contents]] = {  # by media type
    f"{_MICROSOFT}wordprocessingml.document": _word,
    f"{_MICROSOFT}presentationml.presentation": _presentation,
    "application/vnd.oasis.opendocument.text": _open_document,
    "application/epub+zip": _epub_contents,
}
