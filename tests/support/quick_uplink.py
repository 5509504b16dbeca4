"""Outages that a crawl asks about, and gets over, sooner than the web's own are worth."""

from webcrawl.crawl import uplink


class QuickUplink:
    """For EXTENSIONS, in a process of its own: probes and what was put back wait a tenth of their
    time.
    """

    def __init__(self):
        uplink.SHORTEST_PAUSE, uplink.LONGEST_PAUSE = 0.2, 2.0


QUICK_UPLINK = {"EXTENSIONS": f'{{"{__name__}.{QuickUplink.__name__}": 1}}'}
