"""Kinds of values that are known words: purposes, outputs, kinds of links, partitions, policies of revisits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from webcrawl.base.loading import load, missing
from webcrawl.base.outputs import BESIDE, BRINGS, NAMES, OF_PDFS
from webcrawl.base.settings.setting_kinds import Choices, text, words
from webcrawl.content.formats.document_kinds import ALL
from webcrawl.content.preferences.purpose_bits import PURPOSES
from webcrawl.crawl.checks.code import Dotted
from webcrawl.crawl.checks.places import File
from webcrawl.crawl.hive.errors import HiveError
from webcrawl.crawl.hive.partition import WAYS, read_regions
from webcrawl.crawl.revisit.policy import POLICIES
from webcrawl.record.objectstore.place import ALLOWED, check_packages, read_address


class Purposes:
    """Names of purposes, in any order and case, or none."""

    allowed: str = f"some of {', '.join(PURPOSES)}, or none"

    def read(self, value: Any, /) -> tuple[str, ...]:
        found = {word.lower() for word in words("" if value is None else value)}
        if unknown := sorted(found - set(PURPOSES)):
            raise ValueError(f"{', '.join(map(repr, unknown))} is no purpose")
        return tuple(purpose for purpose in PURPOSES if purpose in found)


class Languages:
    """ISO 639 codes of languages, or none."""

    allowed: str = "two-letter codes of languages, such as sl,hr, or none"

    def read(self, value: Any, /) -> tuple[str, ...]:
        found = {word.lower() for word in words("" if value is None else value)}
        if wrong := sorted(word for word in found if not re.fullmatch("[a-z]{2,3}", word)):
            raise ValueError(f"{wrong[0]!r} is none")
        return tuple(sorted(found))


class Outputs:
    """Names of outputs, in any order and case, or none."""

    allowed: str = f"some of {', '.join(NAMES)}, or none"

    def read(self, value: Any, /) -> tuple[str, ...]:
        found = {word.lower() for word in words(value)}
        if unknown := sorted(found - set(NAMES)):
            raise ValueError(f"{', '.join(map(repr, unknown))} does not exist")
        for name in sorted(found & BESIDE.keys()):
            if BESIDE[name] not in found:
                raise ValueError(f"{name} is written beside {BESIDE[name]}, and not without it")
        found.update(BRINGS[name] for name in found & BRINGS.keys())
        return tuple(name for name in NAMES if name in found)


class OutputStore:
    """The address of a store."""

    allowed: str = ALLOWED

    def read(self, value: Any, /) -> str:
        address = read_address(text(value))
        check_packages(address)
        return address


_WORDS = Choices(ALL)
PDF, LIBRARY = "pdf", "pypdfium2"
MISSING = missing(LIBRARY)


class LinkSources:
    """Kinds of links; `all` stands for every one that can be read here."""

    allowed: str = _WORDS.allowed

    def read(self, value: Any, /) -> tuple[str, ...]:
        found = _WORDS.read(value)
        if PDF not in found or find_spec(LIBRARY) is not None:
            return found
        if found == ALL and PDF not in str(value).lower():
            return tuple(kind for kind in found if kind != PDF)
        raise ValueError(MISSING)


def unread(sources: Any, outputs: Iterable[str]) -> Iterator[str]:
    """Names what these values of LINK_SOURCES and OUTPUTS promise and cannot be had here."""
    if _WORDS.read(sources) != LinkSources().read(sources):
        yield f"LINK_SOURCES: links of PDFs are not read, {MISSING}"
    if find_spec(LIBRARY) is None and (texts := OF_PDFS.intersection(outputs)):
        yield f"OUTPUTS: {' and '.join(sorted(texts))} will have nothing of PDFs, {MISSING}"


class PartitionWay:
    """One of a few words, or a file of regions."""

    allowed: str = f"one of {', '.join(WAYS)}, or the path of a file of regions"

    def read(self, value: Any, /) -> str:
        found = text(value)
        if found.lower() in WAYS:
            return found.lower()
        path = str(File().read(found))
        try:
            read_regions(Path(path))
        except HiveError as error:
            raise ValueError(str(error).removeprefix(f"{path}, ")) from error
        return path


NONE = "none"


@dataclass(frozen=True, slots=True)
class Shipped:
    """One of a few words, in any case, or a dotted path; the plain value is the dotted path, or none."""

    known: Mapping[str, str]
    none: bool = False  # whether `none` is one of the words
    has: tuple[str, ...] = ()  # what the class must have

    @property
    def allowed(self) -> str:
        words = [*([NONE] if self.none else []), *self.known]
        return f"one of {', '.join(words)}, or {Dotted().allowed}"

    def read(self, value: Any, /) -> str:
        word = text(NONE if value is None and self.none else value)
        if self.none and word.lower() == NONE:
            return NONE
        path = Dotted().read(self.known.get(word.lower(), word))
        missing = [name for name in self.has if not hasattr(load(path), name)]
        if missing:
            raise ValueError(f"{path} has no {missing[0]}")
        return path


OF_A_POLICY = "early", "observe", "due", "worth", "took", "spared", "state", "restore"
REVISIT_POLICY = Shipped(POLICIES, none=True, has=OF_A_POLICY)
