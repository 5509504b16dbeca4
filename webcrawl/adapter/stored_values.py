"""Values of a request's `meta` and `cb_kwargs` as bytes, for queues on disk and for other drones.

The types are a closed list. Nothing is loaded and no code runs that bytes could choose. A class is
found among the modules that are loaded. It has to be an Item, a dataclass, an attrs or pydantic
class, an enum or a named tuple, and its fields are set without its constructor.
"""

from __future__ import annotations

import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from enum import Enum
from inspect import getattr_static
from pathlib import PosixPath, PurePosixPath
from types import FunctionType, MemberDescriptorType, MethodType
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import msgpack
from scrapy import Item, Request, Spider
from scrapy.utils.request import request_from_dict

from webcrawl.crawl.request_word import A_METHOD, A_REQUEST, AN_OBJECT, DEEPEST, IN_MEMORY, SIMPLE

NATIVE = frozenset((type(None), bool, float, str, bytes))
BASES: tuple[Any, ...] = (str, bytes, float, int)  # of a subclass the plain value is kept
PYDANTIC = ("pydantic.main", "BaseModel")
# plain fields: what it may call is named by a text
PAGE_METHOD = ("scrapy_playwright.page", "PageMethod")
PASSING = frozenset(("depth", "webcrawl"))  # of a request's meta: the crawl says these anew
FACTORIES = {kind.__name__: kind for kind in (bool, bytes, dict, float, int, list, set, str, tuple)}


class CannotBePacked(Exception):  # noqa: N818 - reads as what it is
    """A value of this type cannot be kept on disk."""

    def __init__(self, kind: type) -> None:
        super().__init__(kind.__qualname__)
        self.kind = kind


class HeldValue:
    """The place of a value that the run which made the request has in memory."""

    def __init__(self, kind: str) -> None:
        self.kind = kind


# -- what packs a type, and what makes it again


def _zone(zone: tzinfo | None, of: datetime | time) -> list[Any] | None:
    if zone is None:
        return None
    if isinstance(zone, ZoneInfo) and zone.key:
        return ["zone", zone.key]
    offset = of.utcoffset()
    return ["offset", offset.total_seconds() if offset is not None else 0.0]


def _zone_again(said: list[Any] | None) -> tzinfo | None:
    if said is None:
        return None
    kind, value = said
    return ZoneInfo(value) if kind == "zone" else timezone(timedelta(seconds=value))


def _datetime_again(said: list[Any]) -> datetime:
    text, fold, zone = said
    return datetime.fromisoformat(text).replace(fold=fold, tzinfo=_zone_again(zone))


def _time_again(said: list[Any]) -> time:
    text, fold, zone = said
    return time.fromisoformat(text).replace(fold=fold, tzinfo=_zone_again(zone))


def _factory(value: defaultdict[Any, Any]) -> str | None:
    if value.default_factory is None:
        return None
    name = getattr(value.default_factory, "__name__", "")
    if FACTORIES.get(name) is not value.default_factory:
        raise CannotBePacked(type(value))
    return name


def _defaultdict_again(said: list[Any]) -> defaultdict[Any, Any]:
    name, pairs = said
    return defaultdict(None if name is None else FACTORIES[name], pairs)


# The code of a type is its place in SIMPLE of crawl/request_word.py, by its name there.
WRITERS: dict[type, tuple[str, Callable[[Any], Any]]] = {
    tuple: ("tuple", list),
    set: ("set", list),
    frozenset: ("frozenset", list),
    datetime: (
        "datetime",
        lambda at: [at.replace(tzinfo=None).isoformat(), at.fold, _zone(at.tzinfo, at)],
    ),
    date: ("date", date.isoformat),
    time: ("time", lambda at: [at.replace(tzinfo=None).isoformat(), at.fold, _zone(at.tzinfo, at)]),
    timedelta: ("timedelta", lambda span: [span.days, span.seconds, span.microseconds]),
    Decimal: ("Decimal", str),
    UUID: ("UUID", str),
    complex: ("complex", lambda number: [number.real, number.imag]),
    PosixPath: ("PosixPath", str),
    PurePosixPath: ("PurePosixPath", str),
    OrderedDict: ("OrderedDict", lambda mapping: [[*pair] for pair in mapping.items()]),
    Counter: ("Counter", dict),
    defaultdict: (
        "defaultdict",
        lambda mapping: [_factory(mapping), [[*pair] for pair in mapping.items()]],
    ),
    deque: ("deque", lambda items: [[*items], items.maxlen]),
}
READERS: dict[str, Callable[[Any], Any]] = {
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "datetime": _datetime_again,
    "date": date.fromisoformat,
    "time": _time_again,
    "timedelta": lambda said: timedelta(*said),
    "Decimal": Decimal,
    "UUID": UUID,
    "complex": lambda said: complex(*said),
    "PosixPath": PosixPath,
    "PurePosixPath": PurePosixPath,
    "OrderedDict": OrderedDict,
    "Counter": Counter,
    "defaultdict": _defaultdict_again,
    "deque": lambda said: deque(said[0], said[1]),
}


# -- classes


def form_of(kind: type) -> str:
    """Return which of the forms that can be kept a class has; empty if none."""
    if issubclass(kind, Item):
        return "item"
    if issubclass(kind, Enum):
        return "enum"
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return "named tuple"
    is_attrs = "__attrs_attrs__" in dir(kind)
    is_page_method = (kind.__module__, kind.__qualname__) == PAGE_METHOD
    if is_dataclass(kind) or is_attrs or is_page_method:
        return "fields"
    if _pydantic(kind) is not None:
        return "pydantic"
    return ""


def _pydantic(kind: type) -> type | None:
    """Return Pydantic's own class among those that this one is made of, or None."""
    # By its name, because Pydantic need not be installed
    for base in kind.__mro__:
        if (base.__module__, base.__name__) == PYDANTIC:
            return base
    return None


def loaded(module: object, name: object) -> type | None:
    """Return a class of the modules that are loaded.

    Nothing is imported, and no attribute is computed.
    """
    found: Any = sys.modules.get(module) if isinstance(module, str) else None
    for part in str(name).split("."):
        if not hasattr(found, "__dict__"):
            return None
        # getattr might run a property, or a module's __getattr__
        found = vars(found).get(part)
    return found if isinstance(found, type) else None


def _fields(value: Any) -> dict[str, Any]:
    """Return what an object has in its slots and its dictionary."""
    slots: set[str] = set()
    for base in type(value).__mro__:
        for name, member in vars(base).items():
            if isinstance(member, MemberDescriptorType):
                slots.add(name)
    found = {name: getattr(value, name) for name in sorted(slots) if hasattr(value, name)}
    return {**found, **getattr(value, "__dict__", {})}


def _with_fields(kind: type, fields: Mapping[str, Any]) -> Any:
    """Return an object with these fields, made without its constructor and its class's setters."""
    made: Any = object.__new__(kind)
    members = {
        name: member for base in reversed(kind.__mro__) for name, member in vars(base).items()
    }
    for name, value in fields.items():
        member = members.get(name)
        if isinstance(member, MemberDescriptorType):
            member.__set__(made, value)
        else:
            vars(made)[name] = value
    return made


def _made(module: str, name: str, said: Any) -> Any:
    kind: Any = loaded(module, name)
    form = form_of(kind) if kind is not None else ""
    if kind is None or not form:
        raise ValueError(
            f"the class {module}.{name} is not loaded: import it in the module of the spider"
        )
    # Bytes choose the class, so none of these calls runs its code: no constructor, and no setter
    if form == "item":
        item: Any = kind.__new__(kind)
        Item.__init__(item)
        for field, value in said.items():
            Item.__setitem__(item, field, value)
        return item
    if form == "enum":
        return kind.__members__[said]
    if form == "named tuple":
        return tuple.__new__(kind, said)
    if form == "fields":
        return _with_fields(kind, said)
    model: Any = kind.__new__(kind)
    _pydantic(kind).__setstate__(model, said)  # type: ignore[union-attr]
    return model


def _said_of(value: Any, form: str) -> Any:
    if form == "item":
        return dict(value)
    if form == "enum":
        return value.name
    if form == "named tuple":
        return [*value]
    return _fields(value) if form == "fields" else value.__getstate__()


def _method(spider: Spider, name: str) -> Any:
    """Return a plain method of the spider's class, bound to the spider.

    No attribute is computed.
    """
    found = getattr_static(type(spider), name, None)
    return MethodType(found, spider) if isinstance(found, FunctionType) else None


# -- both ways


class ValuePacker:
    """Turns values into what msgpack takes. CannotBePacked: not this one."""

    def __init__(self, spider: Spider, *, classes: bool) -> None:
        """`classes`: requests within may name theirs; other drones take none."""
        self._spider = spider
        self._classes = classes

    def of(self, value: Any, depth: int = 0) -> Any:
        """Return the value, with an ExtType for whatever msgpack has no form of."""
        kind = type(value)
        if kind in NATIVE:
            return value
        if depth > DEEPEST:
            raise CannotBePacked(kind)
        if kind is list:
            return [self.of(one, depth + 1) for one in value]
        if kind is dict:
            return {self.of(key, depth + 1): self.of(one, depth + 1) for key, one in value.items()}
        if kind is int:
            # msgpack has integers of 64 bits, signed or not
            is_native = -(1 << 63) <= value < 1 << 64
            return value if is_native else self._ext(SIMPLE.index("integer"), hex(value), depth)
        if kind in WRITERS:
            name, written = WRITERS[kind]
            return self._ext(SIMPLE.index(name), written(value), depth)
        return self._object(value, kind, depth)

    def _object(self, value: Any, kind: type, depth: int) -> Any:
        if isinstance(value, Request):
            return self._ext(A_REQUEST, self._request(value), depth)
        if isinstance(value, MethodType):
            name = value.__func__.__name__
            if _method(self._spider, name) != value:
                raise CannotBePacked(kind)
            return self._ext(A_METHOD, name, depth)
        form = form_of(kind)
        if form:
            module = kind.__module__
            name = kind.__qualname__
            # A class that is defined in a function
            if loaded(module, name) is not kind:
                raise CannotBePacked(kind)
            # A combination of several flags is no member
            if form == "enum" and kind.__members__.get(value.name) is not value:  # type: ignore[attr-defined]
                raise CannotBePacked(kind)
            return self._ext(AN_OBJECT, [module, name, _said_of(value, form)], depth)
        return self._plain(value, kind, depth)

    def _plain(self, value: Any, kind: type, depth: int) -> Any:
        """Return a value of a class made of a plain type, as a value of that type."""
        for base in BASES:
            if isinstance(value, base):
                return self.of(base(value), depth)
        if isinstance(value, (bytearray, memoryview)):
            return bytes(value)
        if isinstance(value, dict):
            return self.of(dict(value), depth + 1)
        raise CannotBePacked(kind)

    def _request(self, request: Request) -> dict[str, Any]:
        try:
            given = request.to_dict(spider=self._spider)
        except ValueError as error:
            # Its methods are not the spider's
            raise CannotBePacked(type(request)) from error
        given["meta"] = {key: value for key, value in request.meta.items() if key not in PASSING}
        if not self._classes:
            plain = {"url", *Request.attributes}
            given = {name: value for name, value in given.items() if name in plain}
        return given

    def _ext(self, code: int, said: Any, depth: int) -> msgpack.ExtType:
        return msgpack.ExtType(code, msgpack.packb(self.of(said, depth + 1)))


class ValueUnpacker:
    """Makes values again. ValueError, TypeError, LookupError or AttributeError: it cannot."""

    def __init__(self, spider: Spider, *, classes: bool) -> None:
        self._spider = spider
        self._classes = classes
        self._depth = 0

    def ext(self, code: int, data: bytes) -> Any:
        """Return the value of an ExtType; msgpack calls this."""
        # A value within a value is an ExtType of its own, and has msgpack call this again
        self._depth += 1
        try:
            if self._depth > 2 * DEEPEST:
                raise ValueError("a value is nested too deeply")
            said = msgpack.unpackb(data, ext_hook=self.ext, strict_map_key=False)
            return self._again(code, said)
        finally:
            self._depth -= 1

    def _again(self, code: int, said: Any) -> Any:
        if 0 <= code < len(SIMPLE):
            kind = SIMPLE[code]
            if kind == "integer":
                return int(said, 16)
            return READERS[kind](said)
        if code == IN_MEMORY:
            return HeldValue(str(said[-1]))
        if code == A_METHOD:
            method = _method(self._spider, said)
            if method is None:
                raise ValueError(f"the spider has no method {said}")
            return method
        if code == AN_OBJECT:
            return _made(*said)
        if code == A_REQUEST:
            return self._request(said)
        raise ValueError(f"a value has an unknown type ({code})")

    def _request(self, given: dict[str, Any]) -> Request:
        path = given.pop("_class", None)
        if path is not None and self._classes:
            # A class that bytes name is looked up, and never imported
            kind = loaded(*path.rpartition(".")[::2])
            if kind is None or not issubclass(kind, Request):
                raise ValueError(
                    f"the class {path} is not loaded: import it in the module of the spider"
                )
            given["_class"] = path
        return request_from_dict(given, spider=self._spider)
