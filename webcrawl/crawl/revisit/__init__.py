"""Pages that are fetched again: when, how often, and because of which signals (docs/revisits.md).

Public: the classes in `policies` and `optimal`, `record.PageRecord`, `revisits.Revisits`,
`signals.Signals`.
"""
