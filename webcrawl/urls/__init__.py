"""URLs: seed lists, canonical and comparison form, filters, fingerprints, and the owners who want
to be left out.

`build_pipeline` makes a `link_pipeline` from settings: `canonical`, `recent_urls`, `filters`,
`foldings`, `url_fingerprint`. `host_names` has hosts and registered domains, `exclusion_rules` what
is never asked for, `seeds` the lists that a crawl begins with.
"""
