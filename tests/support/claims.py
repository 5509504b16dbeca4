"""The sentences that a module may say, as templates: braces stand for what is put in when a
sentence is said.
"""

import re


def pattern(template: str) -> re.Pattern[str]:
    """Return the expression that finds a line with this sentence.

    Anything may stand where the template has braces.
    """
    return re.compile("[^\n]*?".join(map(re.escape, re.split(r"\{[^{}]*\}", template))))
