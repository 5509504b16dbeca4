"""Orders to a running crawl that last: a pause, paused hosts, exclusions and changed settings.

They are part of the checkpoint, and in force again after a restart. What the command line says then
goes before them.

A setting may change if the part that holds its value takes another one, from what begins next:
`crawl/assembly.py`, `adapter/commanded_crawl.py` and the extensions connect the two by `InForce.listen`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgpack

from webcrawl.base.errors import RulesError
from webcrawl.base.settings.checked_settings import CheckedSettings, value_of
from webcrawl.crawl.checks import SettingError, changed, read
from webcrawl.crawl.checks.check import KINDS, SCRAPYS
from webcrawl.crawl.checks.places import File
from webcrawl.crawl.checks.scrapys import TAKEN
from webcrawl.crawl.control.command import CommandError
from webcrawl.crawl.control.exclusions import SavedOptOuts, renewed, says_more
from webcrawl.store.crawldb import CrawlDB, Part, SavedValue
from webcrawl.urls.exclusion_rules import OptOut
from webcrawl.urls.filters.exclusion import CommandedFilter

logger = logging.getLogger(__name__)


OF_FRONTIER = (  # with each outcome
    *(
        "POLITENESS_FACTOR",
        "POLITENESS_MIN_DELAY",
        "POLITENESS_MAX_DELAY",
        "CRAWL_DELAY_MAX",
        "RETRY_AFTER_MAX",
    ),
    *(
        "HOST_MAX_PAGES",
        "HOST_MAX_FAILURES",
        "HOST_RETRY_WAIT",
        "HOST_PATIENCE",
        "HOST_CONNECTIONS",
    ),
)
SCOPE = "URL_SCOPE"
OF_FILTERS = (  # with each page whose links are filtered
    *(
        "URL_SCHEMES",
        "URL_MAX_LENGTH",
        "URL_MAX_DEPTH",
        "URL_EXCLUDE_EXTENSIONS",
        "URL_INCLUDE",
        "URL_EXCLUDE",
    ),
    *("URL_EXCLUDE_FILE", "TRAP_RULES", "TRAP_MAX_PAGES"),
)
OF_REQUESTS = ("DOWNLOAD_TIMEOUT", "DOWNLOAD_MIN_RATE", "DOWNLOAD_TRUNCATE")  # with each request
OF_REVISITS = ("REVISIT_AGE", "REVISIT_RATE", "REVISIT_SHARE")  # with each page that becomes due
OF_LIMITS = (
    "CLOSESPIDER_TIMEOUT",
    "CLOSESPIDER_PAGECOUNT",
    "CLOSESPIDER_ITEMCOUNT",
    "CLOSESPIDER_ERRORCOUNT",
)
CHANGEABLE = (
    *(SCOPE, *OF_FILTERS, *OF_FRONTIER, *OF_REQUESTS, *OF_LIMITS),
    *OF_REVISITS,
    *("CONCURRENT_REQUESTS", "DOMAIN_BUDGET_PAGES", "OUTAGE_END_WAIT"),
    *(
        "BANDWIDTH_MAX",
        "CLOSESPIDER_BYTES",
        "CHECKPOINT_INTERVAL",
        "MIN_FREE_DISK",
        "ERROR_BREAKER",
        "LOG_LEVEL",
    ),
)
ALIASES = {"scope": SCOPE}  # as the spider calls it
KEYS = frozenset(("URL_FOLDINGS", "URL_HOST_RULES"))  # which URLs count as one


def check_set(name: str, value: str) -> None:
    """Raise CommandError for a value that no crawl would take, whatever its other settings are."""
    if name not in CHANGEABLE:
        raise CommandError(_why_not(name))
    kind = KINDS.get(name) or SCRAPYS[name]
    try:
        found = read(name, value)
    except SettingError as error:
        raise CommandError(str(error)) from error
    if isinstance(kind, File) and found is not None and not Path(found).is_absolute():
        raise CommandError(
            f"{name} = {value}: give an absolute path, because the crawl may run in another folder"
        )


def _why_not(name: str) -> str:
    """Return the sentence that says why a setting cannot be changed by a command."""
    if name in KEYS:
        return (
            f"{name} decides which URLs count as the same, so it cannot change within a crawl: "
            "use another JOBDIR"
        )
    for one in TAKEN:
        if one.theirs == name and one.ours in CHANGEABLE:
            return f"{name} is called {one.ours} here: set {one.ours}"
    if name not in KINDS and name not in SCRAPYS:
        return f"{name[:40]} is not a setting of the crawl; `get` lists all settings, and which can change"
    return (
        f"{name} cannot change while the crawl runs, only when it is resumed; `get` lists the "
        "settings that can"
    )


META = "commands in force"
# without it a crawl would ask whom it was told to leave alone
NEEDED = frozenset(("URL_EXCLUDE_FILE",))
Listener = Callable[[CheckedSettings], None]

PAUSED_HOSTS = "hosts paused"
MOST_HOSTS = 4096  # hosts; whoever wants to leave out more has `exclude`


def ordered(db: CrawlDB) -> Mapping[str, Any]:
    """Return the settings that former runs were ordered to change, in force in this one or not."""
    data = db.get(META)
    found: Mapping[str, Any] = {} if data is None else msgpack.unpackb(data)["set"]
    return found


class InForce(Part):
    """Keeps the orders of commands that still hold, and the settings that they have changed.

    Only settings that somebody listens to may change: all others are read once, at the start.
    """

    def __init__(
        self,
        db: CrawlDB,
        values: CheckedSettings,
        fixed: Collection[str] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Take the settings of the start, and over them what commands had set before the last stop.

        `values`: the settings as this run was started. `fixed`: names that the command line gives,
        which go before what was set by command.
        """
        self._db = db
        self._clock = clock
        self._optouts = SavedOptOuts(db)
        self._listeners: dict[str, list[Listener]] = {}  # by name of the setting
        self.paused = False
        # who has the crawl fetch nothing, and why, in a few words
        self.holders: dict[object, str] = {}
        # of a drone: whether its hosts may be another's by now
        self.is_fenced: Callable[[], bool] = lambda: False
        self.excluded = CommandedFilter(clock)
        self.set_values: dict[str, Any] = {}  # by command: what the checkpoint keeps
        self.values: CheckedSettings = values  # all settings as they hold now
        data = db.get(META)
        if data is not None:
            self._restore(msgpack.unpackb(data), fixed)
        db.join(self)

    @property
    def hands_out_nothing(self) -> bool:
        """Return whether no URL may be taken now: by command, or because the hive is cut off."""
        return self.paused or self.is_fenced()

    @property
    def held(self) -> str:
        """Return why the crawl is held, by its first holder; empty if it is not."""
        return next(iter(self.holders.values()), "")

    @property
    def rests(self) -> bool:
        """Return whether nothing is fetched now: no URL may be taken, or the crawl is held."""
        return self.hands_out_nothing or bool(self.holders)

    def _restore(self, saved: dict[str, Any], fixed: Collection[str]) -> None:
        """Put in force again what `save` has saved, but for settings that `fixed` names."""
        self.paused = saved["paused"]
        self.excluded.use(self._optouts.commanded(saved["excluded"]))
        ordered = saved["set"]
        self._restore_settings(self._without_fixed(ordered, fixed))
        for line in self.order_lines():
            logger.info("still in force by command: %s", line)

    def _without_fixed(self, ordered: Mapping[str, Any], fixed: Collection[str]) -> dict[str, Any]:
        """Return the ordered settings that the command line does not give."""
        free: dict[str, Any] = {}
        for name, value in ordered.items():
            given = self.values.get(name)
            if name not in fixed:
                free[name] = value
            elif value != given:
                logger.info(
                    "%s = %s from the command line is used; the value %s, set earlier by command, "
                    "is discarded",
                    name,
                    given,
                    value,
                )
        return free

    def _restore_settings(self, ordered: dict[str, Any]) -> None:
        """Put settings in force again, and leave out those that do not fit those of this run."""
        # One may be possible only with another: a longer POLITENESS_MIN_DELAY needs its maximum.
        # So those that are left are tried again as long as one more could be put in force.
        while fitting := [name for name in ordered if self._put_in_force(name, ordered[name])]:
            for name in fitting:
                self.set_values[name] = ordered.pop(name)
        for name, value in ordered.items():
            self._leave_out(name, value)

    def _put_in_force(self, name: str, value: Any) -> bool:
        """Put a setting in force, and return whether it fits those that are."""
        try:
            self.values = changed(self.values, {name: value})
        except (SettingError, KeyError):
            return False
        return True

    def _leave_out(self, name: str, value: Any) -> None:
        """Log that a setting is not in force any more. Raise SettingError if it is NEEDED."""
        try:
            changed(self.values, {name: value})  # once more, for the reason
        except SettingError as error:
            if name in NEEDED:
                raise
            logger.warning("%s = %s, set by command, is no longer in force: %s", name, value, error)
        except KeyError:  # a setting of another version
            logger.warning(
                "%s = %s, set by command, is no longer in force: this version has no such setting",
                name,
                value,
            )

    def order_lines(self) -> Iterator[str]:
        if self.paused:
            yield "pause"
        now = self._clock()
        in_force = [one for one in self.excluded.records if one.holds(now)]
        for one in in_force:
            details = f" ({one.details})" if says_more(one) else ""
            yield f"exclude {one.rule}{details}"
        for name, value in self.set_values.items():
            yield f"set {name} {value}"

    # -- commands

    def exclude(self, wish: OptOut) -> bool:
        """Exclude what a wish names. Return False if it was already, and the wish adds nothing.

        Raise CommandError if there is no such rule; then nothing has changed.
        """
        now = self._clock()
        records = {record.rule: record for record in self.excluded.records}
        old = records.get(wish.rule)
        new = wish if old is None else renewed(old, wish, now)
        if new is None:
            return False
        try:
            self.excluded.use([*(records | {wish.rule: new}).values()])
        except RulesError as error:
            raise CommandError(str(error)) from error
        return True

    def include(self, rule: str) -> None:
        """Exclude it no longer. Raise CommandError if no command has excluded this very rule."""
        records = self.excluded.records
        rest = [one for one in records if one.rule != rule]
        if len(rest) == len(records):
            last = ", ".join(one.rule for one in records[-5:])
            known = f"the latest rules that are: {last}" if last else "no rule is"
            raise CommandError(f"{rule} is not excluded by command; {known}")
        self.excluded.use(rest)

    def set(self, name: str, value: str) -> Any:
        """Put a value in force for one setting, and return it as it is understood.

        Raise CommandError if the setting cannot change, or if a listener refuses the value: then
        all have the old one again.
        """
        check_set(name, value)
        if name not in self._listeners:
            raise CommandError(
                f"{name} cannot change in this crawl: the part that uses it is switched off"
            )
        before = self.values
        heard: list[Listener] = []  # those that have the new value
        try:
            # Before the listeners are called, which may look at what holds.
            self.values = changed(before, {name: value})
            for call in self._listeners[name]:
                call(self.values)
                heard.append(call)
        except (SettingError, RulesError, CommandError) as error:
            # Whether a file has rules shows only when its listener reads it: those before it are
            # then told the old value.
            self.values = before
            for call in heard:
                call(before)
            raise CommandError(str(error)) from error
        found = value_of(self.values, name)
        # what msgpack can keep; other values are kept as they were written, and read again
        self.set_values[name] = found if isinstance(found, (int, float, str)) else value
        return found

    def may_change(self, name: str) -> bool:
        """Return whether a part of the crawl heeds another value."""
        return name in self._listeners

    def listen(self, names: Collection[str], call: Listener, *, now: bool = True) -> None:
        """Call a listener whenever one of these settings changes.

        It is called at once, too, if `now` is set. A listener that cannot take a value raises
        SettingError, RulesError or CommandError, and keeps the value before.
        """
        for name in names:
            self._listeners.setdefault(name, []).append(call)
        if now:
            call(self.values)

    # -- the checkpoint

    def save(self) -> None:
        kept = {"paused": self.paused, "excluded": self.excluded.rules, "set": self.set_values}
        data = msgpack.packb(kept)
        # An earlier row is replaced even by an empty one: else it would hold after a restart.
        if any(kept.values()) or self._db.get(META) is not None:
            self._db.set(META, data)
        self._optouts.save(self.excluded.records)


def paused_hosts_in(data: bytes) -> list[str]:
    """Return the names that PausedHosts has saved as PAUSED_HOSTS."""
    return [*map(str, msgpack.unpackb(data))]


class PausedHosts(Part):
    """The names of paused hosts, in the order in which they were paused.

    A paused host is a deferred host, and has no state of its own: every place that moves
    hosts would have to know it, and older versions could not read the host's row.
    """

    def __init__(self, db: CrawlDB) -> None:
        self._saved = SavedValue(db, PAUSED_HOSTS)
        names = [] if self._saved.data is None else paused_hosts_in(self._saved.data)
        self.names: dict[str, None] = dict.fromkeys(names)
        db.join(self)

    def add(self, name: str) -> bool:
        """Note that a host is paused; return False if it is already. Raise CommandError if too many are."""
        if name in self.names:
            return False
        if len(self.names) >= MOST_HOSTS:
            raise CommandError(
                f"{MOST_HOSTS} hosts are paused already, which is the maximum: resume one, or use exclude"
            )
        self.names[name] = None
        return True

    def remove(self, name: str) -> bool:
        """Note that a host is paused no longer; return False if it was not."""
        if name not in self.names:
            return False
        del self.names[name]
        return True

    def order_lines(self) -> Iterator[str]:
        return (f"host {name} pause" for name in self.names)

    # -- the checkpoint

    def save(self) -> None:
        self._saved.save(msgpack.packb([*self.names]), is_empty=not self.names)
