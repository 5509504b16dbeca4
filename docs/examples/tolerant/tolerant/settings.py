"""An ordinary Scrapy project with the add-on; each spider's crawl is kept in crawls/, and goes on
from there.
"""

BOT_NAME = "tolerant"
SPIDER_MODULES = ["tolerant.spiders"]
USER_AGENT = "tolerant/1.0 (+https://example.org/bot)"
ADDONS = {"webcrawl.WebcrawlAddon": 300}
ITEM_PIPELINES = {"tolerant.rows.Rows": 300}
