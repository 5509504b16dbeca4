"""Recognises what an answer is: a page, a block page (captcha, challenge, denial), a soft 404, a
shell, … (docs/block-pages.md).
"""

from webcrawl.content.recognise.probe import Probe
from webcrawl.content.recognise.recogniser import PARKED, SHELL, Recogniser, recogniser
from webcrawl.content.recognise.self_description import PAGE, SOFT404

__all__ = [
    "PAGE",
    "PARKED",
    "SHELL",
    "SOFT404",
    "Probe",
    "Recogniser",
    "recogniser",
]
