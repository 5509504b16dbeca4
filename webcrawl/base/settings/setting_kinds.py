"""Settings and their kinds of values: what a user may write, as text or Python, and its meaning."""

from __future__ import annotations

import re
from typing import Any, NamedTuple, Protocol

_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_SWITCH = {
    "1": True,
    "true": True,
    "yes": True,
    "on": True,
    "0": False,
    "false": False,
    "no": False,
    "off": False,
}
ON_OR_OFF = "one of true, false, yes, no, on, off, 1, 0"
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([kKMGT]i?B|B)(?:/s)?")
_POWERS = {"B": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_RATE = re.compile(r"([1-9][0-9]{0,8})/([1-9][0-9]{0,5})")


class SettingKind(Protocol):
    """A kind of value.

    `read` raises ValueError, TypeError or OSError for an invalid one; the message may say why.
    """

    @property
    def allowed(self) -> str: ...

    def read(self, value: Any, /) -> Any: ...


class Secret(ValueError):  # noqa: N818 - reads as what it is
    """An invalid value that must not be shown."""

    def __repr__(self) -> str:
        return "(not shown)"


def number(value: Any) -> int | float:
    """Return the value if it is a number, or the number that a text names.

    Booleans are not numbers, nor are the texts `nan` and `1_000`.
    """
    if isinstance(value, str):
        text = value.strip()
        if _INTEGER.fullmatch(text):
            return int(text)
        if _NUMBER.fullmatch(text):
            return float(text)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise ValueError


def text(value: Any) -> str:
    """Return a text without the space around it. Raise ValueError if nothing is left."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError
    return value.strip()


def is_none(value: Any) -> bool:
    """Return whether a value stands for none, as Python or a user writes it."""
    if value is None:
        return True
    return isinstance(value, str) and value.strip().lower() in ("", "none")


def words(value: Any) -> list[str]:
    """Return the items of a list, or of a text with commas or spaces between them.

    Empty text and `none` are the empty list.
    """
    if isinstance(value, list | tuple | set | frozenset):
        return [text(word) for word in value]
    if isinstance(value, str):
        found = [*filter(None, re.split(r"[,\s]+", value))]
        is_none_alone = len(found) == 1 and found[0].lower() == "none"
        return [] if is_none_alone else found
    raise ValueError


DIGITS = 20  # of a number in a command line, zeros before it included


def is_whole(text: str, least: int, most: int) -> bool:
    """Return whether a command line's word is a whole number within these bounds, without a sign."""
    # Python reads digits of other scripts, too, and takes long for very many
    is_number = text.isascii() and text.isdecimal() and len(text) <= DIGITS
    return is_number and least <= int(text) <= most


# Kinds are named tuples and plain classes, which take 0.09 and 0.005 ms each to make at the start
# of every command. A frozen dataclass with slots takes 0.5 ms
class Maybe(NamedTuple):
    """A value of another kind, or none: None."""

    kind: SettingKind

    @property
    def allowed(self) -> str:
        return f"{self.kind.allowed}, or none"

    def read(self, value: Any, /) -> Any:
        return None if is_none(value) else self.kind.read(value)


class WholeNumber(NamedTuple):
    """A whole number within bounds."""

    least: int
    most: int

    @property
    def allowed(self) -> str:
        return f"a whole number from {self.least} to {self.most}"

    def read(self, value: Any, /) -> int:
        found = number(value)
        # Check the bounds first: int() of nan or infinity raises, and both are out of bounds
        if self.least <= found <= self.most and found == int(found):
            return int(found)
        raise ValueError


class Number(NamedTuple):
    """A number within bounds."""

    least: float
    most: float

    @property
    def allowed(self) -> str:
        return f"a number from {self.least:.10g} to {self.most:.10g}"

    def read(self, value: Any, /) -> float:
        found = number(value)
        if self.least <= found <= self.most:
            return float(found)
        raise ValueError


class Switch:
    """On or off."""

    allowed: str = ON_OR_OFF

    def read(self, value: Any, /) -> bool:
        # Python's True and False, and 1 and 0, are words of the table as texts
        found = _SWITCH.get(str(value).strip().lower()) if isinstance(value, str | int) else None
        if found is None:
            raise ValueError
        return found


class Choice(NamedTuple):
    """One of a few words, in any case or `exact`."""

    known: tuple[str, ...]
    exact: bool = False

    @property
    def allowed(self) -> str:
        return f"one of {', '.join(self.known)}"

    def read(self, value: Any, /) -> str:
        found = text(value)
        if not self.exact:
            found = found.lower()
        elif found != value:
            raise ValueError
        if found not in self.known:
            raise ValueError
        return found


class HeaderText:
    """Text that can stand in a header."""

    allowed: str = "one line of text"

    def read(self, value: Any, /) -> str:
        found = text(value)
        if not found.isprintable():
            raise ValueError
        return found


class Name:
    """A prefix of file names that every file system allows."""

    allowed: str = "made up of letters, digits, dots, dashes and underscores"

    def read(self, value: Any, /) -> str:
        found = text(value)
        if not _NAME.fullmatch(found):
            raise ValueError
        return found


class SeedsKey:
    """A key, with or without the spider's name in it."""

    allowed: str = "one line of text, in which %(name)s is the spider's name"

    def read(self, value: Any, /) -> str:
        found = HeaderText().read(value)
        try:
            HeaderText().read(found % {"name": "web"})
        except KeyError as error:
            raise ValueError(f"%({error.args[0]})s is unknown") from error
        return found


class Choices(NamedTuple):
    """One or more of a few words; `all` stands for every one of them."""

    known: tuple[str, ...]

    @property
    def allowed(self) -> str:
        return f"one or more of {', '.join(self.known)}, or all"

    def read(self, value: Any, /) -> tuple[str, ...]:
        found = [word.lower() for word in words(value)]
        if found == ["all"]:
            return self.known
        if not found:
            raise ValueError
        if unknown := [word for word in found if word not in self.known]:
            raise ValueError(f"{unknown[0]!r} is unknown")
        return tuple(dict.fromkeys(found))


class StatusCodes:
    """HTTP statuses."""

    allowed: str = "comma-separated HTTP statuses from 100 to 599, or none"

    def read(self, value: Any, /) -> tuple[int, ...]:
        written = words(value) if isinstance(value, str) else value
        return tuple(sorted({WholeNumber(100, 599).read(one) for one in written}))


class Rate:
    """A count within a number of seconds."""

    allowed: str = "count/seconds, both whole numbers from 1, such as 20/60"

    def read(self, value: Any, /) -> tuple[int, int]:
        found = _RATE.fullmatch(text(value))
        if found is None:
            raise ValueError
        return int(found[1]), int(found[2])


class Size(WholeNumber):
    """A number of bytes, with or without a unit; 0, or none, is no limit."""

    @property
    def allowed(self) -> str:
        return f"a number of bytes from {self.least} to {self.most}, also as 500 kB or 2 GiB; 0 or none: no limit"

    def read(self, value: Any, /) -> int:
        """Return the bytes that a value such as `2 MiB`, `500 kB` or a number stands for; 0 is no
        limit.

        Raise ValueError for what is no size, or one out of bounds.
        """
        if is_none(value):
            return 0
        found = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
        if found is not None:
            amount, unit = found.groups()
            base = 1024 if unit.endswith("iB") else 1000
            value = round(float(amount) * base ** _POWERS[unit[0].upper()])
        size = WholeNumber(0, self.most).read(value)
        if 0 < size < self.least:
            raise ValueError
        return size


DAY = 86_400
TEBIBYTE = 1 << 20  # in MiB
MANY = 10**9  # of a number that has no bound of its own


class Setting(NamedTuple):
    """A setting. A kind that needs higher rooms is named, and found in crawl/checks/check.py."""

    name: str
    default: Any
    kind: SettingKind | str
    text: str = ""

    def means(self, text: str) -> Setting:
        """Return a copy with the sentence that docs/settings.md has on it."""
        return self._replace(text=text)
