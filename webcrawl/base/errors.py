"""Words for errors, and the error that keeps a crawl from starting.

They are apart from the crawl's checks, whose imports are slow.
"""

from __future__ import annotations

from traceback import extract_tb


class CannotStart(Exception):  # noqa: N818 - reads as what it is
    """The reason why the crawl cannot start, in one line."""


class RulesError(ValueError):
    """Rules that cannot be used. The message names the file or setting, and the line or expression."""


# The messages of Python's RuntimeError
_NO_THREAD = ("can't start new thread", "can't allocate lock")
_DEEP = 5  # causes that are looked at


def lack(error: BaseException | None) -> str:
    """Return in words what the machine lacks, if this error or its cause shows that; else ""."""
    for _ in range(_DEEP):
        if error is None:
            return ""
        if isinstance(error, MemoryError):
            return "out of memory"
        # The class says nothing: code raises RuntimeError for anything
        if isinstance(error, RuntimeError) and str(error).startswith(_NO_THREAD):
            return "the system cannot start another thread"
        error = error.__cause__
    return ""


def words_of(error: BaseException) -> str:
    """Return an error in one line: the lack behind it, its message, or its name if it has none."""
    return lack(error) or " ".join(str(error).split()) or type(error).__name__


def of_file(error: OSError, otherwise: object = None) -> str:
    """Return an error as all messages name it: the file, and what the system says of it.

    `otherwise`: the file, for an error that names none, such as that of a write to a full disk.
    """
    place = error.filename or otherwise
    if place and error.strerror:
        return f"{place}: {error.strerror}"
    return str(error)


def with_place(error: BaseException) -> str:
    last = extract_tb(error.__traceback__)[-1]
    return f"{error!r} in {last.filename} line {last.lineno}"


class NothingFetched(Exception):  # noqa: N818 - reads as what it is
    """No seed has an answer, and nothing is left that could have one; the message has the reasons."""
