"""The cost of another process: a program under test, or the server beside it."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class Cost:
    """The cost of a process from its start to its end, and what it printed."""

    cpu: float  # seconds, user and system, of all threads
    seconds: float
    peak: int  # MiB
    said: str


def cost(command: list[str]) -> Cost:
    """Run a command to its end, and return its cost. Raise RuntimeError if it fails."""
    begun = time.perf_counter()
    # As users run it: with bytecode
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as process:
        said = process.stdout.read() if process.stdout else ""
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if status:
        raise RuntimeError(f"{command}: status {status}")
    return Cost(
        usage.ru_utime + usage.ru_stime, time.perf_counter() - begun, usage.ru_maxrss // 1024, said
    )


@contextmanager
def beside(serve: Callable[..., None], *args: object) -> Iterator[str]:
    """Run `serve(connection, *args)` in a separate process for the block, and yield its first
    message.

    The process gets a message when it is to end.
    """
    here, there = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=serve, args=(there, *args), daemon=True)
    process.start()
    there.close()
    ready: str = here.recv()
    try:
        yield ready
    finally:
        here.send("stop")
        process.join()


def cpu_so_far(process: int) -> float:
    """Return the CPU seconds of a running process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND
