"""Hosts as an operator sees and steers them: what `crawl/control/commands.py` asks of a crawl."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

from webcrawl.base.readable import count
from webcrawl.base.settings.checked_settings import value_of
from webcrawl.crawl.admission import RobotsAdmission
from webcrawl.crawl.control.command import CommandError
from webcrawl.crawl.control.in_force import InForce, PausedHosts
from webcrawl.crawl.control.sheets import ALONE, BUDGET, SETTINGS, Sheets, whose
from webcrawl.crawl.inspection import ROBOTS, HostInspector, HostSources
from webcrawl.crawl.setting_changes import heed_sheets
from webcrawl.crawl.uplink import Uplink
from webcrawl.frontier.host_queues import Connections
from webcrawl.record.statistics import Statistics
from webcrawl.store.jobdir.host_row import PLACES, HostState

if TYPE_CHECKING:
    from webcrawl.crawl.ground import Ground

logger = logging.getLogger(__name__)

MIN_DELAY, MAX_DELAY = "POLITENESS_MIN_DELAY", "POLITENESS_MAX_DELAY"
POLITENESS = frozenset((MIN_DELAY, MAX_DELAY, "POLITENESS_FACTOR"))
LINES_SHOWN = 20  # lines of what is still in force
ELSEWHERE = "{} is not a host of this drone"


class HostOrders(HostInspector):
    """Obeys the operator's commands about hosts, and answers in words what comes of each.

    What lasts is in the checkpoint, and in force again after a restart: paused hosts, and *sheets*,
    which are settings for one host or domain.
    """

    def __init__(
        self,
        sources: HostSources,
        *,
        sheets: Sheets,
        paused_hosts: PausedHosts,
        in_force: InForce,
        uplink: Uplink,
    ) -> None:
        """Put paused hosts in force again, and log what is still in force by command."""
        super().__init__(sources)
        self._sheets = sheets
        self._paused_hosts = paused_hosts
        self._in_force = in_force
        self._uplink = uplink
        self._steering = sources.frontier.steering
        self._steering.pause(paused_hosts.names, self.now())
        # One more than is logged, to see whether there are more: thousands of hosts may be paused.
        lines = [*islice(self.order_lines(), LINES_SHOWN + 1)]
        for line in lines[:LINES_SHOWN]:
            logger.info("still in force by command: %s", line)
        if len(lines) > LINES_SHOWN:
            logger.info("and more: `status` lists everything that is in force by command")

    @classmethod
    def open(
        cls, ground: Ground, robots: RobotsAdmission, statistics: Statistics, uplink: Uplink
    ) -> Self | None:
        """Return the orders in force, or None if the frontier is not ours: another one takes none."""
        frontier, in_force, rendering = ground.our_frontier, ground.in_force, ground.rendering
        if frontier is None:
            return None
        sheets = Sheets(ground.db)
        heed_sheets(sheets, in_force, frontier, ground.pipeline)
        sources = HostSources(
            frontier,
            robots.book,
            statistics,
            ground.clock,
            ground.domains,
            rendering.in_words if rendering is not None else None,
            obeys_robots=in_force.values["ROBOTSTXT_OBEY"],
        )
        return cls(
            sources,
            sheets=sheets,
            paused_hosts=PausedHosts(ground.db),
            in_force=in_force,
            uplink=uplink,
        )

    def order_lines(self) -> Iterator[str]:
        """Yield a line for each command that is in force."""
        yield from self._paused_hosts.order_lines()
        yield from self._sheets.order_lines()

    # -- one host

    def record(self, name: str) -> dict[str, Any]:
        found = super().record(name)
        if self.frontier.core.is_foreign(name):
            found["state"] = "belongs to another drone"
        sheets, delay = dict(self._sheets.of(name)), found["delay"]
        # Where a Crawl-delay decides, these settings have no part in it.
        if POLITENESS.intersection(sheets) and delay["source"] != ROBOTS:
            delay["source"] += ", with settings for this host or its domain"
        return {**found, "sheets": sheets} if sheets else found

    def pause(self, name: str) -> str:
        if not self._paused_hosts.add(name):
            return f"{name} is paused already"
        self._steering.pause([name], self.now())
        return (
            f"{name} is paused: its URLs stay queued, and none is fetched until you resume it, "
            "even after a restart"
        )

    def resume(self, name: str) -> str:
        if not self._paused_hosts.remove(name):
            return f"{name} is not paused"
        self._steering.resume(name, self.now())
        return f"{name} is no longer paused"

    def retry(self, name: str) -> str:
        """Have a host requested again as soon as politeness allows, and say when that is."""
        if self.frontier.core.is_foreign(name):
            return ELSEWHERE.format(name)
        if name in self._paused_hosts.names:
            raise CommandError(f"{name} is paused: resume it first")
        now = self.now()
        for origin in self.book.origins(name):
            self.book.try_again(origin, now)
        # Failures stay: without them a dead host would be requested twelve more times.
        due = self._steering.retry(name, now)  # the crawl's time
        facts = self.frontier.look.facts(name)
        if not facts.queued:
            return f"{name} has no URLs in its queue; URLs found there are fetched as soon as politeness allows"
        if facts.state == PLACES[HostState.PARKED]:
            return f"{name} waits for a place among the hosts in rotation, and is fetched from when it has one"
        when = f"in {due - now:.1f} s" if due > now else "now"
        when = self._end_of_rest() or when
        return f"{name} may be fetched from again {when}"

    def drop(self, name: str) -> str:
        """Give a host up, and say when its queued URLs end."""
        if self.frontier.core.is_foreign(name):
            return ELSEWHERE.format(name)
        # No sweep: to take its URLs out of all queues would read every queue for one host. They end
        # some hundred per turn, as those of any host that is given up.
        urls, waits_for_place = self._steering.drop(name, self.now())
        when = "when its turn comes" if waits_for_place else "now"
        when = self._end_of_rest() or when
        ends = f"{count(urls, 'URL')} in its queue {'ends' if urls == 1 else 'end'} {when}"
        return f"{name} is given up: {ends}, and URLs found there within a day end too"

    def _end_of_rest(self) -> str:
        """Return when the crawl fetches again, in words; empty if it does now."""
        if self._in_force.paused:
            return "when the crawl is resumed"
        if self._in_force.held or self._uplink.out:
            return f"when fetching resumes ({self._in_force.held or self._uplink.trouble})"
        return ""

    def delay(self, name: str, seconds: float | None) -> str:
        """Set the delay between two requests to this one host, or unset it with None."""
        # Equal bounds leave no choice to politeness. ALONE: not for the hosts below this name.
        self._sheets.set(f"{ALONE}{name}", {MIN_DELAY: seconds, MAX_DELAY: seconds})
        if seconds is None:
            return f"{name} no longer has a delay of its own"
        at_once = self.frontier.look.facts(name).connections  # each connection waits by itself
        requests = "a request" if at_once == 1 else f"up to {at_once} requests"
        return (
            f"{name} gets {requests} every {seconds:g} s from the next one on, or less often if "
            "its robots.txt says so"
        )

    # -- sheets

    def set_for(self, domain: str, name: str, value: Any) -> str:
        """Set a setting for a domain and its hosts, or unset it with None; say what holds."""
        self._check(domain, name, value)
        domain_values = self._sheets.sheets.get(domain, {})
        if value is None and name not in domain_values:
            raise CommandError(f"{name} has no value of its own for {domain}")
        self._sheets.set(domain, {name: value})
        budgets = self.frontier.domains.budgets
        if name == BUDGET and budgets is not None:
            budgets.reconsider(domain)  # its URLs over the old budget may be fetched now
        if value is None:
            return f"{name} no longer has a value of its own for {domain}"
        return f"{name} is {value} for {domain} and all hosts below it"

    def _check(self, domain: str, name: str, value: Any) -> None:
        """Raise CommandError if this setting cannot have this value for a single domain."""
        registered = self.domain(domain)
        if name == BUDGET and registered != domain:
            raise CommandError(f"budgets apply to registered domains: use --for {registered}")
        # Only a crawl of this scope has noted the domains of its seeds.
        notes_seeds = self._in_force.values["URL_SCOPE"] == "seeds"
        if name == "URL_SCOPE" and value == "seeds" and not notes_seeds:
            raise CommandError(
                "URL_SCOPE = seeds can be set for a domain only in a crawl that has this scope"
            )

    def _general(self, domain: str, name: str) -> Any:
        """Return the value of a setting for all, or for this domain by a rule in it."""
        value = value_of(self._in_force.values, name)
        return Connections(value).of(domain) if name == "HOST_CONNECTIONS" else value

    def get_for(self, domain: str) -> Mapping[str, Any]:
        """Return each setting's value for a domain, and the sheet that it is from, or `all`."""
        rows = []
        for name in SETTINGS:
            sheet = self._sheets.said_by(domain, name)
            if sheet is None:
                rows.append({"name": name, "value": self._general(domain, name), "from": "all"})
            else:
                value = self._sheets.sheets[sheet][name]
                rows.append({"name": name, "value": value, "from": whose(sheet)})
        return {"for": domain, "settings": rows}
