"""The addresses from which a crawl comes: the list to publish, and their names in DNS."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from ipaddress import IPv4Network, IPv6Network
from itertools import islice
from typing import Protocol

Network = IPv4Network | IPv6Network
MOST = 16  # addresses whose names are looked up, the first ones


class Names(Protocol):
    """Asks name servers."""

    async def names(self, address: str) -> tuple[str, ...] | None:
        """The names of an address; None if nobody can say."""
        ...

    async def addresses(self, name: str) -> tuple[str, ...] | None:
        """The addresses of a name, of both families; None if nobody can say."""
        ...


def listed(networks: Iterable[Network], now: float) -> str:
    """The list in the form in which Googlebot's and Common Crawl's are published."""
    made = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")
    prefixes = [{f"ipv{one.version}Prefix": str(one)} for one in networks]
    return json.dumps({"creationTime": made, "prefixes": prefixes}, indent=2)


async def misfits(networks: Sequence[Network], asked: Names) -> list[str]:
    """What is wrong with the names of these addresses: servers look up a name, and then the address of that name."""
    found = []
    for address in islice(_each(networks), MOST):
        names = await asked.names(address)
        if names is None:
            found.append(f"{address} could not be looked up")
        elif not names:
            found.append(f"{address} has no name")
        elif not any([address in (await asked.addresses(name) or ()) for name in names]):
            found.append(f"{address} is called {names[0]}, which has other addresses")
    return found


def _each(networks: Iterable[Network]) -> Iterator[str]:
    return (str(address) for network in networks for address in network)
