"""Comparison across finished runs: what they share is aligned, merged and fitted again."""
