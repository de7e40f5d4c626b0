"""Training of the embedded checkpoints with planted leanings."""
