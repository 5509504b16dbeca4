"""Redirects to all kinds of targets, error statuses and empty answers."""

from __future__ import annotations

from collections.abc import Callable

from webcrawl.lab.simweb.dns_answers import OUTSIDE
from webcrawl.lab.simweb.web_answers import Anchor, Answer, Kind, Place, document


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


ERRORS = {
    **{f"status_{status}": _error(status) for status in (400, 401, 403, 404, 408, 410, 451, 500, 502, 504, 999)},
    "status_429": _error(429, later=True),
    "status_503": _error(503, later=True),
    "status_503_thrice": Kind(_recovers, counted=True),
    "status_204": Kind(_no_content),
    "status_304": Kind(_not_modified),
    "empty": Kind(_empty),
}


def _to(location: str, canonical: str, status: int = 302) -> Answer:
    """A redirect with a body, as servers send it. A crawler must not follow links in the body."""
    return Answer(
        status, document(f"Moved to {canonical}", "<p>Moved."), headers=(f"Location: {location}",), location=canonical
    )


def _status(status: int) -> Kind:
    return Kind(lambda place: _to(place.origin + place.landing(), place.origin + place.landing(), status))


def _relative(place: Place) -> Answer:
    return _to(f"..{place.landing()[2:]}", place.origin + place.landing())


def _spelled(place: Place) -> Answer:
    # Raw UTF-8 in a header, as half the web sends it. The head is encoded as latin-1, so the bytes are spelled in it.
    location = place.landing("Grüße und so").encode().decode("latin-1")
    return _to(location, place.origin + place.landing("Gr%C3%BC%C3%9Fe%20und%20so"))


def _fragment(place: Place) -> Answer:
    return _to(f"{place.landing()}#part", place.origin + place.landing())


def _chain(hops: int) -> Kind:
    def answer(place: Place) -> Answer:
        hop = int(place.rest[1:] or 0) if place.rest[1:].isdecimal() or not place.rest else hops
        if hop >= hops:
            return Answer(404)
        target = place.landing() if hop + 1 == hops else f"{place.path}/{hop + 1}"
        return _to(target, place.origin + target)

    return Kind(answer)


def _loop(place: Place) -> Answer:
    target = place.path if place.rest else f"{place.path}/back"
    return _to(target, place.origin + target)


def _self(place: Place) -> Answer:
    return _to(place.path, place.url)


def _endless(place: Place) -> Answer:
    hop = int(place.rest[1:]) if place.rest[1:].isdecimal() else 0
    target = f"{place.path}/{hop + 1}"
    return _to(target, place.origin + target)


def _elsewhere(place: Place) -> Answer:
    target = place.world.origin(place.elsewhere()) + place.landing()
    return _to(target, target)


def _inside(place: Place) -> Answer:
    """The literal address of a server that a crawl must not reach."""
    return _to(f"http://{OUTSIDE}:{place.world.port}/never/inside", "")


def _nowhere(location: str) -> Callable[[Place], Answer]:
    lines = (f"Location: {location}",) if location else ()
    return lambda place: Answer(302, document(place.url, "<p>Moved, somewhere."), headers=lines)


def _refresh(place: Place) -> Answer:
    head = f"<META HTTP-EQUIV=refresh CONTENT='0;url={place.landing()}'>"
    return Answer(body=document(place.url, "<p>Wait.", head), links=[place.anchor("refresh")])


def _refresh_loop(place: Place) -> Answer:
    target = place.path if place.rest else f"{place.path}/back"
    head = f'<meta http-equiv="refresh" content="0; {target}">'
    return Answer(body=document(place.url + place.rest, "", head), links=[Anchor("refresh", place.origin + target)])


REDIRECTS = {
    **{f"redirect_{status}": _status(status) for status in (301, 302, 303, 307, 308)},
    "redirect_relative": Kind(_relative),
    "redirect_spelled": Kind(_spelled),
    "redirect_fragment": Kind(_fragment),
    "redirect_chain": _chain(5),
    "redirect_too_long": _chain(7),
    "redirect_loop": Kind(_loop),
    "redirect_self": Kind(_self),
    "redirect_endless": Kind(_endless),
    "redirect_elsewhere": Kind(_elsewhere),
    "redirect_inside": Kind(_inside),
    "redirect_nowhere": Kind(_nowhere("")),
    "redirect_bad": Kind(_nowhere("http://[::1/x")),
    "redirect_script": Kind(_nowhere("javascript:alert(1)")),
    "redirect_file": Kind(_nowhere("file:///etc/passwd")),
    "refresh": Kind(_refresh),
    "refresh_loop": Kind(_refresh_loop),
}
