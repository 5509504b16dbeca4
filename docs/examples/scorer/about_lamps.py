"""How much a text is about lamps: the share of its sentences, or lines, that have one of the words."""

import re

WORDS = re.compile(r"\b(lamp|lantern|wick|candle)s?\b", re.IGNORECASE)


def score(documents):
    return [about(f"{document.title}\n{document.text}") for document in documents]


def about(text):
    parts = [part for part in re.split(r"[.!?\n]+", text) if part.strip()]
    return sum(bool(WORDS.search(part)) for part in parts) / max(len(parts), 1)
