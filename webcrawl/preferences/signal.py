"""Content-Signal: Cloudflare's words for search, ai-input and ai-train (contentsignals.org)."""

from __future__ import annotations

from webcrawl.preferences.purposes import allows, forbids

SIGNALS = {b"search": "search", b"ai-input": "ai-input", b"ai-train": "train-ai"}
_SAYS = {b"yes": allows, b"no": forbids}


def statement(value: bytes) -> int:
    """What `search=yes, ai-train=no` says, in any case. Other signals, such as `use`, say nothing of a purpose."""
    said = 0
    for part in value.lower().split(b","):
        name, _, word = part.partition(b"=")
        name, word = name.strip(), word.strip()
        if name in SIGNALS and word in _SAYS:
            said |= _SAYS[word](SIGNALS[name])
    return said
