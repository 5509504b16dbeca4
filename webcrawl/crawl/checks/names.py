"""Kinds of values that are names: dotted paths of code, expressions and endings, and known words."""

from __future__ import annotations

import ast
import json
import os
import re
import socket
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from difflib import get_close_matches
from importlib.abc import InspectLoader
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import re2

from webcrawl.base.loading import OURS, load, missing
from webcrawl.base.outputs import BESIDE, BRINGS, NAMES, OF_PDFS
from webcrawl.base.settings.crawl_settings import AUTO, URL_FILTERS
from webcrawl.base.settings.setting_kinds import Choices, WholeNumber, text, words
from webcrawl.content.html.link_kinds import ALL
from webcrawl.content.purpose_bits import PURPOSES
from webcrawl.crawl.checks.places import File
from webcrawl.crawl.hive.errors import HiveError
from webcrawl.crawl.hive.partition import MAX_DRONES, WAYS, read_regions
from webcrawl.crawl.revisit.policies import POLICIES
from webcrawl.record.objectstore.store_folder import ADDRESS_FORM, check_packages, read_address
from webcrawl.urls.filters.filter_protocol import quiet

# -- code

_EXTENSION = re.compile(r"[a-z0-9]+(\.[a-z0-9]+)*")
_ORDER = WholeNumber(0, 1000)


class Dotted:
    """The dotted path of a class or function; it is imported to check it."""

    allowed: str = "the dotted path of an importable class or function"

    def read(self, value: Any, /) -> str:
        path = text(value)
        if not callable(load(path)):
            raise TypeError(f"{path} is not a class or function")
        return path


class DottedList:
    """Several dotted paths."""

    allowed: str = "comma-separated dotted paths of importable classes or functions, or none"

    def read(self, value: Any, /) -> tuple[str, ...]:
        return tuple(Dotted().read(word) for word in words(value))


class FilterPaths:
    """Dotted paths of filters with their order, as in Scrapy's ITEM_PIPELINES.

    They are added to those of the default, so that whoever adds one loses neither scope nor
    exclusions. A dict that gives one of these an order, or is empty, is the whole list.
    """

    allowed: str = (
        "a dict or JSON object: importable dotted paths as keys, whole numbers from 0 to "
        "1000 or None as values"
    )

    def read(self, value: Any, /) -> dict[str, int | None]:
        given = {text(path): self._order(path, order) for path, order in _mapping(value).items()}
        orders_of_ours = [order for path, order in given.items() if path in URL_FILTERS]
        is_whole_list = not given or any(order is not None for order in orders_of_ours)
        return given if is_whole_list else {**URL_FILTERS, **given}

    def _order(self, path: str, order: Any) -> int | None:
        """Return a filter's number in the order of filters, or None if it is switched off.

        Raise ValueError for a path that names no filter.
        """
        if order is not None:
            Dotted().read(path)
            return _ORDER.read(order)
        # None switches a filter off. A user's own is not imported for that: perhaps it is switched
        # off because it cannot be.
        if path.startswith(OURS) and path not in URL_FILTERS:
            near = get_close_matches(path, URL_FILTERS, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ValueError(f"{path} is not a URL filter{hint}")
        return None


class Components:
    """Scrapy's components with their orders: dotted paths, or the classes themselves.

    Checks that their modules exist and name them, without importing one: that may install a
    reactor, which Scrapy chooses later.
    """

    allowed: str = (
        "a dict or JSON object: dotted paths of classes in existing modules as keys, a "
        "number or None as values"
    )

    def read(self, value: Any, /) -> dict[Any, int | float | None]:
        found: dict[Any, int | float | None] = {}
        for path, order in _mapping(value).items():
            # Scrapy never loads a component that is switched off by None.
            component = path if order is None else _existing_component(path)
            found[component] = _order(order)
        return found


class Component:
    """One such component."""

    allowed: str = "the dotted path of a class in an existing module"

    def read(self, value: Any, /) -> Any:
        return _existing_component(value)


class ComponentList:
    """Several such components."""

    allowed: str = "comma-separated dotted paths of classes in existing modules, or none"

    def read(self, value: Any, /) -> tuple[str, ...]:
        return tuple(_existing_component(word) for word in words(value))


def _mapping(value: Any) -> Mapping[Any, Any]:
    """Return a dict, given as such or as JSON. Raise TypeError or ValueError for anything else."""
    found = json.loads(value) if isinstance(value, str) else value
    if not isinstance(found, Mapping):
        raise TypeError
    return found


def _existing_component(dotted_path: Any) -> Any:
    """Return a component as given: a class, or a dotted path whose module has the name.

    Raise ValueError if the module has not.
    """
    if isinstance(dotted_path, type):
        return dotted_path
    module, _, name = text(dotted_path).rpartition(".")
    try:
        names = _names(module, name)
    except Exception as error:  # to find a module imports its package, which may raise anything
        raise ValueError(f"{dotted_path}: {error}") from error
    if names is not None and name not in names:
        close = get_close_matches(name, names, 1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise ValueError(f"{dotted_path}: the module has no {name}{hint}")
    return dotted_path


def _names(module: str, name: str) -> Collection[str] | None:
    """Return the names that a module defines or imports, or None if only an import can tell.

    A module that is not loaded is not imported: its source is read. Nearly all modules have a line
    that defines the name. Then the other names are not collected, which takes 2 ms per module.
    """
    if module in sys.modules:
        found = {*vars(sys.modules[module])}
    else:
        source = _source(module)
        if source is None:
            return None
        if _has_definition(source, name):
            return {name}
        found = _defined(source)
    # `from x import *` and a module's `__getattr__` may give it any name.
    is_open = not found.isdisjoint(("*", "__getattr__"))
    return None if is_open else found


def _source(module: str) -> str | None:
    """Return the source of a module, or None if it has none. Raise if there is no such module."""
    spec = find_spec(module) if module else None
    if spec is None:
        raise ModuleNotFoundError("there is no such module")
    if not isinstance(spec.loader, InspectLoader):
        return None
    return spec.loader.get_source(module)


def _has_definition(source: str, name: str) -> bool:
    """Return whether the source has a class or function of this name, defined at its top level."""
    starts = (
        f"\nclass {name}(",
        f"\nclass {name}:",
        f"\ndef {name}(",
    )
    return any(start in source for start in starts)


def _defined(source: str) -> set[str]:
    """Return the names that a module's source defines or imports, without running it."""
    defined_names = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case (
                ast.ClassDef(name=name)
                | ast.FunctionDef(name=name)
                | ast.Name(id=name, ctx=ast.Store())
            ):
                defined_names.add(name)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                # `import a.b` gives the module the name `a`.
                defined_names.update(
                    (alias.asname or alias.name).partition(".")[0] for alias in names
                )
    return defined_names


def _order(order: Any) -> int | float | None:
    """Return a component's order, None if it is switched off. Raise TypeError for no number."""
    if order is None:
        return None
    if not isinstance(order, int | float) or isinstance(order, bool):
        raise TypeError
    return order


class Expressions:
    """RE2 expressions, which run in linear time."""

    allowed: str = "an RE2 expression, or a list or JSON array of them"

    def read(self, value: Any, /) -> tuple[str, ...]:
        """Return the regular expressions of a setting. Raise ValueError for one that RE2 refuses."""
        expressions = _expressions_in(value)
        for expression in expressions:
            try:
                re2.compile(expression, quiet())
            except re2.error as error:
                reason = error.args[0]
                text_of_error = reason.decode() if isinstance(reason, bytes) else reason
                raise ValueError(text_of_error) from error
        return tuple(expressions)


_QUOTED_ARRAY = re.compile(r"""\s*\[\s*(["']).*\1[\s,]*\]\s*""", re.DOTALL)


def _expressions_in(value: Any) -> list[str]:
    """Return the expressions of a setting.

    Several come as a JSON array, because commas and spaces may be part of one. Raise ValueError for
    a value that is no text, and for a mistyped array.
    """
    if isinstance(value, list | tuple):
        return [text(expression) for expression in value]
    if value == "":
        return []
    written = text(value)
    try:
        parsed = json.loads(written)
    except ValueError as error:
        # As an expression it would be a set of characters, which nearly every URL matches
        if _QUOTED_ARRAY.fullmatch(written):
            raise ValueError("it looks like a JSON array, but is none") from error
        return [written]
    # A single [1] is JSON, too, but an expression: only an array of texts is a list of them.
    is_array = isinstance(parsed, list) and all(isinstance(each, str) for each in parsed)
    if not is_array:
        return [written]
    return [text(expression) for expression in parsed]


class Extensions:
    """Endings of file names, without the dot."""

    allowed: str = "comma-separated file name endings, such as zip,tar.gz, or none"

    def read(self, value: Any, /) -> tuple[str, ...]:
        found = [word.lower().removeprefix(".") for word in words(value)]
        for word in found:
            if not _EXTENSION.fullmatch(word):
                raise ValueError(f"{word!r} is not a file name ending")
        return tuple(found)


# -- known words


class Purposes:
    """Names of purposes, in any order and case, or none."""

    allowed: str = f"some of {', '.join(PURPOSES)}, or none"

    def read(self, value: Any, /) -> tuple[str, ...]:
        found = _lower_case_words(value)
        _refuse_unknown(found, PURPOSES)
        return tuple(purpose for purpose in PURPOSES if purpose in found)


class Languages:
    """ISO 639 codes of languages, or none."""

    allowed: str = "two-letter codes of languages, such as sl,hr, or none"

    def read(self, value: Any, /) -> tuple[str, ...]:
        found = sorted(_lower_case_words(value))
        for word in found:
            if not re.fullmatch("[a-z]{2,3}", word):
                raise ValueError(f"{word!r} is not one")
        return tuple(found)


def _lower_case_words(value: Any) -> set[str]:
    """Return the words of a setting in lower case; none of None."""
    given = "" if value is None else value
    return {word.lower() for word in words(given)}


def _refuse_unknown(found: AbstractSet[str], known: Iterable[str]) -> None:
    """Raise ValueError if one of these words is not known."""
    unknown = sorted(found - set(known))
    if unknown:
        raise ValueError(f"unknown: {', '.join(map(repr, unknown))}")


class Outputs:
    """Names of outputs, in any order and case, or none."""

    allowed: str = f"some of {', '.join(NAMES)} and dotted paths of your own, or none"

    def read(self, value: Any, /) -> tuple[str, ...]:
        given = words(value)
        # A user's own output is a dotted path, and no name of ours has a dot.
        own = list(dict.fromkeys(word for word in given if "." in word))
        for path in own:
            _check_own_output(path)
        found = _known_outputs(word.lower() for word in given if word not in own)
        ours = [name for name in NAMES if name in found]
        return (*ours, *own)


def _known_outputs(given: Iterable[str]) -> set[str]:
    """Return these outputs and those that they bring. Raise ValueError for an unknown one."""
    found = set(given)
    _refuse_unknown(found, NAMES)
    for name in sorted(found & BESIDE.keys()):
        if BESIDE[name] not in found:
            raise ValueError(f"{name} needs {BESIDE[name]} as well")
    return found.union(BRINGS[name] for name in found & BRINGS.keys())


def _check_own_output(path: str) -> None:
    """Raise TypeError unless the path is an output's, ValueError if its `output` is no new name."""
    kind = load(path)
    name = getattr(kind, "output", None)
    is_output = isinstance(kind, type) and callable(getattr(kind, "open", None))
    if not is_output:
        raise TypeError(f"{path} is not a class derived from webcrawl.crawl.outputs.output.Output")
    is_name = isinstance(name, str) and _EXTENSION.fullmatch(name)
    if not is_name or name in NAMES:
        raise ValueError(f"{path}.output must be a name of its own, of small letters and digits")


class OutputStore:
    """The address of a store."""

    allowed: str = ADDRESS_FORM

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
        # `all` asks for what can be had, and a kind by its name for that kind.
        is_named = found != ALL or PDF in str(value).lower()
        if is_named:
            raise ValueError(MISSING)
        return tuple(kind for kind in found if kind != PDF)


def unread(sources: Any, outputs: Iterable[str]) -> Iterator[str]:
    """Names what these values of LINK_SOURCES and OUTPUTS promise and cannot be had here."""
    if _WORDS.read(sources) != LinkSources().read(sources):
        yield f"LINK_SOURCES: links in PDFs are not read: {MISSING}"
    if find_spec(LIBRARY) is None and (texts := OF_PDFS.intersection(outputs)):
        yield f"OUTPUTS: {' and '.join(sorted(texts))} will have no text from PDFs: {MISSING}"


# variables of the environment: of an Indexed Job of Kubernetes, of an array of Slurm
OF_ENGINES = ("JOB_COMPLETION_INDEX", "SLURM_ARRAY_TASK_ID")
_ORDINAL = re.compile(r"-([0-9]{1,5})\Z")  # of a pod of a StatefulSet


class DroneNumber:
    """A number, or `auto` for that which the engine has given to this process."""

    allowed: str = f"a whole number from 0 to {MAX_DRONES - 1}, or {AUTO}"

    def read(self, value: Any, /) -> int:
        number = _ordinal(socket.gethostname()) if value == AUTO else value
        return WholeNumber(0, MAX_DRONES - 1).read(number)


def _ordinal(host: str) -> str:
    """Return the number of this process among its like: by its engine, or the end of `host`.

    Raise ValueError if neither says it.
    """
    found = [os.environ[name] for name in OF_ENGINES if os.environ.get(name)]
    found += _ORDINAL.findall(host)
    if not found:
        raise ValueError(
            f"neither {' nor '.join(OF_ENGINES)} is set, and the host name, {host}, does not end in a number"
        )
    return found[0]


class PartitionWay:
    """One of a few words, or a file of regions."""

    allowed: str = f"one of {', '.join(WAYS)}, or the path of a file of regions"

    def read(self, value: Any, /) -> str:
        """Return how drones share the hosts: a known way, or the path of a file of regions."""
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
OF_A_POLICY = "early", "observe", "due", "state", "restore"  # what such a class must have


class RevisitPolicy:
    """A policy: a shipped one by its short name in any case, or any by its dotted path.

    The value is the path.
    """

    allowed: str = f"one of {NONE}, {', '.join(POLICIES)}, or {Dotted.allowed}"

    def read(self, value: Any, /) -> str:
        """Return the dotted path of a policy given by short name or path; NONE for no revisits."""
        word = text(NONE if value is None else value)
        if word.lower() == NONE:
            return NONE
        path = Dotted().read(POLICIES.get(word.lower(), word))
        policy = load(path)
        for name in OF_A_POLICY:
            if not hasattr(policy, name):
                raise ValueError(f"{path} has no {name}")
        return path
