"""Turns checked settings into the values that parts of a crawl are made with."""

from __future__ import annotations

from collections.abc import Callable

from webcrawl.base.errors import RulesError
from webcrawl.base.loading import OURS
from webcrawl.base.own_code import (
    amount,
    answer,
    checked,
    class_name,
    hint,
    is_users,
    made,
    seconds,
)
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.content.purpose_bits import Purpose
from webcrawl.frontier.allowances import Allowance
from webcrawl.frontier.booking import HostTerms, Limits
from webcrawl.frontier.core import Heard, Rules
from webcrawl.frontier.host_queues import Connections
from webcrawl.frontier.politeness import Politeness
from webcrawl.frontier.prioritizers import Focused, Learning, Prioritizer
from webcrawl.urls.host_names import RegisteredDomains

SELF_CONTAINED = ("host", "domain")
BY_REPUTATION = "webcrawl.frontier.allowances.reputed.ByReputation"
UNLIMITED = "webcrawl.frontier.allowances.unlimited.Unlimited"
PAGES = "a number of pages from 0, or infinity"
# Times the wait, at most, of a host that answers more slowly or fails more often than at first: in
# a simulation a server in trouble gets 36 requests an hour and not 131.
# POLITENESS_MAX_DELAY bounds the wait too.
SLOW_DOWN = 8.0


def purpose_of(values: CheckedSettings) -> Purpose:
    """Return the purpose of the crawl, which decides which words of owners are obeyed."""
    return Purpose.of(values["PURPOSE"])


def needs_all_seeds(values: CheckedSettings) -> bool:
    """Return whether it is the seeds that say what is inside the crawl."""
    scope = values["URL_SCOPE"]
    return scope == "seeds" or (values["REQUISITES"] and scope in SELF_CONTAINED)


def rules_of(values: CheckedSettings, domains: RegisteredDomains, key: bytes) -> Rules:
    """Return the rules for all hosts of the frontier."""
    prioritizer = prioritizer_of(values, domains.of)
    return Rules(
        prioritizer,
        politeness_of(values),
        limits_of(values),
        domains.of,
        allowance_of(values),
        key,
        folds=values["TRAP_RULES"],
        hears=hearing_of(values["FRONTIER_PRIORITIZER"], prioritizer),
        requisites=values["REQUISITES"],
    )


def prioritizer_of(values: CheckedSettings, site: Callable[[str], str]) -> Prioritizer:
    """Return the prioritizer, which has heard of nothing yet.

    Raise RulesError if it is none, or cannot be made.
    """
    prioritizer: Prioritizer = made(
        "FRONTIER_PRIORITIZER",
        values["FRONTIER_PRIORITIZER"],
        Prioritizer,
        values["FRONTIER_LEVELS"],
    )
    if isinstance(prioritizer, Focused):
        prioritizer.focus(site, values["FOCUS_LANGUAGES"])
    return prioritizer


def hearing_of(path: str, prioritizer: Prioritizer) -> Heard | None:
    """Return the `heard` of a user's own prioritizer; its errors cost no link of the page."""
    if path.startswith(OURS) or not isinstance(prioritizer, Learning):
        return None
    from webcrawl.crawl.own_features import guarded  # noqa: PLC0415 - where somebody has something of their own

    return guarded(path, "heard", prioritizer.heard)


def own_of(values: CheckedSettings) -> HostTerms:
    """Return the politeness and limits that a host or domain may have of its own."""
    return HostTerms(politeness_of(values), limits_of(values))


def allowance_of(values: CheckedSettings) -> Allowance:
    """Return the policy that says how many pages a registered domain may have."""
    budget = values["DOMAIN_BUDGET"]
    # Every page is of a seed's own site, or needed to show one.
    if values["URL_SCOPE"] in SELF_CONTAINED and budget == BY_REPUTATION:
        budget = UNLIMITED
    policy: Allowance = made("DOMAIN_BUDGET", budget, Allowance, values["DOMAIN_BUDGET_PAGES"])
    if not hasattr(policy, "lead"):
        raise RulesError(
            f"DOMAIN_BUDGET: {budget}: a budget of a domain must have an attribute lead{hint(policy, 'lead')}"
        )
    return CheckedAllowance(policy) if is_users(policy) else policy


def politeness_of(values: CheckedSettings) -> Politeness:
    """Return the policy that says how long hosts are left alone."""
    delays = (
        values["POLITENESS_FACTOR"],
        values["POLITENESS_MIN_DELAY"],
        values["POLITENESS_MAX_DELAY"],
    )
    policy: Politeness = made("POLITENESS_POLICY", values["POLITENESS_POLICY"], Politeness, *delays)
    return CheckedPoliteness(policy) if is_users(policy) else policy


class CheckedPoliteness:
    """A policy of the user's own, of which every wait is a wait."""

    def __init__(self, policy: Politeness) -> None:
        self.slows_down = getattr(policy, "slows_down", True)
        self.wait = checked("POLITENESS_POLICY", policy.wait, seconds, "seconds: a number from 0")


class CheckedAllowance:
    """A policy of the user's own, of which every budget is a number."""

    def __init__(self, policy: Allowance) -> None:
        self._policy = policy
        self.most = checked("DOMAIN_BUDGET", policy.most, amount, PAGES)
        self.sure = checked("DOMAIN_BUDGET", policy.sure, amount, PAGES)

    @property
    def lead(self) -> float:
        return answer(
            "DOMAIN_BUDGET", f"{class_name(self._policy)}.lead", self._policy.lead, amount, PAGES
        )


def limits_of(values: CheckedSettings) -> Limits:
    """Return the limits of the frontier for hosts, URLs and fetchers."""
    codes = values["RETRY_HTTP_CODES"]
    return Limits(
        queues=values["FRONTIER_QUEUES"],
        max_queues=values["FRONTIER_MAX_QUEUES"],
        fetchers=values["CONCURRENT_REQUESTS"],
        host_pages=values["HOST_MAX_PAGES"],
        host_failures=values["HOST_MAX_FAILURES"],
        retry_wait=values["HOST_RETRY_WAIT"],
        crawl_delay_max=values["CRAWL_DELAY_MAX"],
        retry_after_max=values["RETRY_AFTER_MAX"],
        slow_down=SLOW_DOWN,
        max_delay=values["POLITENESS_MAX_DELAY"],
        patience=values["HOST_PATIENCE"],
        connections=Connections.given(values["HOST_CONNECTIONS"]),
        attempts=values["RETRY_TIMES"] + 1 if values["RETRY_ENABLED"] else 1,
        retry_codes=None if codes is None else frozenset(codes),
    )
