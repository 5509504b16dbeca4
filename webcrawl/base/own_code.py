"""Checks the user's own code behind a setting: what it has, what it returns, misspelt names.

Code that ships with the crawl is neither checked nor wrapped: its tests do that, and wrapping would
make its calls slower.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from difflib import get_close_matches
from inspect import signature
from math import inf, isnan
from types import CodeType, FunctionType
from typing import Any, Generic, NoReturn, Protocol, TypeVar

from webcrawl.base.errors import RulesError, lack
from webcrawl.base.loading import OURS, load

NOUNS = {
    "DNS_LOOKUP": "name lookup",
    "DOMAIN_BUDGET": "budget of a domain",
    "FRONTIER": "frontier",
    "FRONTIER_PRIORITIZER": "prioritizer",
    "POLITENESS_POLICY": "politeness policy",
    "REVISIT_POLICY": "revisit policy",
    "SEEN_STORE": "seen store",
    "URL_CACHE": "URL cache",
}
# difflib's ratios from which on two names count as similar
MEANT_RATIO = 0.55  # if a name is missing: `most_pages` and `most` have 0.57
MISSPELT_RATIO = 0.8  # `proces_item` and `process_item` have 0.96, `parse_item` and `parse` 0.67
SHOWN_CHARACTERS = 100  # characters of a value in a message
BUILT_UPON = (OURS, "scrapy.")  # modules with classes that others are made of
Found = TypeVar("Found")


class OwnCodeError(Exception):
    """The user's own code has failed, or returned a wrong value. The crawl must not go on."""


def is_users(thing: object) -> bool:
    """Return whether this object or class is not one of the crawl's own."""
    kind = thing if isinstance(thing, type | FunctionType) else type(thing)
    return not kind.__module__.startswith(OURS)


def made(setting: str, path: str, protocol: type, *arguments: Any, **options: Any) -> Any:
    """Return what the class or function at this path makes of the arguments.

    Raise RulesError if a class of the user's own cannot be made, or lacks what the Protocol asks
    for.
    """
    return made_by(load(path), setting, path, protocol, *arguments, **options)


def made_by(
    factory: Callable[..., Any],
    setting: str,
    path: str,
    protocol: type,
    *arguments: Any,
    **options: Any,
) -> Any:
    """Call `factory`, which was loaded from this path, with the arguments, and return the result.

    Raise the same errors as `made`.
    """
    if path.startswith(OURS):
        return factory(*arguments, **options)
    try:
        thing = factory(*arguments, **options)
    except Exception as error:  # anything may be wrong with code of the user's own
        # A lack of the machine is no fault of the class, and our own errors say what is wrong
        if lack(error) or isinstance(error, OSError) or not is_users(error):
            raise
        raise RulesError(f"{setting}: {path} cannot be created: {error!r}") from error
    require(setting, path, thing, protocol)
    return thing


def require(setting: str, path: str, thing: object, protocol: type) -> None:
    """Raise RulesError if this object, or class, lacks a method of the Protocol."""
    if not is_users(thing):
        return
    for name in members(protocol):
        if not callable(getattr(thing, name, None)):
            what = f"a method {name}({_parameters(getattr(protocol, name))})"
            raise RulesError(
                f"{setting}: {path}: a {NOUNS[setting]} must have {what}{hint(thing, name)}"
            )


def hint(thing: object, name: str) -> str:
    """Return the end of a line about a missing name: the existing name that is nearly the same."""
    others = [one for one in dir(thing) if one[0] != "_" and one != name]
    near = get_close_matches(name, others, 1, MEANT_RATIO)
    return f". It has {near[0]}; did you mean {name}?" if near else ""


def _parameters(method: Callable[..., Any]) -> str:
    return ", ".join([*signature(method).parameters][1:])


def members(protocol: type) -> list[str]:
    """Return the public methods that a Protocol asks for, those of its bases first.

    Attributes and properties are left out: a constructor may set them, which a class does not show.
    """
    names: dict[str, None] = {}
    for kind in reversed(protocol.__mro__):
        if kind in (object, Protocol, Generic):
            continue
        for name, member in vars(kind).items():
            if name[0] != "_" and callable(member):
                names[name] = None
    return list(names)


# -- what a method returns


def checked(
    setting: str, call: Callable[..., Any], as_sound: Callable[[Any], Found], expected: str
) -> Callable[..., Found]:
    """Return a method of the crawl's own as it is, and a user's method with its results checked.

    `as_sound` returns the value to go on with, or raises TypeError or ValueError. The caller gets
    an OwnCodeError for that, and for any exception of the method, with the setting, the method, and
    the value.
    """
    owner = getattr(call, "__self__", call)
    if not is_users(owner):
        return call

    def checked_call(*arguments: Any, **options: Any) -> Found:
        try:
            found = call(*arguments, **options)
        except BaseException as error:  # noqa: BLE001 - a panic of a library in Rust is no Exception
            raise_own(setting, name_of(call), error)
        return answer(setting, name_of(call), found, as_sound, expected)

    return checked_call


def raise_own(setting: str, name: str, error: BaseException) -> NoReturn:
    """Raise an exception of the user's code as OwnCodeError, with its traceback.

    A lack of the machine and an exit are raised as they are.
    """
    if lack(error) or isinstance(error, OSError | KeyboardInterrupt | SystemExit):
        raise error
    raise OwnCodeError(f"{setting}: {name}: {error!r}").with_traceback(
        error.__traceback__
    ) from None


def answer(
    setting: str, name: str, returned: Any, as_sound: Callable[[Any], Found], expected: str
) -> Found:
    """Return what `as_sound` makes of the value that the user's code named `name` has returned.

    Raise OwnCodeError, which says what was `expected`, if it raises TypeError or ValueError.
    """
    # `from None`: how `as_sound` looked at the value says nothing to the user
    try:
        return as_sound(returned)
    except (TypeError, ValueError):
        raise OwnCodeError(
            f"{setting}: {name} returned {shown(returned)}: expected {expected}"
        ) from None


def name_of(call: Callable[..., Any]) -> str:
    """Return the dotted name of a function, a method, or an object that is called."""
    owner, name = getattr(call, "__self__", None), getattr(call, "__name__", "")
    if not name:
        return class_name(call)
    if owner is None:
        return f"{call.__module__}.{getattr(call, '__qualname__', name)}"
    return f"{class_name(owner)}.{name}"


def class_name(thing: object) -> str:
    """Return the dotted name of an object's class, or of the class that it is."""
    kind = thing if isinstance(thing, type) else type(thing)
    return f"{kind.__module__}.{kind.__qualname__}"


def shown(value: object) -> str:
    """Return a value as a message shows it, shortened."""
    text = " ".join(repr(value).split())
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"


def number(found: Any) -> float:
    """Return a number of any kind. Raise TypeError or ValueError for what is none."""
    if isinstance(found, str | bytes | bool):
        raise TypeError
    return float(found)


def text(found: Any) -> str:
    """Return a text that is not empty. Raise TypeError or ValueError for what is none."""
    if not isinstance(found, str):
        raise TypeError
    if not found:
        raise ValueError
    return found


def seconds(found: Any) -> float:
    """Return a wait in seconds. Raise TypeError or ValueError for what is none."""
    value = amount(found)
    if value == inf:
        raise ValueError
    return value


def amount(found: Any) -> float:
    """Return a number that is not negative; it may be infinite.

    Raise TypeError or ValueError for other values.
    """
    value = real(found)
    if value < 0.0:
        raise ValueError
    return value


def real(found: Any) -> float:
    """Return a number, which may be infinite. Raise TypeError or ValueError for other values."""
    value = number(found)
    if isnan(value):
        raise ValueError
    return value


# -- names that are nearly right


def misspelt(kind: type, hooks: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield each name of the user's class that is nearly that of a missing hook, and this hook.

    A name that the class itself uses, or that overrides one of a base class, is no misspelling.
    """
    defined: dict[str, None] = {}  # by the user: a set in order
    intended = set(hooks)
    for base in kind.__mro__:
        if _is_written_by_user(base):
            defined.update(dict.fromkeys(vars(base)))
            intended.update(_used_names(base))
        else:
            intended.update(vars(base))
    for name in defined:
        if name.startswith("_") or name in intended:
            continue
        nearest = get_close_matches(name, hooks, 1, MISSPELT_RATIO)
        if nearest and nearest[0] not in defined:
            yield name, nearest[0]


def _is_written_by_user(kind: type) -> bool:
    return kind is not object and not kind.__module__.startswith(BUILT_UPON)


def _used_names(kind: type) -> Iterator[str]:
    """Yield the names in the code of a class: attributes, and texts that may name one."""
    for member in vars(kind).values():
        function = getattr(member, "__func__", getattr(member, "fget", member))
        if isinstance(function, FunctionType):
            yield from _names_in(function.__code__)


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)
        elif isinstance(constant, str):
            yield constant
