"""What every crawl imports, imported once for all crawls of the tests (tests/support/crawling.py)."""

import webcrawl.commands.crawl
import webcrawl.extensions.progress
import webcrawl.preflight
import webcrawl.spiders.web  # noqa: F401
