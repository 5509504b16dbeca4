"""What was ordered while the crawl ran and lasts: a pause, exclusions, other values of settings.

It is part of the checkpoint, and in force again after a restart. What the command line says then goes before it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import msgpack

from webcrawl.checks import SettingError, changed
from webcrawl.control.errors import CommandError
from webcrawl.store.crawldb import CrawlDB
from webcrawl.urls.filters.commanded import CommandedFilter
from webcrawl.urls.rules_file import RulesError

logger = logging.getLogger(__name__)

META = "commands in force"
Listener = Callable[[Mapping[str, Any]], None]


class InForce:
    """`values`: the settings as this run was started; `fixed`: those that its command line gives.

    Only settings that somebody listens to may change: all others are read once, at the start.
    """

    def __init__(self, db: CrawlDB, values: Mapping[str, Any], fixed: Collection[str] = ()) -> None:
        self._db = db
        self._listeners: dict[str, Listener] = {}
        self.paused = False
        self.excluded = CommandedFilter()
        self.set_values: dict[str, Any] = {}
        self.values: Mapping[str, Any] = values
        data = db.get(META)
        if data is not None:
            self._restore(msgpack.unpackb(data), fixed)
        db.join(self)

    def __repr__(self) -> str:
        return f"<InForce paused={self.paused} excluded={list(self.excluded.rules)} set={self.set_values}>"

    def _restore(self, saved: dict[str, Any], fixed: Collection[str]) -> None:
        self.paused = saved["paused"]
        self.excluded.use(saved["excluded"])
        kept = saved["set"]
        for name in [name for name in kept if name in fixed]:
            ordered = kept.pop(name)
            if ordered != self.values[name]:
                logger.info("%s = %s of the command line goes before %s by command", name, self.values[name], ordered)
        while kept:
            try:
                self.values = changed(self.values, kept)
                break
            except SettingError as error:  # with other settings than then
                name, value = kept.popitem()
                logger.warning("%s = %s by command is not in force any more: %s", name, value, error)
        self.set_values = kept
        for line in self.told():
            logger.info("still in force by command: %s", line)

    def told(self) -> Iterator[str]:
        """A line for each."""
        if self.paused:
            yield "pause"
        yield from (f"exclude {rule}" for rule in self.excluded.rules)
        yield from (f"set {name} {value}" for name, value in self.set_values.items())

    # -- commands

    def exclude(self, rule: str) -> bool:
        """False if it was excluded already."""
        if rule in self.excluded.rules:
            return False
        try:
            self.excluded.use([*self.excluded.rules, rule])
        except RulesError as error:
            raise CommandError(str(error)) from error
        return True

    def include(self, rule: str) -> None:
        rules = self.excluded.rules
        if rule not in rules:
            by_command = f"those are: {', '.join(rules[-5:])}" if rules else "nothing is"
            raise CommandError(f"{rule} is not excluded by command; {by_command}")
        self.excluded.use([one for one in rules if one != rule])

    def set(self, name: str, value: str) -> Any:
        """The value as it is understood."""
        if name not in self._listeners:
            if name not in self.values:
                raise CommandError(f"{name} is no setting of the crawl")
            able = ", ".join(sorted(self._listeners))
            raise CommandError(f"{name} cannot change while the crawl runs, only in a resumed one; these can: {able}")
        try:
            self.values = changed(self.values, {name: value})
        except SettingError as error:
            raise CommandError(str(error)) from error
        self.set_values[name] = self.values[name]
        self._listeners[name](self.values)
        return self.values[name]

    def listen(self, names: Collection[str], call: Listener) -> None:
        """Calls now, and whenever one of these settings has another value. One listener for each setting."""
        self._listeners |= dict.fromkeys(names, call)
        call(self.values)

    # -- the checkpoint

    def prepare(self) -> Iterator[None]:
        return iter(())

    def save(self) -> None:
        kept = {"paused": self.paused, "excluded": self.excluded.rules, "set": self.set_values}
        data = msgpack.packb(kept)
        if any(kept.values()) or self._db.get(META) is not None:
            self._db.set(META, data)
