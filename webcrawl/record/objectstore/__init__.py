"""Copies of finished files in an object store: `place` names it, and `upload` fills it."""
