"""The spiders: `web` for the broad crawl, `walk` for random walks."""
