"""The host of a URL."""

from __future__ import annotations


def host_of(url: str) -> str:
    """The host name or address of a canonical URL, without the port; IPv6 keeps its brackets."""
    host = url.split("/", 3)[2]
    if ":" not in host:
        return host
    return host[: host.index("]") + 1] if host[0] == "[" else host.partition(":")[0]
