"""WACZ packages: archives and their index in one file."""
