"""Names in the form of /etc/hosts, which go before DNS."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path


def read_hosts(path: Path) -> dict[str, tuple[str, ...]]:
    """Lower-case name -> its addresses in the file's order; a line that is none is a ValueError that says where."""
    hosts: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        address, *names = line.partition("#")[0].split() or [""]
        if not address:
            continue
        try:
            address = str(ip_address(address))
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {address!r} is no address") from error
        if not names:
            raise ValueError(f"{path}, line {number}: no name follows {address}")
        for name in names:
            key = name.lower().removesuffix(".")
            hosts[key] = (*hosts.get(key, ()), address)
    return hosts
