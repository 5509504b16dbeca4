"""Denials by structure: an error that turns away who asks, and not what was asked for."""

from __future__ import annotations

import re

from webcrawl.content.recognise.marks import Marks, Part
from webcrawl.content.recognise.shape import Shape

WAYS = 4  # links to other pages: whoever has more shows a site
ELSE = frozenset((401, 402, 404, 407, 410))  # these ask for a password, for money, or say that there is nothing
FAILED = frozenset((*range(500, 503), *range(504, 520)))  # and these that the server failed
# What nobody writes: a long number, a mixture with digits, an address. Versions come after a slash
TOKEN = re.compile(r"(?<![\w/.])#?(?:[A-Za-z]{1,4}[-_])?[0-9A-Za-z.:=_+-]{7,}")
WRITTEN = re.compile(
    r"\d+(\.\d+){1,2}|\d{1,2}:\d\d(:\d\d)?\S*|\d{4}-\d\d-\d\d(T\S*)?|\d\d?[.-]\d\d?[.-]\d{4}"
)  # versions, times, dates
DIGITS = 3  # in it
SPARED = re.compile(r"\b(not|never|no)\b[^.!?:;,\n]{0,30}\b(block|bann|flagg|restrict|limit|detect)ed\b", re.IGNORECASE)


def may_deny(status: int) -> bool:
    """Return whether a denial has this status."""
    return status >= 400 and status not in ELSE and status not in FAILED


def denies(marks: Marks, status: int, shape: Shape, *, walled: bool) -> bool:
    """Return whether an error turns away a client, a network or a request, with no site around it.

    `walled`: a sentence says that it is a wall, as challenges do, which deny nothing.
    """
    if not may_deny(status) or not _is_alone(shape):
        return False
    said = f"{shape.title}\n{shape.text}"
    if not walled and not marks.says(Part.DENIES, said):
        return False
    if marks.says(Part.GUARDS, said):
        return True
    if status == 400 or status >= 500:  # these may fail a request without a reason against it
        return False
    return not marks.says(Part.RIGHTS, said) and (marks.says(Part.YOURS, said) or refers(said))


def accuses(marks: Marks, shape: Shape, said: str) -> bool:
    """Return whether a short page with a good status says that a guard has denied a request, and which."""
    if shape.links > 1 or shape.codes or shape.fields or not _is_alone(shape) or not refers(shape.text):
        return False
    said = SPARED.sub(" ", said)
    return all(marks.says(part, said) for part in (Part.DENIES, Part.GUARDS, Part.YOURS))


def refers(said: str) -> bool:
    """Return whether it has a reference of the request, or the address from which it came."""
    found = TOKEN.findall(said)
    return any(sum(map(str.isdigit, one)) >= DIGITS and not WRITTEN.fullmatch(one) for one in found)


def _is_alone(shape: Shape) -> bool:
    return shape.links <= WAYS and not (shape.sites or shape.passwords or shape.textareas or shape.published)
