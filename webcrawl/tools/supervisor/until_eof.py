"""`scrapy crawl …` as `python -m webcrawl.tools.supervisor.until_eof crawl …`: it ends when nobody watches it any more.

Whoever starts it holds the other end of its standard input: that closes even by a kill -9.
"""

from __future__ import annotations

import os
import signal
import sys
from threading import Thread


def stop_at_eof(stream: int) -> None:
    """When the stream ends, this process gets SIGTERM."""
    Thread(target=_wait, args=(stream,), daemon=True, name="until-eof").start()


def _wait(stream: int) -> None:
    try:
        while os.read(stream, 4096):
            pass
    except OSError:  # there is none
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    stop_at_eof(sys.stdin.fileno())
    from scrapy.cmdline import execute  # half a second in which the stream may end

    execute(["scrapy", *sys.argv[1:]])
