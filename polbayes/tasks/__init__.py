"""Further tasks, one folder each."""
