"""What is known of a page that is fetched again; the details say when, if its record was found (revisits.py)."""

from __future__ import annotations

from webcrawl.why.facts import Facts
from webcrawl.why.log import LogLine
from webcrawl.why.words import moment

REVISIT = "revisit"  # a note in crawl.log; the next one says what the fetch found
FOUND = {"changed": "it had changed", "unchanged": "it had not changed", "gone": "it was gone"}


def of_again(facts: Facts, answered: LogLine) -> str:
    """What follows the answer, if the page is fetched again or was; begins with a semicolon."""
    said = ""
    notes = answered.notes.split(",")
    if REVISIT in notes:
        found = next((FOUND[note] for note in notes if note in FOUND), "")
        said += f"; it was fetched again then{f', and {found}' if found else ''}"
    last = facts.lines[-1]
    if last is not answered and REVISIT in last.notes.split(","):
        said += f"; to fetch it again failed at {moment(last.time)}, with status {last.status}"
    if not any(one.status == 200 and not one.path.endswith("P") for one in facts.lines):
        return said
    if facts.in_flight:
        return f"{said}; it is being fetched again right now"
    if facts.place is not None:
        return f"{said}; its turn to be fetched again has come: it waits in a queue"
    return f"{said}; it is fetched again when its turn comes" if facts.again else said
