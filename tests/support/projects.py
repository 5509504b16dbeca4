"""A user's Scrapy project in a folder: with webcrawl's settings, or a plain one to compare with."""

import json
from pathlib import Path

from tests.support.crawling import SETTINGS, scrapy
from tests.support.places import ROOT

OURS = """
from webcrawl.settings import *
"""
PLAIN = """
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False
LOG_LEVEL = "INFO"
USER_AGENT = "webcrawl/0.1"
DOWNLOAD_TIMEOUT = 5
"""
QUICK = {**SETTINGS, "POLITENESS_FACTOR": 0, "POLITENESS_MIN_DELAY": 0}


class Project:
    """A Scrapy project with its spiders in the module `spiders`, and its settings in `mine`."""

    def __init__(self, folder, settings, spiders, **more):
        """Write the files of the project; `more` are settings that go before others."""
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        lines = [
            f"{name} = {value!r}\n"
            for name, value in {**QUICK, "SPIDER_MODULES": ["spiders"], **more}.items()
        ]
        path = f"import sys\nsys.path.append({str(ROOT)!r})\n"
        (self.folder / "scrapy.cfg").write_text("[settings]\ndefault = mine\n")
        (self.folder / "mine.py").write_text(path + settings + "".join(lines))
        (self.folder / "spiders.py").write_text(spiders)
        self.output = self.folder / "output"

    def run(self, *words, **settings):
        """Run a scrapy command; return its exit status and what it printed."""
        given = {
            name: json.dumps(value) if isinstance(value, dict) else value
            for name, value in settings.items()
        }
        words = [
            *words,
            *(word for name, value in given.items() for word in ("-s", f"{name}={value}")),
        ]
        status = scrapy(words, self.folder, self.output)
        return status, self.output.read_text()
