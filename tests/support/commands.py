"""`python -m MODULE …` in a process that is forked from one that has imported everything, as crawls
are.
"""

import os
import runpy
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.crawling import PATIENCE, _forked
from tests.support.places import ROOT


@dataclass
class Done:
    """A command that has ended."""

    returncode: int
    stdout: str
    stderr: str


def command(module, *words, cwd=ROOT, environment=(), stdout=None):
    """Runs a module to its end, with nothing to read.

    `stdout` is a path, such as that of a full device.
    """
    with TemporaryDirectory() as folder:
        outputs = [Path(folder) / name for name in ("stdout", "stderr")]
        paths = [str(stdout or outputs[0]), str(outputs[1])]
        arguments = (module, [*map(str, words)], str(cwd), paths, dict(environment))
        process = _forked.Process(target=_run, args=arguments, daemon=True)
        process.start()
        process.join(PATIENCE)
        assert not process.is_alive(), f"{module} {words} has not ended"
        return Done(
            process.exitcode, "" if stdout else outputs[0].read_text(), outputs[1].read_text()
        )


class Started:
    """A command that runs meanwhile; what it says goes to a file."""

    def __init__(self, module, *words, said):
        self._said = said
        arguments = (module, [*map(str, words)], str(ROOT), [os.devnull, str(said)], {})
        self._process = _forked.Process(target=_run, args=arguments, daemon=True)
        self._process.start()

    @property
    def returncode(self):
        return self._process.exitcode

    def send_signal(self, number):
        os.kill(self._process.pid, number)

    def said(self):
        """So far."""
        return self._said.read_text()

    def ended(self):
        """What it said, once it has ended."""
        self._process.join(PATIENCE)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        return self.said()


@contextmanager
def default_signal(number):
    """Let what is started in the block receive this signal.

    It would ignore the signal if the process that started the tests does, as under nohup.
    """
    before = signal.signal(number, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(number, before)


def served(folder, *words):
    """Return the process of a command that serves on any free port until it is ended.

    It is started by its own entry point.
    """
    return subprocess.Popen(
        [sys.executable, "-m", "webcrawl", *words, "--port", "0"],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _run(module, words, cwd, outputs, environment):
    """Become, in the child, what the command line would have started."""
    for descriptor, output in enumerate([os.devnull, *outputs]):
        os.dup2(os.open(output, os.O_RDWR | os.O_CREAT), descriptor)
    os.environ.update(environment)
    os.chdir(cwd)
    # ignored if the tests were started in the background,
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # or by nohup
    sys.path.insert(0, cwd)
    sys.argv[1:] = words
    runpy.run_module(module, run_name="__main__", alter_sys=True)
