"""The crawl: what becomes of a URL from the frontier to its line in crawl.log, without a fetcher (docs/design.md).

Public: `assembly` (settings become a crawl), `crawl.Crawl`, `parts`, `visitor.Visitor`, `discovery`, `last_run`,
`segments`, `rereading`; `checks` for settings; `control` for commands to a running crawl, `hive` for drones that
share one, `revisit` for pages that are fetched again, `metrics` for those who watch. All else is a
part of these.
"""
