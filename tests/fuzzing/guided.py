"""The same targets under atheris: run `pip install atheris` first.

Inputs that reach new branches are kept in a folder, with which the next run begins.
"""

import importlib
import logging
import sys
import tempfile
from pathlib import Path

import atheris

from tests.fuzzing import campaign


def main(name: str, seed: str, seconds: str, saved: str, kept: str) -> None:
    logging.disable()
    with atheris.instrument_imports(include=["webcrawl"]):
        targets = importlib.import_module("tests.fuzzing.targets").TARGETS
    target = targets[name]

    def one(data: bytes) -> None:
        target.run(data)

    with tempfile.TemporaryDirectory() as place:
        for number, seed_bytes in enumerate(target.corpus()):
            (Path(place) / str(number)).write_bytes(seed_bytes)
        words = Path(place).with_suffix(".words")
        words.write_text(
            "".join(
                '"' + "".join(f"\\x{byte:02x}" for byte in token[:60]) + '"\n'
                for token in target.tokens
            )
        )
        options = [
            f"-max_total_time={seconds}",
            f"-seed={seed}",
            f"-artifact_prefix={saved}/",
            f"-timeout={campaign.HANG}",
        ]
        options += [
            "-rss_limit_mb=4096",
            "-max_len=8192",
            f"-dict={words}",
            "-print_final_stats=1",
            "-verbosity=0",
        ]
        # the first folder is what inputs are added to
        atheris.Setup([sys.argv[0], *options, kept, place], one)
        atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
