"""An ordinary Scrapy project; one setting gives its spiders webcrawl's frontier, archive and
checkpoints.
"""

BOT_NAME = "shop"
SPIDER_MODULES = ["shop.spiders"]
USER_AGENT = "shop/1.0 (+https://example.org/bot)"
ADDONS = {"webcrawl.WebcrawlAddon": 300}
