"""What earlier crawls have: `sources` finds it, `index` keeps it, `earlier` answers from it."""
