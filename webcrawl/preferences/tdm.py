"""The W3C community group's TDM Reservation Protocol: `tdm-reservation` and `tdm-policy`."""

from __future__ import annotations

from webcrawl.preferences.purposes import allows, forbids

MINING = ("research", "train-ai", "ai-input")
_SAYS = {"1": forbids(*MINING), "0": allows(*MINING)}


def statement(value: str) -> int:
    """What a reservation says. Any value but 0 and 1 is an error, and counts as none."""
    return _SAYS.get(value.strip(), 0)
