"""The synthetic web in a thread, for tests and demonstrations."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Thread

from webcrawl.simweb.log import Log
from webcrawl.simweb.loop import new_event_loop
from webcrawl.simweb.server import Server
from webcrawl.simweb.world import World


def wait_until_idle(server: Server, seconds: float = 10.0) -> None:
    """Waits until every request is in the log: a client gets its answer a moment earlier.

    Raises TimeoutError if the server is still answering after that many seconds.
    """
    end = time.monotonic() + seconds
    while server.busy:
        if time.monotonic() > end:
            raise TimeoutError(f"still answering {server.busy} requests after {seconds} seconds")
        time.sleep(0.002)


@contextmanager
def running(
    world: World, *, latency: float = 0.0, log: Log | None = None, outages: Iterable[str] = ()
) -> Iterator[Server]:
    """Serves the world for the duration of the block; afterwards its log is complete."""
    server = Server(world, latency=latency, log=log, outages=outages)
    started: Future[None] = Future()
    loop, stop = new_event_loop(), asyncio.Event()

    async def serve() -> None:
        try:
            await server.start()
        except BaseException as error:  # noqa: BLE001 -- raised where the server is wanted
            started.set_exception(error)
        else:
            started.set_result(None)
        await stop.wait()
        await server.close()

    def work() -> None:
        loop.run_until_complete(serve())
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()

    thread = Thread(target=work, name="simweb", daemon=True)
    thread.start()
    try:
        started.result()
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
