"""What hosts show for URLs that cannot exist: one is requested from each (docs/block-pages.md).

A host that answers it with a page has soft 404s, which look like that page. What it shows is kept
in its record. A soft 404 must have its title and nearly its text: by the text alone, catalogues
whose pages have little text of their own would be soft 404s.
"""

from __future__ import annotations

import re
from collections import Counter
from random import Random
from string import ascii_lowercase

from webcrawl.base.model import Exchange, Link
from webcrawl.base.url_text import host_of
from webcrawl.content.recognise import SOFT404, Probe, Recogniser
from webcrawl.frontier.protocol import Frontier

PROBE = "probe"
LETTERS = 16
ENDING = re.compile(r"\.[A-Za-z0-9]{1,5}$")
FOUND = "probes/soft404"  # counter of hosts that have soft 404s,
DOUBTED = "probes/doubted"  # and of those of them that show the same for most pages


class MissingPages:
    """Asks hosts for URLs that cannot exist (*probes*), and recognises what they answer."""

    def __init__(self, frontier: Frontier, counters: Counter[str], seed: int) -> None:
        self._frontier = frontier
        self._counters = counters
        self._seed = seed

    def ask(self, page: Link) -> None:
        """Queue a made-up URL of this page's folder, ahead of its host's others, as a probe."""
        if page.request or not page.url.startswith(("http:", "https:")):
            return
        # The same name if the page comes again, after a kill.
        random = Random(f"probe {self._seed} {host_of(page.url)}")
        name = "".join(random.choices(ascii_lowercase, k=LETTERS))
        folder, _, last = page.url.partition("?")[0].rpartition("/")
        ending = ENDING.search(last)
        url = f"{folder}/{name}{ending[0] if ending is not None else ''}"
        self._frontier.expedite(Link(url, f"{page.path}S", page.url, page.seed).pack())

    def record_probe_answer(self, link: Link, exchange: Exchange, recogniser: Recogniser) -> None:
        """Keep what a host shows for a URL that cannot exist, if that is a page.

        Else the host has no soft 404s, or none that can be told from its pages.
        """
        kind = recogniser.recognise(exchange.status, exchange.headers, exchange.body)
        exchange.state.recognised = PROBE
        shown = None
        # A block page, a shell or a login teaches nothing: all pages of such a host look like it.
        if 200 <= exchange.status < 300 and kind in ("", SOFT404):
            shown = recogniser.probe(link.url, exchange.headers, exchange.body)
        if shown is not None:
            self._counters[FOUND] += 1
            self._frontier.notes.missing(host_of(link.url), shown.pack())

    def shows(self, exchange: Exchange, recogniser: Recogniser) -> bool:
        """Return whether an answer is what its host shows for what does not exist.

        First some pages are only compared (until the probe `is_tried`), and this returns False. If
        most of them look like it, all pages of the host do, and what was learned is forgotten.
        """
        if not self._counters[FOUND] or not 200 <= exchange.status < 300:
            return False
        host = host_of(exchange.url)
        kept = self._frontier.notes.missing(host)
        if not kept:
            return False
        shown = recogniser.probe(exchange.url, exchange.headers, exchange.body)
        if shown is None:
            return False
        probe = Probe.unpack(kept)
        alike = probe.is_like(shown)
        if probe.is_tried:
            return alike
        probe = probe.after(alike=alike)
        if probe.is_tried and not probe.is_believed:
            self._counters[DOUBTED] += 1
            self._frontier.notes.missing(host, b"")
        else:
            self._frontier.notes.missing(host, probe.pack())
        return False
