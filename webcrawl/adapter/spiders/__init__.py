"""The spider of the broad crawl, `web`."""
