"""A filter for URL_FILTERS that heeds a change of URL_EXCLUDE_FILE sooner than a test would wait."""

import json
from pathlib import Path

from webcrawl.base.settings.crawl_settings import URL_FILTERS
from webcrawl.urls.filters.exclusion import ExclusionFilter


class QuickExclusion(ExclusionFilter):
    """Looks at its file ten times a second."""

    @classmethod
    def from_setup(cls, setup):
        return cls(Path(setup.settings["URL_EXCLUDE_FILE"]), 0.1, setup.clock)


OURS, THEIRS = (f"{one.__module__}.{one.__name__}" for one in (ExclusionFilter, QuickExclusion))
FILTERS = json.dumps(URL_FILTERS | {OURS: None, THEIRS: URL_FILTERS[OURS]})
