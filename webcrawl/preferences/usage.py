"""Content-Usage: the statement of preference of draft-ietf-aipref-vocab-08, section 6."""

from __future__ import annotations

from collections.abc import Sequence

from webcrawl.preferences.dictionary import tokens
from webcrawl.preferences.purposes import allows, combined, forbids, prohibitions

# Labels are case-sensitive, and unknown ones are ignored, as those of earlier revisions now are (6.4)
LABELS = {b"train-ai": "train-ai", b"ai-use": "ai-input", b"search": "search"}
_SAYS = {b"y": allows, b"n": forbids}


def statement(value: bytes) -> int | None:
    """What it says: nothing of a label whose value is neither `y` nor `n`. None if it is no dictionary."""
    found = tokens(value)
    if found is None:
        return None
    said = 0
    for label, token in found.items():
        if label in LABELS and token in _SAYS:
            said |= _SAYS[token](LABELS[label])
    return said


def of_lines(lines: Sequence[bytes]) -> int:
    """What the lines of a header say: together they are one dictionary.

    Where they are none, because one is empty or broken, all of the field says nothing to the drafts. But what a whole
    line of it forbids was said by somebody: that counts, and what it allows does not (docs/preferences.md).
    """
    said = statement(b", ".join(lines))
    if said is not None:
        return said
    return combined(prohibitions(statement(line) or 0) for line in lines)
