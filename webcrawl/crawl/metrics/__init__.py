"""Metrics for Prometheus (docs/metrics.md)."""
