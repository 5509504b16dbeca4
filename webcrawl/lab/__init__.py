"""Experiments beside a crawl: the synthetic web (`simweb`), studies of traces, graphs and walks,
and their commands.
"""
