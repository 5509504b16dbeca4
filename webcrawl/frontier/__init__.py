"""The frontier: which URL is fetched next, from which host, and when (docs/frontier-inside.md).

Public: `protocol` (the interface of a frontier), `state.open_frontier`, its arguments in `core`,
and `frontier.Frontier`; the policies in `politeness`, `prioritizers` and `allowances`; the seen
stores in `seen`; for hives `host_handover`. All else is a part of these.

Who makes a host wait, and for how long: the table of `booking`. What follows from a failure or a
block page: `health`. In which state a host is, and the ways between states: `host_state`.
"""
