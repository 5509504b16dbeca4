"""The digests by which an earlier archive may know what an answer has."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from webcrawl.base.digest import SHA1, SHA256, label, sha1, sha256_label
from webcrawl.base.model import Exchange


def is_payload(answer: Exchange) -> bool:
    """True if this is the kind of answer whose payload may be in an earlier archive."""
    return 200 <= answer.status < 300 and bool(answer.payload and answer.head) and not answer.truncated


def digests_of(answer: Exchange, algorithms: Collection[str]) -> Iterator[tuple[str, bool]]:
    """By these algorithms, of its payload (True) and, if that is coded, of its body (False).

    Other crawlers store bodies decoded.
    """
    if SHA1 in algorithms:
        yield answer.digest, True
    if SHA256 in algorithms:
        yield sha256_label(answer.payload), True
    if answer.body is not answer.payload and not answer.rendered:
        if SHA1 in algorithms:
            yield label(sha1(answer.body)), False
        if SHA256 in algorithms:
            yield sha256_label(answer.body), False
