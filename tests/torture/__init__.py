"""Torture: every call of ours that the system may refuse is refused in turn, in a whole crawl
(docs/checkpoints-and-crashes.md).
"""
