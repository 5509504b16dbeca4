"""The kinds of a changing web, by group: of pages in the group "change", of hosts in the others."""

from __future__ import annotations

CHANGES = (
    "change_poisson",
    "change_daily",
    "change_weekly",
    "change_bursts",
    "change_never",
    "change_advert",  # only a few words beside the text differ, in each answer
    "change_gone_404",
    "change_gone_410",
    "change_returns",
    "change_moves",
)
VALIDATORS = ("validator_strong", "validator_weak", "validator_modified", "validator_both")
ODD = (
    "odd_304_always",
    "odd_304_conditional",
    "odd_304_body",
    "odd_ignores",
    "odd_etag_fresh",
    "odd_etag_only",
    "odd_future",
    "odd_years",
)
SITEMAPS = (
    "sitemap_plain",
    "sitemap_unnamed",
    "sitemap_index",
    "sitemap_now",
    "sitemap_random",
    "sitemap_frozen",
)
FEEDS = ("feed_atom", "feed_rss")
GROUPS = {"change": CHANGES, "validator": VALIDATORS, "odd": ODD, "sitemap": SITEMAPS, "feed": FEEDS}

_RARE = {"change_gone_404": 0.02, "change_gone_410": 0.02, "change_returns": 0.02, "change_moves": 0.02}
_OTHERS = {"change_daily": 0.05, "change_weekly": 0.05, "change_bursts": 0.05, "change_advert": 0.05}


def changing() -> dict[str, float]:
    """A mix as the web has it: most pages change at random or never, most hosts are honest, and a few are odd."""
    mix = {"change_poisson": 0.57, **_OTHERS, "change_never": 0.15, **_RARE}
    mix |= dict.fromkeys(VALIDATORS, 0.2)
    mix |= dict.fromkeys(ODD, 0.02)
    mix |= {"sitemap_plain": 0.2, "sitemap_index": 0.2, "sitemap_unnamed": 0.1}
    mix |= {"sitemap_now": 0.1, "sitemap_random": 0.05, "sitemap_frozen": 0.05}
    return mix | dict.fromkeys(FEEDS, 0.2)
