"""How many URLs of a host a segment has, so that its crawl keeps all slots busy until all hosts end at about one time.

Each host is asked once per wait w, so a crawl that has d hosts left fetches d / w pages per second: below its target
rate once d is below target x w (Mischel's "new seed when domains run low"). After k waits, only hosts with more than k
URLs are left. So a segment takes from each host as many URLs as enough hosts have, and what is beyond that stays for
a later segment, in which there are other hosts to ask meanwhile.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate

Wait = Callable[[Sequence[float]], float]
TYPICAL = (0.05, 0.1, 0.25, 0.5, 1.0)  # seconds that downloads take; the wait for a host depends on them


def hosts_needed(slots: int, wait: Wait) -> int:
    """Hosts that keep so many downloads under way: each slot needs one that is asked, and others that wait meanwhile.

    `wait` is the policy of politeness. What matters is how many downloads fit into one wait; the least of it counts, at
    which most pages come per second.
    """
    return math.ceil(slots * (1 + min(wait([seconds]) / seconds for seconds in TYPICAL)))


def most_per_host(sizes: Mapping[int, int], most: int, needed: int) -> int:
    """How many URLs of each host to take, so that no more than `most` are taken; 0: not even one of each.

    `sizes`: how many hosts have so many URLs.
    """
    hosts = sum(sizes.values())
    if not hosts:
        return 0
    counts = sorted(sizes)
    # hosts with at least so many
    at_least = dict(zip(reversed(counts), accumulate(sizes[count] for count in reversed(counts)), strict=True))
    busy = [count for count in counts if at_least[count] >= needed]
    # with too few hosts from the start the rate is theirs, and the best is that all have equally much to do
    cap = busy[-1] if busy else math.ceil(most / hosts)
    return min(cap, _fitting(at_least, counts, most))


def _fitting(at_least: Mapping[int, int], counts: Sequence[int], most: int) -> int:
    """The largest number per host with which no more than `most` are taken."""
    cap = taken = 0
    for count in counts:
        level = (count - cap) * at_least[count]
        if taken + level > most:
            return cap + (most - taken) // at_least[count]
        cap, taken = count, taken + level
    return cap
