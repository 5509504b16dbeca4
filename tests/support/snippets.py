"""The examples of our documents, as they stand there."""

import re

from tests.support.places import ROOT


def example(page: str, name: str) -> str:
    """The first Python block of a page that defines a class or function of this name; without one
    the first at all.
    """
    blocks = re.findall(
        r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL
    )
    return next(block for block in blocks if not name or re.search(rf"(class|def) {name}\b", block))


def load(page: str, name: str) -> type:
    space: dict = {}
    exec(example(page, name), space)  # noqa: S102 - our own documentation
    return space[name]
