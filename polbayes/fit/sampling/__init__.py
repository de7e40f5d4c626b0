"""Sampling the posterior, and diagnostics."""
