"""Copies of finished files in an object store: `store_folder` names it, and `upload` fills it."""
