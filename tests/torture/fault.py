"""One fault, as it is drawn, named on the command line, and handed to the crawl's process."""

import re
from dataclasses import dataclass

HOWS = ("once", "calls", "while")
"""One call; it and the nine that follow; all such calls in the half second that follows."""
WORDS = re.compile(r"(.+) #(\d+) (once|calls|while) (.+)")


@dataclass(frozen=True)
class Fault:
    """What happens from the `number`-th call with this label on; a label is a call's name and where
    it is made.
    """

    label: str = ""
    number: int = 0
    how: str = "once"
    error: str = ""

    def __str__(self):
        return f"{self.label} #{self.number} {self.how} {self.error}"

    @property
    def name(self):
        """The call's own name."""
        return self.label.partition(" ")[0]

    @classmethod
    def parse(cls, text):
        """The fault that prints like this."""
        found = WORDS.fullmatch(text)
        if found is None:
            raise ValueError(f"{text!r}: expected LABEL #NUMBER {'|'.join(HOWS)} ERROR")
        label, number, how, error = found.groups()
        return cls(label, int(number), how, error)


NOTHING = Fault()
