"""Checkpoints: opening, encoding and reading them."""
