"""What a page says in its own name: without what it quotes, supposes or asks, and in nobody else's."""

from __future__ import annotations

import re
from itertools import islice

QUOTED = re.compile(r"[\"“”„«「『][^\"“”„«»」』\n]{3,300}[\"“”»」』]")
FIRST = 6  # statements: who is no page says so at once
INNER = re.compile(r"(?<=\w)\.(?=\w)")  # of a host's name or a number
ENDS = re.compile(r"(?<=[.!?])\s+|[。！\n]|(?<=？)| [-\N{EN DASH}] ")  # noqa: RUF001
# What the box beside it says
BOX = re.compile(
    r"\b(I['’]m|I am|ich bin|je (ne )?suis|no soy|soy|non sono|sono|não sou|я)\s(not |kein |pas |не )?"  # noqa: RUF001
    r"(an? |un |uno |um )?\b((ro|ро)?(bot|бот)(er)?|human|person)\b",  # noqa: RUF001
    re.IGNORECASE,
)
# Servers say "we". Left out are words that others have too: "mon" is a day, "je" is "you" in Dutch
PERSON = re.compile(
    r"\bI(['’](m|ve|ll|d)| (am|was|had|have|think|thought|know|found|see|saw|get|got|wrote|use|used|tried|want|would"  # noqa: RUF001
    r"|will|can|could|did|do|don['’]t|run|ran|made|write|need|like|love|hope|wonder|keep|spent|learned|built))\b"  # noqa: RUF001
    r"|\b(?i:my(?! account\b)|myself|ich|mein(e[mnrs]?)?|mir|mich|j['’]ai|yo|я|мне|меня|мой|моя)\b"  # noqa: RUF001
)
SUPPOSED = re.compile(
    r"[?？]$|^(how|why|wie|warum|comment|pourquoi|cómo|come|как|почему)\b"  # noqa: RUF001
    r"|\b(if|when|whenever|wenn|falls|quand|cuando|quando|если|когда"
    r"|will be (closed|offline|down|unavailable)|says?|said|shows?|shown|means?|indicates?|heißt|qué"
    r"|users?|visitors?|nutzer|utilisateurs?|usuarios?|пользовател\w*)\b|用户",
    re.IGNORECASE,
)


def own_words(prose: str) -> str | None:
    """Return its first statements, one per line; None if a person writes."""
    prose = BOX.sub(" ", QUOTED.sub(" ", prose))
    if PERSON.search(prose):
        return None
    found = (one for one in ENDS.split(INNER.sub("", prose)) if one and not SUPPOSED.search(one.strip()))
    return "\n".join(islice(found, FIRST))
