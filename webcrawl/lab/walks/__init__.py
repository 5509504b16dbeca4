"""Random walks (docs/lab.md): `spider`, `walkers`, `walk_frontier`, and `check_walk`, which `scrapy verify` calls."""
