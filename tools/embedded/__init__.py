"""Training of the embedded checkpoints, whose leaning is planted."""
