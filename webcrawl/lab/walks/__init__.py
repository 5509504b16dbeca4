"""Random walks (docs/lab.md): `spider` with its frontier, `walkers`, and `check_walk`, which
`webcrawl verify` calls.
"""
