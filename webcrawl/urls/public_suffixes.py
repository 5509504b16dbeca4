"""The public suffix list, from the copy of it in tldextract.

The package's own code is not imported: with requests, urllib3 and others it took a sixth of a second at each start. The
answers are the same (tests/urls/test_public_suffixes.py).
"""

from __future__ import annotations

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

FILE = ".tld_set_snapshot"
PRIVATE = "// ===BEGIN PRIVATE DOMAINS==="


IPV4 = re.compile(r"(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}", re.ASCII)


class Suffixes(NamedTuple):
    """Of a host: below what names have owners of their own, and the part of it that is a registry's; empty if none."""

    public: str
    registry: str


class _Rule(NamedTuple):
    ends: bool = False  # a rule of the list, and not only on the way to one
    private: bool = False


def suffixes_of(host: str) -> Suffixes:
    """By the longest rule that fits a host without a final dot, `*` being any label and `!` an exception from that."""
    rules = _rules()
    labels = host.split(".")
    public = registry = at = len(labels)
    path, private = "", False
    while at:
        label = _decoded(labels[at - 1])
        rule = rules.get(f"{label}{path}")
        if rule is None:
            star = rules.get(f"*{path}")
            if star is not None:
                public, private = at if f"!{label}{path}" in rules else at - 1, star.private
            break
        at -= 1
        path = f".{label}{path}"
        if rule.ends:
            public, private = at, rule.private
            registry = registry if private else at
    found = ".".join(labels[public:])
    return Suffixes(found, ".".join(labels[registry:]) if private else found)


def is_ipv4(host: str) -> bool:
    """Return whether it is an address with four numbers."""
    return IPV4.fullmatch(host) is not None


def _decoded(label: str) -> str:
    """The list has names as people write them."""
    label = label.lower()
    if not label.startswith("xn--"):
        return label
    try:
        return label[4:].encode("ascii").decode("punycode")
    except UnicodeError:
        return label


@cache
def _rules() -> dict[str, _Rule]:
    """All names of the list and those above them, read on first use, which takes 10 ms."""
    package = find_spec("tldextract")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("No module named 'tldextract'", name="tldextract")
    public, _, private = Path(package.origin).with_name(FILE).read_text(encoding="utf-8").partition(PRIVATE)
    rules: dict[str, _Rule] = {}
    on_the_way = _Rule()
    for text, rule in ((public, _Rule(ends=True)), (private, _Rule(ends=True, private=True))):
        for line in text.split("\n"):
            if not line.strip() or line.startswith("//"):
                continue
            name = line.split(None, 1)[0]
            rules[name] = rule
            while (name := name.partition(".")[2]) and name not in rules:
                rules[name] = on_the_way
    return rules
