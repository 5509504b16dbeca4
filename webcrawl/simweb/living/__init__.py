"""Pages that change by known processes, and what their servers say of it (docs/simweb.md)."""

from __future__ import annotations

from webcrawl.simweb.living.kinds import CHANGES, FEEDS, GROUPS, ODD, SITEMAPS, VALIDATORS, changing

__all__ = ["CHANGES", "FEEDS", "GROUPS", "ODD", "SITEMAPS", "VALIDATORS", "changing"]
