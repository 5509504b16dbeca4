"""Counts the tokens of texts, as the tokenizer of a language model splits them: TOKENIZER_FILE."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import cache
from typing import Any

from webcrawl.base.loading import MissingLibraryError

SLICE = 100_000  # characters that are counted at once; a second takes some three times as many
SECONDS = 2.0  # of CPU time for a text: the document would be lost with its process after six


class TokenCounter:
    """A tokenizer, as a tokenizer.json of Hugging Face describes it."""

    def __init__(self, path: str) -> None:
        """Raise MissingLibraryError, or ValueError for a file that describes none."""
        try:
            from tokenizers import Tokenizer  # noqa: PLC0415 - optional
        except ImportError as error:
            raise MissingLibraryError("tokenizers", error) from error
        try:
            self._tokenizer: Any = Tokenizer.from_file(path)
        except Exception as error:  # the library raises nothing more particular
            raise ValueError(f"it describes no tokenizer: {error}") from error
        # A model may want its input truncated or filled up to one length
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def count(self, text: str) -> int | None:
        """Return the tokens of a text, without those that a model adds; None if that takes too long."""
        tokens = 0
        begun = time.process_time()
        for part in _slices(text):
            if time.process_time() - begun > SECONDS:
                return None
            tokens += len(self._tokenizer.encode(part, add_special_tokens=False).ids)
        return tokens


@cache
def token_counter(path: str) -> TokenCounter:
    """Return the counter of a file, which is read once."""
    return TokenCounter(path)


def _slices(text: str) -> Iterator[str]:
    """Yield a text in parts, which end with a line where they can: tokens do not go beyond it."""
    begin = 0
    while begin < len(text):
        end = begin + SLICE
        line_end = text.rfind("\n", begin, end) + 1 if end < len(text) else 0
        end = line_end or end
        yield text[begin:end]
        begin = end
