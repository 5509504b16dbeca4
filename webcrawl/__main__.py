"""The command `webcrawl`: Scrapy's, with the settings of this package, in whatever folder it is called."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from webcrawl import __version__


def main() -> None:
    """`webcrawl crawl web -a seeds=…` is `scrapy crawl web -a seeds=…` in a checkout of webcrawl."""
    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(f"webcrawl {__version__}\n")
        return
    os.environ["SCRAPY_SETTINGS_MODULE"] = "webcrawl.settings"  # before a scrapy.cfg, which may be another project's
    sys.path.append(str(Path.cwd()))  # where a user keeps pipelines
    from scrapy.cmdline import execute  # noqa: PLC0415 - half a second that --version need not wait

    execute()


if __name__ == "__main__":
    main()
