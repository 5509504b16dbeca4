"""The kind of value of HOST_CONNECTIONS."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from webcrawl.base.hosts import host_of
from webcrawl.base.settings.setting_kinds import Whole, text, words
from webcrawl.urls.canonical import InvalidUrl, canonical

OF_ONE = Whole(1, 64)
MARKS = frozenset("/?#@\\%*:= ")  # none is in a name


class HostConnections:
    """By domain or host, as sheets are; names are brought into canonical form."""

    allowed: str = "a dict, JSON object or list of NAME=NUMBER: domains or hosts, whole numbers from 1 to 64; or none"

    def read(self, value: Any, /) -> dict[str, int]:
        given = json.loads(value) if isinstance(value, str) and value.lstrip().startswith("{") else value
        pairs = given.items() if isinstance(given, Mapping) else [_pair(word) for word in words(given)]
        rules: dict[str, int] = {}
        for name, number in pairs:
            most, host = OF_ONE.read(number), _host(text(name))
            if rules.setdefault(host, most) != most:
                raise ValueError(f"{host} is named twice")
        return rules


def _pair(word: str) -> tuple[str, str]:
    name, equals, number = word.rpartition("=")
    if not equals:
        raise ValueError(f"{word} is not NAME=NUMBER")
    return name, number


def _host(name: str) -> str:
    if MARKS.intersection(name) and not name.startswith("["):
        raise ValueError(f"{name} is neither a domain nor a host")
    try:
        host = host_of(canonical(f"http://{name}/"))
    except InvalidUrl as error:
        raise ValueError(f"{name} is neither a domain nor a host") from error
    return host.removesuffix(".")  # URLs hardly ever have the dot of DNS: a rule with it would hold for nobody
