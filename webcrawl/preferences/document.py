"""What a document says of its use: robots meta elements, TDM meta elements, links to licences."""

from __future__ import annotations

from collections.abc import Collection

from webcrawl.html.found import LICENSE, Said
from webcrawl.html.lookup import resolved
from webcrawl.preferences import meta_robots, tdm
from webcrawl.preferences.addresses import address
from webcrawl.preferences.statement import DOCUMENT, NONE, Preferences, Statement

RESERVATION, POLICY, ROBOTS = "tdm-reservation", "tdm-policy", "robots"
NAMES = frozenset((RESERVATION, POLICY))  # of meta elements, beside `robots`
LICENSES = 8


def of_document(words: Collection[str], more: Collection[Said], base: str) -> Preferences:
    """`words`: of robots meta elements; `more`: name and content of others, and addresses of licences."""
    said = {ROBOTS: meta_robots.statement(words)}
    policy, licenses = "", []
    for name, content in more:
        if name == LICENSE:
            licenses.append(address(resolved(content, base)))
        elif name == POLICY:
            policy = policy or address(content)
        elif name == RESERVATION:
            said[name] = said.get(name, 0) | tdm.statement(content)
        else:  # the crawler's own name
            said[name] = said.get(name, 0) | meta_robots.statement(part.strip() for part in content.lower().split(","))
    statements = tuple(Statement(DOCUMENT, name, one) for name, one in said.items() if one)
    known = tuple(dict.fromkeys(filter(None, licenses)))[:LICENSES]
    return Preferences(statements, known, policy) if statements or known or policy else NONE
