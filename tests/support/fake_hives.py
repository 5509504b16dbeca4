"""Hives of stand-ins, started as a user starts them."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from tests.support.commands import Started, command
from tests.support.crawling import wait_until

COMMAND = "tests.support.hive_command"


@dataclass
class FakeHive:
    """A hive's JOBDIR, and the command line for it."""

    jobdir: Path
    seeds: Path

    def script(self, number, *words):
        """What a drone does in each of its runs."""
        self.jobdir.mkdir(exist_ok=True)
        (self.jobdir / f"script-{number}").write_text(" ".join(words))

    def words(self, *words, **settings):
        values = {"JOBDIR": self.jobdir, "USER_AGENT": "tests/1 (+http://tests.test/)", **settings}
        given = [word for name, value in values.items() for word in ("-s", f"{name}={value}")]
        return ["hive", "web", "-a", f"seeds={self.seeds}", *given, *map(str, words)]

    def run(self, *words, **settings):
        return command(COMMAND, *self.words(*words, **settings))

    def start(self, *words, **settings):
        """The command under way."""
        return Started(
            COMMAND, *self.words(*words, **settings), said=self.jobdir.with_suffix(".err")
        )

    def runs(self, number):
        """The identifiers of a drone's processes so far."""
        file = self.jobdir / f"drone-{number}/runs"
        return [int(line) for line in file.read_text().split()] if file.exists() else []

    def log(self, number):
        return (self.jobdir / f"logs/drone-{number}.log").read_text()

    def drone_words(self, number):
        return json.loads((self.jobdir / f"drone-{number}/words").read_text())

    def wait_for(self, drones):
        """Until all of them have begun to listen."""
        wait_until(lambda: all("all is not well" in self._said(number) for number in range(drones)))

    def _said(self, number):
        file = self.jobdir / f"logs/drone-{number}.log"
        return file.read_text() if file.exists() else ""


def gone(identifier):
    """Whether a process has ended, whoever its parent is now."""
    try:
        os.kill(identifier, 0)
    except ProcessLookupError:
        return True
    state = Path(f"/proc/{identifier}/stat").read_text().rpartition(")")[2].split()[0]
    return state == "Z"
