"""What the account says of a request, in words that its reader need not look up."""

from __future__ import annotations

from webcrawl.account.asked import Asked

RULES = {
    "new": "the host had not been asked before",
    "politeness": "a multiple of the time that the last answer took, within bounds",
    "crawl-delay": "the Crawl-delay of its robots.txt",
    "failure": "the last request failed: a wait that doubles each time",
    "retry-after": "what the host asked for itself, by Retry-After or a rate limit",
}


def outcome(one: Asked, *, lost: bool) -> str:
    """How the request ended; `lost`: a kill may have taken the answer."""
    if one.end is None:
        return "not known: the crawler was stopped hard" if lost else "no whole answer, or tried again"
    status = one.end.status
    return "answered" if status > 0 else f"failed ({status})"


def kept(one: Asked) -> str:
    """What the crawl keeps of the answer."""
    end = one.end
    if end is None or end.size is None:
        return "nothing"
    notes = end.notes.split(",")
    if any(note.startswith("withheld:") for note in notes):
        return "the head alone: the owner forbids the rest"
    if "duplicate:digest" in notes:
        return "that it is the same as another page"
    if end.status == 304:
        return "that it has not changed"
    return "head and body" if not any(note.startswith("truncated:") for note in notes) else "head and part of the body"
