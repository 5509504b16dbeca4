"""The frontier: which URL is fetched next, from which host, and when (docs/frontier.md).

Public: `protocol` (the interface of a frontier), `state.open_frontier`, its arguments in `core`,
and `frontier.Frontier`; the policies in `politeness`, `prioritizers` and `allowances`; the seen
stores in `seen`; for hives `host_handover`. All else is a part of these.
"""
