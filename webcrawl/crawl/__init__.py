"""The crawl: the way of a URL from the frontier to crawl.log, without a fetcher.

Public: `assembly` (settings become a crawl), `ground`, `crawl.Crawl`, `parts`, `moments`,
`visitor.Visitor`, `discovery`, `last_run`, `segments`, `rereading`; `checks` for settings;
`control` for commands to a running crawl, `hive` for drones that share one, `revisit` for pages
that are fetched again, `metrics` for those who watch. All else is a part of these.

What a kill does to a half-finished page: `barrier`. Why no URL is fetched twice in a hive:
`hive_parts`. What an output has to implement: `outputs.output_protocol`. When a crawl is over:
`crawl.Crawl.pending`, and `crawl_end` where hosts do not answer.
"""

import sys
from types import ModuleType
from typing import Any


class _CallablePackage(ModuleType):
    """`webcrawl.crawl` is this package, and also the function of the library of the same name."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return a crawl as an iterator of its pages: see `webcrawl.library.crawl`."""
        from webcrawl.library import crawl  # noqa: PLC0415 - only the library needs it

        return crawl(*args, **kwargs)


sys.modules[__name__].__class__ = _CallablePackage
