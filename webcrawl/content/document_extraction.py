"""Makes documents of pages: the main text as Markdown, and facts about it.

The libraries are trafilatura and resiliparse. Documents are made in a process of its own: a thread
would hold the interpreter's lock for 20 of each 25 ms, and a page can crash libxml2.
"""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from textwrap import indent
from typing import Any

from lxml import etree, html  # type: ignore[import-untyped,unused-ignore]  # untyped

from webcrawl.content.contact_masking import masked
from webcrawl.content.html.encodings import decode, is_undecodable
from webcrawl.content.html.shown_text import LEAST, candidates
from webcrawl.content.html.text_language import language_score, likely_language
from webcrawl.content.html.trees import defused
from webcrawl.content.near_duplicates import fingerprint
from webcrawl.content.text_chunks import chunks
from webcrawl.content.text_quality import COLUMNS, plain, quality
from webcrawl.content.token_count import token_counter
from webcrawl.content.worker import DocumentWorker, Job, WorkerDied, command_of

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_BLANKS_AT_LINE_END = re.compile(r"[ \t]+$", re.MULTILINE)
_EMPTY_LINES = re.compile(r"\n{3,}")
# lines of the markup, indented: Markdown's lists take less
_BROKEN_LINE = re.compile(r"(?<=\S)\n[ \t]{5,}(?=\S)")
FENCE = "```"
HIDDEN = "\u02cb\u02ce\u02cb"  # in the place of a page's own FENCE: what is then fenced is code
_LIST_ITEM = re.compile(r" *(?:[-*]|\d+\.) ")
_FENCES = re.compile("`{3,}")
UNDECODABLE = "undecodable"  # a flaw: the text is mostly U+FFFD
LONGEST = 1 << 20  # characters of text: the addresses of links may swell it to many times what came
PARSER = {"encoding": "utf-8", "collect_ids": False, "remove_comments": True, "remove_pis": True}


@dataclass(frozen=True, slots=True)
class DocumentBody:
    """The body that an extractor is given, and what it needs to know of it."""

    url: str
    data: bytes
    encoding: str
    is_markup: bool
    fetched: str  # the day, as YYYY-MM-DD: no page can be younger
    is_masked: bool = False  # mail addresses and telephone numbers are wanted masked, too
    tokenizer: str = ""  # the file of one, if tokens are to be counted
    chunk_size: int = 0  # those of chunks of this size, too
    office: str = ""  # the media type of a DOCX, PPTX, ODT or EPUB file


def extracted(body: DocumentBody) -> dict[str, Any]:
    """Return all that JSON has of a document, or its flaw.

    These are title, author, date, licence, text, the language of the text, its fingerprint and
    measures.
    """
    about = _read(body)
    whole = _clean(about["text"])
    if is_undecodable(whole):
        return {"flaw": UNDECODABLE}
    about["text"] = text = whole[:LONGEST]
    if len(whole) > LONGEST:
        about["truncated"] = "length"
    about["text_masked"] = masked(text) if body.is_masked else None
    read = plain(text)
    words = plain(_clean(about.pop("prose", text))) or read  # code looks like Romanian, or Latin
    about |= _language_of(words)
    if body.tokenizer:
        about |= _token_counts(text, body)
    about["replacement_share"] = text.count("\ufffd") / len(text) if text else None
    return about | {"neardup": fingerprint(read), **dict(zip(COLUMNS, quality(read), strict=True))}


def _language_of(words: str) -> dict[str, Any]:
    """Return the language in which a text is written, and how sure that is."""
    language, distance = likely_language(words) if words else ("", 0)
    if not language:
        return {"language_detected": None, "language_distance": None, "language_score": None}
    return {
        "language_detected": language,
        "language_distance": distance,
        "language_score": language_score(distance),
    }


def _token_counts(text: str, body: DocumentBody) -> dict[str, Any]:
    """Return the number of tokens of a text, and of each of its chunks if chunks are wanted."""
    counter = token_counter(body.tokenizer)
    counts: dict[str, Any] = {"token_count": counter.count(text)}
    if body.chunk_size:
        parts = chunks(text, body.chunk_size)
        counts["chunk_token_counts"] = [counter.count(one.text) for one in parts]
    return counts


def _read(body: DocumentBody) -> dict[str, Any]:
    """Return the text of a body, and what it says of itself."""
    if body.office:
        from webcrawl.content.formats.office import office_text  # noqa: PLC0415 - for few pages of few crawls

        return office_text(body.data, body.office)
    decoded = decode(body.data, body.encoding)
    return _main_text(decoded, body) if body.is_markup else {"text": decoded}


def _main_text(markup: str, body: DocumentBody) -> dict[str, Any]:
    """Return the main text of an HTML page as Markdown, with title, author, date and licence.

    `text` has the code blocks as they were written, `prose` has none. The first candidate for the
    main part that has enough text is taken; the text is empty if there is none.
    """
    from trafilatura import bare_extraction  # noqa: PLC0415 - optional, and slow to load

    try:  # given text, trafilatura takes many a page without <html> for none
        tree = html.document_fromstring(
            defused(markup.replace(FENCE, HIDDEN).encode(errors="replace")),
            html.HTMLParser(**PARSER),
        )
    except etree.ParserError:
        return {"text": ""}
    # trafilatura takes all for relative to the host
    tree.make_links_absolute(body.url, handle_failures="ignore")
    code_by_key = dict(_take_code_blocks(tree))
    for cell in tree.iter("td", "th"):  # of a list in a cell trafilatura takes nothing
        for item in cell.iter("li"):
            item.tag = "p"
        etree.strip_tags(cell, "ul", "ol")
    extract: Any = None  # a dict, if asked for
    for candidate in candidates(tree):
        extract = bare_extraction(
            candidate,
            url=body.url,
            include_comments=False,
            include_formatting=True,
            include_links=True,
            with_metadata=True,
            # The dates that the page states, not those that its text may mean: that takes ten times
            # as long as all the rest
            date_extraction_params={
                "extensive_search": False,
                "original_date": True,
                "max_date": body.fetched,
            },
        )
        if extract is not None and len(extract.text or "") >= LEAST:
            break
    if extract is None:  # it has no text
        return {"text": ""}
    prose, text = _put_code_back(extract.text or "", code_by_key)
    named = {
        name: getattr(extract, name) or None for name in ("title", "author", "date", "license")
    }
    return {
        "prose": prose,
        "text": text,
        **{name: value and value.replace(HIDDEN, FENCE) for name, value in named.items()},
    }


def _take_code_blocks(tree: Any) -> Iterator[tuple[str, str]]:
    """Make trafilatura leave blocks of code in place, and yield each as written, with its key.

    trafilatura drops empty lines of code, so `_put_code_back` puts the code as written into the
    text; the key is the code without blanks. The tree is changed.
    """
    blocks = [*tree.iter("pre")]
    boxes = {block.getparent() for block in blocks}
    for link in [*tree.iter("a")]:
        box = link.getparent()
        # trafilatura takes a box with a link that shows nothing for navigation: one to run the code
        is_beside_code = box is not None and (box.tag == "p" or box in boxes)
        if is_beside_code and not link.text_content().strip():
            link.drop_tree()
    for block in blocks:
        if next(block.iter("code", "span"), None) is None:
            continue
        for line in block.iter("br"):
            line.tail = f"\n{line.tail or ''}"
        # Code with links in it would be taken for text
        text = block.text_content().strip("\n")
        tail = block.tail
        block.clear()
        block.tail = tail
        etree.SubElement(block, "code").text = text
        # A figure would be taken for an image
        for figure in block.iterancestors("figure"):
            figure.tag = "div"
        yield "".join(text.split()), text


def _put_code_back(text: str, code_by_key: Mapping[str, str]) -> tuple[str, str]:
    """Return the text without blocks of code, and the text with them as they were written.

    `code_by_key`: the code of `_take_code_blocks`. A block stands on lines of its own, also in a list.
    """
    # Every second part is code
    parts = text.split(FENCE)
    for index in range(len(parts)):
        if index % 2 == 0:
            parts[index] = _BROKEN_LINE.sub(" ", parts[index]).replace(HIDDEN, FENCE)
            continue
        written = code_by_key.get("".join(parts[index].split()), parts[index].strip("\n"))
        code = written.replace(HIDDEN, FENCE)
        line_before = parts[index - 1].rpartition("\n")[2]
        if line_before.startswith("|"):  # a table has no room for lines
            parts[index] = f"`{' '.join(code.split())}`"
            continue
        # Longer than any run of its marks in the code, which would end the block
        fence = max([FENCE, *(f"{run}`" for run in _FENCES.findall(code))], key=len)
        list_item = _LIST_ITEM.match(line_before)
        parts[index] = f"{fence}\n{code}\n{fence}"
        if list_item is not None:
            parts[index] = indent(parts[index], " " * len(list_item[0]))
        if line_before.strip():
            parts[index] = f"\n{parts[index]}"
    return "".join(parts[::2]), "".join(parts)


def _clean(text: str) -> str:
    text = _CONTROLS.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))
    return _EMPTY_LINES.sub("\n\n", _BLANKS_AT_LINE_END.sub("", text)).strip()


MEMORY = 1 << 30  # bytes of address space
CPU_SECONDS = 6.0  # seconds of CPU time for a page, after which it is killed
JOB = "webcrawl.content.document_extraction:document_job"
BROKEN = {"flaw": "died"}  # of a page that takes too long, or brings the process down


def document_job() -> Job:
    """Return the job that makes documents. If the libraries fail for a page, the error is its flaw."""

    def read(data: bytes) -> dict[str, Any]:
        """Return the fields of the document, or its flaw.

        `data` is a line of JSON with all other fields of a DocumentBody, and then the body.
        """
        head, _, body = data.partition(b"\n")
        try:
            return extracted(DocumentBody(**json.loads(head), data=body))
        except MemoryError:
            # Data that the libraries keep may be the cause: the caller tries once more, with a new
            # process
            os.kill(os.getpid(), signal.SIGKILL)
            raise
        except Exception as error:  # noqa: BLE001 - of three libraries, for bytes of any kind
            return {"flaw": type(error).__name__}

    extracted(
        DocumentBody(
            "", b"<p>loads the libraries, while there is room for them", "UTF-8", True, "2000-01-01"
        )
    )
    return Job(read, MEMORY, CPU_SECONDS)


class DocumentProcess(DocumentWorker):
    """Makes documents of pages, one page at a time."""

    def __init__(self, command: tuple[str, ...] = ()) -> None:
        # Each of numpy's threads takes address space
        super().__init__(
            "documents", command or command_of(JOB), CPU_SECONDS, OPENBLAS_NUM_THREADS="1"
        )

    def document(self, head: dict[str, Any], body: bytes) -> dict[str, Any]:
        """Return the fields that `extracted` returns for a body, or its `flaw`.

        `head` has the other fields of a Body. Raise OSError if no process can be started.
        """
        try:
            return self.ask(json.dumps(head).encode() + b"\n" + body, dict)
        except WorkerDied:
            return BROKEN
