"""Content-Usage: the statement of preference of draft-ietf-aipref-vocab-08, section 6."""

from __future__ import annotations

from webcrawl.preferences.dictionary import tokens
from webcrawl.preferences.purposes import allows, forbids

# Labels are case-sensitive, and unknown ones are ignored, as those of earlier revisions now are (6.4)
LABELS = {b"train-ai": "train-ai", b"ai-use": "ai-input", b"search": "search"}
_SAYS = {b"y": allows, b"n": forbids}


def statement(value: bytes) -> int:
    """What it says; nothing if it is no dictionary, or has a value that is neither `y` nor `n`."""
    said = 0
    for label, token in (tokens(value) or {}).items():
        if label in LABELS and token in _SAYS:
            said |= _SAYS[token](LABELS[label])
    return said
