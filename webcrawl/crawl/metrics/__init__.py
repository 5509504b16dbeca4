"""Metrics for Prometheus (docs/metrics.md): `collector`, `families`, `exposition`."""
