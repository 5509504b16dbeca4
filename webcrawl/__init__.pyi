# For type checkers. At run time `crawl` is the package of this name, which can be called.

from webcrawl.adapter.addon import WebcrawlAddon as WebcrawlAddon
from webcrawl.adapter.pipelines.output import open_output as open_output
from webcrawl.adapter.spiders.web import WebSpider as WebSpider
from webcrawl.content.page import Page as Page
from webcrawl.library import crawl as crawl
from webcrawl.library import pages as pages

__version__: str
