"""Quantities computed from the draws: named posterior, tables, checks, comparisons."""
