"""Metrics for Prometheus (docs/metrics.md): `collector`, `families`, `textfile`, `rising_counters`."""
