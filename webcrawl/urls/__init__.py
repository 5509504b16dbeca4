"""URLs: seeds, canonical and comparison form, filters, fingerprints, and owners who opted out.

`build_pipeline` makes a `link_pipeline` from settings: `canonical`, `recent_urls`, `filters`,
`foldings`, `url_fingerprint`. `host_names` has hosts and registered domains, `exclusion_rules` what
is never requested, `seeds` the lists with which a crawl begins.
"""
