"""Checkpoints: how they are opened, encoded and read."""
