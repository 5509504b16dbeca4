"""Settings for one domain or host only, in force until they are taken back (Heritrix's sheets).

A sheet is for a name and all names below it. Of several the most specific one says what a setting
is. A sheet for a single host alone, without what is below it, has a name that begins with `=`. The
commands are `set --for` and `get --for`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Generic, TypeVar

import msgpack

from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.crawl.checks import read_for_host
from webcrawl.crawl.control.command import CommandError
from webcrawl.store.crawldb import CrawlDB, Part, SavedValue
from webcrawl.urls.host_names import names_above

logger = logging.getLogger(__name__)

META = "sheets"
OF_HOST = (
    *("POLITENESS_FACTOR", "POLITENESS_MIN_DELAY", "POLITENESS_MAX_DELAY"),
    *("CRAWL_DELAY_MAX", "RETRY_AFTER_MAX", "HOST_MAX_PAGES"),
    "HOST_CONNECTIONS",
)
BUDGET = "DOMAIN_BUDGET_PAGES"
DEPTH = "URL_MAX_DEPTH"
SCOPE = "URL_SCOPE"
SETTINGS = (*OF_HOST, BUDGET, DEPTH, SCOPE)  # whoever can take one per host listens to it
MOST_SHEETS = 4096  # sheets
ALONE = "="
HOSTS_REMEMBERED = 1 << 14  # hosts of which it is remembered which sheets are theirs

T = TypeVar("T")
Sheet = dict[str, Any]

FOR = "--for"


class PerHost(dict[str, T | None], Generic[T]):
    """The value that sheets give each host: one look-up for those asked for lately.

    None: nothing of its own.
    """

    def __init__(self, find: Callable[[str], T | None]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, host: str) -> T | None:
        if len(self) >= HOSTS_REMEMBERED:
            self.clear()
        found = self[host] = self._find(host)
        return found


Heard = Callable[[PerHost[Any] | None], None]
"""A listener: takes the values by host, None if no sheet has any."""
Make = Callable[[Mapping[str, Any]], Any]
"""Makes the value of a host of the settings that its sheets give it."""


class Sheets(Part):
    """The sheets of a crawl, a part of the checkpoint.

    A listener gets None as long as no sheet has any of its settings.
    """

    def __init__(self, db: CrawlDB) -> None:
        self._listeners: list[tuple[frozenset[str], Make, Heard]] = []  # with names of settings
        self.sheets: dict[str, Sheet] = {}  # by name: a domain, or `=` and a host
        self._saved = SavedValue(db, META)
        if self._saved.data is not None:
            self._restore(msgpack.unpackb(self._saved.data))
        db.join(self)

    def _restore(self, saved: Mapping[str, Sheet]) -> None:
        for name, sheet in saved.items():
            for setting, value in sheet.items():
                self._restore_one(name, setting, value)

    def _restore_one(self, name: str, setting: str, value: Any) -> None:
        """Put a setting of a sheet in force again; another version may have saved it."""
        try:
            self.sheets.setdefault(name, {})[setting] = read_for_host(setting, value)
        except ValueError as error:
            why = str(error)
        except KeyError:
            why = "this version has no such setting"
        else:
            return
        line = "%s = %s, set by command for %s, is no longer in force: %s"
        logger.warning(line, setting, value, whose(name), why)

    def order_lines(self) -> Iterator[str]:
        """Yield a line for each setting of a sheet, as the command that gave it."""
        for name, sheet in self.sheets.items():
            # `host NAME delay` alone makes such sheets: a least and a longest wait, both the same.
            if name.startswith(ALONE):
                yield f"host {name.removeprefix(ALONE)} delay {min(sheet.values())}"
            else:
                for setting, value in sheet.items():
                    vain = "" if self._is_heeded(setting) else " (no effect in this run)"
                    yield f"set --for {name} {setting} {value}{vain}"

    def _is_heeded(self, setting: str) -> bool:
        return any(setting in names for names, _, _ in self._listeners)

    # -- commands

    def set(self, name: str, settings: Sheet) -> None:
        """Give these settings these values for a name; None takes a value back.

        Raise CommandError if no part of the crawl heeds one, or if there are too many sheets.
        """
        for setting, value in settings.items():
            # What has no effect can be taken back all the same.
            if value is not None and not self._is_heeded(setting):
                raise CommandError(f"{setting} has no effect in this crawl")
        merged = {**self.sheets.get(name, {}), **settings}
        sheet = {setting: value for setting, value in merged.items() if value is not None}
        if not sheet:
            self.sheets.pop(name, None)
        elif name in self.sheets or len(self.sheets) < MOST_SHEETS:
            self.sheets[name] = sheet
        else:
            raise CommandError(
                f"settings are already set for {MOST_SHEETS} names, which is the maximum: undo one first"
            )
        self.tell(settings)

    def of(self, host: str) -> Mapping[str, Any]:
        """Return what the sheets say for this host, those for the names above it included."""
        found: Sheet = {}
        # The most specific sheet comes last, and replaces what wider ones say.
        for name in reversed(tuple(names_for(host))):
            found |= self.sheets.get(name, {})
        return found

    def said_by(self, host: str, setting: str) -> str | None:
        """Return the name of the sheet that says what a setting is for this host, or None."""
        for name in names_for(host):
            if setting in self.sheets.get(name, ()):
                return name
        return None

    # -- those who heed it

    def listen(self, names: Collection[str], make: Make, heard: Heard) -> None:
        """Call `heard` now and with every change.

        `make` turns the settings of a host's sheets into what is needed.
        """
        self._listeners.append((frozenset(names), make, heard))
        self.tell(names)

    def tell(self, changed: Collection[str] = SETTINGS) -> None:
        """Tell the listeners of these settings, whose values by host are then made anew."""
        there = frozenset(setting for sheet in self.sheets.values() for setting in sheet)
        for names, make, heard in self._listeners:
            if not names.intersection(changed):
                continue
            # Hosts are looked up twice per page for their waits alone: without sheets in nothing.
            has_any = bool(names & there)
            heard(PerHost(_finder(self, names, make)) if has_any else None)

    # -- the checkpoint

    def save(self) -> None:
        self._saved.save(msgpack.packb(self.sheets), is_empty=not self.sheets)


def _finder(
    sheets: Sheets, names: frozenset[str], make: Callable[[Mapping[str, Any]], T]
) -> Callable[[str], T | None]:
    """Return a function that finds the value of a host, None if it has nothing of its own."""

    def find(host: str) -> T | None:
        own = {name: value for name, value in sheets.of(host).items() if name in names}
        return make(own) if own else None

    return find


def whose(name: str) -> str:
    """Return the hosts that a sheet is for, in words."""
    return f"host {name.removeprefix(ALONE)} alone" if name.startswith(ALONE) else name


def names_for(host: str) -> Iterator[str]:
    """Yield the names of sheets that hold for a host, the most specific one first."""
    yield ALONE + host
    yield from names_above(host)


def without_conflict(values: CheckedSettings) -> CheckedSettings:
    """Return these settings without a minimum above a maximum: the longer wait counts.

    The two come from different sheets.
    """
    least, most = values["POLITENESS_MIN_DELAY"], values["POLITENESS_MAX_DELAY"]
    return {**values, "POLITENESS_MAX_DELAY": max(least, most)}
