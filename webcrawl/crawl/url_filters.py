"""The chain of URL filters of a crawl, which may change while the crawl runs."""

from __future__ import annotations

from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.crawl.admission import CrawlAdmission
from webcrawl.crawl.ground import Ground
from webcrawl.crawl.hive.partition import SlotFingerprints
from webcrawl.crawl.saved_state import FilterStates
from webcrawl.net.logins import Logins
from webcrawl.urls.filters.filter_protocol import UrlFilter
from webcrawl.urls.filters.logout import LogoutFilter
from webcrawl.urls.filters.scope import PageScope
from webcrawl.urls.link_pipeline import build_filters, build_pipeline
from webcrawl.urls.url_fingerprint import Fingerprints


class Filters:
    """The chain wherever it is used: the way of links, the check before a fetch, checkpoints."""

    def __init__(self, ground: Ground) -> None:
        """Make the crawl's filters of URLs, and restore what those that learn have learned."""
        self._ground = ground
        values, key, member = ground.values, ground.key, ground.around.member
        path = values["AUTH_FILE"]
        self._logout = [LogoutFilter(Logins.read(path).urls)] if path else []
        # In a hive the upper bits of a fingerprint are the slot of its host.
        fingerprints = (
            Fingerprints(key)
            if member is None
            else SlotFingerprints(key, member.partition.slot, member.partition.slots)
        )
        last = self._last(values)
        self.pipeline = build_pipeline(
            values, key, domains=ground.domains, last=last, fingerprints=fingerprints
        )
        self._states = FilterStates(ground.db, self.pipeline.chain)
        self.admission = CrawlAdmission(self.pipeline.chain, ground.moments.next_decision)

    def _last(self, values: CheckedSettings) -> list[UrlFilter]:
        """Return the filters that come after those of the settings: what is ordered, and no URL
        that ends a login, whatever URL_FILTERS says.
        """
        excluded, domains = self._ground.in_force.excluded, self._ground.domains
        scope = [PageScope(domains)] if values["URL_SCOPE"] == "any" else []
        return [excluded, *self._logout, *scope]

    def change(self, values: CheckedSettings) -> None:
        """Use the filters of these settings, which take over what those before have learned.

        Raise RulesError if these are no filters; then those before stay.
        """
        ground = self._ground
        chain = build_filters(
            values, key=ground.key, domains=ground.domains, last=self._last(values)
        )
        chain.restore(self.pipeline.chain.state())
        self.pipeline.use(chain, values["URL_MAX_LENGTH"])
        self.admission.chain = self._states.chain = chain
