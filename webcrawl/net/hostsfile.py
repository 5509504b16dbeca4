"""HOSTS_FILE: names in the format of /etc/hosts, which take precedence over DNS."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path


def read_hosts(path: Path) -> dict[str, tuple[str, ...]]:
    """Lower-case name -> its addresses in file order; ValueError names a bad line."""
    hosts: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        address, *names = line.partition("#")[0].split() or [""]
        if not address:
            continue
        try:
            address = str(ip_address(address))
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {address!r} is not an address") from error
        if not names:
            raise ValueError(f"{path}, line {number}: no name follows {address}")
        for name in names:
            key = name.lower().removesuffix(".")
            hosts[key] = (*hosts.get(key, ()), address)
    return hosts
