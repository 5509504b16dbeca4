"""Tests of faults that are known and not fixed yet."""

import os

import pytest

known_fault = pytest.mark.skipif(
    not os.environ.get("WEBCRAWL_KNOWN_FAULTS"), reason="a known fault, not fixed yet: WEBCRAWL_KNOWN_FAULTS=1 runs it"
)
