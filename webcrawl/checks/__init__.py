"""Settings as the user wrote them, made into plain values, or refused in one line."""

from webcrawl.checks.check import SettingError, check

__all__ = ["SettingError", "check"]
