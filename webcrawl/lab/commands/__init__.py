"""The commands webcrawl demo and webcrawl lab."""
