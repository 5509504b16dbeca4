"""Where things are."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
# For state machines and other tests that make hundreds of checkpoints: no disk has to sync them.
IN_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - below it each test makes its own folder
