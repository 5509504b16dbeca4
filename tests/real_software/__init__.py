"""Crawls software that others made, on loopback, each beside an independent walk."""
