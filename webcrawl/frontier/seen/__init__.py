"""The seen stores: which URLs and which bodies were found before (docs/seen-store.md).

Public: `protocol` (the interface), the stores `disk` and `bloom`, the URL caches in `caches`,
`content` for bodies, `portions` for the links of large pages, and `sorted_keys` for those who read
a store of another process.
"""
