"""Turns settings as the user wrote them into plain values, or rejects them with a one-line reason."""

from webcrawl.crawl.checks.check import (
    SettingError,
    changed,
    check,
    check_contact,
    read,
    read_for_host,
    whole_bodies,
)

__all__ = [
    "SettingError",
    "changed",
    "check",
    "check_contact",
    "read",
    "read_for_host",
    "whole_bodies",
]
