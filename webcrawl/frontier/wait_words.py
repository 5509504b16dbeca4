"""The waits of a crawl, in words: the hosts that are left alone, by which rule, and the next turn."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from webcrawl.base.model import Status

# Rules
NEW, POLITENESS, CRAWL_DELAY = "new", "politeness", "crawl-delay"
FAILURE, RETRY_AFTER, BLOCKED, NO_WAY = "failure", "retry-after", "block-page", "no-way"
ROBOTS, DEFERRED = "robots", "deferred"
# a crawl that ends meanwhile says when it would go on
FAILING = frozenset((FAILURE, RETRY_AFTER, NO_WAY, ROBOTS))
WHY = {
    FAILURE: "after {said} from {host}",
    RETRY_AFTER: "as {host} asks (Retry-After)",
    BLOCKED: "for {host} (blocked: {blocked_by})",
    NO_WAY: "for a way to {host}: the network, a proxy, the name servers or IPv6 is not working (see the log)",
    ROBOTS: "for {host}/robots.txt, which must be read before any page",
    DEFERRED: "for {host} (deferred)",
    CRAWL_DELAY: "between requests to {host} (Crawl-delay)",
}
FOR_OWNERS = {  # what the rule of a request's wait means, for the owner of the host
    NEW: "no request had been sent to the host before",
    POLITENESS: "the usual wait between two requests to a host",
    CRAWL_DELAY: "the Crawl-delay of its robots.txt",
    FAILURE: "the last request failed: a wait that doubles each time",
    RETRY_AFTER: "the host asked for it, by Retry-After or a rate limit",
    BLOCKED: "the host had answered with a block page: a wait that doubles each time",
}
# the rule BLOCKED in a requests.log that an earlier version began
FOR_OWNERS["wall"] = FOR_OWNERS[BLOCKED]
SAID = {
    Status.DNS_FAILED: "no address",
    Status.EXCLUDED: "a private address",
    Status.CONNECT_FAILED: "no connection",
    Status.CONNECTION_LOST: "a lost connection",
    Status.TIMEOUT: "no answer",
}


@dataclass(slots=True)
class Waits:
    """Hosts that are left alone, counted by rule; and the next of them to have its turn."""

    rules: Counter[str] = field(default_factory=Counter)
    host: str = ""
    origin: str = ""  # scheme, host and port, if only URLs of this origin wait
    seconds: float = 0.0  # until the turn of `host`
    rule: str = ""
    blocked_by: str = ""  # the vendor of its block page, if it gives one
    said: int = 0  # the status of its last failure, if that is known
    of_robots: bool = False  # that was its robots.txt's

    def __str__(self) -> str:
        return f"waits {max(self.seconds, 1):.0f} s {self.why}" if self.host else ""

    @property
    def why(self) -> str:
        """Return for what the crawl waits, in words."""
        said = str(self.said)
        if self.said <= 0:
            said = SAID.get(Status(self.said), "an error")
        why = WHY.get(self.rule, "between requests to {host} (politeness)")
        host = self.origin or self.host
        if self.of_robots and self.rule == FAILURE:
            host += "/robots.txt"
        return why.format(said=said, host=host, blocked_by=self.blocked_by)
