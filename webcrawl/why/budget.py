"""How many pages a registered domain may have, and how many it had."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgpack
from siphashc import siphash

from webcrawl.frontier.allowances import Allowance
from webcrawl.frontier.votes import TAG
from webcrawl.loading import load
from webcrawl.store import rowcrc
from webcrawl.verify.snapshot import Snapshot

SELF_CONTAINED = ("host", "domain")  # scopes in which every page is of a seed's own site, or needed to show one
BY_REPUTATION = "webcrawl.frontier.allowances.reputed.ByReputation"


class DomainBudget(NamedTuple):
    """`most` is None where there is no limit."""

    domain: str
    pages: int  # let in so far
    most: int | None
    links: int  # other domains that link to it; no more than 64 are counted
    seed: bool
    waiting: int  # URLs over the budget
    debt: int = 0  # pages that are not answered, or had nothing new and are not paid for
    lead: float = math.inf  # how many these may be

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.domain,
            "pages": self.pages,
            "budget": self.most,
            "linking_domains": self.links,
            "seed": self.seed,
            "over_budget": self.waiting,
            "debt": self.debt,
            "lead": None if math.isinf(self.lead) else int(self.lead),
        }


def budget_of(snapshot: Snapshot, domain: str, key: bytes, values: Mapping[str, Any]) -> DomainBudget:
    """As of the last checkpoint."""
    seed, pages, waiting, links, debt = False, 0, 0, 0, 0
    for row in snapshot.rows("SELECT name, rank, waiting, data, crc FROM domain WHERE name = ?", (domain,)):
        if not rowcrc.agrees(rowcrc.domain, row):
            raise snapshot.damaged(f"table domain, {domain}: checksum")
        try:
            seed, pages, debt, _, _ = msgpack.unpackb(row[3])
        except (ValueError, TypeError) as error:
            raise snapshot.damaged(f"table domain, {domain}: {error!r}") from error
        waiting = row[2]
    number = int(siphash(key, domain)) - 2**63
    for (size,) in snapshot.rows("SELECT length(sources) FROM linked WHERE domain = ?", (number,)):
        links = size // TAG
    most = lead = math.inf
    if values["URL_SCOPE"] not in SELF_CONTAINED or values["DOMAIN_BUDGET"] != BY_REPUTATION:
        policy: Allowance = load(values["DOMAIN_BUDGET"])(values["DOMAIN_BUDGET_PAGES"])
        most, lead = policy.most(links, seed=seed), policy.lead
    return DomainBudget(domain, pages, None if math.isinf(most) else int(most), links, seed, waiting, debt, lead)
