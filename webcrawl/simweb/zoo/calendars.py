"""Calendars that never end, in several spellings of time. There is never anything on."""

from __future__ import annotations

import re
from datetime import date, timedelta

from webcrawl.simweb.zoo.spot import Show, Spot

_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_NUMBER = re.compile(r"\d+")
_WEEK = re.compile(r"(\d{4})-W(\d\d)")
_MONTH = re.compile(r"([a-z]+)-(\d{1,5})")
_DAY = 86_400
_STEPS = (*range(-12, 0), *range(1, 13), 52, -52, 365, -365)


def days(spot: Spot) -> Show:
    """`/day/19800`: days since 1970."""
    at = _last_number(spot.path, 19_800)
    return _calendar(f"Day {at}", [f"/day/{max(at + step, 0)}" for step in _STEPS])


def seconds(spot: Spot) -> Show:
    """`/cal/1700000000`: the seconds of midnights since 1970."""
    at = _last_number(spot.path, 1_700_000_000)
    return _calendar(f"Events at {at}", [f"/cal/{max(at + step * _DAY, 0)}" for step in _STEPS])


def weeks(spot: Spot) -> Show:
    """`/agenda/2024-W07`: ISO weeks."""
    match = _WEEK.search(spot.path)
    try:
        at = date.fromisocalendar(int(match[1]), int(match[2]), 1) if match else date(2024, 2, 12)
    except ValueError:
        at = date(2024, 2, 12)
    hrefs = []
    for step in _STEPS:
        try:
            year, week, _ = (at + timedelta(weeks=step)).isocalendar()
        except OverflowError:
            continue
        hrefs.append(f"/agenda/{year}-W{week:02}")
    return _calendar(f"Week of {at}", hrefs)


def months(spot: Spot) -> Show:
    """`/events/march-2024`: names of months."""
    match = _MONTH.search(spot.path)
    known = match is not None and match[1] in _MONTHS
    at = int(match[2]) * 12 + _MONTHS.index(match[1]) if match and known else 2024 * 12
    moments = [max(at + step, 0) for step in _STEPS]
    return _calendar(f"Events of month {at}", [f"/events/{_MONTHS[one % 12]}-{one // 12}" for one in moments])


def _last_number(path: str, start: int) -> int:
    found = _NUMBER.findall(path)
    return int(found[-1]) if found and len(found[-1]) < 16 else start


def _calendar(title: str, hrefs: list[str]) -> Show:
    return Show(title, hrefs, "nothing")
