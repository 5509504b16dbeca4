"""Texts and the index made of it: `text_files`, `text_index`, `text_search`."""
