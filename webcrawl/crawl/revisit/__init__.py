"""Pages that are fetched again: when, how often, and because of which signals (docs/revisits.md).

Public: `policy` and the classes in `policies`, `importance`, `record.PageRecord`, `revisits.Revisits`,
`signals.Signals`.
"""
