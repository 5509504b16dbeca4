"""The crawl's process: prepared with whatever it is to suffer, watched, and ended if it hangs."""

import faulthandler
import os
import signal

from tests.support.broken import small
from tests.support.crawling import PATIENCE, _crawl, _forked

DUMP = 0.5  # seconds in which a process that hangs says where


def suffer(crawl, prepare, *arguments, patience=PATIENCE, meanwhile=None):
    """Runs the crawl in a process that has called `prepare` first; its exit status, None if it had
    to be killed.

    `meanwhile` is called with the process while it runs.
    """
    words = (crawl.words(), str(crawl.project), str(crawl.output))
    process = _forked.Process(target=_child, args=(*words, prepare, arguments), daemon=True)
    process.start()
    try:
        if meanwhile is not None:
            meanwhile(process)
        process.join(patience)
        if not process.is_alive():
            return process.exitcode
        os.kill(process.pid, signal.SIGUSR2)
        process.join(DUMP)
        return None
    finally:
        process.kill()
        process.join()


def _child(words, project, output, prepare, arguments):
    _hear(output)
    small()
    if prepare is not None:
        prepare(*arguments)
    _crawl(words, project, output)


def _hear(output):
    """On SIGUSR2 the stacks of all threads go where the crawl's output is going to be."""
    descriptor = os.open(f"{output}.stacks", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
    faulthandler.register(signal.SIGUSR2, descriptor, all_threads=True)
