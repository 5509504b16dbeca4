"""The hosts that stand beside the ordinary ones: traps, `trapN.test`, and large sites, `largeN.test`."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from webcrawl.simweb.chance import draws
from webcrawl.simweb.zoo import WILD, ZOO

ENTRANCES = 3  # ordinary hosts whose roots link to each of these; the same one may be drawn twice
_NAME = re.compile(r"(?:(.+)[.-])?(trap|large)(\d{1,6})\.test")


class Annex:
    """Their numbers follow those of the ordinary `hosts`: first a trap for each kind in `zoo`, then the large sites."""

    def __init__(self, hosts: int, zoo: Sequence[str], large: Sequence[int], seed: int) -> None:
        for kind in zoo:
            if kind not in ZOO:
                raise ValueError(f"{kind}: not a trap of the synthetic web; docs/simweb.md lists all")
        if any(pages < 1 for pages in large):
            raise ValueError(f"large sites of {[*large]} pages: each has at least one")
        self._hosts, self._zoo, self._large = hosts, tuple(zoo), tuple(large)
        self.entrances = self._drawn(seed)

    def __len__(self) -> int:
        return len(self._zoo) + len(self._large)

    def trap(self, host: int) -> str:
        """The kind of this trap; "" for any other host."""
        return self._zoo[host - self._hosts] if 0 <= host - self._hosts < len(self._zoo) else ""

    def pages_of(self, host: int) -> int:
        """How many pages a large site has. Those of a trap are not counted."""
        at = host - self._hosts - len(self._zoo)
        return self._large[at] if 0 <= at < len(self._large) else 0

    def name(self, host: int) -> str:
        at = host - self._hosts
        return f"trap{at}.test" if at < len(self._zoo) else f"large{at - len(self._zoo)}.test"

    def number(self, name: str) -> int | None:
        """The number of the host with this name, None if there is none."""
        match = _NAME.fullmatch(name)
        if match is None:
            return None
        at = int(match[3]) + (len(self._zoo) if match[2] == "large" else 0)
        if at >= len(self) or self.name(self._hosts + at) != f"{match[2]}{match[3]}.test":
            return None
        return None if match[1] and self.trap(self._hosts + at) not in WILD else self._hosts + at

    def _drawn(self, seed: int) -> Mapping[int, list[int]]:
        """The hosts here that the root of an ordinary host links to."""
        drawn: defaultdict[int, list[int]] = defaultdict(list)
        for host in range(self._hosts, self._hosts + len(self)):
            for number in draws(seed, host, 0, 64)[:ENTRANCES]:
                if host not in drawn[number % self._hosts]:
                    drawn[number % self._hosts].append(host)
        return dict(drawn)
