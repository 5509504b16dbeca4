"""Random walks: `spider` with its frontier, `walkers`, and `check_walk`, which verify calls."""
