"""Serves the synthetic web: `python -m webcrawl.lab.simweb`."""

from __future__ import annotations

import argparse
import sys

from webcrawl.lab.simweb import cli


def main() -> int:
    """Serve by the command line, and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m webcrawl.lab.simweb", description="Serves the synthetic web."
    )
    cli.add_arguments(parser)
    try:
        cli.run(parser.parse_args())
    except cli.UsageError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
