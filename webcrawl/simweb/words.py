"""Filler text that is cheap to produce: pages copy parts of one long string."""

from __future__ import annotations

from functools import lru_cache
from random import Random

_TEXT = (
    "river stone market garden letter window summer winter engine harbor museum bridge valley forest island "
    "silver copper iron paper cotton timber butter coffee pepper orange lemon apple cherry walnut barley "
    "wheat village castle temple station airport library college theater gallery factory kitchen bedroom "
    "doctor farmer sailor teacher painter singer writer baker tailor soldier pilot judge mayor captain "
    "history science music poetry drama physics biology geology algebra logic ethics politics economy "
    "morning evening midnight sunrise weather thunder lightning rainbow shadow mirror candle lantern basket "
    "bottle blanket carpet curtain hammer ladder needle pencil ribbon saddle wagon wheel anchor compass "
    "quick quiet narrow hollow golden ancient modern gentle bitter heavy simple honest famous foreign "
    "public private local national early later common central western eastern northern southern upper lower "
    "report survey project record account budget contract license permit policy treaty union council "
    "carry follow gather measure compare deliver collect publish archive discover explore repair restore"
)
WORDS = _TEXT.split()[:128]

SECTIONS = ("news", "archive", "forum", "shop", "people", "travel", "music", "wiki")

LENGTH = 2**18


@lru_cache(4)
def filler(seed: int) -> str:
    """LENGTH characters of words, repeated once, so that any LENGTH characters from the first half can be cut out.

    Pages cut it anywhere, even within words, so that each page has exactly its size.
    """
    chance = Random(seed)
    words = chance.choices(WORDS, k=LENGTH // 6)
    for at in range(11, len(words), 11):
        words[at - 1] += "."
        words[at] = words[at].capitalize()
    return " ".join(words)[:LENGTH] * 2
