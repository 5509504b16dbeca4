"""In the crawl's process: counts the calls of webcrawl's own code, and lets the fault happen.

A call is labelled by its name and by the function of webcrawl that makes it, directly or through a
library. So a label means the same in every run, though the order of calls is never the same.
"""

import gc
import os
import resource
import sqlite3
import sys
import time
from collections import Counter
from functools import wraps
from importlib import import_module
from inspect import iscoroutinefunction
from threading import RLock
from types import FunctionType

from tests.torture.calls import CALLS, SYMPTOMS, error_of

OURS, NOT_OURS = "webcrawl.", ("webcrawl.lab.simweb",)
# pass calls on: who calls them says more
THROUGH = ("webcrawl.store.disk", "webcrawl.store.crawldb")
DEEP = 18  # frames that are looked at
CALLS_IN_A_ROW, A_WHILE = 10, 0.5

_write, _monotonic, _time = os.write, time.monotonic, time.time


class Injector:
    """Knows which call fails. It is called from all threads."""

    def __init__(self, fault, notes):
        self.fault, self._lock = fault, RLock()
        self._counts = Counter()
        self._left, self._until = 0, 0.0
        self._notes = os.open(
            notes, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_APPEND
        )
        self._inside = False

    def fails(self, name):
        """Whether this call is to fail; who is not of webcrawl never fails."""
        label = _label(name)
        if label is None:
            return False
        with self._lock:
            fault = self.fault
            if not fault.label:
                _write(self._notes, f"{label}\n".encode())
                return False
            if self._until:
                return self._goes_on(name)
            if label != fault.label:
                return False
            self._counts[label] += 1
            if self._counts[label] != fault.number:
                return False
            _write(self._notes, f"{label}\n".encode())
            self._left = CALLS_IN_A_ROW - 1 if fault.how == "calls" else 0
            self._until = _monotonic() + (A_WHILE if fault.how == "while" else 0.0)
            return True

    def _goes_on(self, name):
        if name != self.fault.name:
            return False
        self._left -= 1
        return self._left >= 0 or _monotonic() < self._until

    def error(self):
        return error_of(self.fault.error)


def install(fault, notes):
    """From now on calls are counted, and the fault happens."""
    injector = Injector(fault, notes)
    for call in CALLS:
        module, _, attribute = call.place.partition(":")
        special = {"time": _clock, "Channel.query": _query, "connect": _sqlite, "write": _half}
        if attribute.startswith("Connection."):
            continue  # of the class that `connect` makes
        _replace(import_module(module), attribute, call, special.get(attribute, _failing), injector)


def _replace(owner, attribute, call, make, injector):
    *outer, last = attribute.split(".")
    for name in outer:
        owner = getattr(owner, name)
    old = getattr(owner, last)
    new = make(old, call.name, injector)
    setattr(owner, last, new)
    if last == "open":
        import builtins

        if builtins.open is old:
            builtins.open = new
    if call.place == "time:time":
        _rebind(old, new)


def _label(name):
    """`name room/module.function`, of the nearest caller in webcrawl; None if there is none."""
    found, frame = None, sys._getframe(1)
    for _ in range(DEEP):
        if frame is None:
            break
        module = frame.f_globals.get("__name__", "")
        if module.startswith(OURS) and not module.startswith(NOT_OURS):
            if frame.f_code.co_name == "<module>":  # an import
                return None
            found = (
                f"{name} {module.removeprefix(OURS).replace('.', '/')}.{frame.f_code.co_qualname}"
            )
            if module not in THROUGH:
                return found.replace(".<locals>", "")
        frame = frame.f_back
    return found


# -- how calls fail


def _failing(old, name, injector):
    if iscoroutinefunction(old) or name == "Loop.create_connection":

        @wraps(old)
        async def later(*args, **options):
            if injector.fails(name):
                raise injector.error()
            return await old(*args, **options)

        return later

    @wraps(old)
    def now(*args, **options):
        if injector.fails(name):
            raise injector.error()
        return old(*args, **options)

    return now


def _half(old, name, injector):
    """Writes half of the data before it fails, as on a disk that gets full."""

    def write(fd, data):
        if injector.fails(name):
            view = memoryview(data).cast("B")
            old(fd, view[: len(view) // 2])
            raise injector.error()
        return old(fd, data)

    return write


def _query(old, name, injector):
    """c-ares finds no descriptor for its socket: in truth, for it makes that itself."""

    def query(self, *args, **options):
        if not injector.fails(name):
            return old(self, *args, **options)
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
        try:
            return old(self, *args, **options)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)

    return query


def _sqlite(old, name, injector):
    class Connection(sqlite3.Connection):
        """Its calls fail as they do when SQLite has rolled back the transaction."""

        def execute(self, *args):
            self._fail("Connection.execute")
            return super().execute(*args)

        def executemany(self, *args):
            self._fail("Connection.executemany")
            return super().executemany(*args)

        def _fail(self, name):
            if injector.fails(name):
                error = injector.error()
                if self.in_transaction and getattr(error, "sqlite_errorname", "") in SYMPTOMS:
                    super().execute("ROLLBACK")
                raise error

    def connect(*args, **options):
        if injector.fails(name):
            raise injector.error()
        return old(*args, **{"factory": Connection, **options})

    return connect


def _clock(old, name, injector):
    """Steps when the fault begins, and back again when it ends, unless it is for good (`once`)."""
    state = {"ahead": 0.0, "until": float("inf")}

    def now():
        if injector.fault.name == name or not injector.fault.label:
            _tick(injector, name, state)
        return old() + (state["ahead"] if _monotonic() < state["until"] else 0.0)

    return now


def _tick(injector, name, state):
    if not state["ahead"] and injector.fails(name):
        state["ahead"] = float(injector.fault.error)
        if injector.fault.how != "once":
            state["until"] = _monotonic() + A_WHILE


def _rebind(old, new):
    """For functions that have it as a default argument: they were defined before."""
    for one in gc.get_objects():
        if isinstance(one, FunctionType) and (one.__module__ or "").startswith(OURS):
            if one.__defaults__:
                one.__defaults__ = tuple(
                    new if value is old else value for value in one.__defaults__
                )
            if one.__kwdefaults__:
                one.__kwdefaults__ = {
                    key: new if value is old else value for key, value in one.__kwdefaults__.items()
                }
