"""Scrapy's contracts, each as calls of the crawl below.

`addon` puts the crawl into any project, and `preflight` finds what can be wrong before the first
request. `scheduler`, `downloader`, `handlers`, `dupefilter` and `logformat` stand in place of
Scrapy's own. `values` has the settings as plain values, and `request_trip` attaches to a request
the trip that travels with it. `spiders`, `pipelines` and `extensions` are Scrapy's other
components; `fastpath` alone uses Scrapy's private names.
"""
