"""Error statuses and empty answers."""

from __future__ import annotations

from webcrawl.simweb.answers import Answer
from webcrawl.simweb.kinds.kind import Kind
from webcrawl.simweb.place import Place, document


def _error(status: int, *, later: bool = False) -> Kind:
    def answer(place: Place) -> Answer:
        body = document(f"Error {status} at {place.url}", "<p>Sorry.")
        return Answer(status, body, retry_after=place.world.slow if later else 0.0)

    return Kind(answer)


def _recovers(place: Place) -> Answer:
    """Overloaded twice, then fine: a crawler that tries three times gets the page."""
    if place.attempt <= 2:
        return Answer(503, document(f"{place.attempt} at {place.url}", "<p>Soon."))
    return Answer(body=document(place.url, f'<a href="{place.landing()}">on</a>'), links=[place.anchor()])


def _empty(_: Place) -> Answer:
    return Answer()


def _no_content(_: Place) -> Answer:
    return Answer(204, type="")


def _not_modified(_: Place) -> Answer:
    """A 304 to a request without a condition."""
    return Answer(304, type="")


KINDS = {
    **{f"status_{status}": _error(status) for status in (400, 401, 403, 404, 408, 410, 451, 500, 502, 504, 999)},
    "status_429": _error(429, later=True),
    "status_503": _error(503, later=True),
    "status_503_thrice": Kind(_recovers, counted=True),
    "status_204": Kind(_no_content),
    "status_304": Kind(_not_modified),
    "empty": Kind(_empty),
}
