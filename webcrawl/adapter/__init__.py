"""Scrapy's contracts, each as calls of the crawl below.

`addon` puts the crawl into any project, and `preflight` finds what can be wrong before the first
request. `scheduler`, `downloader`, `handlers`, `dupefilter` and `logformat` stand in place of
Scrapy's own. `values` has the settings as plain values, `trip` is what travels with a request.
`spiders`, `pipelines` and `extensions` are Scrapy's other components; `fastpath` alone uses
Scrapy's private names.
"""
