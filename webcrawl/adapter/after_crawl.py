"""A drone that waits once its crawl is finished, for engines that restart whatever ends."""

from __future__ import annotations

import asyncio
import logging
import signal

from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.store.jobdir.stats_file import FINISHED

logger = logging.getLogger(__name__)

END_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def wait_if_wanted(values: CheckedSettings) -> None:
    """Keep the process of a finished drone until a signal ends it, if HIVE_WHEN_DONE is `wait`."""
    if values["HIVE_DRONES"] and values["HIVE_WHEN_DONE"] == "wait":
        logger.info("finished: this drone waits for a signal to end (HIVE_WHEN_DONE)")
        asyncio.run(_wait_for_signal(values["METRICS_PORT"]))


async def _wait_for_signal(metrics_address: tuple[str, int] | None) -> None:
    """Wait for a signal.

    Meanwhile METRICS_PORT tells probes that the drone is alive and finished.
    """
    ended = asyncio.Event()
    for number in END_SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    if metrics_address is None:
        await ended.wait()
        return
    from webcrawl.crawl.metrics import Listener  # noqa: PLC0415 - it needs an extra
    from webcrawl.net.http_answerer import CannotListen, bound  # noqa: PLC0415 - as above

    try:
        port = bound(*metrics_address, "METRICS_PORT")
    except CannotListen as error:
        # If this process ended, an engine such as Kubernetes would start the finished drone again
        line = "%s: this drone waits without answering probes; free the port, and restart it"
        logger.error(line, error)  # noqa: TRY400 - one line, no traceback
        await ended.wait()
        return
    listener = Listener(port, bytes, lambda: FINISHED)
    await listener.start()
    await ended.wait()
    listener.close()
