"""Reads an answer section: follows CNAMEs to the addresses at their end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pycares import AAAARecordData, ARecordData, CNAMERecordData, DNSRecord

MOST = 8  # addresses kept per name: a crawler will not try more


@dataclass(slots=True)
class Chain:
    """The last name reached, its addresses if known, and the smallest TTL on the way."""

    name: str
    ttl: float = float("inf")
    addresses: tuple[str, ...] = ()

    def follow(self, records: Sequence[DNSRecord]) -> bool:
        """Follow the records of one answer; False if they lead nowhere."""
        start = self.name
        aliases = {_key(record.name): record for record in records if isinstance(record.data, CNAMERecordData)}
        while record := aliases.pop(self.name, None):  # pop, so that a loop ends
            if isinstance(record.data, CNAMERecordData):
                self.name, self.ttl = _key(record.data.cname), min(self.ttl, record.ttl)
        found = [
            (record.data.addr, record.ttl)
            for record in records
            if isinstance(record.data, ARecordData | AAAARecordData) and _key(record.name) == self.name
        ][:MOST]
        self.addresses = tuple(address for address, _ in found)
        self.ttl = min([self.ttl, *(ttl for _, ttl in found)])
        return bool(found) or self.name != start


def _key(name: str) -> str:
    return name.lower().removesuffix(".")
