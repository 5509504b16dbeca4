"""ETag and Last-Modified, and the answers to conditional requests: honest ones, and those of odd servers."""

from __future__ import annotations

from email.utils import formatdate, parsedate_to_datetime

from webcrawl.simweb.answers import Answer, Ask

_YEAR = 365.25 * 86_400
AHEAD, BEHIND = 10 * _YEAR, 12 * _YEAR  # seconds that odd servers' dates are wrong by
BOTH = "validator_both"
OWN_TAGS = frozenset({"odd_etag_fresh", "odd_etag_only"})  # odd servers without Last-Modified


def tag_of(edition: int, *, weak: bool = False) -> str:
    return f'{"W/" if weak else ""}"{edition & 2**64 - 1:x}"'


def of_listing(answer: Answer, ask: Ask, tag: str) -> Answer:
    """A sitemap or feed with its ETag, or the 304 to a request that has the same."""
    lines = (f"ETag: {tag}",)
    return Answer(304, headers=lines) if _matches(ask.etag, tag) else _with(answer, lines)


def of_page(answer: Answer, ask: Ask, kind: str, odd: str, edition: int, modified: float, now: float) -> Answer:
    """The answer to a request for a page, which is `answer` unless a 304 says the same. Times are seconds since 1970.

    A copy with a Last-Modified must not be taken for the next edition, so the header is missing in the very second of
    the change (RFC 9110, 8.8.2.1).
    """
    if odd:
        kind = "" if odd in OWN_TAGS else BOTH
    tag = _tag(kind, odd, edition, now)
    shift = AHEAD if odd == "odd_future" else -BEHIND if odd == "odd_years" else 0.0
    dated = kind in ("validator_modified", BOTH) and int(modified) < int(now)
    date = formatdate(int(modified) + shift, usegmt=True)
    lines = tuple(line for line in (tag and f"ETag: {tag}", f"Last-Modified: {date}" if dated else "") if line)
    answer.date = formatdate(now - BEHIND if odd == "odd_years" else now, usegmt=True)  # never before Last-Modified
    same = _matches(ask.etag, tag) if ask.etag else dated and _seconds(ask.since) >= int(modified) + shift
    if odd == "odd_304_conditional":
        same = bool(ask.etag or ask.since)
    if not same or odd in ("odd_ignores", "odd_etag_fresh"):
        return _with(answer, lines)
    if odd == "odd_304_body":
        return Answer(304, script=_with_body(lines, answer.body))
    return Answer(304, headers=lines, type="", date=answer.date)


def _tag(kind: str, odd: str, edition: int, now: float) -> str:
    if odd == "odd_etag_fresh":
        return tag_of(int(now * 1e6))
    if odd == "odd_etag_only" or kind in ("validator_strong", BOTH):
        return tag_of(edition)
    return tag_of(edition, weak=True) if kind == "validator_weak" else ""


def _with(answer: Answer, lines: tuple[str, ...]) -> Answer:
    answer.headers += lines
    return answer


def _with_body(lines: tuple[str, ...], body: bytes) -> tuple[bytes, ...]:
    head = "\r\n".join(["HTTP/1.1 304 Not Modified", *lines, f"Content-Length: {len(body)}", "", ""])
    return (head.encode() + body,)


def _matches(asked: str, tag: str) -> bool:
    """By weak comparison (RFC 9110, 8.8.3.2)."""
    tags = [one.strip().removeprefix("W/") for one in asked.split(",")]
    return bool(tag) and (tag.removeprefix("W/") in tags or "*" in tags)


def _seconds(text: str) -> float:
    try:
        return parsedate_to_datetime(text).timestamp() if text else 0.0
    except ValueError:
        return 0.0
