"""Hives that an engine runs, on loopback: `python -m tests.campaign.engines slurm|ray|local`."""
