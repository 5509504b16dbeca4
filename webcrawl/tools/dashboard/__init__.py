"""The dashboard: pages about running crawls, for browsers that have its token."""
