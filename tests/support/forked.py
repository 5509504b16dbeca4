"""Runs tests in processes forked from the one that has collected them, which takes five seconds of
CPU or more.

pytest-xdist, whose option `-n` this answers, starts processes that import and collect everything
again, each of them.
"""

import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing import Pipe, active_children, connection, forkserver
from tempfile import TemporaryFile

import pytest

CRAWLS = "tests.support.crawling"  # who imports it forks crawls from a process that all may share
LOOK = 1.0  # seconds until it is asked whether a process has died


def units_of(items):
    """Return the numbers of tests in lists, each of tests that share a process: a group, or one
    test.
    """
    units = {}
    for number, item in enumerate(items):
        group = item.get_closest_marker("xdist_group")
        unit = group.args[0] if group is not None else item.nodeid
        units.setdefault(unit, []).append(number)
    return list(units.values())


@dataclass
class Forked:
    """A plugin of pytest that takes the place of the loop over all tests."""

    count: int
    # whether a test waits for others' processes most of the time
    waits: Callable[[pytest.Item], bool]

    def pytest_report_header(self):
        return f"{self.count} processes"

    def pytest_collection(self, session):
        """Start the process from which crawls are forked: it imports while tests are collected."""
        config = session.config
        if config.args_source is config.ArgsSource.TESTPATHS and not config.option.collectonly:
            import_module(CRAWLS)
            forkserver.ensure_running()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        """Run all tests in processes; again, if a process died, those that it had left."""
        if session.testsfailed or session.config.option.collectonly:
            return None
        session.config.pluginmanager.getplugin("terminalreporter").showfspath = False
        session.config._tmp_path_factory.getbasetemp()  # before the processes make one each
        if CRAWLS in sys.modules:
            forkserver.ensure_running()
        left = set(range(len(session.items)))
        while left:  # again if a process died: with what it had still to do
            units = [
                kept
                for unit in units_of(session.items)
                if (kept := [one for one in unit if one in left])
            ]
            _Run(session, units, left).work(self.count, self.waits)
        return True


@dataclass
class _Worker:
    """A process, and the test it is at."""

    pid: int
    reader: connection.Connection
    at: int | None = None


@dataclass
class _Run:
    """Some tests in units, each of which goes to the process that asks first."""

    session: pytest.Session
    units: list[list[int]]
    left: set[int]  # of whose tests nothing has been reported
    workers: list[_Worker] = field(default_factory=list)

    def work(self, count, waits):
        """Run all units.

        One process per core begins with tests that take CPU time. All others begin with tests
        that wait. Each goes on with what the others have left.
        """
        cores, halves = len(os.sched_getaffinity(0)), ([], [])
        for number, unit in enumerate(self.units):
            halves[not waits(self.session.items[unit[0]])].append(number)
        waiting, working = map(_queue, halves)
        try:
            for number in range(count):
                self._fork(number, (working, waiting) if number < cores else (waiting, working))
            while self.workers:
                ready = connection.wait([worker.reader for worker in self.workers], LOOK)
                for worker in self.workers.copy():
                    self._hear(worker, said=worker.reader in ready)
        finally:
            for worker in self.workers:
                os.kill(worker.pid, signal.SIGTERM)
                os.waitpid(worker.pid, 0)
            os.close(waiting)
            os.close(working)

    def _fork(self, number, queues):
        reader, writer = Pipe(duplex=False)
        sys.stdout.flush()
        with warnings.catch_warnings():
            # of Python 3.12: numpy's threads bear a fork
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid:
            writer.close()
            self.workers.append(_Worker(pid, reader))
            return
        status = 1
        try:
            _become_worker(self.session.config, number)
            _Teller(self.session, writer).work(self._taken(queues))
            status = 0
        except BaseException:  # noqa: BLE001 - also what ends a run
            traceback.print_exc()
        finally:
            for process in active_children():
                process.terminate()
            sys.stdout.flush()
            os._exit(status)

    def _taken(self, queues):
        for queue in queues:
            while number := os.read(queue, 4):
                yield from self.units[int.from_bytes(number, "little")]

    def _hear(self, worker, *, said):
        """Passes on what a process reports, and notes its end."""
        over = not said and os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        try:  # a last report may have come since
            message = worker.reader.recv() if said or (over and worker.reader.poll()) else None
        except EOFError:
            message = None
        if message is None:
            if said or over:
                self._end(worker)
        elif isinstance(message, int):
            worker.at = message
        else:
            self._report(worker, *message)

    def _report(self, worker, reports, warned):
        hook, item = self.session.config.hook, self.session.items[worker.at]
        self.left.discard(worker.at)
        worker.at = None
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for data in reports:
            hook.pytest_runtest_logreport(
                report=hook.pytest_report_from_serializable(config=self.session.config, data=data)
            )
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        for one in warned:
            hook.pytest_warning_recorded.call_historic(kwargs=one)
        if self.session.shouldfail:
            raise self.session.Failed(self.session.shouldfail)
        if self.session.shouldstop:
            raise self.session.Interrupted(self.session.shouldstop)

    def _end(self, worker):
        self.workers.remove(worker)
        worker.reader.close()
        status = os.waitstatus_to_exitcode(os.waitpid(worker.pid, 0)[1])
        if worker.at is not None:
            item, said = (
                self.session.items[worker.at],
                f"the process of this test ended with {status}",
            )
            report = pytest.TestReport(item.nodeid, item.location, {}, "failed", said, "call")
            data = self.session.config.hook.pytest_report_to_serializable(
                config=self.session.config, report=report
            )
            self._report(worker, [data], [])
        elif status:
            raise self.session.Interrupted(f"a process of the tests ended with {status}")


def _queue(numbers):
    """A file whose place all processes share: who reads a number takes it from the others.

    It has to be one of a file system: in a memfd two that read at once may get the same number.
    """
    with TemporaryFile(buffering=0) as file:
        file.write(b"".join(number.to_bytes(4, "little") for number in numbers))
        file.seek(0)
        return os.dup(file.fileno())


def _become_worker(config, number):
    """Lets go of what is the parent's: the terminal, the files of captured output, the folder of
    temporary ones.
    """
    plugins = config.pluginmanager
    plugins.unregister(name="terminalreporter")
    capture = plugins.getplugin("capturemanager")
    capture.stop_global_capturing()
    capture.start_global_capturing()
    capture.suspend_global_capture()
    if CRAWLS in sys.modules:
        # it would look after a process that is not its child
        forkserver._forkserver.ensure_running = lambda: None
    folders = config._tmp_path_factory
    folders._basetemp = folders.getbasetemp() / f"gw{number}"
    folders._basetemp.mkdir(0o700, exist_ok=True)


class _Teller:
    """Runs tests, and tells the parent process their results."""

    def __init__(self, session, writer):
        self._session, self._writer = session, writer
        self._reports, self._warned = [], []
        session.config.pluginmanager.register(self)

    def work(self, numbers):
        items, number = self._session.items, next(numbers, None)
        while number is not None:
            following = next(numbers, None)
            self._reports, self._warned = [], []
            self._writer.send(number)
            items[number].config.hook.pytest_runtest_protocol(
                item=items[number], nextitem=None if following is None else items[following]
            )
            self._writer.send((self._reports, self._warned))
            number = following

    def pytest_runtest_logreport(self, report):
        config = self._session.config
        self._reports.append(
            config.hook.pytest_report_to_serializable(config=config, report=report)
        )

    def pytest_warning_recorded(self, warning_message, when, nodeid, location):
        text, kind = str(warning_message.message), warning_message.category
        plain = warnings.WarningMessage(
            text, kind, warning_message.filename, warning_message.lineno
        )
        self._warned.append(
            {"warning_message": plain, "when": when, "nodeid": nodeid, "location": location}
        )
