"""Values of a request's `meta` and `cb_kwargs` as bytes, for queues on disk and for other drones.

The types are a closed list. The bytes can make no module load and choose no code that runs. A class
is looked up among the modules that are loaded. It has to be an Item, a dataclass, an attrs or
pydantic class, an enum or a named tuple, and its fields are set without its constructor.
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

NATIVE_TYPES = frozenset((type(None), bool, float, str, bytes))
# An object of a subclass of these is kept as a plain value of the type itself
PLAIN_TYPES: tuple[Any, ...] = (str, bytes, float, int)
PYDANTIC_CLASS = ("pydantic.main", "BaseModel")
# Kept as plain fields: the method that it calls is a text
PAGE_METHOD_CLASS = ("scrapy_playwright.page", "PageMethod")
# Keys of the meta of a request within another's values: the crawl sets them anew
NOT_STORED_WITHIN = frozenset(("depth", "webcrawl"))
FACTORIES = {kind.__name__: kind for kind in (bool, bytes, dict, float, int, list, set, str, tuple)}


class CannotBePacked(Exception):  # noqa: N818 - reads as what it is
    """A value of this type cannot be kept on disk."""

    def __init__(self, kind: type) -> None:
        super().__init__(kind.__qualname__)
        self.kind = kind


class HeldValue:
    """Stands for a value that only the run which packed the request has in memory."""

    def __init__(self, kind: str) -> None:
        self.kind = kind


# -- packing and unpacking each type


def _packed_zone(zone: tzinfo | None, of: datetime | time) -> list[Any] | None:
    if zone is None:
        return None
    if isinstance(zone, ZoneInfo) and zone.key:
        return ["zone", zone.key]
    offset = of.utcoffset()
    # A time without a date may have a zone, but no offset
    if offset is None:
        raise CannotBePacked(type(zone))
    return ["offset", offset.total_seconds()]


def _unpacked_zone(packed: list[Any] | None) -> tzinfo | None:
    if packed is None:
        return None
    kind, value = packed
    return ZoneInfo(value) if kind == "zone" else timezone(timedelta(seconds=value))


def _unpacked_datetime(packed: list[Any]) -> datetime:
    text, fold, zone = packed
    return datetime.fromisoformat(text).replace(fold=fold, tzinfo=_unpacked_zone(zone))


def _unpacked_time(packed: list[Any]) -> time:
    text, fold, zone = packed
    return time.fromisoformat(text).replace(fold=fold, tzinfo=_unpacked_zone(zone))


def _factory_name(value: defaultdict[Any, Any]) -> str | None:
    if value.default_factory is None:
        return None
    name = getattr(value.default_factory, "__name__", "")
    if FACTORIES.get(name) is not value.default_factory:
        raise CannotBePacked(type(value))
    return name


def _unpacked_defaultdict(packed: list[Any]) -> defaultdict[Any, Any]:
    name, pairs = packed
    return defaultdict(None if name is None else FACTORIES[name], pairs)


# The code of a type is its place in SIMPLE of crawl/request_word.py, by its name there.
WRITERS: dict[type, tuple[str, Callable[[Any], Any]]] = {
    tuple: ("tuple", list),
    set: ("set", list),
    frozenset: ("frozenset", list),
    datetime: (
        "datetime",
        lambda at: [at.replace(tzinfo=None).isoformat(), at.fold, _packed_zone(at.tzinfo, at)],
    ),
    date: ("date", date.isoformat),
    time: (
        "time",
        lambda at: [at.replace(tzinfo=None).isoformat(), at.fold, _packed_zone(at.tzinfo, at)],
    ),
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
        lambda mapping: [_factory_name(mapping), [[*pair] for pair in mapping.items()]],
    ),
    deque: ("deque", lambda items: [[*items], items.maxlen]),
}
# Sorted when packed: their order in memory is another one in each run, and a start request is known
# by its packed values
UNORDERED_TYPES = frozenset((set, frozenset))
READERS: dict[str, Callable[[Any], Any]] = {
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "datetime": _unpacked_datetime,
    "date": date.fromisoformat,
    "time": _unpacked_time,
    "timedelta": lambda packed: timedelta(*packed),
    "Decimal": Decimal,
    "UUID": UUID,
    "complex": lambda packed: complex(*packed),
    "PosixPath": PosixPath,
    "PurePosixPath": PurePosixPath,
    "OrderedDict": OrderedDict,
    "Counter": Counter,
    "defaultdict": _unpacked_defaultdict,
    "deque": lambda packed: deque(packed[0], packed[1]),
}


# -- classes


def form_of(kind: type) -> str:
    """Return the name of the form in which objects of a class are kept, empty if there is none."""
    if issubclass(kind, Item):
        return "item"
    if issubclass(kind, Enum):
        return "enum"
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return "named tuple"
    is_attrs = "__attrs_attrs__" in dir(kind)
    is_page_method = (kind.__module__, kind.__qualname__) == PAGE_METHOD_CLASS
    if is_dataclass(kind) or is_attrs or is_page_method:
        return "fields"
    if _pydantic_base(kind) is not None:
        return "pydantic"
    return ""


def _pydantic_base(kind: type) -> type | None:
    """Return Pydantic's BaseModel if it is a base of this class, or None."""
    # By its name, because Pydantic need not be installed
    for base in kind.__mro__:
        if (base.__module__, base.__name__) == PYDANTIC_CLASS:
            return base
    return None


def loaded_class(module: object, name: object) -> type | None:
    """Return the class of this name in a module that is loaded, or None.

    Nothing is imported, and no attribute is computed.
    """
    member: Any = sys.modules.get(module) if isinstance(module, str) else None
    for part in str(name).split("."):
        if not hasattr(member, "__dict__"):
            return None
        # getattr might run a property, or a module's __getattr__
        member = vars(member).get(part)
    return member if isinstance(member, type) else None


def _fields(value: Any) -> dict[str, Any]:
    """Return the attributes that an object has in its slots and in its dictionary."""
    slots: set[str] = set()
    for base in type(value).__mro__:
        for name, member in vars(base).items():
            if isinstance(member, MemberDescriptorType):
                slots.add(name)
    in_slots = {name: getattr(value, name) for name in sorted(slots) if hasattr(value, name)}
    return {**in_slots, **getattr(value, "__dict__", {})}


def _with_fields(kind: type, fields: Mapping[str, Any]) -> Any:
    """Return an object with these fields, made without its constructor and its class's setters."""
    restored: Any = object.__new__(kind)
    members = {
        name: member for base in reversed(kind.__mro__) for name, member in vars(base).items()
    }
    for name, value in fields.items():
        member = members.get(name)
        if isinstance(member, MemberDescriptorType):
            member.__set__(restored, value)
        else:
            vars(restored)[name] = value
    return restored


def _restored_object(module: str, name: str, content: Any) -> Any:
    """Return an object of a loaded class with the content that `_content_of` has taken from one.

    Raise ValueError if the class is not loaded, or has no form that can be kept.
    """
    kind: Any = loaded_class(module, name)
    form = form_of(kind) if kind is not None else ""
    if kind is None or not form:
        raise ValueError(
            f"the class {module}.{name} is not loaded: import it in the module of the spider"
        )
    # Bytes choose the class, so none of these calls runs its code: no constructor, and no setter
    if form == "item":
        item: Any = kind.__new__(kind)
        Item.__init__(item)
        for field, value in content.items():
            Item.__setitem__(item, field, value)
        return item
    if form == "enum":
        return kind.__members__[content]
    if form == "named tuple":
        return tuple.__new__(kind, content)
    if form == "fields":
        return _with_fields(kind, content)
    model: Any = kind.__new__(kind)
    _pydantic_base(kind).__setstate__(model, content)  # type: ignore[union-attr]
    return model


def _content_of(value: Any, form: str) -> Any:
    """Return what is kept of an object of this form beside its class."""
    if form == "item":
        return dict(value)
    if form == "enum":
        return value.name
    if form == "named tuple":
        return [*value]
    return _fields(value) if form == "fields" else value.__getstate__()


def _method(spider: Spider, name: str) -> Any:
    """Return the plain method of this name, bound to the spider, or None if its class has none.

    No attribute is computed.
    """
    function = getattr_static(type(spider), name, None)
    return MethodType(function, spider) if isinstance(function, FunctionType) else None


# -- both ways


class ValuePacker:
    """Turns values into what msgpack can pack."""

    def __init__(self, spider: Spider, *, allow_classes: bool) -> None:
        """`allow_classes`: keep the class of a request within a value. Other drones accept none."""
        self._spider = spider
        self._allow_classes = allow_classes

    def of(self, value: Any, depth: int = 0) -> Any:
        """Return the value with an ExtType in place of each part that msgpack cannot pack.

        `depth` is the number of values around it. Raise CannotBePacked if a part has a type that
        cannot be kept, or if values are nested too deeply.
        """
        kind = type(value)
        if kind in NATIVE_TYPES:
            return value
        if depth > DEEPEST:
            raise CannotBePacked(kind)
        if kind is list:
            return [self.of(member, depth + 1) for member in value]
        if kind is dict:
            return {
                self.of(key, depth + 1): self.of(member, depth + 1) for key, member in value.items()
            }
        if kind is int:
            # msgpack has integers of 64 bits, signed or not
            is_native = -(1 << 63) <= value < 1 << 64
            return value if is_native else self._ext(SIMPLE.index("integer"), hex(value), depth)
        if kind in WRITERS:
            name, write = WRITERS[kind]
            content = self.of(write(value), depth + 1)
            if kind in UNORDERED_TYPES:
                content.sort(key=msgpack.packb)
            return msgpack.ExtType(SIMPLE.index(name), msgpack.packb(content))
        return self._packed_object(value, kind, depth)

    def _packed_object(self, value: Any, kind: type, depth: int) -> Any:
        """Return a value of any other type, packed: a request, a method, or an object of a class."""
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
            # A class that is defined in a function would not be found again
            if loaded_class(module, name) is not kind:
                raise CannotBePacked(kind)
            # A combination of several flags is not a member of its enum
            if form == "enum" and kind.__members__.get(value.name) is not value:  # type: ignore[attr-defined]
                raise CannotBePacked(kind)
            return self._ext(AN_OBJECT, [module, name, _content_of(value, form)], depth)
        return self._plain(value, kind, depth)

    def _plain(self, value: Any, kind: type, depth: int) -> Any:
        """Return a value of a subclass of a plain type as a value of that type."""
        for base in PLAIN_TYPES:
            if isinstance(value, base):
                return self.of(base(value), depth)
        if isinstance(value, (bytearray, memoryview)):
            return bytes(value)
        if isinstance(value, dict):
            return self.of(dict(value), depth + 1)
        raise CannotBePacked(kind)

    def _request(self, request: Request) -> dict[str, Any]:
        """Return the fields of a request within a value. Raise CannotBePacked."""
        try:
            fields = request.to_dict(spider=self._spider)
        except ValueError as error:
            # Its callback or errback is not a method of the spider
            raise CannotBePacked(type(request)) from error
        fields["meta"] = {
            key: value for key, value in request.meta.items() if key not in NOT_STORED_WITHIN
        }
        if not self._allow_classes:
            plain_names = {"url", *Request.attributes}
            fields = {name: value for name, value in fields.items() if name in plain_names}
        return fields

    def _ext(self, code: int, content: Any, depth: int) -> msgpack.ExtType:
        return msgpack.ExtType(code, msgpack.packb(self.of(content, depth + 1)))


class ValueUnpacker:
    """Restores the values that a ValuePacker has packed.

    A value that cannot be restored raises ValueError, TypeError, LookupError, AttributeError,
    ArithmeticError or RecursionError.
    """

    def __init__(self, spider: Spider, *, allow_classes: bool) -> None:
        self._spider = spider
        self._allow_classes = allow_classes
        self._depth = 0

    def ext(self, code: int, data: bytes) -> Any:
        """Return the value of an ExtType; msgpack calls this."""
        # A value within this one is an ExtType of its own, for which msgpack calls `ext` again
        self._depth += 1
        try:
            if self._depth > 2 * DEEPEST:
                raise ValueError("a value is nested too deeply")
            content = msgpack.unpackb(data, ext_hook=self.ext, strict_map_key=False)
            return self._unpacked(code, content)
        finally:
            self._depth -= 1

    def _unpacked(self, code: int, content: Any) -> Any:
        """Return the value with this code of a type and this content."""
        if 0 <= code < len(SIMPLE):
            kind = SIMPLE[code]
            if kind == "integer":
                return int(content, 16)
            return READERS[kind](content)
        if code == IN_MEMORY:
            return HeldValue(str(content[-1]))
        if code == A_METHOD:
            method = _method(self._spider, content)
            if method is None:
                raise ValueError(f"the spider has no method {content}")
            return method
        if code == AN_OBJECT:
            return _restored_object(*content)
        if code == A_REQUEST:
            return self._request(content)
        raise ValueError(f"a value has an unknown type ({code})")

    def _request(self, fields: dict[str, Any]) -> Request:
        """Return the request with these fields. Raise ValueError if its class is not loaded."""
        path = fields.pop("_class", None)
        if path is not None and self._allow_classes:
            # A class that bytes name is looked up, and never imported
            module, _, name = path.rpartition(".")
            kind = loaded_class(module, name)
            if kind is None or not issubclass(kind, Request):
                raise ValueError(
                    f"the class {path} is not loaded: import it in the module of the spider"
                )
            fields["_class"] = path
        return request_from_dict(fields, spider=self._spider)
